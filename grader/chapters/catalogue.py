"""Which chapters there are, discovered from the files; and what each exercise is worth."""

from __future__ import annotations

import difflib
import functools
import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from grader import naming, places
from grader.author_errors import ChapterError, line_of, reading
from grader.chapters.tracks import track_said
from grader.coach import Task, tasks_in
from grader.results import TRACKS, Track
from grader.suite import Case, Draw
from grader.suite.check import Check, checks_in, load_suite

TOTAL = 100
GUIDE = "grader/WRITING.md"


@dataclass(frozen=True)
class Exercise:
    """A function to write: its task as the coach knows it, and its checks."""

    stem: str
    task: Task
    points: Fraction
    checks: tuple[Check, ...]
    track: Track = "core"

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
    """All chapters, in order: the seven of the core, and what lies beyond."""

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

    def listed(self, texts: Sequence[str]) -> list[Exercise]:
        """Return the exercises that lists of names mean, such as `ex01..ex03,softmax`.

        Raises:
            LookupError: nothing is called so; the sentence names what is near.
        """
        names = [name for text in texts for name in naming.spelled_out(text, [*self.names()])]
        meant = {exercise.full for name in names for exercise in self.select(name)}
        return [exercise for exercise in self.exercises() if exercise.full in meant]


def stems() -> list[str]:
    """List the chapters that have a suite and a coach, by their files."""
    suites = {path.stem.removeprefix("test_") for path in places.SUITES.glob("test_ex*.py")}
    coaches = {path.stem for path in places.COACH.glob("ex*.py")}
    if _is_whole():
        solutions = {path.stem for path in places.SOLUTIONS.glob("ex*.py")}
        for stem in sorted(suites | coaches | solutions):
            _complete(stem)
    return sorted(suites & coaches)


def _is_whole() -> bool:
    """Tell whether this is the kit; a students' pack has neither solutions nor references."""
    return places.SUITES.parent == places.SOLUTIONS.parent and places.SOLUTIONS.is_dir()


def _complete(stem: str) -> None:
    """Demand the four files of a chapter."""
    there = [path for path in places.files_of(stem) if path.is_file()]
    if len(there) == 1:
        others = {path.stem for path in places.EXERCISES.glob("ex*.py")} - {stem}
        near = difflib.get_close_matches(stem, sorted(others), 1)
        hint = f"; is {near[0]} meant?" if near else ""
        says = f"it is there without the other three files of a chapter ({GUIDE}){hint}"
        raise ChapterError(there[0], 0, says)
    for path in places.files_of(stem):
        if path not in there:
            says = f"this file is missing: a chapter is four files ({GUIDE})"
            raise ChapterError(path, 0, says)


def catalogue(without: frozenset[str] = frozenset()) -> Catalogue:
    """Read all chapters, once.

    Args:
        without: all those beyond the seven, where nobody needs them; or none.
    """
    return _catalogue(without)


@functools.cache
def _catalogue(without: frozenset[str]) -> Catalogue:
    read = {stem: _read(stem) for stem in stems() if stem not in without}
    _refuse_a_name_twice({stem: tasks for stem, (tasks, _, _) in read.items()})
    tracks = {stem: _track(stem) for stem in read}
    weights = {
        track: sum(task.points for stem in read if tracks[stem] == track for task in read[stem][0])
        for track in TRACKS
    }
    chapters = []
    for stem, (tasks, checks, references) in read.items():
        exercises = tuple(
            Exercise(
                stem,
                task,
                Fraction(TOTAL * task.points, weights[tracks[stem]]),
                tuple(c for c in checks if c.exercise == task.name),
                tracks[stem],
            )
            for task in tasks
        )
        chapters.append(Chapter(stem, exercises, references))
    return Catalogue(tuple(chapters))


def _refuse_a_name_twice(read: dict[str, list[Task]]) -> None:
    """Refuse an exercise that is called like one of another chapter: commands go by the name."""
    first: dict[str, str] = {}
    for stem, tasks in read.items():
        for task in tasks:
            other = first.setdefault(task.name, stem)
            if other != stem:
                coach = places.COACH / f"{stem}.py"
                says = f"{other} has a `{task.name}` already: a name means one function"
                raise ChapterError(coach, line_of(coach, f'"{task.name}"'), says)


def _read(stem: str) -> tuple[list[Task], list[Check], dict[str, Any]]:
    path = suite_path(stem)
    with reading(path):
        suite = load_suite(path)
        checks = checks_in(suite, stem)
        if _is_whole():
            _draw_once(checks)
    with reading(places.COACH / f"{stem}.py"):
        tasks = tasks_in(importlib.import_module(f"grader.coach.{stem}"))
    made = {task.name: getattr(suite, task.name, None) for task in tasks}
    references = {name: one for name, one in made.items() if hasattr(one, "kit_reference")}
    _refuse_misspelt(stem, [task.name for task in tasks], checks)
    _refuse_incomplete(stem, tasks, checks, references)
    return tasks, checks, references


def _track(stem: str) -> Track:
    said = track_said(stem)
    loaded = getattr(importlib.import_module(f"grader.coach.{stem}"), "TRACK", None)
    if said not in TRACKS or loaded != said:
        coach = places.COACH / f"{stem}.py"
        what = "it does not say its track" if loaded is None else f"TRACK is {loaded!r}"
        says = f'{what}: say TRACK = "beyond", or "core" if the first hundred points are its too'
        raise ChapterError(coach, line_of(coach, "TRACK") or line_of(coach, " = Task("), says)
    return cast("Track", said)


def _draw_once(checks: list[Check]) -> None:
    """Draw what the cases are called with, so that what is wrong with it is said of its line."""
    varied = [check.params.get("case") for check in checks]
    cases = [one for case in varied for one in getattr(case, "cases", [case])]
    for case in {one.inputs: one for one in cases if isinstance(one, Case)}.values():
        case.given(Draw())


def _refuse_misspelt(stem: str, names: list[str], checks: list[Check]) -> None:
    """Refuse checks of what is no exercise, by the name that the stubs do not have."""
    suite, coach, stubs = suite_path(stem), places.COACH / f"{stem}.py", places.EXERCISES
    for check in checks:
        if check.exercise not in names:
            near = difflib.get_close_matches(check.exercise, names, 1)
            hint = f"; is {near[0]} meant?" if near else ""
            if re.search(rf"^(def|class) {check.exercise}\b", _text(stubs / f"{stem}.py"), re.M):
                line = line_of(coach, f'"{near[0]}"') if near else 0
                says = f"there is no Task for {check.exercise}, which the stubs have"
                raise ChapterError(coach, line, f"{says}{f', but {near[0]}' if near else ''}")
            says = f"{check.name} checks {check.exercise}, which the coach does not know{hint}"
            raise ChapterError(suite, line_of(suite, f'"{check.exercise}"'), says)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _refuse_incomplete(
    stem: str, tasks: list[Task], checks: list[Check], references: dict[str, Any]
) -> None:
    """Refuse an exercise that lacks what every exercise has."""
    suite, coach = suite_path(stem), places.COACH / f"{stem}.py"
    if not tasks:
        raise ChapterError(coach, 0, "it holds no Task, so the chapter has no exercise")
    for task in tasks:
        line = line_of(coach, f'"{task.name}"')
        if not any(check.core for check in checks if check.exercise == task.name):
            says = (
                f"{task.name} has no core check, so it would be solved by anything: are its cases "
                "handed to `globals().update(checks_by_law(CASES))`?"
            )
            raise ChapterError(suite, line_of(suite, f'"{task.name}"'), says)
        if task.name not in references and _is_whole():
            says = (
                f"{task.name} has no @reference, which stands in for it where a later function "
                f"fails: write `@reference` above a `{task.name}` of your own arithmetic"
            )
            raise ChapterError(suite, 0, says)
        if len(task.hints) != 3 or not all(task.hints):
            few = isinstance(task.hints, str) or len(task.hints) < 3
            says = f"{task.name} needs three hints{': is a comma missing?' if few else ''}"
            raise ChapterError(coach, line, says)
        if type(task.points) is not int or task.points < 1:
            says = f"{task.name} has to be worth a point or more, a whole number of them"
            raise ChapterError(coach, line, says)


def suite_path(stem: str) -> Path:
    """Return where a chapter's suite lies."""
    return places.SUITES / f"test_{stem}.py"
