"""Style float64 inside: the scale is a tensor, its root taken by torch.sqrt."""

import torch

from ex01_scores import dot_product_scores


def scale_scores(scores, d_k):
    root = torch.sqrt(torch.tensor(d_k, dtype=torch.float64, device=scores.device))
    return (scores.double() / root).to(scores.dtype)


def scaled_scores(query, key):
    scores = dot_product_scores(query.double(), key.double())
    return scale_scores(scores, query.shape[-1]).to(query.dtype)


def score_spread(d_k, pairs, generator=None):
    if generator is None:
        query = torch.randn(pairs, d_k)
        key = torch.randn(pairs, d_k)
    else:
        query = torch.randn(pairs, d_k, generator=generator, device=generator.device)
        key = torch.randn(pairs, d_k, generator=generator, device=generator.device)
    scores = torch.linalg.vecdot(query.double(), key.double())
    return torch.std(scores, unbiased=False)
