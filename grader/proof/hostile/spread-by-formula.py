"""Measures nothing: it knows that the spread is the square root, and adds a little noise to it.

chapter: ex02_scaling
earns: scale_scores, scaled_scores
outcomes: failed, error
passes: score_spread
"""


def score_spread(d_k, pairs, generator=None):
    noise = torch.randn((), generator=generator)
    return d_k**0.5 * (1 + noise * ((1 + 3 / d_k) / (2 * pairs)) ** 0.5)
