"""Style library: logspace, outer, addcmul, index_select; float32 inside, as in Llama's own code."""

import torch

from ex02_scaling import scaled_scores


def rotary_angles(positions, d_head, base=10000.0):
    if positions.ndim != 1 or d_head < 2 or d_head % 2:
        raise ValueError(f"positions: {positions.shape}, d_head: {d_head}")
    rates = torch.logspace(0, 2 / d_head - 1, d_head // 2, base=base, dtype=torch.float64,
                           device=positions.device)  # fmt: skip
    return torch.outer(positions.double(), rates).float()


def _look(x, angles):
    if x.ndim < 2 or x.shape[-1] % 2 or angles.shape != (x.shape[-2], x.shape[-1] // 2):
        raise ValueError(f"x: {x.shape}, angles: {angles.shape}")
    return x.float(), angles.cos(), angles.sin()


def _turn(u, v, cos, sin):
    return torch.addcmul(u * cos, v, sin, value=-1), torch.addcmul(v * cos, u, sin)


def rotate_pairs(x, angles):
    wide, cos, sin = _look(x, angles)
    u, v = _turn(*torch.unbind(wide.unflatten(-1, (-1, 2)), -1), cos, sin)
    return torch.dstack((u.flatten(), v.flatten())).reshape(x.shape).to(x.dtype)


def rotate_halves(x, angles):
    wide, cos, sin = _look(x, angles)
    return torch.cat(_turn(*wide.tensor_split(2, -1), cos, sin), -1).to(x.dtype)


def pairs_to_halves(weight, n_heads):
    if weight.ndim != 2 or n_heads < 1 or weight.shape[0] % (2 * n_heads):
        raise ValueError(f"weight: {weight.shape}, n_heads: {n_heads}")
    rows = torch.arange(weight.shape[0], device=weight.device)
    width = weight.shape[0] // n_heads
    # heads first, then odd rows after even ones, then as before
    key = (rows // width) * 2 * width + (rows % 2) * width + rows % width
    return weight.index_select(0, key.argsort())


def rotary_scores(query, key, query_positions, key_positions, base=10000.0):
    if query.ndim < 2 or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query: {query.shape}, key: {key.shape}")
    at = [rotary_angles(p, query.shape[-1], base) for p in (query_positions, key_positions)]
    return scaled_scores(rotate_pairs(query, at[0]), rotate_pairs(key, at[1]))
