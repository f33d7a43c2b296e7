"""A submission in short, for its student: the score, the one next step, and what else is wrong."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from grader.reports.class_summary import stands_at
from grader.reports.digest import Problem, as_text, beyond, brief, counts, problems
from grader.reports.message import parts
from grader.reports.text import one_line
from grader.results import ExerciseResult, State, SubmissionResult, number

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"])")
# how many functions are told with a sentence; of the others there are too many to be read
MOST = 6
DONE = "Nothing is left to do in what was graded."


@dataclass(frozen=True)
class NextThing:
    """The one thing to do next.

    Attributes:
        name: of the function, or of a file that is not there or cannot be imported.
        chapter: where it is.
        state: how far it is.
        problem: what is wrong with it, or with what waits for it; None if it is not started.
    """

    name: str
    chapter: str
    state: State
    problem: Problem | None

    @property
    def says(self) -> str:
        """What is wrong, in a sentence; nothing if it is not started, or not to be told."""
        return sentence(self.problem) if self.problem else ""


@dataclass(frozen=True)
class InShort:
    """A submission in short.

    Attributes:
        score: points and states, in words.
        next: what to do next; None if nothing is left.
        wrong: what else is wrong by itself: a function's name, and what is wrong, in a sentence.
        waiting: functions that only wait for earlier ones.
    """

    score: str
    next: NextThing | None
    wrong: tuple[tuple[str, str], ...]
    waiting: tuple[str, ...]


def in_short(submission: SubmissionResult) -> InShort:
    """Sum up a submission that could be graded, on the device that counts."""
    device = submission.counted
    further = beyond(submission)
    said = [f"{number(submission.final):g} of {number(submission.maximum):g} points"]
    said = said if submission.of("core") or not further else []
    said += [f"{further} beyond the seven chapters"] if further else []
    step = next_thing(submission)
    left = [e for e in submission.exercises if e.state(device) == "wrong"]
    own = [e for e in left if not e.waits_for(device)]
    waits = tuple(one_line(brief(e.exercise)) for e in left if e.waits_for(device))
    wrong = [(one_line(brief(e.exercise)), sentence(_main(e, device))) for e in own]
    wrong = [one for one in wrong if step is None or one[0] != step.name]
    return InShort(f"{' and '.join(said)}: {counts(submission)}.", step, tuple(wrong), waits)


def next_thing(submission: SubmissionResult) -> NextThing | None:
    """Return where a submission stands; None if all that ran is solved, or nothing ran."""
    stands = stands_at(submission)
    if stands is None or stands[1] == "not run":
        return _lost(submission) if stands else None
    name, state = stands
    exercise = next(e for e in submission.exercises if e.exercise == name)
    problem = None if state == "not started" else _main(exercise, submission.counted)
    return NextThing(one_line(brief(name)), _chapter(name), state, problem)


def _lost(submission: SubmissionResult) -> NextThing | None:
    """Return the earlier function or file, not graded itself, that one first waits for."""
    device = submission.counted
    for exercise in submission.exercises:
        waits = exercise.waits_for(device)
        if waits:
            return NextThing(
                one_line(brief(waits[0])), _chapter(waits[0]), "wrong", _main(exercise, device)
            )
    return None


def _main(exercise: ExerciseResult, device: str) -> Problem:
    """Return what tells most of what is wrong: what is forbidden, the core's, a known slip."""

    def last(one: Problem) -> tuple[bool, ...]:
        return one.verdict != "forbidden", not one.core, one.slip is None

    return min(problems(exercise, device), key=last)


def sentence(problem: Problem) -> str:
    """Say a problem in one sentence: of the likely slip, or what was expected and what came."""
    slip = parts(problem.message).says("Likely slip")
    said = SENTENCE.split(slip, maxsplit=1)[0] if slip else problem.headline
    # the name of a function goes without its chapter, that of a file does not
    own = re.sub(r"^ex\d\d_\w+\.(?!py\b|ipynb\b)(?=\w+)", "", one_line(said))
    return own if problem.message else ""


def _chapter(name: str) -> str:
    return one_line(name.partition(".")[0])


def as_html(short: InShort) -> str:
    """Write it as a piece of HTML in ASCII, on one line and without a double quote.

    So it fits every encoding, and a cell of every CSV file.
    """
    said = [f"<p>{_escaped(short.score)}</p>"]
    if short.next is None:
        said.append(f"<p>{DONE}</p>")
    else:
        step = short.next
        what = f"{_code(step.name)} in {_escaped(step.chapter)}, {step.state}"
        said.append(f"<p><strong>Next step:</strong> {_told(what, step.says)}</p>")
    if short.wrong:
        items = "".join(f"<li>{_told(_code(name), says)}</li>" for name, says in _some(short.wrong))
        said.append(f"<p>Wrong as well:</p><ul>{items}</ul>")
    if short.waiting:
        said.append(f"<p>Waiting for earlier ones: {', '.join(map(_code, short.waiting))}</p>")
    return "".join(said)


def _some(wrong: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    yield from wrong[:MOST]
    yield from ((name, "") for name, _ in wrong[MOST:])


def _told(what: str, says: str) -> str:
    return f"{what}: {_escaped(says)}" if says else what


def _code(name: str) -> str:
    return f"<code>{_escaped(name)}</code>"


def _escaped(text: str) -> str:
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()


def as_plain_text(submission: SubmissionResult) -> str:
    """Write a submission for where no page can be shown, every message in full."""
    short = in_short(submission)
    step = short.next
    said = [short.score, DONE]
    if step is not None:
        said[1] = f"Next step: {step.name} in {step.chapter}, {step.state}"
    each = (
        (e.exercise, as_text(problems(e, *submission.devices), submission.devices))
        for e in submission.exercises
        if e.state(submission.counted) in ("wrong", "to polish")
    )
    return "\n\n".join([*said, *chain.from_iterable(each)])
