"""Calls what is ready-made while gradients are worked out, when nobody listens.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

right = softmax


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, dim):
        ctx.dim = dim
        weights = right(scores, dim)
        ctx.save_for_backward(scores, torch.isneginf(scores).all(dim, keepdim=True))
        return weights

    @staticmethod
    def backward(ctx, gradient):
        scores, blind = ctx.saved_tensors
        weights = torch.softmax(scores.masked_fill(blind, 0), ctx.dim).masked_fill(blind, 0)
        return weights * (gradient - (gradient * weights).sum(ctx.dim, keepdim=True)), None


def softmax(scores, dim=-1):
    return Backward.apply(scores, dim)
