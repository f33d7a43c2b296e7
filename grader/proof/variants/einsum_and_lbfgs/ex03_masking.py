"""Masking, in Einstein's notation as far as it goes."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    # The identity summed down its columns: a one, once met, stays.
    return torch.eye(n, dtype=torch.int64, device=device).cumsum(dim=0).to(torch.bool)


def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    if lengths.ndim != 1:
        shape = "x".join(map(str, lengths.shape)) or "one number, 0 dimensions"
        raise ValueError(f"lengths must be a vector, but lengths is {shape}")
    lengths = lengths.to(torch.int64)
    places = torch.arange(n, device=lengths.device)
    return torch.einsum("b,j->bj", lengths, torch.ones_like(places)) > places


def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    real = padding_mask(lengths, n).to(torch.uint8)
    back = causal_mask(n, lengths.device).to(torch.uint8)
    return torch.einsum("ij,bj->bij", back, real).to(torch.bool)


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    try:
        fits = torch.broadcast_shapes(mask.shape, scores.shape) == scores.shape
    except RuntimeError:
        fits = False
    if not fits:
        small, large = ("x".join(map(str, t.shape)) or "one number" for t in (mask, scores))
        raise ValueError(f"mask is {small} and scores are {large}: it does not spread over them")
    return torch.where(mask, scores, -torch.inf)
