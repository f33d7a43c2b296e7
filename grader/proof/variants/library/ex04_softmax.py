"""Style library: an autograd.Function with a backward pass worked out by hand."""

from __future__ import annotations

import torch
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


class _Weigh(torch.autograd.Function):
    """Softmax over the last dimension; blind rows give zeros."""

    @staticmethod
    def forward(ctx, scores: Tensor) -> Tensor:
        top = scores.max(-1, keepdim=True).values.clamp_min(torch.finfo(scores.dtype).min)
        powers = scores.sub(top).exp_()
        weights = powers.div_(powers.sum(-1, keepdim=True)).nan_to_num_(nan=0.0)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        (weights,) = ctx.saved_tensors
        pulled = weights * gradient
        return pulled - weights * pulled.sum(-1, keepdim=True)


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    if scores.numel() == 0:
        return scores.clone()
    if scores.ndim == 0:
        return _Weigh.apply(scores.unsqueeze(0)).squeeze(0)
    return _Weigh.apply(scores.swapdims(dim, -1)).swapdims(dim, -1)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = scaled_scores(query, key)
    return softmax(scores) if mask is None else softmax(apply_mask(scores, mask))
