"""Style views: heads are split off with tensor_split, and folded into the batch."""

import torch
from torch import nn

from ex01_scores import ShapeError, fold
from ex05_mixing import attention


def split_heads(x, n_heads):
    if x.ndim < 2:
        raise ShapeError("not a matrix of tokens", x=x)
    if n_heads < 1 or x.shape[-1] % n_heads != 0:
        raise ShapeError(f"the last dimension is not divisible by {n_heads}", x=x)
    return torch.stack(x.tensor_split(n_heads, dim=-1), dim=-3)


def merge_heads(x):
    if x.ndim < 3:
        raise ShapeError("not a stack of heads", x=x)
    *batch, n_heads, n, d_head = x.shape
    return x.movedim(-3, -2).reshape(*batch, n, n_heads * d_head)


def multi_head(query, key, value, n_heads, mask=None):
    tensors = {"query": query, "key": key, "value": value}
    if len({tensor.shape[:-2] + tensor.shape[-1:] for tensor in tensors.values()}) > 1:
        raise ShapeError("batch and width are not the same in all three", **tensors)
    if key.shape != value.shape:
        raise ShapeError("not one value per key", **tensors)
    folded = [split_heads(tensor, n_heads).flatten(0, -3) for tensor in tensors.values()]
    if mask is not None:
        pages = (*query.shape[:-1], key.shape[-2])
        try:
            mask = mask.broadcast_to(pages)
        except RuntimeError as problem:
            raise ShapeError(f"the mask does not fit the scores, {pages}", mask=mask) from problem
        mask = fold(mask).repeat_interleave(n_heads, dim=0)
    out = attention(*folded, mask).unflatten(0, (*query.shape[:-2], n_heads))
    return merge_heads(out)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"d_model, {d_model}, is not a multiple of n_heads, {n_heads}")
        self.n_heads = n_heads
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        nn.init.kaiming_normal_(self.w_o.weight, nonlinearity="linear")

    def forward(self, x, memory=None, mask=None):
        if memory is None:
            memory = x
        width = self.w_o.out_features
        if x.ndim < 2 or memory.ndim < 2 or {x.shape[-1], memory.shape[-1]} != {width}:
            raise ShapeError(f"the last dimension is not {width}", x=x, memory=memory)
        joined = multi_head(self.w_q(x), self.w_k(memory), self.w_v(memory), self.n_heads, mask)
        return self.w_o(joined)
