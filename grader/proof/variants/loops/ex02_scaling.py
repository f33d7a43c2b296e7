"""Style loops: scores are scaled row by row, the experiment goes feature by feature."""

import math

import torch

from ex01_scores import dot_product_scores, stacked


def scale_scores(scores, d_k):
    if scores.dim() > 1:
        return stacked([scale_scores(part, d_k) for part in scores], [scores], *scores.shape)
    return scores / math.sqrt(d_k)


def scaled_scores(query, key):
    scores = dot_product_scores(query, key)
    return scale_scores(scores, key.size(-1))


def score_spread(d_k, pairs, generator=None):
    device = "cpu" if generator is None else generator.device
    if generator is None:
        device = torch.get_default_device()
    products = torch.zeros(pairs, device=device)
    for _ in range(d_k):
        of_query = torch.randn(pairs, generator=generator, device=device)
        of_key = torch.randn(pairs, generator=generator, device=device)
        products += of_query * of_key
    mean = sum(products.tolist()) / pairs
    square = 0.0
    for product in products.tolist():
        square += (product - mean) ** 2
    return torch.tensor(math.sqrt(square / (pairs - 1)), device=device)
