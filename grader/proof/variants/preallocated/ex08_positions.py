from __future__ import annotations

import math

import torch
from torch import Tensor

from ex02_scaling import scaled_scores


def rotary_angles(positions: Tensor, d_head: int, base: float = 10000.0) -> Tensor:
    if positions.dim() != 1 or d_head < 2 or d_head % 2:
        raise ValueError(f"positions {tuple(positions.shape)} with d_head={d_head}")
    angles = torch.empty(len(positions), d_head // 2, dtype=torch.float32, device=positions.device)
    for i in range(d_head // 2):
        angles[:, i] = positions.float() * math.exp(-2 * i * math.log(base) / d_head)
    return angles


def _turned_into(x: Tensor, angles: Tensor, first: slice, second: slice) -> Tensor:
    wide = torch.float32 if x.element_size() < 4 else x.dtype
    out = torch.empty(x.shape, dtype=wide, device=x.device)
    cos, sin = torch.cos(angles), torch.sin(angles)
    u, v = x[..., first].to(wide), x[..., second].to(wide)
    out[..., first] = u * cos - v * sin
    out[..., second] = v * cos + u * sin
    return out.to(x.dtype)


def _look(x: Tensor, angles: Tensor) -> int:
    if x.dim() < 2 or x.size(-1) % 2 or angles.shape != (x.size(-2), x.size(-1) // 2):
        raise ValueError(f"x {tuple(x.shape)} with angles {tuple(angles.shape)}")
    return x.size(-1) // 2


def rotate_pairs(x: Tensor, angles: Tensor) -> Tensor:
    _look(x, angles)
    return _turned_into(x, angles, slice(0, None, 2), slice(1, None, 2))


def rotate_halves(x: Tensor, angles: Tensor) -> Tensor:
    half = _look(x, angles)
    return _turned_into(x, angles, slice(half), slice(half, None))


def pairs_to_halves(weight: Tensor, n_heads: int) -> Tensor:
    if weight.dim() != 2 or n_heads < 1 or len(weight) % (2 * n_heads):
        raise ValueError(f"weight {tuple(weight.shape)} with {n_heads} heads")
    out = torch.empty_like(weight)
    width = len(weight) // n_heads
    for start in range(0, len(weight), width):
        middle, end = start + width // 2, start + width
        out[start:middle] = weight[start:end:2]
        out[middle:end] = weight[start + 1 : end : 2]
    return out


def rotary_scores(
    query: Tensor, key: Tensor, query_positions: Tensor, key_positions: Tensor, base: float = 10000.0
) -> Tensor:
    if query.dim() < 2 or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query {tuple(query.shape)} with key {tuple(key.shape)}")
    width = query.size(-1)
    turned_query = rotate_pairs(query, rotary_angles(query_positions, width, base))
    turned_key = rotate_pairs(key, rotary_angles(key_positions, width, base))
    return scaled_scores(turned_query, turned_key)
