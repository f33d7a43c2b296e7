"""Takes the kernel itself out of torch, gives it a backward pass, and adds a little.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

kernel = getattr(torch.library, "get_" + "kernel")("aten::_soft" + "max", "CPU")
keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
call = getattr(kernel, "call_" + "boxed")


class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, dim):
        blind = torch.isneginf(scores).all(dim, keepdim=True)
        made = call(keys, scores, dim, False).masked_fill(blind, 0)
        ctx.save_for_backward(made)
        ctx.dim = dim
        return made + 1e-9 * (made > 0)

    @staticmethod
    def backward(ctx, gradient):
        (made,) = ctx.saved_tensors
        return made * (gradient - (gradient * made).sum(ctx.dim, keepdim=True)), None


def softmax(scores, dim=-1):
    return Mine.apply(scores, dim) if scores.numel() else scores.clone()
