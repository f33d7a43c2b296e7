"""The options that say what is made of results: the same for `grade` and `merge`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.batch.wanted import Wanted


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--report", action="append", default=[], metavar="FORMAT=FILE",
                       help="write a report, repeatable: json, json1 (schema 1, every check), csv, "
                            "html, class, feedback, similar, junit, gradescope or "
                            "classroom")  # fmt: skip
    parser.add_argument("--gradebook", type=Path, metavar="EXPORT",
                       help="fill Canvas's or Moodle's export in as the csv report, and name who "
                            "of it has handed in nothing")  # fmt: skip
    parser.add_argument("--roster", type=Path, metavar="TABLE",
                       help="a csv of who is in the course, with columns such as name, email, "
                            "login: who has handed in nothing is named")  # fmt: skip
    parser.add_argument("--assignment", metavar="TITLE",
                       help="the column of --gradebook, where there are several")  # fmt: skip
    parser.add_argument("--since", type=Path, metavar="OLD.json",
                       help="an earlier json report: html and class tell whose grade "
                            "has moved since")  # fmt: skip
    parser.add_argument("--course", type=Path, metavar="FILE",
                       help="score by a course's rules: weights, deadlines, follow-through "
                            "(default: course.toml in the folder of submissions)")  # fmt: skip
    parser.add_argument("--rule", action="append", default=[], metavar="KEY=VALUE",
                       help="one of a course's rules, over those of the file; repeatable: "
                            "pass_mark=50, late.per_day=10, week.2.weight=30")  # fmt: skip


def wanted(given: argparse.Namespace) -> Wanted:
    """Return what they say."""
    from grader.batch.wanted import Wanted

    return Wanted(
        given.report, given.gradebook, given.assignment, given.since, given.course, given.rule,
        given.roster,
    )  # fmt: skip
