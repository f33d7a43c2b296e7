"""The board command: the student's own exercises, graded in a process of their own."""

from __future__ import annotations

import sys
from pathlib import Path

from grader.batch.grade import Plan, grade_one
from grader.batch.submissions import Submission
from grader.chapters import catalogue, places
from grader.reports.board import board


def show_board(answers: Path | None) -> int:
    """Print the board; the exit status is 1 only if there is nothing to grade."""
    import shutil

    folder = (answers or places.EXERCISES).resolve()
    plan = Plan(tuple(catalogue().exercises()), ("cpu",), seed=0)
    result = grade_one(Submission(folder.name, folder), plan)
    if result.problem:
        print(f"grader: {folder}: {result.problem}", file=sys.stderr)
        return 1
    width, colour = shutil.get_terminal_size((100, 24)).columns, sys.stdout.isatty()
    print(board(result.exercises, folder, width=width, colour=colour, device="cpu"), end="")
    return 0
