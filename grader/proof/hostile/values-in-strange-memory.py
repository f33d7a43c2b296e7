"""Gives right numbers in strange memory: negated views, overlaps, backwards, offsets.

chapter: ex02_scaling
earns: scale_scores, scaled_scores, score_spread
outcomes: failed
"""

import itertools

turn = itertools.count()
right = scaled_scores


def scaled_scores(query, key):
    made = right(query, key)
    return (
        lambda: torch._neg_view(-made),
        lambda: made.transpose(-1, -2).contiguous().transpose(-1, -2),
        lambda: torch.stack([made, made], -1)[..., 1],
        lambda: made.flip(-1).contiguous().flip(-1),
        lambda: torch.cat([made, made], -1)[..., : made.shape[-1]],
    )[next(turn) % 5]()
