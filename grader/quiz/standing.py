"""Where a student stands: which functions are right, by their core checks, in the order asked."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from grader.trial import Children, Trial
from grader.written.folder import Folder


def standing(answers: Path, names: Sequence[str] = ()) -> Generator[tuple[str, bool], None, None]:
    """Try functions one after the other, and tell of each whether it is right.

    Who has heard enough closes the iterator: what follows is not tried.

    Args:
        answers: the folder of answers.
        names: full names of functions; none: all, in teaching order.

    Raises:
        StartError: the answers cannot be tried.
    """
    with contextlib.closing(Children()) as children:
        plan = children.plan()
        wanted = [plan.task(name) for name in names] or list(plan.tasks)
        core = [replace(t, checks=tuple(one for one in t.checks if one[1])) for t in wanted]
        trial = Trial(Folder(answers, plan.names()), children)
        try:
            for full, of_one in groupby(trial.run(core), key=lambda result: result.task.full):
                yield full, all(result.check.passed for result in of_one)
        finally:
            trial.stop()
