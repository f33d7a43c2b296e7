"""Chapter 1. Scores, the way a Java programmer would put it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor


class SizeTrouble(ValueError):
    """Thrown when sizes do not go together."""


@dataclass(frozen=True)
class Extent:
    """A tensor's name and sizes, in words."""

    name: str
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, name: str, tensor: Tensor) -> Extent:
        return cls(name, tuple(int(size) for size in tensor.shape))

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def batch(self) -> tuple[int, ...]:
        return self.sizes[:-2]

    @property
    def rows(self) -> int:
        return self.sizes[-2]

    @property
    def cols(self) -> int:
        return self.sizes[-1]

    def __str__(self) -> str:
        if self.rank == 0:
            return f"{self.name} (a lone number with 0 axes)"
        if self.rank == 1:
            return f"{self.name} (length={self.sizes[0]})"
        text = f"rows={self.rows}, cols={self.cols}"
        if self.rank > 2:
            text = f"batch={' x '.join(map(str, self.batch))}, {text}"
        return f"{self.name} ({text})"


class Inspector:
    """Collects the rules about sizes in one place."""

    @staticmethod
    def demand(holds: bool, rule: str, *extents: Extent) -> None:
        if not holds:
            raise SizeTrouble(f"{rule}; given: {'; '.join(map(str, extents))}.")

    @classmethod
    def at_least_a_matrix(cls, *extents: Extent) -> None:
        for extent in extents:
            cls.demand(extent.rank >= 2, f"{extent.name} must have rows and cols", *extents)


class Operation(ABC):
    """Template method: first validate, then compute."""

    def run(self) -> Tensor:
        self.validate()
        return self.compute()

    @abstractmethod
    def validate(self) -> None: ...

    @abstractmethod
    def compute(self) -> Tensor: ...


@dataclass
class DotProduct(Operation):
    left: Tensor
    right: Tensor

    def validate(self) -> None:
        a, b = Extent.of("a", self.left), Extent.of("b", self.right)
        Inspector.demand(a.rank == 1, "a must be a vector", a, b)
        Inspector.demand(b.rank == 1, "b must be a vector", a, b)
        Inspector.demand(a.sizes == b.sizes, "a and b must be equally long", a, b)

    def compute(self) -> Tensor:
        return torch.einsum("i,i->", self.left, self.right)


@dataclass
class AllPairs(Operation):
    """Every row of one tensor against every row of another."""

    left: Tensor
    right: Tensor
    left_name: str = "query"
    right_name: str = "key"

    def validate(self) -> None:
        a = Extent.of(self.left_name, self.left)
        b = Extent.of(self.right_name, self.right)
        Inspector.at_least_a_matrix(a, b)
        Inspector.demand(a.cols == b.cols, f"{a.name} and {b.name} must be equally wide", a, b)
        Inspector.demand(a.batch == b.batch, f"{a.name} and {b.name} must share a batch", a, b)

    def compute(self) -> Tensor:
        return torch.einsum("...id,...jd->...ij", self.left, self.right)


@dataclass
class Projection(Operation):
    """One affine map for all tokens; a subclass says which way everything stands."""

    x: Tensor
    weight: Tensor
    bias: Tensor | None
    equation: ClassVar[str] = ""

    def validate(self) -> None:
        x, weight = Extent.of("x", self.x), Extent.of("weight", self.weight)
        Inspector.at_least_a_matrix(x)
        Inspector.demand(weight.rank == 2, "weight must be one matrix", weight, x)
        Inspector.demand(
            self.width_taken(weight) == self.width_given(x),
            "weight must take numbers as wide as the tokens of x",
            weight,
            x,
        )
        if self.bias is not None:
            bias = Extent.of("bias", self.bias)
            Inspector.demand(
                bias.sizes == (self.width_made(weight),),
                f"bias must be a vector of {self.width_made(weight)} numbers",
                bias,
                weight,
            )

    def compute(self) -> Tensor:
        product = torch.einsum(self.equation, self.x, self.weight)
        return product if self.bias is None else product + self.standing_bias(self.bias)

    def width_given(self, x: Extent) -> int:
        return x.cols

    def width_taken(self, weight: Extent) -> int:
        return weight.cols

    def width_made(self, weight: Extent) -> int:
        return weight.rows

    def standing_bias(self, bias: Tensor) -> Tensor:
        return bias


class RowProjection(Projection):
    equation = "...ni,io->...no"

    def width_taken(self, weight: Extent) -> int:
        return weight.rows

    def width_made(self, weight: Extent) -> int:
        return weight.cols


class LinearProjection(Projection):
    equation = "...ni,oi->...no"


class ColumnProjection(Projection):
    equation = "...in,oi->...on"

    def width_given(self, x: Extent) -> int:
        return x.rows

    def standing_bias(self, bias: Tensor) -> Tensor:
        return bias.unsqueeze(-1)


def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    return DotProduct(a, b).run()


def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    return AllPairs(tokens, tokens, "tokens", "tokens").run()


def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    return RowProjection(x, weight, bias).run()


def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    return LinearProjection(x, weight, bias).run()


def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    return ColumnProjection(x, weight, bias).run()


def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    return AllPairs(query, key).run()
