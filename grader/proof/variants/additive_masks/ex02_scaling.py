"""Style additive masks, chapter 2: nothing to mask yet; numpy's square root for the scale."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .ex01_scores import dot_product_scores


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    return scores.div(float(np.sqrt(d_k)))


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    return scale_scores(dot_product_scores(query, key), d_k=key.shape[-1])


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    where = {} if generator is None else {"device": generator.device}
    query = torch.randn((pairs, d_k), generator=generator, dtype=torch.float64, **where)
    key = torch.randn((pairs, d_k), generator=generator, dtype=torch.float64, **where)
    scores = query.mul(key).sum(dim=1)
    return (scores.square().mean() - scores.mean().square()).sqrt()
