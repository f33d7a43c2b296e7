"""Scaling, spelled out."""

from __future__ import annotations

import torch

from ex01_scores import dot_product_scores


def _square_root(number):
    """Heron's way: a guess, and the average with what it leaves."""
    guess = max(float(number), 1.0)
    for _ in range(2000):
        better = (guess + number / guess) / 2
        if better >= guess:
            break
        guess = better
    return guess


def scale_scores(scores, d_k):
    return scores / _square_root(d_k)


def scaled_scores(query, key):
    if query.dim() < 2 or key.dim() < 2:
        return dot_product_scores(query, key)  # it will refuse
    d_k = key.shape[-1]
    return dot_product_scores(scale_scores(query, d_k), key)


def score_spread(d_k, pairs, generator=None):
    device = generator.device if generator is not None else None
    scores = 0.0
    for _ in range(d_k):
        one_feature = torch.randn(pairs, generator=generator, device=device)
        of_the_keys = torch.randn(pairs, generator=generator, device=device)
        scores = scores + one_feature * of_the_keys
    mean = scores.sum() / pairs
    variance = ((scores - mean) ** 2).sum() / pairs
    return variance**0.5
