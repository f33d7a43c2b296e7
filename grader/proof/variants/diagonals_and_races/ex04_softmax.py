"""Chapter 4: logsumexp of shifted scores; keys ask, queries answer, and the result is turned."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


@dataclass(frozen=True)
class _Slices:
    s: Tensor
    dim: int

    @property
    def top(self) -> Tensor:
        return self.s.detach().amax(self.dim, True)

    @property
    def dead(self) -> Tensor:
        return self.top.isneginf()

    def alive(self) -> Tensor:
        dead = self.dead
        return torch.where(dead, 0.0, self.s) - torch.where(dead, 0.0, self.top)

    def weights(self) -> Tensor:
        z = self.alive()
        return torch.where(self.dead, 0.0, (z - z.logsumexp(self.dim, True)).exp())


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    if not scores.numel():
        return scores.clone()
    kind = scores.dtype
    wide = kind if kind.itemsize > 2 else torch.float32
    return _Slices(scores.to(wide), dim).weights().to(kind)


def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    s = scaled_scores(key, query).transpose(-1, -2)
    s = s if mask is None else apply_mask(s, mask)
    return softmax(s.mT, -2).mT
