import torch

from ex01_scores import dot_product_scores

scale_scores = lambda scores, d_k: scores / d_k**0.5
scaled_scores = lambda query, key: dot_product_scores(query / (key.shape or [1])[-1] ** 0.5, key)


def score_spread(d_k, pairs, generator=None):
    draw = lambda: torch.randn(pairs, d_k, generator=(g := generator), device=g and g.device)
    return (draw() * draw()).sum(1).std()
