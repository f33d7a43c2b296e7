"""Style float64 inside: rotate_half and its sister, on numbers that are widened first."""

import torch

from ex01_scores import check
from ex02_scaling import scaled_scores


def rotary_angles(positions, d_head, base=10000.0):
    check(positions.ndim == 1, f"positions.shape is {tuple(positions.shape)}, expected (n,)")
    check(d_head >= 2 and d_head % 2 == 0, f"d_head == {d_head}, expected 2, 4, 6, ...")
    even = torch.arange(0, d_head, 2, dtype=torch.float64, device=positions.device)
    return (positions.double().unsqueeze(-1) / base ** (even / d_head)).float()


def _check_rows(x, angles):
    shapes = f"x.shape is {tuple(x.shape)} and angles.shape is {tuple(angles.shape)}"
    check(x.ndim >= 2 and x.shape[-1] % 2 == 0, shapes)
    check(angles.shape == (x.shape[-2], x.shape[-1] // 2), shapes)


def rotate_pairs(x, angles):
    _check_rows(x, angles)
    twice = angles.double().repeat_interleave(2, dim=-1)
    beside = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).reshape(x.shape)
    return (x.double() * twice.cos() + beside.double() * twice.sin()).to(x.dtype)


def rotate_halves(x, angles):
    _check_rows(x, angles)
    twice = torch.cat([angles, angles], dim=-1).double()
    half = x.shape[-1] // 2
    beside = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return (x.double() * twice.cos() + beside.double() * twice.sin()).to(x.dtype)


def pairs_to_halves(weight, n_heads):
    shape = f"weight.shape is {tuple(weight.shape)} and n_heads == {n_heads}"
    check(weight.ndim == 2 and n_heads >= 1 and weight.shape[0] % (2 * n_heads) == 0, shape)
    heads = weight.reshape(n_heads, weight.shape[0] // n_heads, weight.shape[1])
    return torch.cat([heads[:, 0::2], heads[:, 1::2]], dim=1).reshape(weight.shape)


def rotary_scores(query, key, query_positions, key_positions, base=10000.0):
    shapes = f"query.shape is {tuple(query.shape)} and key.shape is {tuple(key.shape)}"
    check(query.ndim == key.ndim >= 2 and query.shape[-1] == key.shape[-1], shapes)
    angles_q = rotary_angles(query_positions, query.shape[-1], base)
    angles_k = rotary_angles(key_positions, key.shape[-1], base)
    scores = scaled_scores(rotate_pairs(query.double(), angles_q), rotate_pairs(key.double(), angles_k))
    return scores.to(query.dtype)
