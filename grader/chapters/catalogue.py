"""Which chapters there are, discovered from the files; and what each exercise is worth."""

from __future__ import annotations

import difflib
import functools
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from grader import naming
from grader.chapters import places
from grader.coach import Task, tasks_in
from grader.suite.check import Check, checks_in, load_suite

TOTAL = 100


class ChapterError(ValueError):
    """The files of a chapter do not go together."""


@dataclass(frozen=True)
class Exercise:
    """A function to write: its task as the coach knows it, and its checks."""

    stem: str
    task: Task
    points: Fraction
    checks: tuple[Check, ...]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.task.name

    @property
    def full(self) -> str:
        """The name with its chapter: `ex04_softmax.softmax`."""
        return f"{self.stem}.{self.name}"


@dataclass(frozen=True)
class Chapter:
    """A chapter: its stem and its exercises, in teaching order."""

    stem: str
    exercises: tuple[Exercise, ...]
    references: dict[str, Any]


@dataclass(frozen=True)
class Catalogue:
    """All chapters, in order."""

    chapters: tuple[Chapter, ...]

    def exercises(self) -> Iterator[Exercise]:
        """Go through every exercise in teaching order."""
        for chapter in self.chapters:
            yield from chapter.exercises

    def names(self) -> dict[str, list[str]]:
        """Return each stem with its exercises' names."""
        return {c.stem: [exercise.name for exercise in c.exercises] for c in self.chapters}

    def exercise(self, full: str) -> Exercise:
        """Return the exercise of a full name."""
        return next(exercise for exercise in self.exercises() if exercise.full == full)

    def select(self, name: str) -> list[Exercise]:
        """Return the exercises that `name` means: a chapter, a full name or a function's name.

        Raises:
            LookupError: nothing is called so; the sentence names what is near.
        """
        meant = set(naming.select(name, self.names()))
        return [exercise for exercise in self.exercises() if exercise.full in meant]


def stems() -> list[str]:
    """List the chapters that have a suite and a coach, by their files."""
    return sorted(
        path.stem
        for path in places.COACH.glob("ex*.py")
        if (places.SUITES / f"test_{path.stem}.py").is_file()
    )


@functools.cache
def catalogue() -> Catalogue:
    """Read all chapters."""
    read = {stem: _read(stem) for stem in stems()}
    weight = sum(task.points for tasks, _, _ in read.values() for task in tasks)
    chapters = []
    for stem, (tasks, checks, references) in read.items():
        exercises = tuple(
            Exercise(
                stem,
                task,
                Fraction(TOTAL * task.points, weight),
                tuple(c for c in checks if c.exercise == task.name),
            )
            for task in tasks
        )
        chapters.append(Chapter(stem, exercises, references))
    return Catalogue(tuple(chapters))


def _read(stem: str) -> tuple[list[Task], list[Check], dict[str, Any]]:
    suite = load_suite(suite_path(stem))
    tasks = tasks_in(importlib.import_module(f"grader.coach.{stem}"))
    made = {task.name: getattr(suite, task.name, None) for task in tasks}
    references = {name: one for name, one in made.items() if hasattr(one, "kit_reference")}
    checks = checks_in(suite, stem)
    for problem in _problems([task.name for task in tasks], checks, references):
        raise ChapterError(f"tests/test_{stem}.py: {problem}")
    return tasks, checks, references


def _problems(names: list[str], checks: list[Check], references: dict[str, Any]) -> Iterator[str]:
    """Say what an author has forgotten or misspelt."""
    for check in checks:
        if check.exercise not in names:
            near = difflib.get_close_matches(check.exercise, names, 1)
            hint = f"; is {near[0]} meant?" if near else ""
            yield f"{check.name} checks {check.exercise}, which the coach does not know{hint}"
    # a students' pack has neither solutions nor references, nor have the suites that go into it
    of_the_kit = places.SUITES.parent == places.SOLUTIONS.parent and places.SOLUTIONS.is_dir()
    for name in names:
        if not any(check.core for check in checks if check.exercise == name):
            yield f"{name} has no core check, so it would be solved by anything"
        if name not in references and of_the_kit:
            yield f"{name} has no @reference, which stands in for it where a later function fails"


def suite_path(stem: str) -> Path:
    """Return where a chapter's suite lies."""
    return places.SUITES / f"test_{stem}.py"
