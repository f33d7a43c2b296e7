"""Chapter 3. Masks, as a small class hierarchy with a conjunction of rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class SizeTrouble(ValueError):
    """Thrown when sizes do not go together."""


def in_words(name: str, tensor: Tensor) -> str:
    if tensor.dim() == 0:
        return f"{name} has 0 axes"
    return f"{name} has {tensor.dim()} axes: {' by '.join(str(size) for size in tensor.shape)}"


class Rule(ABC):
    """Who may look at whom. Rules can be joined with &."""

    @abstractmethod
    def table(self) -> Tensor:
        """A boolean tensor that broadcasts to [batch, queries, keys]."""

    def __and__(self, other: Rule) -> Rule:
        return BothRules(self, other)


@dataclass
class BothRules(Rule):
    first: Rule
    second: Rule

    def table(self) -> Tensor:
        return self.first.table().logical_and(self.second.table())


@dataclass
class NoPeekingAhead(Rule):
    positions: int
    device: torch.device | str | None = None

    def table(self) -> Tensor:
        everything = torch.ones(
            self.positions, self.positions, dtype=torch.bool, device=self.device
        )
        return everything.tril()


class NoPadding(Rule):
    def __init__(self, lengths: Tensor, positions: int) -> None:
        if lengths.dim() != 1:
            raise SizeTrouble(
                f"lengths must be a vector, one length per sequence, but "
                f"{in_words('lengths', lengths)} (n={positions})."
            )
        self._lengths = lengths.to(torch.int64)
        self._positions = positions

    def table(self) -> Tensor:
        place = torch.arange(self._positions, device=self._lengths.device)
        return place.lt(self._lengths.view(-1, 1, 1))


@dataclass
class Curtain:
    """Draws minus infinity over the scores."""

    mask: Tensor

    def over(self, scores: Tensor) -> Tensor:
        self._check(scores)
        return scores.masked_fill(self.mask.logical_not(), float("-inf"))

    def _check(self, scores: Tensor) -> None:
        spare = scores.dim() - self.mask.dim()
        fits = spare >= 0 and all(
            mine in (1, theirs)
            for mine, theirs in zip(self.mask.shape, scores.shape[spare:], strict=True)
        )
        if not fits:
            raise SizeTrouble(
                f"The mask cannot cover the scores: {in_words('mask', self.mask)}, while "
                f"{in_words('scores', scores)}."
            )


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    return NoPeekingAhead(n, device).table()


def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    return NoPadding(lengths, n).table().squeeze(1)


def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    return (NoPadding(lengths, n) & NoPeekingAhead(n, lengths.device)).table()


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    return Curtain(mask).over(scores)
