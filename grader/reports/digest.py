"""A submission as people read it: what is wrong is told once, further checks are only named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby

from grader.reports.text import one_line, shown
from grader.results import (
    CheckResult,
    ExerciseResult,
    Run,
    State,
    SubmissionResult,
    number,
)

NOT_RUN = {
    "absent": "not run: no CUDA device here",
    "not asked": "not run: not asked for",
    "run": "not run",
}
LONGEST_REASON = 300
BECAUSE = re.compile(r"^  Because +(.+?)(?=\n  \S|\Z)", re.MULTILINE | re.DOTALL)
CHANGES = re.compile(r"-?\d[\d.e+-]*|\binf\b|\bnan\b|\[[\d, ]*\]")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an exercise.

    Attributes:
        verdict: of its checks.
        slip: the known slip that the output equals.
        message: of the first check that shows it, in full.
        checks: the names of all checks that show it.
        devices: where they show it.
        core: whether one of them is a core check.
    """

    verdict: str
    slip: str | None
    message: str
    checks: tuple[str, ...]
    devices: tuple[str, ...]
    core: bool = False

    @property
    def headline(self) -> str:
        """The first sentence of the message."""
        return headline(self.message) or self.verdict

    @property
    def repeats(self) -> str:
        """Count the further checks that show the same; nothing if there are none."""
        more = len(self.checks) - 1
        said = "1 more check shows the same" if more == 1 else f"{more} more checks show the same"
        return said if more else ""


def problems(exercise: ExerciseResult, *devices: str) -> list[Problem]:
    """List what is wrong with an exercise, the same on two devices once."""
    found: dict[tuple[object, ...], Problem] = {}
    for device in devices or _of(exercise):
        for problem in _on(exercise, device):
            key = (problem.verdict, _reason(problem.message, problem.slip), problem.checks)
            known = found.get(key)
            both = replace(known, devices=(*known.devices, device)) if known else problem
            found[key] = both
    return list(found.values())


def _of(exercise: ExerciseResult) -> tuple[str, ...]:
    return tuple(dict.fromkeys(check.device for check in exercise.checks))


def _on(exercise: ExerciseResult, device: str) -> Iterator[Problem]:
    alike: dict[tuple[str, str], list[CheckResult]] = {}
    for check in exercise.on(device):
        if not check.passed:
            key = (check.verdict, _reason(check.message, check.slip))
            alike.setdefault(key, []).append(check)
    for (verdict, _), checks in alike.items():
        names = tuple(one_line(check.check) for check in checks)
        first = checks[0]
        slip = one_line(first.slip) if first.slip else None
        core = any(check.core for check in checks)
        yield Problem(verdict, slip, shown(first.message), names, (device,), core)


def _reason(message: str, slip: str | None) -> str:
    """What makes two messages say the same: the slip, the blame, or words but not numbers."""
    if slip:
        return slip
    blame = BECAUSE.search(message)
    return blame.group(1) if blame else CHANGES.sub("#", headline(message))


def headline(message: str) -> str:
    """Return the first paragraph of a message on one line."""
    return one_line(message.strip().split("\n\n", 1)[0])


def chapters(submission: SubmissionResult) -> list[tuple[str, list[ExerciseResult]]]:
    """Group the exercises by chapter, in order."""
    grouped = groupby(submission.exercises, key=lambda exercise: exercise.stem)
    return [(stem, list(exercises)) for stem, exercises in grouped]


def score_on(run: Run, submission: SubmissionResult, device: str) -> str:
    """Say the score of a device, or why there is none."""
    score = submission.reported(device)
    if score is None:
        return not_run(run, device)
    return f"{number(score):g} of {number(submission.maximum):g} points"


def not_run(run: Run, device: str) -> str:
    """Say why there is no result of a device."""
    why = run.reasons.get(device)
    if why is None:
        return NOT_RUN[run.devices[device]]
    return f"not run: {one_line(shown(why))[:LONGEST_REASON]}"


def beyond(submission: SubmissionResult) -> str:
    """Say the score beyond the seven chapters, on the device that counts; nothing without one."""
    score = submission.beyond(submission.counted)
    possible = sum((exercise.points for exercise in submission.of("beyond")), Fraction(0))
    return "" if score is None else f"{number(score):g} of {number(possible):g} points"


def not_used(submission: SubmissionResult) -> str:
    """Name the files that have no part in the verdict; nothing if there are none."""
    return ", ".join(map(one_line, submission.unused))


def counts(submission: SubmissionResult) -> str:
    """Say how many exercises are in which state, on the device that counts."""
    states: tuple[State, ...] = ("solved", "to polish", "wrong", "not started")
    found = [(submission.count(state, submission.counted), state) for state in states]
    said = [f"{count} {state}" for count, state in found if count or state != "to polish"]
    return ", ".join(said)


def device_ready(submission: SubmissionResult) -> str:
    """Say how many functions are ready for a GPU, whether or not there is one here."""
    ready, ran = submission.device_ready
    return f"{ready} of {ran} functions"


def as_text(found: list[Problem], devices: tuple[str, ...], most: int = 5) -> str:
    """Write problems as plain text: each message in full, its repeats counted.

    Args:
        found: the problems of one exercise.
        devices: those that were run; a problem that not all of them have says where it is.
        most: how many to write in full; of the others the first sentence.
    """
    parts = []
    for place, problem in enumerate(found):
        where = "" if problem.devices == devices else f"On {' and '.join(problem.devices)}:"
        said = problem.message if place < most else problem.headline
        parts.append("\n\n".join(filter(None, (where, said, problem.repeats))))
    return "\n\n".join(parts)


def brief(name: str) -> str:
    """Name a function without its chapter, and a file as it is."""
    last = name.rpartition(".")[2]
    return name if last in ("py", "ipynb") else last
