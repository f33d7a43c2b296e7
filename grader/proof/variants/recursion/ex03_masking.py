"""Masking, spelled out: masks grow row by row."""

from __future__ import annotations

import torch


def causal_mask(n, device=None):
    if n == 0:
        return torch.ones((0, 0), dtype=torch.bool, device=device)
    rows = []
    for i in range(n):
        may = torch.ones(i + 1, dtype=torch.bool, device=device)
        may_not = torch.zeros(n - i - 1, dtype=torch.bool, device=device)
        rows.append(torch.cat([may, may_not]))
    return torch.stack(rows)


def padding_mask(lengths, n):
    if lengths.dim() != 1:
        shape = tuple(lengths.shape) if lengths.dim() else "a single number (0 dimensions)"
        raise ValueError(f"lengths must be a vector, not {shape}")
    lengths = lengths.to(torch.int64)
    if n == 0:
        return torch.ones((len(lengths), 0), dtype=torch.bool, device=lengths.device)
    columns = []
    for j in range(n):
        columns.append(lengths > j)
    return torch.stack(columns, dim=1)


def decoder_mask(lengths, n):
    padding = padding_mask(lengths, n)
    if n == 0:
        return padding.reshape(len(lengths), 0, 0)
    rows = []
    for row in causal_mask(n, device=lengths.device):
        rows.append(padding & row)
    return torch.stack(rows, dim=1)


def apply_mask(scores, mask):
    missing = scores.dim() - mask.dim()
    if missing < 0:
        _complain(scores, mask)
    for have, want in zip(mask.shape, scores.shape[missing:]):
        if have != 1 and have != want:
            _complain(scores, mask)
    return _fill(scores, mask)


def _complain(scores, mask):
    raise ValueError(f"mask {tuple(mask.shape)} does not go into scores {tuple(scores.shape)}")


def _fill(scores, mask):
    """Down to where both are small enough to see at a glance: a row."""
    if scores.dim() <= 1 or mask.dim() == 0:
        return torch.where(mask, scores, float("-inf"))
    rows = []
    for i in range(len(scores)):
        if mask.dim() < scores.dim():
            part = mask
        elif len(mask) == 1:
            part = mask[0]
        else:
            part = mask[i]
        rows.append(_fill(scores[i], part))
    return torch.stack(rows)
