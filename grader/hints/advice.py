"""What to say to somebody who asks for a hint, given how the answer fares now."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from grader.hints.ladder import Ladder, LadderPlace
from grader.naming import in_words
from grader.reports.board import polish
from grader.reports.message import parts
from grader.results import CheckResult, ExerciseResult
from grader.trial.plan import PlannedTask
from grader.written.source import FILE, NOTEBOOK

WIDTH = 88
LOOK = (
    "the loop around that line. Each round of a `while` has to change what its condition asks; a "
    "`for` must not lengthen the list that it goes through; a function that calls itself needs a "
    "smaller input each time, and one for which it does not call itself. Print the counter to see "
    "it stand still."
)


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


def advise(
    task: PlannedTask,
    result: ExerciseResult | None,
    device: str,
    ladder: Ladder,
    on_screen: str = "",
) -> Advice:
    """Say the next thing that helps, and remember that it was said.

    Args:
        task: the function.
        result: how the answer fares now; None if it could not be run.
        device: whose checks count.
        ladder: the memory.
        on_screen: the message that can be read already: the slip that it names is not told again.
    """
    title = f"{task.full}, difficulty {task.difficulty} of 5, about {task.minutes} minutes"
    place = ladder.place(task.full)
    if result is not None and result.state(device) == "solved":
        return Advice(f"{task.full} is solved: it needs no hint.", ())
    elsewhere = _elsewhere(task, result, device)
    if elsewhere:
        return Advice(title, (("", elsewhere),))
    is_right = result is not None and result.is_right(device)
    first = _first_failed(result, device, on_screen if is_right else "")
    if result is not None and first is not None:
        endless = _endless(first)
        told = _polish(task, result, first, device, on_screen) if is_right else _slip(first)
        mistake, key = endless or told, first.slip or first.check
        if mistake and key not in place.told:
            place.told.append(key)
            ladder.remember(task.full, place)
            # where a function was when its time was up is more than the message says
            if endless or not _is_on(on_screen, first):
                return Advice(title, (*mistake, ("", _more(place, len(task.hints)))))
    hints = _rung(task, place, ladder)
    if not hints:
        hints = [*_every(task.hints), ("", _no_more(task, is_right))]
    return Advice(title, tuple(hints))


def _first_failed(result: ExerciseResult | None, device: str, on_screen: str) -> CheckResult | None:
    """Return the failed check to speak of: the first whose slip is recognised, or the first.

    What can be read on the screen is left out, with all that fails for the same reason.
    """
    failed = [c for c in result.on(device) if not c.passed] if result is not None else []
    read = {check.slip or check.check for check in failed if _is_on(on_screen, check)}
    failed = [check for check in failed if (check.slip or check.check) not in read]
    return next((check for check in failed if check.slip), failed[0] if failed else None)


def _elsewhere(task: PlannedTask, result: ExerciseResult | None, device: str) -> str:
    """Say what has to be done before a hint for this function is of any use."""
    failed = [c for c in result.on(device) if not c.passed] if result is not None else []
    if result is None or not failed:
        return ""
    waits = result.waits_for(device)
    if waits:
        ask = waits[0].split(".")[1]
        is_file = waits[0].endswith((FILE, NOTEBOOK))
        how = "" if is_file else f" For a hint there: python -m grader hint {ask}"
        return f"It waits for {in_words(waits)}: mend that first.{how}"
    said = parts(failed[0].message).headline
    if said.startswith((task.stem + FILE, task.stem + NOTEBOOK)):
        return said
    missing = said.removeprefix(f"{task.full} is not started: ")
    if missing != said:
        return f"{missing}. To put the stub back: python -m grader reset {task.name}"
    return ""


def _slip(check: CheckResult) -> tuple[tuple[str, str], ...]:
    """Speak of the slip that the answer shows, if it has a name."""
    said = parts(check.message)
    says, read = said.says("Likely slip"), said.says("Read on")
    if not check.slip or not says:
        return ()
    return (("Your answer now", says), *([("Read on", read)] if read else []))


def _endless(check: CheckResult) -> tuple[tuple[str, str], ...]:
    """Say where a function was that did not come back, and what to look for."""
    if check.verdict != "timeout":
        return ()
    lines = [line.strip() for line in parts(check.message).body if line.strip()]
    where = "It did not come back"
    if len(lines) > 1:
        # the innermost of the student's own lines comes last, its place before it
        where = f"It never ends, or takes far too long. When its time was up it was at {lines[-2]}"
        where += f": `{lines[-1]}`"
    return ("Your answer now", f"{where}."), ("Look for", LOOK)


def _polish(
    task: PlannedTask, result: ExerciseResult, first: CheckResult, device: str, on_screen: str
) -> tuple[tuple[str, str], ...]:
    """Say what is left of a function that is right."""
    said = parts(first.message)
    titles = ("Likely slip", "The stub", "The rules", "Read on")
    advice = [(title, said.says(title)) for title in titles if said.says(title)]
    begins = "Besides what the message says" if on_screen else "The first"
    says = f"{task.name} is right, {polish(result.to_mend(device))}. {begins}:"
    return (("", says), ("", said.headline), *advice)


def _more(place: LadderPlace, rungs: int) -> str:
    """Say what comes next."""
    what = f"hint {place.step + 1} of {rungs}" if place.step < rungs else f"all {rungs} hints"
    return f"If that is not enough, ask again for {what}."


def _is_on(screen: str, check: CheckResult) -> bool:
    """Tell whether the message of a check can be read already; more may stand behind it."""
    return bool(screen) and screen.startswith(check.message)


def _rung(task: PlannedTask, place: LadderPlace, ladder: Ladder) -> list[tuple[str, str]]:
    """Climb one rung; nothing at the top."""
    if place.step >= len(task.hints):
        return []
    place.step += 1
    ladder.remember(task.full, place)
    return [_every(task.hints)[place.step - 1]]


def _every(hints: Sequence[str]) -> list[tuple[str, str]]:
    return [(f"hint {step} of {len(hints)}", hint) for step, hint in enumerate(hints, 1)]


def _no_more(task: PlannedTask, is_right: bool) -> str:
    """Say that these were all, and what else can be done."""
    if is_right:
        return f"There are no more. {task.name} is right: what is left can wait, you may go on."
    return f"There are no more. To start over: python -m grader reset {task.name}"
