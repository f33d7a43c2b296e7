"""Chapter 2. Scaling, with a Scaler and an Experiment."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ex01_scores import dot_product_scores


@dataclass(frozen=True)
class Scaler:
    """Knows the width of the keys, and what to divide by."""

    width: int

    @property
    def divisor(self) -> float:
        return math.sqrt(self.width)

    def apply(self, scores: Tensor) -> Tensor:
        return torch.div(scores, self.divisor)


class RandomSource:
    """Hides whether there is a generator of one's own."""

    def __init__(self, generator: torch.Generator | None) -> None:
        self._generator = generator

    def normals(self, *sizes: int) -> Tensor:
        if self._generator is None:
            return torch.randn(*sizes, dtype=torch.float32)
        return torch.randn(
            *sizes,
            generator=self._generator,
            device=self._generator.device,
            dtype=torch.float32,
        )


class Welford:
    """The running mean and variance of batches of numbers, after Welford and Chan."""

    def __init__(self) -> None:
        self.count = 0
        self.mean: Tensor | None = None
        self.squares: Tensor | None = None

    def take(self, numbers: Tensor) -> None:
        count, mean = numbers.numel(), numbers.mean()
        squares = (numbers - mean).square().sum()
        if self.mean is None or self.squares is None:
            self.count, self.mean, self.squares = count, mean, squares
            return
        total = self.count + count
        gap = mean - self.mean
        self.squares = self.squares + squares + gap.square() * (self.count * count / total)
        self.mean = self.mean + gap * (count / total)
        self.count = total

    def deviation(self) -> Tensor:
        assert self.squares is not None
        return (self.squares / (self.count - 1)).sqrt()


@dataclass
class SpreadExperiment:
    width: int
    pairs: int
    source: RandomSource
    at_once: int = 4096

    def run(self) -> Tensor:
        statistic, left = Welford(), self.pairs
        while left > 0:
            portion = min(left, self.at_once)
            statistic.take(self._dot_products(portion))
            left -= portion
        return statistic.deviation()

    def _dot_products(self, portion: int) -> Tensor:
        query = self.source.normals(portion, 1, self.width)
        key = self.source.normals(portion, 1, self.width)
        return dot_product_scores(query, key).flatten()


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    return Scaler(d_k).apply(scores)


def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    scores = dot_product_scores(query, key)
    return Scaler(key.size(-1)).apply(scores)


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    return SpreadExperiment(d_k, pairs, RandomSource(generator)).run()
