"""Softmax, spelled out: key by key."""

from __future__ import annotations

import torch

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def _add_up(terms):
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _add_up(terms[:middle]) + _add_up(terms[middle:])


def softmax(scores, dim=-1):
    if scores.numel() == 0:
        return scores.clone()
    parts = list(scores.unbind(dim))
    if scores.dtype in (torch.float16, torch.bfloat16):
        parts = [part.to(torch.float32) for part in parts]

    largest = parts[0].detach()
    for part in parts[1:]:
        largest = torch.maximum(largest, part.detach())
    nothing = largest == float("-inf")
    largest = torch.where(nothing, 0.0, largest)

    grown = []
    for part in parts:
        grown.append(torch.exp(part - largest))
    total = torch.where(nothing, 1.0, _add_up(grown))

    weights = []
    for part in grown:
        weights.append(part / total)
    return torch.stack(weights, dim=dim).to(scores.dtype)


def attention_weights(query, key, mask=None):
    scores = scaled_scores(query, key)
    if mask is not None:
        scores = apply_mask(scores, mask)
    return softmax(scores, dim=-1)
