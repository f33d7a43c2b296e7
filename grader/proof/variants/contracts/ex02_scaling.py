"""Scaling. A scale is an object, and so is an experiment."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from ex01_scores import BATCH, Rows, Same, contract, dot_product_scores


@dataclass(frozen=True)
class Scale:
    d_k: int
    root: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self.d_k**0.5)

    def __call__(self, scores: Tensor) -> Tensor:
        return torch.true_divide(scores, self.root)


@dataclass
class Experiment:
    """Queries and keys, drawn in one go from one generator."""

    d_k: int
    pairs: int
    generator: torch.Generator | None

    def draw(self) -> tuple[Tensor, Tensor]:
        match self.generator:
            case None:
                numbers = torch.randn(self.pairs, 2 * self.d_k)
            case generator:
                numbers = torch.randn(
                    self.pairs, 2 * self.d_k, generator=generator, device=generator.device
                )
        first, second = numbers.chunk(2, dim=1)
        return first, second

    def measure(self) -> Tensor:
        query, key = self.draw()
        return torch.linalg.vecdot(query, key).var(correction=1).sqrt()


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    return Scale(d_k)(scores)


@contract(
    Rows("query"),
    Rows("key"),
    Same("width", query=-1, key=-1),
    Same("batch", query=BATCH, key=BATCH),
)
def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    # On the smaller side, before the product: no overflow in float16 on the way.
    return dot_product_scores(query, Scale(d_k=key.size(-1))(key))


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    return Experiment(d_k, pairs, generator).measure()
