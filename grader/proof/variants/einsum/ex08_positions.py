"""Style einsum: a turn is a matrix of two rows, and all of them are multiplied at once."""

import torch

from ex02_scaling import scaled_scores


def rotary_angles(positions, d_head, base=10000.0):
    if positions.ndim != 1 or d_head < 2 or d_head % 2:
        raise ValueError(f"positions {list(positions.shape)}, d_head {d_head}")
    i = torch.arange(d_head // 2, device=positions.device, dtype=torch.float32)
    rates = torch.pow(torch.tensor(base, device=positions.device, dtype=torch.float32), -2 * i / d_head)
    return torch.einsum("p,i->pi", positions.to(rates.dtype), rates)


def _turns(x, angles):
    if x.ndim < 2 or x.shape[-1] % 2 or angles.shape != x[..., ::2].shape[-2:]:
        raise ValueError(f"x {list(x.shape)}, angles {list(angles.shape)}")
    wide = torch.promote_types(x.dtype, angles.dtype)
    cos, sin = angles.to(wide).cos(), angles.to(wide).sin()
    # n pairs 2 2: what comes out in the rows, what goes in in the columns
    return torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2), x.to(wide)


def rotate_pairs(x, angles):
    turns, wide = _turns(x, angles)
    points = wide.reshape(*x.shape[:-1], x.shape[-1] // 2, 2)
    return torch.einsum("nioj,...nij->...nio", turns, points).reshape(x.shape).to(x.dtype)


def rotate_halves(x, angles):
    turns, wide = _turns(x, angles)
    points = wide.reshape(*x.shape[:-1], 2, x.shape[-1] // 2)
    return torch.einsum("nioj,...nji->...noi", turns, points).reshape(x.shape).to(x.dtype)


def pairs_to_halves(weight, n_heads):
    if weight.ndim != 2 or n_heads < 1 or weight.shape[0] % (2 * n_heads):
        raise ValueError(f"weight {list(weight.shape)}, {n_heads} heads")
    rows = weight.reshape(n_heads, -1, 2, weight.shape[1])
    return torch.einsum("hitd->htid", rows).reshape(weight.shape)


def rotary_scores(query, key, query_positions, key_positions, base=10000.0):
    if query.ndim < 2 or key.ndim < 2 or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query {list(query.shape)}, key {list(key.shape)}")
    d = query.shape[-1]
    return scaled_scores(
        rotate_pairs(query, rotary_angles(query_positions, d, base)),
        rotate_pairs(key, rotary_angles(key_positions, d, base)),
    )
