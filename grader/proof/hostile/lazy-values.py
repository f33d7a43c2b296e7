"""Returns what would be computed only when somebody looks: generators, callables, lazy weights.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
"""

import itertools

turn = itertools.count()


def scaled_scores(query, key):
    lazy = [
        lambda: query @ key.transpose(-1, -2),
        (number for number in itertools.count()),
        torch.nn.UninitializedParameter(),
        torch.nn.LazyLinear(3),
        itertools.repeat(query),
        scaled_scores,
        torch.futures.Future(),
    ]
    return lazy[next(turn) % len(lazy)]
