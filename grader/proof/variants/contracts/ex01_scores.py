"""Scores. The refusals are objects, and a contract holds them up before a function."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


@dataclass(frozen=True)
class Sized:
    """An argument's name with its sizes: "query is 2×5×3"."""

    name: str
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, name: str, tensor: Tensor) -> Sized:
        return cls(name, tuple(tensor.shape))

    def __str__(self) -> str:
        match self.sizes:
            case ():
                return f"{self.name} is 0-dimensional"
            case (length,):
                return f"{self.name} is a vector of {length}"
            case sizes:
                return f"{self.name} is {'×'.join(map(str, sizes))}"


class Rule(ABC):
    """Something that the tensors of a call have to keep."""

    wish: ClassVar[str] = "must fit"

    @abstractmethod
    def holds(self, given: Mapping[str, Sized]) -> bool: ...

    @abstractmethod
    def about(self) -> tuple[str, ...]: ...

    def enforce(self, given: Mapping[str, Sized]) -> None:
        if not self.holds(given):
            named = [str(given[name]) for name in self.about() if name in given]
            raise ValueError(f"{', '.join(named)}: {self.wish}")


@dataclass(frozen=True)
class Dimensions(Rule):
    name: str
    least: int
    most: float = float("inf")

    @property
    def wish(self) -> str:  # type: ignore[override]
        return f"wanted are {self.least}{'' if self.most == self.least else ' or more'} dimensions"

    def about(self) -> tuple[str, ...]:
        return (self.name,)

    def holds(self, given: Mapping[str, Sized]) -> bool:
        if self.name not in given:
            return True
        return self.least <= len(given[self.name].sizes) <= self.most


def Vector(name: str) -> Dimensions:
    return Dimensions(name, 1, 1)


def Matrix(name: str) -> Dimensions:
    return Dimensions(name, 2, 2)


def Rows(name: str) -> Dimensions:
    return Dimensions(name, 2)


class Same(Rule):
    """Same("width", query=-1, key=-1): these places hold the same; a slice compares several."""

    def __init__(self, what: str, **places: int | slice) -> None:
        self.wish = f"these differ in their {what}"  # type: ignore[misc]
        self.places = places

    def about(self) -> tuple[str, ...]:
        return tuple(self.places)

    def holds(self, given: Mapping[str, Sized]) -> bool:
        return 1 >= len(
            {given[name].sizes[place] for name, place in self.places.items() if name in given}
        )


BATCH = slice(None, -2)


def contract(*rules: Rule) -> Callable[[AnyFunction], AnyFunction]:
    """Check the rules, in their order, before the function runs."""

    def decorate(function: AnyFunction) -> AnyFunction:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            arguments = signature.bind(*args, **kwargs).arguments
            given = {
                name: Sized.of(name, value)
                for name, value in arguments.items()
                if isinstance(value, Tensor)
            }
            for rule in rules:
                rule.enforce(given)
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


@dataclass(frozen=True)
class Affine:
    """A map of tokens. The matrix is [d_in, d_out], wherever it came from."""

    matrix: Tensor
    shift: Tensor | None

    def __call__(self, rows: Tensor) -> Tensor:
        match self.shift:
            case None:
                return torch.matmul(rows, self.matrix)
            case shift:
                return torch.matmul(rows, self.matrix).add(shift)


@contract(Vector("a"), Vector("b"), Same("length", a=0, b=0))
def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    return torch.inner(a, b)


@contract(Rows("tokens"))
def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    return tokens.matmul(tokens.transpose(-1, -2))


@contract(
    Rows("x"),
    Matrix("weight"),
    Same("d_in", x=-1, weight=0),
    Vector("bias"),
    Same("d_out", weight=1, bias=0),
)
def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    return Affine(weight, bias)(x)


@contract(
    Rows("x"),
    Matrix("weight"),
    Same("d_in", x=-1, weight=1),
    Vector("bias"),
    Same("d_out", weight=0, bias=0),
)
def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    return Affine(weight.t(), bias)(x)


@contract(
    Rows("x"),
    Matrix("weight"),
    Same("d_in", x=-2, weight=1),
    Vector("bias"),
    Same("d_out", weight=0, bias=0),
)
def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    return Affine(weight.t(), bias)(x.transpose(-1, -2)).transpose(-1, -2)


@contract(
    Rows("query"),
    Rows("key"),
    Same("width", query=-1, key=-1),
    Same("batch", query=BATCH, key=BATCH),
)
def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    return query.matmul(key.transpose(-1, -2))
