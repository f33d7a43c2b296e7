"""What a check is: a plain pytest function with the exercise that it belongs to."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest

Body = TypeVar("Body", bound=Callable[..., None])


@dataclass(frozen=True)
class Check:
    """One check: a test function, bound to its parameters.

    `exercise` is the function that it belongs to; `core` checks compare values, and nothing of
    the exercise is earned before all of them pass. What comes out of a check that is `telling`
    tells slips apart; where chance decides, as in training, it does not.
    """

    stem: str
    exercise: str
    name: str
    core: bool
    telling: bool
    body: Callable[..., None] = field(repr=False)
    params: dict[str, Any] = field(repr=False, compare=False)

    @property
    def full_exercise(self) -> str:
        """The exercise with its chapter: `ex04_softmax.softmax`."""
        return f"{self.stem}.{self.exercise}"

    @property
    def purpose(self) -> str:
        """The first sentence of the docstring: the mistake that the check is there to catch."""
        return " ".join((inspect.getdoc(self.body) or "").split("\n\n")[0].split())

    def run(self, answer: Any, draw: Any) -> None:
        """Run the check on an answer; it raises what is wrong."""
        wanted = inspect.signature(self.body).parameters
        have = {"answer": answer, "draw": draw, **self.params}
        self.body(**{name: have[name] for name in wanted})


def check(
    exercise: str | None = None, *, core: bool = False, telling: bool = True
) -> Callable[[Body], Body]:
    """Mark a test function as a check of `exercise`; None: of its parameter `case.exercise`."""

    def mark(body: Body) -> Body:
        body.kit = (exercise, core, telling)  # type: ignore[attr-defined]
        return body

    return mark


def vary(name: str, values: Iterable[Any]) -> pytest.MarkDecorator:
    """Run the test function once for each value, with ids that a person can read."""
    values = list(values)
    return pytest.mark.parametrize(name, values, ids=[_identity(value) for value in values])


def each(cases: Iterable[Any]) -> pytest.MarkDecorator:
    """Run the test function once for each case."""
    return vary("case", cases)


def _identity(value: Any) -> str:
    said = getattr(value, "id", None) or str(value)
    return str(said).removeprefix("torch.")


def check_of(function: Any, params: dict[str, Any], stem: str, name: str) -> Check | None:
    """Return the check that a collected test function is, or None for a plain test."""
    if not hasattr(function, "kit"):
        return None
    exercise, core, telling = function.kit
    exercise = exercise or params["case"].exercise
    return Check(stem, exercise, name, core, telling, function, params)


def load_suite(path: Path) -> ModuleType:
    """Import a suite by its path, once."""
    name = f"kit_suite_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def checks_in(module: ModuleType, stem: str) -> list[Check]:
    """List the checks of a suite in the order of the file, without pytest's machinery.

    Raises:
        ValueError: two checks have one name: their inputs would be the same, and so their results.
    """
    found: list[Check] = []
    for name, function in vars(module).items():
        if name.startswith("test_") and hasattr(function, "kit"):
            for params, identity in _expansions(getattr(function, "pytestmark", [])):
                full = name.removeprefix("test_") + (f"[{identity}]" if identity else "")
                made = check_of(function, params, stem, full)
                if made is not None:
                    found.append(made)
    twice = [name for name, count in Counter(one.name for one in found).items() if count > 1]
    if twice:
        raise ValueError(f"two checks of {stem} are called {twice[0]}")
    return found


def _expansions(marks: Sequence[pytest.Mark]) -> Iterator[tuple[dict[str, Any], str]]:
    columns = [
        [
            (mark.args[0], value, identity)
            for value, identity in zip(mark.args[1], mark.kwargs["ids"], strict=True)
        ]
        for mark in marks
        if mark.name == "parametrize"
    ]
    # the last mark varies slowest, as in pytest
    for row in itertools.product(*reversed(columns)):
        cells = list(reversed(row))
        yield (
            {name: value for name, value, _ in cells},
            "-".join(identity for *_, identity in cells),
        )
