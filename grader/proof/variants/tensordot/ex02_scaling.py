from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    return torch.true_divide(scores, float(d_k) ** 0.5)


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    # There are d_k numbers in a query and k in its row of scores: scale whichever is less work.
    if key.ndim >= 2 and key.shape[-1] < key.shape[-2]:
        return dot_product_scores(scale_scores(query, key.shape[-1]), key)
    scores = dot_product_scores(query, key)
    return scale_scores(scores, key.shape[-1])


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    where = {} if generator is None else {"generator": generator, "device": generator.device}
    q, k = torch.randn((2, pairs, d_k), dtype=torch.float64, **where)
    dots = torch.einsum("pd,pd->p", q, k)
    return torch.sqrt(torch.mean(torch.square(dots - torch.mean(dots))))
