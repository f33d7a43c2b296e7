"""Several results files as one run: what `grade --shard` made, on one machine or on many."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.usage import UsageError

HELP = "make one run of several results files"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the files and the reports."""
    parser.add_argument("results", nargs="+", type=Path, metavar="FILE",
                        help="a results file of `grade --results`, in any order")  # fmt: skip
    parser.add_argument("--report", action="append", default=[], metavar="FORMAT=FILE",
                        help="write a report, repeatable: as in `grade`")  # fmt: skip
    parser.add_argument("--gradebook", type=Path, metavar="EXPORT",
                        help="fill Canvas's or Moodle's export in as the csv report")  # fmt: skip
    parser.add_argument("--assignment", metavar="TITLE",
                        help="the column of --gradebook, where there are several")  # fmt: skip
    parser.add_argument("--partial", action="store_true",
                        help="merge also where parts are missing or not finished: who is in them "
                             "is reported as not graded, and the exit status is 1")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Merge and report."""
    from grader.batch.merge import MergeRequest, merge

    request = MergeRequest(
        given.results, given.report, given.gradebook, given.assignment, given.partial
    )
    try:
        return merge(request)
    except (ValueError, OSError) as problem:
        raise UsageError(problem) from problem
