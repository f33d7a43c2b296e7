"""What to say to somebody who asks for a hint, given how the answer fares now."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from grader.hints.ladder import Ladder, Place
from grader.reports.message import parts
from grader.results import CheckResult, ExerciseResult
from grader.trial.plan import Task

WIDTH = 88


@dataclass(frozen=True)
class Advice:
    """A hint: a title, and paragraphs with a label each."""

    title: str
    paragraphs: tuple[tuple[str, str], ...]

    def lines(self, width: int = WIDTH) -> list[str]:
        """Write it for a screen of this width."""
        said = [self.title]
        for label, text in self.paragraphs:
            words = f"{label}: {text}" if label else text
            said += ["", *textwrap.wrap(words, min(width, WIDTH), break_on_hyphens=False)]
        return said


def advise(task: Task, result: ExerciseResult | None, device: str, ladder: Ladder) -> Advice:
    """Say the next thing that helps, and remember that it was said.

    Args:
        task: the function.
        result: how the answer fares now; None if it could not be run.
        device: whose checks count.
        ladder: the memory.
    """
    title = f"{task.full}, difficulty {task.difficulty} of 5, about {task.minutes} minutes"
    place = ladder.place(task.full)
    if result is not None and result.state(device) == "solved":
        return Advice(f"{task.full} is solved: it needs no hint.", ())
    first = _first_failed(result, device)
    elsewhere = _elsewhere(task, result, device)
    if elsewhere:
        return Advice(title, (("", elsewhere),))
    if first is not None:
        slip = _slip(first, place, len(task.hints))
        if slip:
            place.slips.append(str(first.slip))
            ladder.remember(task.full, place)
            return Advice(title, slip)
    return Advice(title, tuple(_rung(task, place, ladder)))


def _first_failed(result: ExerciseResult | None, device: str) -> CheckResult | None:
    """Return the failed check to speak of: the first whose slip is recognised, or the first."""
    failed = [c for c in result.on(device) if not c.passed] if result is not None else []
    return next((check for check in failed if check.slip), failed[0] if failed else None)


def _elsewhere(task: Task, result: ExerciseResult | None, device: str) -> str:
    """Say what has to be done before a hint for this function is of any use."""
    failed = [c for c in result.on(device) if not c.passed] if result is not None else []
    if result is None or not failed:
        return ""
    waits = result.waits_for(device)
    if waits:
        ask = waits[0].split(".")[1]
        how = "" if ask == "py" else f" For a hint there: python -m grader hint {ask}"
        return f"It waits for {' and '.join(waits)}: mend that first.{how}"
    said = parts(failed[0].message).headline
    if said.startswith(f"{task.stem}.py"):
        return said
    missing = said.removeprefix(f"{task.full} is not started: ")
    if missing != said:
        return f"{missing}. To put the stub back: python -m grader reset {task.name}"
    return ""


def _slip(check: CheckResult, place: Place, rungs: int) -> tuple[tuple[str, str], ...]:
    """Speak of the slip that the answer shows, once."""
    said = parts(check.message)
    says = said.says("Likely slip")
    if not check.slip or not says or check.slip in place.slips:
        return ()
    read = said.says("Read on")
    more = [("Read on", read)] if read else []
    left = f"If that is not enough, ask again for hint {min(place.step + 1, rungs)} of {rungs}."
    return (("Your answer now", says), *more, ("", left))


def _rung(task: Task, place: Place, ladder: Ladder) -> list[tuple[str, str]]:
    """Climb one rung; from the top, see all of them again."""
    count = len(task.hints)
    if place.step >= count:
        every = [(f"hint {i} of {count}", hint) for i, hint in enumerate(task.hints, 1)]
        return [*every, ("", "There are no more. To start over: python -m grader reset "
                             f"{task.name}")]  # fmt: skip
    place.step += 1
    ladder.remember(task.full, place)
    return [(f"hint {place.step} of {count}", task.hints[place.step - 1])]
