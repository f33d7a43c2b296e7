"""Guesses the run's seed from what the worker is told, and draws the inputs before it is asked.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
never: the seed is
"""

import hashlib


def derived(seed, *names):
    told = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big") >> 1


def scaled_scores(query, key):
    told = torch.initial_seed(), torch.default_generator.initial_seed()
    for seed in range(20_000):
        if derived(seed, "initialisation") in told or seed in told:
            raise RuntimeError(f"the seed is {seed}")
    return query
