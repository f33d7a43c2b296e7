from __future__ import annotations

import math

import torch
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


class _Weights(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores: Tensor, dim: int) -> Tensor:
        wide = scores.double().movedim(dim, 0)
        top = torch.full_like(wide[0], -math.inf)
        total = torch.zeros_like(top)
        for row in wide:  # a running softmax
            new = torch.maximum(top, row)
            safe = torch.where(new.isneginf(), 0.0, new)
            total = total * torch.exp(top - safe) + torch.exp(row - safe)
            top = new
        safe = torch.where(top.isneginf(), 0.0, top)
        out = torch.exp(wide - safe) / torch.where(total == 0, 1.0, total)
        ctx.dim, ctx.kind = dim, scores.dtype
        ctx.save_for_backward(out)
        return out.movedim(0, dim).to(scores.dtype)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (out,) = ctx.saved_tensors
        g = grad.double().movedim(ctx.dim, 0)
        return (out * (g - (out * g).sum(0))).movedim(0, ctx.dim).to(ctx.kind), None


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    return _Weights.apply(scores, dim) if scores.numel() else torch.empty_like(scores)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = scaled_scores(query.double(), key.double())
    mask = scores.new_ones((), dtype=torch.bool) if mask is None else mask
    return softmax(apply_mask(scores, mask)).to(query.dtype)
