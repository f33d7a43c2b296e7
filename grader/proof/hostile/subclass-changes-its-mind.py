"""Returns a tensor that has another shape, dtype and size each time it is asked.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed
"""

import itertools

turn = itertools.count()


class Fickle(torch.Tensor):
    @property
    def shape(self):
        return torch.Size([(5, 7), (10**9,), (-1, 3), ()][next(turn) % 4])

    @property
    def dtype(self):
        return [torch.float32, torch.bool, torch.complex128][next(turn) % 3]

    def numel(self):
        return next(turn) - 2


def scaled_scores(query, key):
    return torch.zeros(5, 7).as_subclass(Fickle)
