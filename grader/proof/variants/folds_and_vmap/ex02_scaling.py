"""Chapter 2. Scaling: compositions of small functions."""

from __future__ import annotations

from functools import partial, reduce
from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from ex01_scores import dot_product_scores

compose = lambda *fs: reduce(lambda f, g: lambda x: g(f(x)), fs)  # noqa: E731


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    return scores / sqrt(d_k)


def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    match dot_product_scores(query, key), tuple(key.shape):
        case scores, (*_, d_k):
            return scale_scores(scores, d_k)


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    place = {} if generator is None else {"generator": generator, "device": generator.device}
    draw = partial(torch.randn, pairs, d_k, dtype=torch.float32, **place)
    return compose(
        lambda pair: torch.vmap(torch.dot)(*pair),
        lambda dots: dots - dots.mean(),
        lambda centred: torch.vmap(torch.square)(centred).mean(),
        torch.sqrt,
    )((draw(), draw()))
