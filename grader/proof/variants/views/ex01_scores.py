"""Style views: batches are folded into one dimension for bmm, and unfolded again."""

import math

import torch
import torch.nn.functional as F


class ShapeError(ValueError):
    """Shapes that cannot fit."""

    def __init__(self, what, **tensors):
        sizes = ", ".join(f"{name}: {tuple(tensor.shape)}" for name, tensor in tensors.items())
        super().__init__(f"{what} [{sizes}]")


def fold(tensor):
    """Make [*batch, a, b] a stack of matrices, [prod(batch), a, b]."""
    return tensor.reshape(math.prod(tensor.shape[:-2]), *tensor.shape[-2:])


def dot_product(a, b):
    if (a.ndim, b.ndim) != (1, 1) or a.shape != b.shape:
        raise ShapeError("not two vectors of one length", a=a, b=b)
    return torch.mm(a.unsqueeze(0), b.unsqueeze(1)).squeeze()


def naive_scores(tokens):
    if tokens.ndim < 2:
        raise ShapeError("not a matrix of tokens", tokens=tokens)
    stack = fold(tokens)
    return stack.bmm(stack.permute(0, 2, 1)).reshape(*tokens.shape[:-1], tokens.shape[-2])


def project_rows(x, weight, bias=None):
    if x.ndim < 2 or weight.ndim != 2 or x.shape[-1] != weight.shape[0]:
        raise ShapeError("x W is not defined", x=x, weight=weight)
    if bias is not None and bias.shape != weight.shape[1:]:
        raise ShapeError("b is not as long as a row of W", weight=weight, bias=bias)
    return F.linear(x, weight.permute(1, 0), bias)


def project_linear(x, weight, bias=None):
    if x.ndim < 2 or weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        raise ShapeError("x W^T is not defined", x=x, weight=weight)
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ShapeError("b is not as long as a column of W", weight=weight, bias=bias)
    return F.linear(x, weight, bias)


def project_columns(x, weight, bias=None):
    if x.ndim < 2 or weight.ndim != 2 or x.shape[-2] != weight.shape[1]:
        raise ShapeError("W x is not defined", weight=weight, x=x)
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ShapeError("b is not as long as a column of W", weight=weight, bias=bias)
    stack = fold(x)
    weights = weight.expand(len(stack), -1, -1)
    out = weights.bmm(stack) if bias is None else torch.baddbmm(bias[:, None], weights, stack)
    return out.reshape(*x.shape[:-2], *out.shape[1:])


def dot_product_scores(query, key):
    if query.ndim < 2 or key.ndim < 2 or query.shape[:-2] != key.shape[:-2]:
        raise ShapeError("the batches are not the same", query=query, key=key)
    if query.shape[-1] != key.shape[-1]:
        raise ShapeError("the last dimensions are not the same", query=query, key=key)
    scores = torch.bmm(fold(query), fold(key).transpose(1, 2))
    return scores.reshape(*query.shape[:-1], key.shape[-2])
