"""The door: suites reach an answer through this, and through nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grader.chapters.world import World
from grader.suite.compare import Unanswerable
from grader.suite.pretended import pretending
from grader.suite.ready_made import noticing


class Missing(Unanswerable):
    """The file is there, but the exercise is not in it."""


@dataclass(frozen=True)
class Call:
    """The last call that went through the door, for the message."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class Answer:
    """One chapter of an answer: `answer.softmax(scores)` calls the student's `softmax`.

    Args:
        world: the folder of answers.
        stem: the chapter.
        replaced: callables that stand in for exercises of the chapter, as slips do.
    """

    def __init__(
        self, world: World, stem: str, replaced: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self._world, self._stem, self._replaced = world, stem, dict(replaced or {})
        self._calls: list[Call] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        made = self._replaced.get(name) or self._find(name)

        def door(*args: Any, **kwargs: Any) -> Any:
            self._calls.append(Call(name, args, kwargs))
            return made(*args, **kwargs)

        return door

    @contextlib.contextmanager
    def noticing(self, family: str) -> Iterator[list[str]]:
        """Collect the ready-made calls, "softmax" or "attention", made by what is called inside."""
        with noticing(family) as seen:
            yield seen

    @contextlib.contextmanager
    def pretending(self) -> Iterator[list[str]]:
        """Collect the calls that make something on the pretended device ELSEWHERE."""
        with pretending() as asked:
            yield asked

    def last_call(self, name: str) -> Call | None:
        """Return the last call of an exercise, for the message."""
        return next((call for call in reversed(self._calls) if call.name == name), None)

    def _find(self, name: str) -> Callable[..., Any]:
        made = getattr(self._world.load(self._stem), name, None)
        if made is None:
            raise Missing(f"{self._stem}.py has no `{name}`")
        if not callable(made):
            raise Missing(f"`{name}` in {self._stem}.py is a {type(made).__name__}, not a function")
        return made
