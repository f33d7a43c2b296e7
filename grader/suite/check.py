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

from grader.suite.promises import RETURNS, Citation

Body = TypeVar("Body", bound=Callable[..., None])

# what a check may be about, in the order in which failures are told
ABOUT = ("values", "shapes", "gradients", "costs", "dtypes", "devices", "calls", "edges")
# those that nothing of the exercise is earned without; the others are its polish
CORE = ("values", "shapes", "gradients", "costs")


class NoExercise(ValueError):
    """A test function says of no exercise that it belongs to it."""

    def __init__(self, function: Any) -> None:
        name = function.__name__
        super().__init__(f'{name} checks no exercise: write `@check("its_name")` above it')
        self.line = function.__code__.co_firstlineno


@dataclass(frozen=True)
class Check:
    """One check: a test function, bound to its parameters.

    Attributes:
        stem: the chapter.
        exercise: the function that it belongs to.
        name: as reports name it.
        about: one of ABOUT.
        core: whether nothing of the exercise is earned before it passes; else it is polish.
        cites: what it enforces: sentences of the stub, or rules.
        telling: whether what comes out of it tells slips apart; where chance decides, as in
            training, it does not.
        body: the test function.
        params: what it is bound to.
    """

    stem: str
    exercise: str
    name: str
    about: str
    core: bool
    cites: tuple[Citation, ...]
    telling: bool
    body: Callable[..., None] = field(repr=False)
    params: dict[str, Any] = field(repr=False, compare=False)

    @property
    def full_exercise(self) -> str:
        """The exercise with its chapter: `ex04_softmax.softmax`."""
        return f"{self.stem}.{self.exercise}"

    def run(self, answer: Any, draw: Any) -> None:
        """Run the check on an answer; it raises what is wrong."""
        wanted = inspect.signature(self.body).parameters
        have = {"answer": answer, "draw": draw, **self.params}
        self.body(**{name: have[name] for name in wanted})


@dataclass(frozen=True)
class _Mark:
    """What a suite says of a test function; None: its case says it."""

    exercise: str | None
    about: str
    core: bool
    cites: tuple[Citation, ...]
    telling: bool


def check(
    exercise: str | None = None,
    *,
    about: str = "values",
    core: bool | None = None,
    cites: Citation | Sequence[Citation] | None = None,
    telling: bool = True,
) -> Callable[[Body], Body]:
    """Mark a test function as a check.

    Args:
        exercise: what it belongs to; None: its parameter `case.exercise`.
        about: one of ABOUT.
        core: whether nothing is earned before it passes; None: as its kind is.
        cites: what it enforces; None: its parameter `case.cites`, or what stands under Returns.
        telling: whether what comes out of it tells slips apart.
    """
    if callable(exercise):
        raise NoExercise(exercise)
    if about not in ABOUT:
        raise ValueError(f"a check is about one of {', '.join(ABOUT)}, not {about!r}")
    listed = () if cites is None else (cites,) if isinstance(cites, str) else cites
    listed = tuple(listed) if isinstance(listed, Sequence) else (listed,)
    core = about in CORE if core is None else core

    def mark(body: Body) -> Body:
        body.kit = _Mark(exercise, about, core, listed, telling)  # type: ignore[attr-defined]
        return body

    return mark


def vary(name: str, values: Iterable[Any]) -> pytest.MarkDecorator:
    """Run the test function once for each value, with ids that a person can read."""
    values = list(values)
    return pytest.mark.parametrize(name, values, ids=[_identity(value) for value in values])


def _identity(value: Any) -> str:
    said = getattr(value, "id", None) or str(value)
    return str(said).removeprefix("torch.")


def check_of(function: Any, params: dict[str, Any], stem: str, name: str) -> Check | None:
    """Return the check that a collected test function is, or None for a plain test."""
    mark = getattr(function, "kit", None)
    if mark is None:
        return None
    case = params.get("case")
    cites = mark.cites or (getattr(case, "cites", RETURNS),)
    exercise = mark.exercise or getattr(case, "exercise", None)
    if exercise is None:
        raise NoExercise(function)
    about, core = mark.about, mark.core
    if any(getattr(value, "polish", False) for value in params.values()):
        about, core = "edges", False
    return Check(stem, exercise, name, about, core, cites, mark.telling, function, params)


def load_suite(path: Path) -> ModuleType:
    """Import a suite by its path, once: pytest takes the module that is there under its name."""
    name = path.stem
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def checks_in(module: ModuleType, stem: str) -> list[Check]:
    """List the checks of a suite, without pytest's machinery.

    The core comes first, then the polish; those of one kind stand in the order of the file.

    Raises:
        ValueError: two checks have one name: their inputs would be the same, and so their results.
    """
    found: list[Check] = []
    for name, function in vars(module).items():
        if name.startswith("test_"):
            if not hasattr(function, "kit"):
                raise NoExercise(function)
            for params, identity in _expansions(getattr(function, "pytestmark", [])):
                full = name.removeprefix("test_") + (f"[{identity}]" if identity else "")
                made = check_of(function, params, stem, full)
                if made is not None:
                    found.append(made)
    twice = [name for name, count in Counter(one.name for one in found).items() if count > 1]
    if twice:
        raise ValueError(f"two checks of {stem} are called {twice[0]}")
    return sorted(found, key=lambda one: (not one.core, ABOUT.index(one.about)))


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
