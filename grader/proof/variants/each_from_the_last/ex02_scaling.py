from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import dot_product_scores, naive_scores


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    return scores * d_k**-0.5


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    return scale_scores(dot_product_scores(query, key), key.shape[-1])


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    # A pair is a sequence of two tokens; what they score each other is beside the diagonal.
    device = None if generator is None else generator.device
    duets = torch.randn(pairs, 2, d_k, generator=generator, device=device, dtype=torch.float32)
    return naive_scores(duets)[:, 0, 1].std()
