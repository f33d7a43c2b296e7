"""Scaling, as a JAX user would."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import vmap

from ex01_scores import dot_product, dot_product_scores


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    return scores / math.sqrt(d_k)


def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    # Scale the queries, not the scores: the product stays small on the way too.
    d_k = key.shape[-1] if key.ndim else 1
    return dot_product_scores(scale_scores(query, max(d_k, 1)), key)


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    where = {} if generator is None else {"device": generator.device}
    queries = torch.randn((pairs, d_k), generator=generator, **where)
    keys = torch.randn((pairs, d_k), generator=generator, **where)
    return torch.std(vmap(dot_product)(queries, keys))
