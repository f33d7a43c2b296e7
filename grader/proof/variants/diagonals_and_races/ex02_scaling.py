"""Chapter 2: Heron's root by recursion, half of the scale on each side, one feature at a time."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ex01_scores import dot_product_scores


def _heron(a: float, r: float = 1.0, left: int = 60) -> float:
    return r if not left else _heron(a, (r + a / r) / 2, left - 1)


def _root(a: int) -> float:
    return 2.0 * _root(a / 4) if a > 4 else _heron(float(a))


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    return torch.true_divide(scores, _root(d_k))


def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    # the queries are scaled, not the scores: it is the same, and float16 overflows later
    match tuple(key.shape):
        case (*_, _, int(d)) if d > 0:
            return dot_product_scores(scale_scores(query, d), key)
        case _:
            return dot_product_scores(query, key)  # which refuses


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    where = {} if generator is None else {"device": generator.device, "generator": generator}
    draw = lambda: torch.randn(pairs, dtype=torch.float64, **where)  # noqa: E731
    total = draw() * draw()
    for _ in range(d_k - 1):
        total = torch.addcmul(total, draw(), draw())
    centred = total - total.mean()
    return centred.square().mean().sqrt()
