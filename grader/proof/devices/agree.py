"""The dry run held against a real GPU: what one lets through, the other does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grader import places
from grader.chapters import Catalogue, Exercise, World
from grader.judging.outcome import Outcome
from grader.judging.run import Setting, run
from grader.proof.devices.programs import KINDS, programs
from grader.proof.figure import Figure
from grader.proof.spoils import slips_and_spoils
from grader.suite.check import Check

TITLE = "dry runs that agree with the GPU"
# a machine with one GPU forgives these: "cuda" is the GPU that the inputs are on, and what is
# slow or left behind for others still gives the right numbers
FORGIVEN = frozenset(("written", "left written", "model written", "round", "default"))
Made = tuple[World, dict[str, Callable[..., Any]]]
# what is tried, by which check, and a way to begin anew
Trial = tuple[str, Check, Callable[[], Made]]


def dry_runs_agree(known: Catalogue, here: Setting, there: Setting) -> Figure:
    """Every program, slip, spoil and variant does on the GPU as its dry run says.

    Args:
        known: the chapters.
        here: the CPU, where checks of devices are dry runs.
        there: the GPU, where they are not.
    """
    figure = Figure(TITLE)
    for exercise in known.exercises():
        for trial in trials(known, exercise, there.device):
            figure.add(agrees(trial, here, there))
    return figure


def agrees(trial: Trial, here: Setting, there: Setting) -> Figure:
    """Hold one dry run against the GPU."""
    name, check, make = trial
    figure = Figure(TITLE)
    world, replaced = make()
    dry, _ = run(check, world, here, replaced)
    world, replaced = make()
    real, _ = run(check, world, there, replaced)
    said = f"{name}, {check.name}: {dry.verdict} as a dry run, {real.verdict} on the GPU"
    figure.count(dry.passed == real.passed or _forgiven(dry) or _by_values(real), said)
    return figure


def _forgiven(dry: Outcome) -> bool:
    """Tell whether one GPU forgives it, or it is no matter of devices: inputs that were changed."""
    mistake = dry.finding.mistake if dry.finding is not None else None
    if mistake is None:
        return bool(dry.left) or _by_values(dry)
    return mistake.kind in FORGIVEN


def _by_values(outcome: Outcome) -> bool:
    """Tell whether an answer was found out by its numbers: that is for other checks to do."""
    found = outcome.finding
    return found is not None and found.mistake is None and found.kind in ("value", "plain")


def trials(known: Catalogue, exercise: Exercise, device: str) -> Iterator[Trial]:
    """Go through what there is to try of an exercise on a device."""
    checks = [check for check in exercise.checks if check.about == "devices"]
    for kind in KINDS:
        for program in programs(kind):
            if program.full == exercise.full:
                with tempfile.TemporaryDirectory() as space:
                    folder = program.folder(Path(space) / "answers")
                    yield from ((str(program), check, _of(known, folder)) for check in checks)
    for folder in places.variants(exercise.stem):
        yield from ((f"{exercise.full} {folder.name}", c, _of(known, folder)) for c in checks)
    for name, wrong in slips_and_spoils(known, exercise, device):
        make = _with(known, exercise, wrong)
        yield from ((f"{exercise.full} {name}", check, make) for check in checks)


def _of(known: Catalogue, folder: Path) -> Callable[[], Made]:
    return lambda: (World(folder, known.names()), {})


def _with(known: Catalogue, exercise: Exercise, wrong: Callable[..., Any]) -> Callable[[], Made]:
    return lambda: (World(places.SOLUTIONS, known.names()), {exercise.name: wrong})
