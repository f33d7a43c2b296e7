"""Gives the right numbers with gradients of its own: wrong, NaN, missing, of another shape.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
passes: all
"""

import itertools

right = scaled_scores
turn = itertools.count()


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, query, key):
        ctx.shapes = query.shape, key.shape
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        made = [torch.zeros(shape, dtype=gradient.dtype) for shape in ctx.shapes]
        ways = (
            made, [one + float("nan") for one in made], [None, None], [made[0][:1], made[1]],
            [one.to(torch.complex128) for one in made], [one.to_sparse() for one in made],
        )  # fmt: skip
        return None, *ways[next(turn) % len(ways)]


def scaled_scores(query, key):
    with torch.no_grad():
        value = right(query, key)
    return Wrong.apply(value, query, key)
