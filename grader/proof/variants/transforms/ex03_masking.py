"""Masking, as a JAX user would: predicates on indices, lifted."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.func import vmap

from ex01_scores import named, require


def _sees(i: Tensor, j: Tensor) -> Tensor:
    return j <= i


def _is_real(length: Tensor, j: Tensor) -> Tensor:
    return j < length


def _require_vector(lengths: Tensor) -> Tensor:
    shape = named(lengths, *(f"dim_{i}" for i in range(lengths.ndim))) or "ndim=0"
    require(lengths.ndim == 1, "lengths is not a vector", f"lengths has {shape}")
    return lengths.to(torch.long)


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    index = torch.arange(n, device=device)
    return vmap(vmap(_sees, in_dims=(None, 0)), in_dims=(0, None))(index, index)


def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    lengths = _require_vector(lengths)
    index = torch.arange(n, device=lengths.device)
    return vmap(vmap(_is_real, in_dims=(None, 0)), in_dims=(0, None))(lengths, index)


def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    lengths = _require_vector(lengths)
    index = torch.arange(n, device=lengths.device)

    def cell(length: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.logical_and(_sees(i, j), _is_real(length, j))

    over_keys = vmap(cell, in_dims=(None, None, 0))
    over_queries = vmap(over_keys, in_dims=(None, 0, None))
    return vmap(over_queries, in_dims=(0, None, None))(lengths, index, index)


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    lead = scores.ndim - mask.ndim
    fits = lead >= 0 and all(
        m in (1, s) for m, s in zip(mask.shape, scores.shape[max(lead, 0) :], strict=False)
    )
    shapes = ("*".join(map(str, t.shape)) or "ndim 0" for t in (mask, scores))
    require(fits, "mask does not broadcast to the scores", *map("shape={}".format, shapes))
    return torch.where(mask.expand(scores.shape), scores, torch.full_like(scores, -torch.inf))
