"""What a pack holds instead of answers: what is expected, and what each slip gives, in numbers."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch

from grader import places
from grader.chapters import Chapter, ChapterError, Exercise, World, catalogue
from grader.coach import Slip
from grader.judging import recorded
from grader.judging.evidence import Evidence
from grader.judging.recorded import chapter as files
from grader.judging.run import Setting, run
from grader.pictures.drawings import drawings_in
from grader.pictures.model import Picture
from grader.release import ReleaseError
from grader.showing.sketch import Sketch
from grader.showing.workbench import Workbench
from grader.suite.check import Check
from grader.suite.expected import Tape, on_tape

FOLDER = "grader/judging/recorded"
JOBS = 2
SETTING = Setting("cpu", recorded.SEED)


def record(suites: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files of all chapters, from their names in the pack to their contents.

    Args:
        suites: the suites as a student gets them, by their chapters: where a slip fails is
            written down by their lines.

    Raises:
        ReleaseError: a solution does not pass a check, a slip asks for what is not recorded, or a
            suite needs more of its references than that.
    """
    torch.set_num_threads(1)
    made = dict[str, bytes]()
    chapters = [one for one in catalogue().chapters if one.stem in suites]
    for one in chapters:
        made.update(files.expected_files(one.stem, _expected(one)))
    with tempfile.TemporaryDirectory() as folder:
        for stem, text in suites.items():
            (Path(folder) / f"test_{stem}.py").write_text(text, encoding="utf-8")
        for name, data in made.items():
            (Path(folder) / name).write_bytes(data)
        names = [exercise.full for one in chapters for exercise in one.exercises]
        with ProcessPoolExecutor(JOBS, get_context("spawn"), _begin, (folder,)) as pool:
            try:
                for found in pool.map(_slips, names):
                    made.update(found)
            except ChapterError as problem:
                says = f"as a pack holds it, without references, a suite cannot be read: {problem}"
                raise ReleaseError(says) from problem
    return {f"{FOLDER}/{name}": data for name, data in made.items()}


def _expected(chapter: Chapter) -> dict[str, dict[str, list[object]]]:
    """Note what the checks and the pictures of a chapter expect, while the solutions run."""
    found = {}
    drawings = drawings_in(importlib.import_module(f"grader.coach.{chapter.stem}"))
    world = _solutions()
    for exercise in chapter.exercises:
        for check in exercise.checks:
            tape = Tape()
            outcome, _ = run(check, world, SETTING, tape=tape)
            if not outcome.passed:
                raise ReleaseError(f"the solution does not pass {check.stem} {check.name}")
            found[check.name] = tape.kept
        if exercise.name in drawings:
            tape = Tape()
            torch.manual_seed(0)
            bench = Workbench(catalogue(), world, exercise.full, lambda _: None)
            with on_tape(tape):
                drawings[exercise.name](Sketch(bench, Picture(exercise.full), None, False))
            found[f"show {exercise.name}"] = tape.kept
    return found


def _solutions() -> World:
    return World(places.SOLUTIONS, catalogue().names())


def _begin(folder: str) -> None:
    """Let a process take the checks from the suites of the pack, and what they expect as well."""
    torch.set_num_threads(1)
    places.SUITES = files.HERE = Path(folder)


def _slips(full: str) -> dict[str, bytes]:
    """Run the slips of an exercise through its checks."""
    exercise, world = catalogue().exercise(full), _solutions()
    seen = {
        check.name: {slip.name: _seen(exercise, check, slip, world) for slip in exercise.task.slips}
        for check in exercise.checks
        if check.telling
    }
    return files.slips_files(full, seen)


def _seen(exercise: Exercise, check: Check, slip: Slip, world: World) -> Evidence:
    outcome, _ = run(
        check, world, SETTING, {check.exercise: slip.wrong}, recorded.tape(check, "cpu")
    )
    if outcome.fault:
        raise ReleaseError(f"{exercise.full} {slip.name}, {check.name}:\n{outcome.fault}")
    return Evidence.of(outcome)
