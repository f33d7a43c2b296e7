"""A case: how a function is called, at whatever sizes, and what should come out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from grader.suite.draw import Draw
from grader.suite.promises import RETURNS, Citation


@dataclass(frozen=True)
class Case:
    """Inputs for a function, and independent float64 arithmetic for what should come out.

    Attributes:
        exercise: the function's name.
        inputs: `inputs(draw, *batch, **sizes)` draws the positional arguments. A function of one
            batch dimension or none has no `*batch`; each size has a default of its own.
        expected: the same arguments, floats in float64, to the right output in float64. Its
            parameters have the names and the defaults of the stub.
        label: tells cases of one function apart.
        options: arguments of the call that are given by their names.
        batch: the batch dimensions.
        sizes: those that are not the default.
        documents: the sizes of the documents' examples of this function.
        large: the sizes at which scores of 1e4 can be drawn; None for a function without scores.
        cites: the sentence that the values of this case enforce.
        everywhere: whether special inputs matter in every dtype, for gradients and on devices, too.
    """

    exercise: str
    inputs: Callable[..., tuple[Any, ...]]
    expected: Callable[..., Tensor]
    label: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    batch: tuple[int, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    documents: tuple[Mapping[str, int], ...] = ()
    large: Mapping[str, int] | None = None
    cites: Citation = RETURNS
    everywhere: bool = False

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
        return self.inputs(draw, *self.batch, **self.sizes)

    def call(self, answer: Any, given: tuple[Any, ...]) -> Any:
        """Call the answer."""
        return getattr(answer, self.exercise)(*given, **self.options)

    def want(self, given: tuple[Any, ...]) -> Tensor:
        """Compute what should come out, from the inputs as they were rounded."""
        return self.expected(*map(exact, given), **self.options)

    def names(self) -> list[str]:
        """List the names of all arguments, in order."""
        return list(inspect.signature(self.expected).parameters)

    def named(self, given: tuple[Any, ...]) -> list[tuple[str, Any]]:
        """Pair each positional argument with its name."""
        return list(zip(self.names(), given, strict=False))


def floating(value: Any) -> bool:
    """Tell whether `value` is a tensor of floats."""
    return isinstance(value, Tensor) and value.is_floating_point()


def exact(value: Any) -> Any:
    """Return a float tensor in float64; anything else as it is."""
    return value.double() if floating(value) else value


def first_float(given: tuple[Any, ...]) -> Tensor | None:
    """Return the input whose dtype and device the output must have, if there is one."""
    return next((value for value in given if floating(value)), None)


def leaf(value: Any) -> Any:
    """Return a copy of a float tensor that collects gradients; anything else as it is."""
    return value.detach().clone().requires_grad_() if floating(value) else value
