"""Chapter 4. Sharing out 1, with an accountant for each slice."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


@dataclass
class SliceAccountant:
    """Shares out 1 over one dimension of the scores."""

    scores: Tensor
    dim: int

    def shares(self) -> Tensor:
        if self.scores.numel() == 0:
            return self.scores.clone()
        claims = self._claims()
        return claims / self._purse(claims)

    def _claims(self) -> Tensor:
        """exp of the distance to the largest; nothing where there is no largest."""
        with torch.no_grad():
            top = self.scores.amax(self.dim, keepdim=True)
            top = top.masked_fill(top.isneginf(), 0.0)
        return (self.scores - top).exp()

    def _purse(self, claims: Tensor) -> Tensor:
        """What all claims come to; 1 where nobody claims anything."""
        purse = claims.sum(self.dim, keepdim=True)
        return purse.masked_fill(purse.eq(0), 1.0)


class AttentionPlan:
    """Builder: scores, then perhaps a mask, then weights."""

    def __init__(self, query: Tensor, key: Tensor) -> None:
        self._scores = scaled_scores(query, key)

    def masked_by(self, mask: Tensor | None) -> AttentionPlan:
        if mask is not None:
            self._scores = apply_mask(self._scores, mask)
        return self

    def weights(self) -> Tensor:
        return softmax(self._scores, dim=-1)


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    return SliceAccountant(scores, dim).shares()


def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    return AttentionPlan(query, key).masked_by(mask).weights()
