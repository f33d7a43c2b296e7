from __future__ import annotations

import math

import torch
from torch import Tensor
from ex01_scores import dot_product_scores

from ex03_masking import apply_mask

SUB = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Hiba(ValueError):
    pass


def _s(*tensors: Tensor) -> str:
    return " ; ".join("d=" + " d=".join(map(str, t.shape)) for t in tensors)


def _first(t: Tensor) -> Tensor:
    return t[..., :1, :] if t.ndim > 1 else t


def _look(query: Tensor, key: Tensor, value: Tensor) -> None:
    """What does not fit is refused by chapter 1, which is given one row, or one column, of each."""
    dot_product_scores(_first(query), _first(key))
    dot_product_scores(_first(key.mT), _first(value.mT if value.ndim > 1 else value))


def _tile(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    scores = query @ key.mT * query.shape[-1] ** -0.5
    if mask is not None:
        scores = apply_mask(scores, mask)
    top = scores.detach().amax(-1, keepdim=True)
    top = torch.where(top.isneginf(), 0.0, top)
    powers = (scores - top).exp()
    total = powers.sum(-1)
    some = total > 0
    safe = torch.where(some, total, 1.0)
    return powers @ value / safe[..., None], torch.where(some, safe.log() + top[..., 0], -math.inf)


def partial_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    _look(query, key, value)
    # one part for each key, merged in halves
    parts = []
    if mask is not None:
        try:
            mask = mask.expand(*query.shape[:-1], key.shape[-2])
        except RuntimeError as why:
            raise Hiba(_s(mask)) from why
    for j in range(key.shape[-2]):
        one = slice(j, j + 1)
        parts.append(
            _tile(
                query.double(),
                key[..., one, :].double(),
                value[..., one, :].double(),
                None if mask is None else mask[..., one],
            )
        )
    while len(parts) > 1:
        half = [merge_partials(*a, *b) for a, b in zip(parts[0::2], parts[1::2])]
        parts = half + ([parts[-1]] if len(parts) % 2 else [])
    out, log_sum = parts[0]
    return out.to(query.dtype), log_sum.to(query.dtype)


def merge_partials(
    out_a: Tensor, log_sum_a: Tensor, out_b: Tensor, log_sum_b: Tensor
) -> tuple[Tensor, Tensor]:
    if out_a.ndim < 2 or out_b.ndim < 2 or out_a.shape != out_b.shape:
        raise Hiba(_s(out_a, out_b))
    try:
        both = torch.stack((log_sum_a, log_sum_b)).double()
    except RuntimeError as why:
        raise Hiba(_s(log_sum_a, log_sum_b)) from why
    if both.shape[1:] != out_a.shape[:-1]:
        raise Hiba(_s(log_sum_a))
    closed = both.isneginf().all(0)
    both = both.masked_fill(closed, 0.0)
    weights = both.softmax(0).unsqueeze(-1)
    out = (torch.stack((out_a, out_b)).double() * weights).sum(0)
    return out.to(out_a.dtype), both.logsumexp(0).masked_fill(closed, -math.inf).to(out_a.dtype)


def _rows(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    """One block of queries, the last of them at the last key, if causal."""
    m, n = query.shape[-2], key.shape[-2]
    mask = None
    if causal:
        mask = torch.ones(m, n, dtype=torch.bool, device=query.device).tril_(n - m)
    return _tile(query.double(), key.double(), value.double(), mask)[0].to(query.dtype)


class _Again(torch.autograd.Function):
    """Keeps what went in alone, and lets autograd go through one block at a time on the way back."""

    @staticmethod
    def forward(ctx, query: Tensor, key: Tensor, value: Tensor, causal: bool, size: int) -> Tensor:
        ctx.save_for_backward(query, key, value)
        ctx.how = causal, size
        q, k = query.shape[-2], key.shape[-2]
        out = []
        for start in range(0, q, size):
            end = k - q + min(start + size, q) if causal else k
            out.append(
                _rows(
                    query[..., start : start + size, :],
                    key[..., :end, :],
                    value[..., :end, :],
                    causal,
                )
            )
        return torch.cat(out, -2)

    @staticmethod
    def backward(ctx, grad: Tensor):
        query, key, value = ctx.saved_tensors
        causal, size = ctx.how
        q, k = query.shape[-2], key.shape[-2]
        total = [torch.zeros_like(t, dtype=torch.float64) for t in (query, key, value)]
        for start in range(0, q, size):
            stop = min(start + size, q)
            end = k - q + stop if causal else k
            spans = (slice(start, stop), slice(0, end), slice(0, end))
            with torch.enable_grad():
                inputs = [
                    t[..., s, :].detach().double().requires_grad_()
                    for t, s in zip((query, key, value), spans)
                ]
                out = _rows(*inputs, causal)
            parts = torch.autograd.grad(out, inputs, grad[..., start:stop, :].double())
            for t, s, part in zip(total, spans, parts):
                t[..., s, :] += part
        return (*(t.to(query.dtype) for t in total), None, None)


def flash_attention(
    query: Tensor, key: Tensor, value: Tensor, causal: bool = False, block: int = 64
) -> Tensor:
    _look(query, key, value)
    if block < 1:
        raise Hiba(f"blokk {block}")
    if causal and query.shape[-2] > key.shape[-2]:
        raise Hiba(_s(query, key))
    return _Again.apply(query, key, value, causal, min(block, 48) // 2 + 1)
