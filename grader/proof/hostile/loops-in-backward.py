"""Gives the right numbers, and loops for ever when gradients are asked for.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: timeout
passes: all
"""

import time

right = scaled_scores


class Forever(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass


def scaled_scores(query, key):
    return Forever.apply(right(query, key))
