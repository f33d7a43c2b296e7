"""Chapter 4. The weights, with the textbook's derivative written out."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


class Shares(torch.autograd.Function):
    """Shares of 1 over the last axis; w = e / sum e, dw = w (ds - sum w ds)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(s):
        top = s.amax(-1, keepdim=True)
        dead = top == -float("inf")
        e = torch.exp(s - torch.where(dead, torch.zeros_like(top), top))
        total = e.sum(-1, keepdim=True)
        return e / torch.where(dead, torch.ones_like(total), total)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        (w,) = ctx.saved_tensors
        return w * (g - (w * g).sum(-1, keepdim=True))

    @staticmethod
    def jvp(ctx, ds):
        (w,) = ctx.saved_tensors
        return w * (ds - (w * ds).sum(-1, keepdim=True))


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    if scores.numel() == 0:
        return scores.clone()
    work = torch.promote_types(scores.dtype, torch.float32)
    lined_up = scores.to(work).transpose(dim, -1)
    return Shares.apply(lined_up).transpose(dim, -1).to(scores.dtype)


def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    s = scaled_scores(query, key)
    if mask is not None:
        s = apply_mask(s, mask)
    return softmax(s, s.dim() - 1)
