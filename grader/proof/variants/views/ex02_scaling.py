"""Style views: the queries are scaled before the product; the experiment is one batch of 1 x 1."""

import torch

from ex01_scores import dot_product_scores


def scale_scores(scores, d_k):
    return torch.mul(scores, d_k**-0.5)


def scaled_scores(query, key):
    # half of the scale on either side
    quarter = query.shape[-1] ** -0.25
    return dot_product_scores(query * quarter, key * quarter)


def score_spread(d_k, pairs, generator=None):
    device = None if generator is None else generator.device
    numbers = torch.empty(2 * pairs * d_k, device=device).normal_(generator=generator)
    query, key = numbers.view(2, pairs, d_k).unbind(0)
    scores = torch.bmm(query.view(pairs, 1, d_k), key.view(pairs, d_k, 1))
    return scores.view(pairs).var(correction=0).sqrt()
