"""The dry run held against a real GPU: what one lets through, the other does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from grader.chapters import Catalogue, Exercise, World, places
from grader.judging.outcome import Outcome
from grader.judging.run import Setting, run
from grader.proof.devices.programs import KINDS, programs
from grader.proof.figure import Figure
from grader.proof.spoils import slips_and_spoils
from grader.suite.check import Check

# a machine with one GPU forgives these: "cuda" is the GPU that the inputs are on, and what is
# slow or left behind for others still gives the right numbers
FORGIVEN = frozenset(("written", "left written", "model written", "round", "default"))
Replaced = dict[str, Callable[..., Any]]
Trial = tuple[str, Check, Callable[[], tuple[World, Replaced]]]


def dry_runs_agree(
    known: Catalogue, here: Setting, there: Setting, chosen: Collection[str] | None = None
) -> Figure:
    """Every program, slip, spoil and variant does on the GPU as its dry run says.

    Args:
        known: the chapters.
        here: the CPU, where checks of devices are dry runs.
        there: the GPU, where they are not.
        chosen: exercises, by their full names; None for all.
    """
    figure = Figure("dry runs that agree with the GPU")
    for name, check, make in _trials(known):
        if chosen is not None and f"{check.stem}.{check.exercise}" not in chosen:
            continue
        world, replaced = make()
        dry, _ = run(check, world, here, replaced)
        world, replaced = make()
        real, _ = run(check, world, there, replaced)
        said = f"{name}, {check.name}: {dry.verdict} as a dry run, {real.verdict} on the GPU"
        figure.count(dry.passed == real.passed or _forgiven(dry), said)
    return figure


def _forgiven(dry: Outcome) -> bool:
    mistake = dry.finding.mistake if dry.finding is not None else None
    return mistake is not None and mistake.kind in FORGIVEN


def _trials(known: Catalogue) -> Iterator[Trial]:
    """Go through what there is to try, each check of devices of it with a way to begin anew."""
    yield from _of_programs(known)
    for folder in sorted(places.VARIANTS.glob("[a-z]*")):
        for exercise in known.exercises():
            if (folder / f"{exercise.stem}.py").is_file():
                yield from _of_folder(known, exercise, folder, folder.name)
    for exercise in known.exercises():
        for name, wrong in slips_and_spoils(known, exercise):
            for check in _checks(exercise):
                yield f"{exercise.full} {name}", check, _with(known, exercise, wrong)


def _of_programs(known: Catalogue) -> Iterator[Trial]:
    for kind in KINDS:
        for program in programs(kind):
            with tempfile.TemporaryDirectory() as space:
                folder = program.folder(Path(space) / "answers")
                exercise = known.exercise(program.full)
                yield from _of_folder(known, exercise, folder, str(program))


def _of_folder(known: Catalogue, exercise: Exercise, folder: Path, name: str) -> Iterator[Trial]:
    for check in _checks(exercise):
        yield name, check, lambda: (World(folder, known.names()), {})


def _with(
    known: Catalogue, exercise: Exercise, wrong: Callable[..., Any]
) -> Callable[[], tuple[World, Replaced]]:
    return lambda: (World(places.SOLUTIONS, known.names()), {exercise.name: wrong})


def _checks(exercise: Exercise) -> list[Check]:
    return [check for check in exercise.checks if check.about == "devices"]
