"""Chapter 12: first the log_sum of all keys, then the weights; tiles come from a generator."""

from __future__ import annotations

from functools import partial, reduce
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

NIL = float("-inf")


def _refuse(why: str, *tensors: Tensor, **numbers: int):
    sizes = ["sizes " + ", ".join(map(str, t.shape)) for t in tensors]
    raise ValueError(" -- ".join([why, *sizes, *(f"{n} {v}" for n, v in numbers.items())]))


def _examine(query: Tensor, key: Tensor, value: Tensor) -> None:
    match (query.shape, key.shape, value.shape):
        case ([*bq, _, dq], [*bk, n, dk], [*bv, m, _]) if bq == bk == bv and dq == dk and n == m:
            return
        case _:
            _refuse("these three do not go together", query, key, value)


def _roomy(t: Tensor) -> Tensor:
    return t.to(torch.promote_types(t.dtype, torch.float32))


def _score(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("...qd,...kd->...qk", _roomy(query), _roomy(key)).div(key.shape[-1] ** 0.5)


def partial_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    _examine(query, key, value)
    scores = _score(query, key)
    if mask is not None:
        try:
            mask = mask.expand(scores.shape)
        except RuntimeError:
            _refuse("the mask is cut for another table", mask, scores)
        scores = scores.masked_fill(~mask, NIL)
    shut = scores.eq(NIL).all(-1)
    safe = scores.masked_fill(shut[..., None], 0.0)
    total = safe.logsumexp(-1)
    weights = (safe - total[..., None]).exp().masked_fill(shut[..., None], 0.0)
    out = torch.einsum("...qk,...kd->...qd", weights, _roomy(value))
    return out.to(query.dtype), total.masked_fill(shut, NIL).to(query.dtype)


def merge_partials(
    out_a: Tensor, log_sum_a: Tensor, out_b: Tensor, log_sum_b: Tensor
) -> tuple[Tensor, Tensor]:
    match (out_a.shape, out_b.shape, log_sum_a.shape, log_sum_b.shape):
        case ([*_, _, _], _, _, _) if (
            out_a.shape == out_b.shape and log_sum_a.shape == log_sum_b.shape == out_a.shape[:-1]
        ):
            pass
        case _:
            _refuse("not two parts of one thing", out_a, log_sum_a, out_b, log_sum_b)
    void = (log_sum_a == NIL) & (log_sum_b == NIL)
    a, b = (_roomy(s).masked_fill(void, 0.0) for s in (log_sum_a, log_sum_b))
    total = torch.logaddexp(a, b).masked_fill(void, NIL)
    # exp(a - log(e^a + e^b)) is the logistic function of a - b
    share_a, share_b = ((s.sigmoid()).masked_fill(void, 0.0)[..., None] for s in (a - b, b - a))
    out = share_a * _roomy(out_a) + share_b * _roomy(out_b)
    return out.to(out_a.dtype), total.to(log_sum_a.dtype)


class Tile(NamedTuple):
    rows: slice
    cols: slice
    edge: int | None  # tril's diagonal; None: wide open

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        s = _score(query[..., self.rows, :], key[..., self.cols, :])
        if self.edge is None:
            return s
        ahead = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu_(self.edge + 1)
        return s.masked_fill_(ahead, NIL)


def _pavement(q: int, k: int, causal: bool, block: int):
    """For each block of queries, its tiles."""
    for top in range(0, q, block):
        bottom = min(top + block, q)
        first, last = k - q + top, k - q + bottom - 1  # where the queries stand
        end = last + 1 if causal else k
        yield slice(top, bottom), [
            Tile(
                slice(top, bottom),
                slice(left, min(left + block, end)),
                first - left if causal and min(left + block, end) - 1 > first else None,
            )
            for left in range(0, end, block)
        ]


class _Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, causal, block):
        paved = partial(_pavement, query.shape[-2], key.shape[-2], causal, block)
        wide = torch.promote_types(query.dtype, torch.float32)
        out = torch.zeros(
            (*query.shape[:-1], value.shape[-1]), dtype=query.dtype, device=query.device
        )
        log_sum = torch.full(query.shape[:-1], NIL, dtype=wide, device=query.device)
        for rows, tiles in paved():
            total = reduce(
                torch.logaddexp,
                (t.scores(query, key).logsumexp(-1) for t in tiles),
                log_sum[..., rows],
            )
            mixed = torch.zeros(out[..., rows, :].shape, dtype=wide, device=query.device)
            for t in tiles:
                weights = t.scores(query, key).sub_(total[..., None]).exp_()
                mixed += weights @ _roomy(value[..., t.cols, :])
            out[..., rows, :], log_sum[..., rows] = mixed, total
        ctx.save_for_backward(query, key, value, out, log_sum)
        ctx.paved = paved
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        query, key, value, out, log_sum = ctx.saved_tensors
        d_query, d_key, d_value = (
            torch.zeros(t.shape, dtype=log_sum.dtype, device=t.device) for t in (query, key, value)
        )
        scale = key.shape[-1] ** -0.5
        for rows, tiles in ctx.paved():
            g = _roomy(grad[..., rows, :])
            mean = (g * _roomy(out[..., rows, :])).sum(-1, keepdim=True)
            asks = _roomy(query[..., rows, :])
            for t in tiles:
                weights = t.scores(query, key).sub_(log_sum[..., rows, None]).exp_()
                d_value[..., t.cols, :] += weights.mT @ g
                slope = (g @ _roomy(value[..., t.cols, :]).mT).sub_(mean).mul_(weights).mul_(scale)
                d_query[..., rows, :] += slope @ _roomy(key[..., t.cols, :])
                d_key[..., t.cols, :] += slope.mT @ asks
        return d_query.to(query.dtype), d_key.to(key.dtype), d_value.to(value.dtype), None, None


def flash_attention(
    query: Tensor, key: Tensor, value: Tensor, causal: bool = False, block: int = 64
) -> Tensor:
    _examine(query, key, value)
    if block < 1:
        _refuse("too fine a pavement", block=block)
    if causal and query.shape[-2] > key.shape[-2]:
        _refuse("some would stand before the first", query, key)
    return _Flash.apply(query, key, value, causal, block)
