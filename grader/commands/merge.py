"""Several results files as one run: what `grade --shard` made, on one machine or on many."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands import reporting
from grader.commands.usage import UsageError

HELP = "make one run of several results files"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the files and the reports."""
    parser.add_argument("results", nargs="+", type=Path, metavar="FILE",
                        help="a results file of `grade --results`, in any order")  # fmt: skip
    reporting.add_options(parser)
    parser.add_argument("--partial", action="store_true",
                        help="merge also where parts are missing or not finished: who is in them "
                             "is reported as not graded, and the exit status is 1")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Merge and report."""
    from grader.batch.merge import merge

    try:
        return merge(given.results, reporting.wanted(given), given.partial)
    except (ValueError, OSError) as problem:
        raise UsageError(problem) from problem
