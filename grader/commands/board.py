"""The board, which no command at all means: what has been done, and the next step."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys

from grader import places


def run(given: argparse.Namespace) -> int:
    """Try the student's own exercises in a process of their own, and print the board.

    The exit status is 1 only if there is nothing to try.
    """
    from grader.reports.board import board
    from grader.results import CheckResult
    from grader.trial import Children, StartError, Trial
    from grader.trial.plan import DEVICE
    from grader.written.folder import Folder

    folder = (given.answers or places.EXERCISES).resolve()
    if not any((*folder.glob("ex*.py"), *folder.glob("ex*.ipynb"))):
        print(f"grader: {folder} holds no ex*.py or ex*.ipynb", file=sys.stderr)
        return 1
    found: dict[str, list[CheckResult]] = {}
    try:
        with contextlib.closing(Children()) as children:
            plan = children.plan()
            chapters = Folder(folder, plan.names())
            for result in Trial(chapters, children).run(plan.begun(chapters)):
                found.setdefault(result.task.full, []).append(result.check)
    except StartError as problem:
        print(f"grader: {problem}", file=sys.stderr)
        return 1
    results = [task.result(found.get(task.full, ())) for task in plan.tasks]
    width, colour = shutil.get_terminal_size((100, 24)).columns, sys.stdout.isatty()
    print(board(results, folder, width=width, colour=colour, device=DEVICE), end="")
    for note in chapters.notes(plan.stems()):
        print(f"{'note':<14}{note}")
    return 0
