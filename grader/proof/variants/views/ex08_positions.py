"""Style views: two features are viewed as one complex number, and a turn is a product."""

import torch

from ex02_scaling import scaled_scores


def rotary_angles(positions, d_head, base=10000.0):
    if positions.ndim != 1 or d_head < 2 or d_head % 2 != 0:
        raise ValueError(f"cannot turn {d_head} features at positions {tuple(positions.shape)}")
    even = torch.arange(0, d_head, 2, device=positions.device).to(torch.float32)
    return torch.outer(positions.to(torch.float32), 1.0 / base ** (even / d_head))


def _turned(points, x, angles):
    """Multiply points [*batch, n, d_head / 2, 2] by e^(i angle)."""
    wide = torch.promote_types(x.dtype, torch.float32)
    turn = torch.polar(torch.ones_like(angles), angles).to(torch.complex64 if wide == torch.float32 else torch.complex128)
    return torch.view_as_real(torch.view_as_complex(points.to(wide).contiguous()) * turn)


def _refuse(x, angles):
    if x.ndim < 2 or x.shape[-1] % 2 != 0 or angles.shape != (x.shape[-2], x.shape[-1] // 2):
        raise ValueError(f"angles {tuple(angles.shape)} do not fit x {tuple(x.shape)}")


def rotate_pairs(x, angles):
    _refuse(x, angles)
    return _turned(x.unflatten(-1, (-1, 2)), x, angles).flatten(-2).to(x.dtype)


def rotate_halves(x, angles):
    _refuse(x, angles)
    return _turned(x.unflatten(-1, (2, -1)).mT, x, angles).mT.flatten(-2).to(x.dtype)


def pairs_to_halves(weight, n_heads):
    if weight.ndim != 2 or n_heads < 1 or weight.shape[0] % (2 * n_heads) != 0:
        raise ValueError(f"cannot convert {tuple(weight.shape)} for {n_heads} heads")
    heads = weight.view(n_heads, -1, 2, weight.shape[1]) if weight.is_contiguous() else weight.unflatten(0, (n_heads, -1, 2))
    return heads.swapaxes(1, 2).reshape(weight.shape)


def rotary_scores(query, key, query_positions, key_positions, base=10000.0):
    if query.ndim < 2 or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query {tuple(query.shape)} and key {tuple(key.shape)} do not fit")
    d = query.shape[-1]
    angles = [rotary_angles(at, d, base) for at in (query_positions, key_positions)]
    return scaled_scores(rotate_pairs(query, angles[0]), rotate_pairs(key, angles[1]))
