"""Rounds of trials: what a save sets going, and what is made of what comes out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from grader.naming import in_words
from grader.reports.board import standing
from grader.results import CheckResult, ExerciseResult
from grader.trial import PlannedTask
from grader.trial.plan import DEVICE
from grader.trial.sources import functions, touched, users
from grader.watching.runner import Runner, TrialEnded, Tried
from grader.watching.texts import Texts, size
from grader.watching.verdict import StandingLine, more, verdict
from grader.watching.view import Show, View, What
from grader.written.source import FILE, NOTEBOOK

# an editor may write a file in several goes; what comes within this time is one save
SETTLE = 0.02
# as long may a file be empty, or gone, that an editor empties or moves before it writes it anew
EMPTY = 0.3
# who saves the same once more, and not an editor in its second go, is told so
ONCE_MORE = 1.0
# how long a trial takes before it is worth saying what is being run
SLOW = 0.5


@dataclass
class Round:
    """What is being tried.

    Attributes:
        title: how it is called on the screen.
        tasks: what is tried.
        urgent: whether somebody has saved these and waits for the verdict.
        saved: the names of the files that were saved.
        follows: whether these are later chapters, tried because an earlier one changed.
        began: when.
        checks: what has come out so far.
        printed: what was printed in the first failing check of each.
        before: how everything fared until then.
        written: the names of the functions that the save changed.
        told: whether something of it is on the screen.
    """

    title: str
    tasks: list[PlannedTask]
    urgent: bool = False
    saved: set[str] = field(default_factory=set)
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
        self._due_at = self._began = 0.0
        self._sources: dict[str, dict[str, str]] = {}
        self._texts = Texts()

    def everything(self) -> None:
        """Try every chapter."""
        for stem in self._view.plan.stems():
            for name in (stem + FILE, stem + NOTEBOOK):
                self._texts.changed(self._view.folder, name)
        self._begin(Round("every chapter", self._view.plan.begun(self._view.folder)))

    def saved(self, name: str) -> None:
        """Note that a file was written, removed or renamed."""
        if name.endswith((FILE, NOTEBOOK)) and _stem(name) in self._view.plan.stems():
            self._due.add(name)
            empty = not size(self._view.answers / name)
            self._due_at = time.monotonic() + (EMPTY if empty else SETTLE)

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

    def _tell_early(self, round_: Round, task: PlannedTask) -> None:
        """Show that what was just written is wrong, while the rest of the chapter is tried."""
        result = task.result(round_.checks[task.full])
        if standing(result, DEVICE) in ("to polish", "wrong") and task.name in (
            round_.written or {task.name}
        ):
            done = [one for one in round_.tasks if one.full in round_.checks]
            self._pronounce(replace(round_, tasks=done), "early")
            round_.told = True

    def ended(self, event: TrialEnded) -> None:
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
        due, self._due = self._due, set()
        # a save may come in several goes, and Jupyter also saves what a cell has printed
        saved = {name for name in due if self._texts.changed(self._view.folder, name)}
        if not saved:
            self._the_same(sorted(name for name in due if name.endswith(FILE)))
            return
        if self._now is not None and self._now.urgent:
            saved |= self._now.saved  # the verdict on that save has not come yet
        elif self._now is not None:
            self._later |= self._now.stems
        names = sorted(saved)
        gone = [name for name in names if not (self._view.answers / name).exists()]
        title = _title(names, "gone" if gone == names else "saved")
        tasks = self._tasks(set(map(_stem, saved)))
        self._begin(Round(title, tasks, urgent=True, saved=saved))

    def _the_same(self, names: list[str]) -> None:
        """Say that a save has changed nothing; not while the save before it is being tried."""
        tried = self._now is None or self._now.follows
        if names and tried and time.monotonic() - self._began > ONCE_MORE:
            title = f"{_title(names, 'saved')}, the same as before"
            self._view.verdict = replace(self._view.verdict, title=title)
            self._show.show(self._view, "board")

    def _tasks(self, stems: set[str]) -> list[PlannedTask]:
        return [task for task in self._view.plan.tasks if task.stem in stems]

    def _begin(self, round_: Round) -> None:
        self._now = round_
        self._began = round_.began
        self._later -= round_.stems
        self._read_sources(round_)
        round_.before = dict(self._view.known.results)
        known, unsure = self._view.known.results, self._later | round_.stems
        unsure |= set(map(_stem, self._due))
        # of the others it need not be found out again, if one of them is to blame
        sure = [t.full for t in self._view.plan.tasks if t.full in known and t.stem not in unsure]
        wrong = {full: known[full].state(DEVICE) != "solved" for full in sure}
        self._runner.start(self._view.folder, round_.tasks, wrong, behind=round_.follows)

    def _read_sources(self, round_: Round) -> None:
        """Find out what was written since the chapters were tried last."""
        for stem in round_.stems:
            now = functions(self._view.folder.text(stem))
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
        stems, folder = dict.fromkeys(task.stem for task in done.tasks), self._view.folder
        back = [
            StandingLine("not started", _put_back(s)) for s in stems if folder.source(s) is None
        ]
        notes = [StandingLine("not run", note) for note in folder.notes(stems)]
        self._view.verdict = replace(said, lines=(*said.lines, *back, *notes))
        self._view.hint, self._view.note = None, ""
        self._view.whole = self._view.listing = False
        self._show.show(self._view, what)

    def _follow_up(self, done: Round) -> None:
        """Try later chapters that use one in which some check came out differently."""
        known = self._view.known
        changed = {
            task.stem
            for task in done.tasks
            if task.full in done.before
            and _verdicts(done.before[task.full]) != _verdicts(known.results[task.full])
        }
        using = {u for stem in changed for u in users(stem, self._view.folder)}
        if using:
            using &= {task.stem for task in self._view.plan.begun(self._view.folder)}
        self._later = (self._later | using) - done.stems
        if self._later:
            self._begin(Round(done.title, self._tasks(self._later), follows=True))

    def _add_lines(self, done: Round) -> None:
        self._know(done)
        said, known = self._view.verdict, self._view.known
        lines = more(done.before, known, done.tasks)
        first_time = any(task.full not in done.before for task in done.tasks)
        if first_time and said.task is None:
            found = verdict(said.title, done.tasks, done.before, known)
            said = replace(found, lines=said.lines)
        self._view.verdict = replace(said, lines=(*said.lines, *lines))
        self._show.show(self._view, "more" if lines else "board")


def _title(names: list[str], verb: str) -> str:
    return f"{in_words(names)} {verb} at {time.strftime('%H:%M:%S')}"


def _stem(name: str) -> str:
    return name.rpartition(".")[0]


def _put_back(stem: str) -> str:
    """Say how a chapter that is gone comes back."""
    return f"to put {stem}.py back: python -m grader reset {stem}"


def _verdicts(result: ExerciseResult) -> list[tuple[str, str]]:
    return [(check.check, check.verdict) for check in result.checks]
