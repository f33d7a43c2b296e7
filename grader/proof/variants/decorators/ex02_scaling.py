"""Chapter 2: the scale is a module that remembers its width."""

from __future__ import annotations

import math

import torch
from torch import nn

from ex01_scores import dot_product_scores, fits


class Scale(nn.Module):
    """Over the root of a width."""

    def __init__(self, width):
        super().__init__()
        self.root = math.sqrt(width)

    def forward(self, scores):
        return scores.div(self.root)


@fits(scores="*b q k")
def scale_scores(scores, d_k):
    """A module, used once."""
    return Scale(d_k)(scores)


@fits(query="*b q d_k", key="*b k d_k")
def scaled_scores(query, key):
    """The queries are brought down before they meet the keys: it is the same."""
    return dot_product_scores(Scale(key.size(-1))(query), key)


def score_spread(d_k, pairs, generator=None):
    """Feature by feature: the dot products grow by one product at a time, as the proof says."""
    kind = {"device": generator.device} if generator is not None else {}
    products = torch.zeros(pairs, **kind)
    for _ in range(d_k):
        q, k = torch.randn(pairs, generator=generator, **kind), torch.randn(pairs, generator=generator, **kind)
        products = products.addcmul(q, k)
    return products.var(correction=0).sqrt()
