"""Works the weights out itself, and goes back with the ready-made gradient, under a hidden name.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

right = softmax


class Weights(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, dim):
        weights = right(scores, dim)
        ctx.dim = dim
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, slopes):
        (weights,) = ctx.saved_tensors
        made = getattr(torch, "_soft" + "max_backward_data")
        return made(slopes.contiguous(), weights, ctx.dim, weights.dtype), None


def softmax(scores, dim=-1):
    return Weights.apply(scores, dim)
