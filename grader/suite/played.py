"""A case of calls that belong together, such as those of an object that keeps something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from grader import nested
from grader.suite.case import Asking, Case


def nothing_before(answer: Any, *given: Any) -> tuple[Any, ...]:  # noqa: ARG001
    """Hand on what was drawn."""
    return given


def as_it_came(value: Any) -> Any:
    """Copy what a call gave: a view shows what is written later, unless it was sent."""
    return nested.mapped(_still, value)


def _still(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    made = value.detach().clone()
    if hasattr(value, "kit_place"):
        made.kit_place = value.kit_place  # type: ignore[attr-defined]
    return made


@dataclass(frozen=True)
class Played(Case):
    """Several calls, one after the other; what comes out is what `play` returns.

    Attributes:
        play: `play(answer, *given)` makes the calls.
        before: `before(answer, *given)` makes those that come before; a promise of cost does not
            count them. It returns what `play` is given.
    """

    play: Callable[..., Any] = nothing_before
    before: Callable[..., tuple[Any, ...]] = nothing_before

    def callee(self, answer: Any, given: tuple[Any, ...]) -> Callable[..., Any]:  # noqa: ARG002
        """Return what plays."""
        return lambda *handed: self.play(answer, *self.before(answer, *handed))

    def asking(self, answer: Any, given: tuple[Any, ...]) -> Asking:
        """Make the calls that come before."""
        ready = self.before(answer, *given)

        def asks() -> tuple[Any, list[tuple[str, Tensor]]]:
            return self.play(answer, *ready), []

        return asks
