"""A case: how a function is called, at whatever sizes, and what should come out."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from grader import nested
from grader.suite.draw import Draw
from grader.suite.expected import drawing, is_reference
from grader.suite.promises import RETURNS, Citation

Asking = Callable[[], tuple[Any, list[tuple[str, Tensor]]]]


@dataclass(frozen=True)
class Case:
    """Inputs for a function, and independent float64 arithmetic for what should come out.

    An input, and what comes out, may be a tensor, a number, a string, None, a model, or a tuple, a
    list or a dictionary of such, to any depth.

    Attributes:
        exercise: the function's name.
        inputs: `inputs(draw, *batch, **sizes)` draws the positional arguments. A function of one
            batch dimension or none has no `*batch`; each size has a default of its own.
        expected: a `reference`, from the same arguments, floats in float64, to the right output
            in float64. Its parameters have the names and the defaults of the stub. What it
            returns is built as the answer has to build it.
        label: tells cases of one function apart.
        options: arguments of the call that are given by their names.
        batch: the batch dimensions.
        sizes: those that are not the default.
        documents: the sizes of the documents' examples of this function.
        large: the sizes at which scores of 1e4 can be drawn; None for a function without scores.
        cites: the sentence that the values of this case enforce.
        everywhere: whether special inputs matter in every dtype, for gradients and on devices, too.
        polish: whether the inputs are of a form that is seldom met, such as a mask [k].
        dtype: of the output's floats, if it is not that of the inputs.
        slopes: whether gradients have to reach the inputs.
    """

    exercise: str
    inputs: Callable[..., tuple[Any, ...]]
    expected: Callable[..., Any]
    label: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    batch: tuple[int, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    documents: tuple[Mapping[str, int], ...] = ()
    large: Mapping[str, int] | None = None
    cites: Citation = RETURNS
    everywhere: bool = False
    polish: bool = False
    dtype: torch.dtype | None = None
    slopes: bool = True

    def __post_init__(self) -> None:
        """Refuse what would go into a students' pack as it is.

        Raises:
            ValueError: `expected` is no `reference`.
        """
        if not is_reference(self.expected):
            name = getattr(self.expected, "__name__", "that")
            raise ValueError(
                f"what {self.exercise} is expected to return is worked out by `{name}`, which is "
                "no @reference, so a students' pack would hold it: write `@reference` above the "
                "function itself, inside another function, too, and above each that it calls"
            )

    @property
    def id(self) -> str:
        """The case as it stands in a test's name."""
        return f"{self.exercise}-{self.label}" if self.label else self.exercise

    @functools.cached_property
    def dimensions(self) -> dict[str, int]:
        """The sizes that can be chosen, with their defaults."""
        known = inspect.signature(self.inputs).parameters.values()
        return {one.name: one.default for one in known if one.kind is one.KEYWORD_ONLY}

    @functools.cached_property
    def takes_batches(self) -> bool:
        """Whether the function takes any number of batch dimensions."""
        known = inspect.signature(self.inputs).parameters.values()
        return any(one.kind is one.VAR_POSITIONAL for one in known)

    def at(self, *batch: int, **sizes: int) -> Case:
        """Return the same case at other sizes."""
        said = [*map(str, batch), *(f"{name}={size}" for name, size in sizes.items())]
        label = ", ".join(filter(None, [self.label, *said]))
        return replace(self, batch=batch, sizes={**self.sizes, **sizes}, label=label)

    def given(self, draw: Draw) -> tuple[Any, ...]:
        """Draw the positional arguments."""
        with drawing():
            return self.inputs(draw, *self.batch, **self.sizes)

    def callee(self, answer: Any, given: tuple[Any, ...]) -> Callable[..., Any]:  # noqa: ARG002
        """Return what is called."""
        made: Callable[..., Any] = getattr(answer, self.exercise)
        return made

    def arguments(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return those of the drawn values that it is called with."""
        return given

    def parameters(self) -> dict[str, Any]:
        """Return the names of its parameters, with their defaults."""
        known = inspect.signature(self.expected).parameters
        return {name: one.default for name, one in known.items()}

    def call(self, answer: Any, given: tuple[Any, ...]) -> Any:
        """Call the answer."""
        return self.callee(answer, given)(*self.arguments(given), **self.options)

    def ask(self, answer: Any, given: tuple[Any, ...]) -> tuple[Any, list[tuple[str, Tensor]]]:
        """Call the answer; return the tensors that gradients arrive at with it, by their names."""
        return self.call(answer, given), self.tensors(given) if self.slopes else []

    def asking(self, answer: Any, given: tuple[Any, ...]) -> Asking:
        """Do what comes before a call that is to be counted; return what makes it."""
        return functools.partial(self.ask, answer, given)

    def want(self, given: tuple[Any, ...]) -> Any:
        """Compute what should come out, from the inputs as they were rounded."""
        return self.worked_out(tuple(map(exact, given)))

    def worked_out(self, exactly: tuple[Any, ...]) -> Any:
        """Compute it from inputs that are in float64 already."""
        return self.expected(*exactly, **self.options)

    def like(self, given: tuple[Any, ...], want: Any) -> Tensor | None:
        """Return what the output's floats must be like; None: like what should come out."""
        floats = [one for one in nested.flat(want) if floating(one)]
        found = first_float(given) if floats else None
        if self.dtype is None or not floats:
            return found
        return (floats[0] if found is None else found).new_empty(0).to(self.dtype)

    def twins(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Copy the inputs, so that gradients are collected for what is expected of them."""
        return tuple(map(leaf if self.slopes else copied, given))

    def tensors(self, given: tuple[Any, ...]) -> list[tuple[str, Tensor]]:
        """List the tensors of floats among the inputs, a model's weights with them."""
        return [found for name, value in self.named(given) for found in floats_in(value, name)]

    def names(self) -> list[str]:
        """List the names of all arguments, in order."""
        return list(self.parameters())

    def named(self, given: tuple[Any, ...]) -> list[tuple[str, Any]]:
        """Pair each positional argument with its name."""
        return list(zip(self.names(), given, strict=False))


def floating(value: Any) -> bool:
    """Tell whether `value` is a tensor of floats."""
    return isinstance(value, Tensor) and value.is_floating_point()


def exact(value: Any) -> Any:
    """Return a copy with float tensors in float64, and models too; anything else as it is."""
    return nested.mapped(_exactly, value)


def _exactly(value: Any) -> Any:
    if isinstance(value, nn.Module):
        return copy.deepcopy(value).double()
    return value.double() if floating(value) else value


def floats_in(value: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    """Go through the tensors of floats in a value, with their names: `state[0]`, `model.weight`."""
    for path, one in nested.leaves(value):
        where = name + nested.written(path)
        if isinstance(one, nn.Module):
            yield from ((f"{where}.{weight}", w) for weight, w in one.named_parameters())
        elif floating(one):
            yield where, one


def first_float(given: tuple[Any, ...]) -> Tensor | None:
    """Return the input whose dtype and device the output must have, if there is one."""
    return next((value for _, value in floats_in(given, "")), None)


def leaf(value: Any) -> Any:
    """Return a copy whose float tensors collect gradients; anything else as it is."""
    return nested.mapped(_leaf, value)


def _leaf(value: Any) -> Any:
    return value.detach().clone().requires_grad_() if floating(value) else value


def copied(value: Any) -> Any:
    """Return a copy of tensors and models that nothing can change from outside."""
    return nested.mapped(_copy, value)


def _copy(value: Any) -> Any:
    if isinstance(value, nn.Module):
        return copy.deepcopy(value)
    return value.detach().clone() if isinstance(value, Tensor) else value
