"""What there is to see, apart from how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from grader.reports.next_step import NextStep, next_step
from grader.results import ExerciseResult, counting
from grader.trial.plan import DEVICE, Plan
from grader.watching.verdict import Known, Verdict
from grader.written.folder import Folder

if TYPE_CHECKING:
    from grader.watching.lines import WatchLines
    from grader.watching.screen import Screen

KEYS = (
    ("h", "hint"), ("o", "open next"), ("g", "go on"), ("a", "run all"), ("l", "list"),
    ("m", "message"), ("q", "quit"),
)  # fmt: skip
LOADING = "loading PyTorch and the chapters ..."


@dataclass
class View:
    """Everything that can be seen.

    Attributes:
        plan: what there is to do.
        answers: the folder of answers.
        known: how every function fares.
        verdict: on the latest save.
        hint: the hint that was asked for, as lines for a width.
        running: what is being run, and for how many seconds; nothing while all is still.
        stale: whether the verdict is on an earlier save than what is being run.
        note: something that went wrong and is no verdict.
        listing: whether the list of all functions is shown.
        whole: whether the message is shown whole, however long.
        goes_on: whether polish waits until all else is done.
    """

    plan: Plan
    answers: Path
    known: Known = field(default_factory=Known)
    verdict: Verdict = field(default_factory=lambda: Verdict(""))
    hint: Callable[[int], list[str]] | None = None
    running: str = ""
    stale: bool = False
    note: str = ""
    listing: bool = False
    whole: bool = False
    goes_on: bool = False

    @property
    def folder(self) -> Folder:
        """The chapters as they are now."""
        return Folder(self.answers, self.plan.names())

    @property
    def results(self) -> list[ExerciseResult]:
        """Every function's result, in teaching order."""
        return [self.known.results.get(t.full, t.result()) for t in self.plan.tasks]

    @property
    def step(self) -> NextStep | None:
        """The next step; with `goes_on`, polish waits until all else is done."""
        counted = counting(self.results, DEVICE)
        return next_step(counted, self.answers, DEVICE, polish=not self.goes_on)


What = Literal[
    "progress", "early", "verdict", "more", "board", "hint", "list", "message", "note", "again"
]


# how it is shown: on a whole screen, or as lines
Show: TypeAlias = "Screen | WatchLines"
