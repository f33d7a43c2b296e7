"""Chapter 1: scores. Here too live the small validators that later chapters borrow."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

import torch
from jaxtyping import Float
from torch import Tensor


# ----------------------------------------------------------------------------- refusals


@dataclass(eq=False)
class Misfit(ValueError):
    """Something was handed in that does not fit."""

    name: str
    found: str
    wanted: str

    def __str__(self) -> str:
        return f"{self.name} is {self.found}, but {self.wanted}."


class WrongRank(Misfit):
    """Too few dimensions, or too many."""


class WrongSize(Misfit):
    """The right number of dimensions, the wrong size along one of them."""


@functools.singledispatch
def spell(thing: object) -> str:
    """Say in a word what a thing looks like."""
    return str(thing)


@spell.register(tuple)
def _(thing: tuple) -> str:
    return "x".join(map(str, thing)) or "without dimensions"


@spell.register(Tensor)
def _(thing: Tensor) -> str:
    return spell(tuple(thing.shape))


@dataclass(frozen=True, eq=False)
class Argument:
    """A named tensor that can be asked for its sizes, and refuses if it has others."""

    name: str
    tensor: Tensor

    def _wrong_rank(self, wanted: str) -> NoReturn:
        raise WrongRank(self.name, spell(self.tensor), wanted)

    def vector(self) -> int:
        match tuple(self.tensor.shape):
            case (size,):
                return size
            case _:
                self._wrong_rank("a vector is needed")

    def matrix(self) -> tuple[int, int]:
        match tuple(self.tensor.shape):
            case (rows, columns):
                return rows, columns
            case _:
                self._wrong_rank("a matrix is needed")

    def sequence(self) -> tuple[tuple[int, ...], int, int]:
        match tuple(self.tensor.shape):
            case (*batch, rows, columns):
                return tuple(batch), rows, columns
            case _:
                self._wrong_rank("at least two dimensions are needed")


def agree(what: str, *parties: tuple[str, object]) -> None:
    """Refuse unless all the parties name the same thing."""
    (first, standard), *others = parties
    for name, thing in others:
        match thing == standard:
            case False:
                raise WrongSize(
                    f"the {what} of {name}", spell(thing), f"that of {first} is {spell(standard)}"
                )


# ----------------------------------------------------------------------------- batches


def places(batch: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Walk through a batch; one without dimensions has a single place."""
    yield from itertools.product(*map(range, batch))


def for_each_sequence(work: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """Do the work on one matrix of each tensor at a time, and stack what comes out."""
    batch = tensors[0].shape[:-2]
    made = torch.stack([work(*(t[place] for t in tensors)) for place in places(batch)])
    return made.reshape(*batch, *made.shape[1:])


# ----------------------------------------------------------------------------- the exercises


def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    agree("length", ("a", Argument("a", a).vector()), ("b", Argument("b", b).vector()))
    return functools.reduce(operator.add, map(operator.mul, a.unbind(), b.unbind()))


def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    Argument("tokens", tokens).sequence()
    return for_each_sequence(lambda x: torch.stack([x @ row for row in x]), tokens)


def _check_bias(bias: Tensor | None, d_out: int) -> None:
    match bias:
        case Tensor():
            size = Argument("bias", bias).vector()
            agree("length", ("what the weight makes", d_out), ("bias", size))


def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    _, _, width = Argument("x", x).sequence()
    d_in, d_out = Argument("weight", weight).matrix()
    agree("inner size", ("x", width), ("weight", d_in))
    _check_bias(bias, d_out)

    def one(rows: Tensor) -> Tensor:
        return rows @ weight if bias is None else torch.addmm(bias, rows, weight)

    return for_each_sequence(one, x)


def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    _, _, width = Argument("x", x).sequence()
    d_out, d_in = Argument("weight", weight).matrix()
    agree("inner size", ("x", width), ("weight", d_in))
    _check_bias(bias, d_out)
    return project_rows(x, weight.mT, bias)


def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    _, height, _ = Argument("x", x).sequence()
    d_out, d_in = Argument("weight", weight).matrix()
    agree("inner size", ("x", height), ("weight", d_in))
    _check_bias(bias, d_out)
    return project_rows(x.mT, weight.mT, bias).mT


def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    query_batch, _, query_width = Argument("query", query).sequence()
    key_batch, _, key_width = Argument("key", key).sequence()
    agree("width", ("query", query_width), ("key", key_width))
    agree("batch", ("query", query_batch), ("key", key_batch))
    return for_each_sequence(lambda q, k: q @ k.mT, query, key)
