"""Masking. Masks are objects that know how to draw themselves, and & joins two of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ex01_scores import Sized, Vector, contract


class Mask(ABC):
    """A yes-or-no question about a query's place and a key's place."""

    n: int

    @abstractmethod
    def draw(self) -> Tensor: ...

    def __and__(self, other: Mask) -> Mask:
        return Both(self, other)


@dataclass(frozen=True)
class Causal(Mask):
    n: int
    device: torch.device | str | None = None

    def draw(self) -> Tensor:
        ahead = torch.ones(self.n, self.n, device=self.device).triu(diagonal=1)
        return ahead.eq(0)


@dataclass(frozen=True)
class Padding(Mask):
    lengths: Tensor
    n: int

    def draw(self) -> Tensor:
        places = torch.arange(self.n, device=self.lengths.device).expand(len(self.lengths), self.n)
        return places.lt(self.lengths.long().unsqueeze(1))

    def for_queries(self) -> Tensor:
        return self.draw().unsqueeze(1)


@dataclass(frozen=True)
class Both(Mask):
    left: Mask
    right: Mask

    def draw(self) -> Tensor:
        match self.left, self.right:
            case (Causal() as causal, Padding() as padding) | (
                Padding() as padding,
                Causal() as causal,
            ):
                return causal.draw().logical_and(padding.for_queries())
            case left, right:
                return left.draw().logical_and(right.draw())


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    return Causal(n, device).draw()


@contract(Vector("lengths"))
def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    return Padding(lengths, n).draw()


@contract(Vector("lengths"))
def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    return (Causal(n, lengths.device) & Padding(lengths, n)).draw()


def require_broadcast(mask: Tensor, shape: tuple[int, ...], owner: str = "scores") -> None:
    """Refuse a mask that would have to shrink, or to stretch the scores, to meet `shape`."""

    def reaches(mask_sizes: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
        match mask_sizes, sizes:
            case (), _:
                return True
            case _, ():
                return False
            case (*mask_lead, m), (*lead, s):
                return m in (1, s) and reaches(tuple(mask_lead), tuple(lead))
        raise AssertionError

    if not reaches(tuple(mask.shape), tuple(shape)):
        raise ValueError(f"{Sized.of('mask', mask)}, but {Sized(owner, tuple(shape))}")


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    require_broadcast(mask, tuple(scores.shape))
    return scores.masked_fill(mask.logical_not(), float("-inf"))
