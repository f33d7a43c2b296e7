"""Scaling, one precision up."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def _up(t: Tensor) -> Tensor:
    if t.dtype in (torch.float16, torch.bfloat16):
        return t.to(torch.float32)
    return t if t.device.type == "mps" else t.to(torch.float64)


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    wide = _up(scores)
    root = torch.sqrt(torch.tensor(d_k, dtype=wide.dtype, device=wide.device))
    return (wide / root).to(scores.dtype)


def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    q, k = list(query.size()), list(key.size())
    if len(q) < 2 or len(k) < 2:
        raise ValueError(
            f"query with {len(q)} dimensions {q}, key with {len(k)} dimensions {k}: 2 at least"
        )
    if q[-1] != k[-1] or q[:-2] != k[:-2]:
        raise ValueError(f"query {q} and key {k} may differ in their last but one size only")
    # baddbmm divides while it multiplies, but knows one batch dimension only
    wide_q = _up(query).reshape(-1, q[-2], q[-1])
    wide_k = _up(key).reshape(-1, k[-2], k[-1])
    nothing = wide_q.new_zeros(())
    scores = torch.baddbmm(nothing, wide_q, wide_k.mT, beta=0, alpha=k[-1] ** -0.5)
    return scores.reshape(*q[:-1], k[-2]).to(query.dtype)


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    def numbers() -> Tensor:
        if generator is None:
            return torch.empty(pairs, d_k, dtype=torch.float32).normal_()
        blank = torch.empty(pairs, d_k, dtype=torch.float32, device=generator.device)
        return blank.normal_(generator=generator)

    scores = (_up(numbers()) * _up(numbers())).sum(dim=1)
    variance, _ = torch.var_mean(scores, correction=0)
    return variance.sqrt()
