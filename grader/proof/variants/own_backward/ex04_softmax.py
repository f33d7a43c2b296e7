"""Softmax, one precision up, with a backward pass of its own."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


class _Softmax(torch.autograd.Function):
    """Over the last dimension. d w_j / d s_i = w_j (delta_ij - w_i)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor) -> Tensor:
        top, _ = scores.max(dim=-1, keepdim=True)
        top = torch.where(top == float("-inf"), torch.zeros_like(top), top)
        weights = torch.exp(scores - top)
        total = weights.sum(dim=-1, keepdim=True)
        # 1 at least where anything is left: the largest score contributes exp(0)
        return weights / total.clamp(min=1.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Tensor:  # type: ignore[override]
        (weights,) = ctx.saved_tensors
        pull = weights * slope
        return pull - weights * pull.sum(dim=-1, keepdim=True)


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    if not scores.numel():
        return torch.empty_like(scores).copy_(scores)
    half = scores.dtype in (torch.float16, torch.bfloat16)
    mps = scores.device.type == "mps"
    wide = scores.to(torch.float32 if half or mps else torch.float64)
    weights = _Softmax.apply(wide.transpose(dim, -1))
    return weights.transpose(dim, -1).to(scores.dtype)


def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    scores = scaled_scores(query, key)
    if mask is not None:
        scores = apply_mask(scores, mask)
    return softmax(scores)
