"""Scaling, in Einstein's notation."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    return torch.div(scores, d_k**0.5)


def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    if min(query.ndim, key.ndim) < 2:  # scale_scores below would have no size(-1) to read
        return dot_product_scores(query, key)  # which refuses
    # A fourth root on either side: half the road before the product, so that float16 has room.
    root = key.size(-1) ** 0.25
    return dot_product_scores(query / root, key / root)


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    device = None if generator is None else generator.device
    both = torch.randn(2, pairs, d_k, generator=generator, device=device)
    scores = torch.einsum("pd,pd->p", *both)
    centred = scores - torch.einsum("p->", scores) / pairs
    return torch.einsum("p,p->", centred, centred).div(pairs - 1).sqrt()
