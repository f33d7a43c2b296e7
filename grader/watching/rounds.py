"""Rounds of trials: what a save sets going, and what is made of what comes out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from grader.reports.board import standing
from grader.results import CheckResult, ExerciseResult
from grader.trial import Task
from grader.trial.plan import DEVICE
from grader.trial.sources import functions, touched, users
from grader.watching.runner import Ended, Runner, Tried
from grader.watching.verdict import Line, listed, more, verdict
from grader.watching.view import Show, View, What

# an editor may write a file in several goes; what comes within this time is one save
SETTLE = 0.02
# how long a trial takes before it is worth saying what is being run
SLOW = 0.5


@dataclass
class Round:
    """What is being tried.

    Attributes:
        title: how it is called on the screen.
        tasks: what is tried.
        urgent: whether somebody has saved these and waits for the verdict.
        follows: whether these are later chapters, tried because an earlier one changed.
        began: when.
        checks: what has come out so far.
        printed: what was printed in the first failing check of each.
        before: how everything fared until then.
        written: the names of the functions that the save changed.
        told: whether something of it is on the screen.
    """

    title: str
    tasks: list[Task]
    urgent: bool = False
    follows: bool = False
    began: float = field(default_factory=time.monotonic)
    checks: dict[str, list[CheckResult]] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)
    before: dict[str, ExerciseResult] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    told: bool = False

    @property
    def at(self) -> str:
        """The full name of what is being tried now."""
        names = [t.full for t in self.tasks if len(self.checks.get(t.full, ())) < len(t.checks)]
        return next(iter(names), self.tasks[-1].full)

    @property
    def stems(self) -> set[str]:
        """The chapters that are tried."""
        return {task.stem for task in self.tasks}


class Rounds:
    """Tries what was saved, then what uses it.

    Args:
        view: where the outcome is put.
        show: what shows it.
        runner: what runs the trials.
    """

    def __init__(self, view: View, show: Show, runner: Runner) -> None:
        self._view, self._show, self._runner = view, show, runner
        self._now: Round | None = None
        self._due: set[str] = set()
        self._later: set[str] = set()
        self._due_at = 0.0
        self._sources: dict[str, dict[str, str]] = {}

    def everything(self) -> None:
        """Try every chapter."""
        self._begin(Round("every chapter", list(self._view.plan.tasks)))

    def saved(self, name: str) -> None:
        """Note that a file was written, removed or renamed."""
        stem = name.removesuffix(".py")
        if stem != name and stem in self._view.plan.stems():
            self._due.add(stem)
            self._due_at = time.monotonic() + SETTLE

    def wait(self) -> float | None:
        """Return how long there is nothing to do unless something happens; None: for ever."""
        waits = [max(0.0, self._due_at - time.monotonic())] if self._due else []
        return min([*waits, SLOW] if self._now is not None else waits, default=None)

    def time_passed(self) -> None:
        """Try what was saved, if it has settled; else show what is running."""
        if self._due and time.monotonic() >= self._due_at:
            self._begin_due()
        elif self._now is not None and time.monotonic() - self._now.began >= SLOW:
            seconds = time.monotonic() - self._now.began
            self._view.running = f"running {self._now.at}, {seconds:.0f} s"
            self._view.stale = not self._now.told and not self._now.follows
            self._show.show(self._view, "progress")

    def tried(self, event: Tried) -> None:
        """Note the outcome of a check."""
        if event.number != self._runner.number or self._now is None:
            return
        task, check = event.result.task, event.result.check
        checks = self._now.checks.setdefault(task.full, [])
        checks.append(check)
        if not check.passed:
            self._now.printed.setdefault(task.full, event.result.printed)
        if self._now.urgent and not self._now.told and len(checks) == len(task.checks):
            self._tell_early(self._now, task)

    def _tell_early(self, round_: Round, task: Task) -> None:
        """Show that what was just written is wrong, while the rest of the chapter is tried."""
        result = task.result(round_.checks[task.full])
        if standing(result, DEVICE) == "wrong" and task.name in (round_.written or {task.name}):
            done = [one for one in round_.tasks if one.full in round_.checks]
            self._pronounce(replace(round_, tasks=done), "early")
            round_.told = True

    def ended(self, event: Ended) -> None:
        """Say what has come out, and go on to the chapters that use what has changed."""
        if event.number != self._runner.number or self._now is None:
            return
        done, self._now, self._view.running = self._now, None, ""
        if event.problem:
            self._view.note = event.problem
            self._show.show(self._view, "note")
            return
        if done.follows:
            self._add_lines(done)
        else:
            self._pronounce(done)
            self._follow_up(done)

    def _begin_due(self) -> None:
        stems, self._due = self._due, set()
        if self._now is not None and self._now.urgent:
            stems |= self._now.stems  # the verdict on that save has not come yet
        elif self._now is not None:
            self._later |= self._now.stems
        names = [f"{stem}.py" for stem in self._view.plan.stems() if stem in stems]
        gone = [name for name in names if not (self._view.answers / name).exists()]
        verb = "gone" if gone == names else "saved"
        title = f"{listed(names)} {verb} at {time.strftime('%H:%M:%S')}"
        self._begin(Round(title, self._tasks(stems), urgent=True))

    def _tasks(self, stems: set[str]) -> list[Task]:
        return [task for task in self._view.plan.tasks if task.stem in stems]

    def _begin(self, round_: Round) -> None:
        self._now = round_
        self._later -= round_.stems
        self._read_sources(round_)
        round_.before = dict(self._view.known.results)
        known, unsure = self._view.known.results, self._due | self._later | round_.stems
        # of the others it need not be found out again, if one of them is to blame
        sure = [t.full for t in self._view.plan.tasks if t.full in known and t.stem not in unsure]
        wrong = {full: known[full].state(DEVICE) != "solved" for full in sure}
        self._runner.start(round_.tasks, wrong, behind=round_.follows)

    def _read_sources(self, round_: Round) -> None:
        """Find out what was written since the chapters were tried last."""
        for stem in round_.stems:
            now = functions(self._view.answers / f"{stem}.py")
            if now:
                round_.written |= touched(self._sources.get(stem, now), now)
                self._sources[stem] = now

    def _know(self, done: Round) -> None:
        for task in done.tasks:
            self._view.known.results[task.full] = task.result(done.checks.get(task.full, ()))
            self._view.known.printed[task.full] = done.printed.get(task.full, "")

    def _pronounce(self, done: Round, what: What = "verdict") -> None:
        self._know(done)
        said = verdict(done.title, done.tasks, done.before, self._view.known, done.written)
        gone = [t.stem for t in done.tasks if not (self._view.answers / f"{t.stem}.py").exists()]
        back = [Line("not started", _put_back(stem)) for stem in dict.fromkeys(gone)]
        self._view.verdict = replace(said, lines=(*said.lines, *back))
        self._view.hint, self._view.note = None, ""
        self._view.whole = self._view.listing = False
        self._show.show(self._view, what)

    def _follow_up(self, done: Round) -> None:
        """Try later chapters that use one in which some check came out differently."""
        plan, known = self._view.plan, self._view.known
        changed = {
            task.stem
            for task in done.tasks
            if task.full in done.before
            and _verdicts(done.before[task.full]) != _verdicts(known.results[task.full])
        }
        using = {u for stem in changed for u in users(stem, self._view.answers, plan.stems())}
        self._later = (self._later | using) - done.stems
        if self._later:
            self._begin(Round(done.title, self._tasks(self._later), follows=True))

    def _add_lines(self, done: Round) -> None:
        self._know(done)
        said = self._view.verdict
        lines = more(done.before, self._view.known, done.tasks)
        self._view.verdict = replace(said, lines=(*said.lines, *lines))
        self._show.show(self._view, "verdict" if lines else "board")


def _put_back(stem: str) -> str:
    """Say how a chapter that is gone comes back."""
    return f"to put {stem}.py back: python -m grader reset {stem}"


def _verdicts(result: ExerciseResult) -> list[tuple[str, str]]:
    return [(check.check, check.verdict) for check in result.checks]
