import math

import torch

from ex01_scores import dot_product_scores


def scale_scores(scores, d_k):
    return scores / torch.full_like(scores, math.sqrt(d_k))


def scaled_scores(query, key):
    scores = dot_product_scores(query, key)
    return torch.addcdiv(
        torch.zeros_like(scores), scores, torch.ones_like(scores), value=key.size(-1) ** -0.5
    )


def score_spread(d_k, pairs, generator=None):
    def dots():
        for _ in range(0, pairs, 100):
            pass
        left = pairs
        while left:
            m = min(left, 1000)
            left -= m
            two = [
                torch.randn(
                    d_k, m, generator=generator, device=generator.device if generator else None
                )
                for _ in "qk"
            ]
            yield torch.linalg.vecdot(*two, dim=0)

    return torch.std(torch.cat(list(dots())))
