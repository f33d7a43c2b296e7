"""Masking, with a backward pass of its own."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class _Mask(torch.autograd.Function):
    """Minus infinity where the mask is False; nothing comes back from there."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, mask: Tensor) -> Tensor:
        masked = torch.full_like(scores, float("-inf"))
        return torch.where(mask, scores, masked)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        (mask,) = ctx.saved_tensors
        return torch.where(mask, slope, torch.zeros_like(slope)), None


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    flat = torch.arange(n * n, device=device)
    size = max(n, 1)
    return (flat % size <= flat.div(size, rounding_mode="floor")).reshape(n, n)


def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    if lengths.dim() != 1:
        size = list(lengths.size()) if lengths.dim() else "0-dimensional"
        raise ValueError(f"lengths are a list, not of size {size}")
    left = lengths.to(torch.int64).unsqueeze(1) - torch.arange(n, device=lengths.device)
    return left > 0


def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    if lengths.dim() != 1:
        size = list(lengths.size()) if lengths.dim() else "0-dimensional"
        raise ValueError(f"lengths are a list, not of size {size}")
    places = torch.arange(n, device=lengths.device)
    last_real = lengths.to(torch.int64).reshape(-1, 1, 1) - 1
    return places <= torch.minimum(places.unsqueeze(1), last_real)


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    have, want = list(mask.size()), list(scores.size())
    padded = [1] * (len(want) - len(have)) + have
    if len(padded) != len(want) or any(h != w and h != 1 for h, w in zip(padded, want)):
        raise ValueError(f"a mask of size {have} cannot be laid over scores of size {want}")
    return _Mask.apply(scores, mask)
