"""Builds what a platform wants uploaded: `python -m grader.reports.recipes autograder.zip`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.reports.recipes.gradescope_zip import build


def main(arguments: Sequence[str] | None = None) -> int:
    """Build Gradescope's zip and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m grader.reports.recipes",
        description="Build the zip that Gradescope takes as an autograder.",
    )
    parser.add_argument("file", type=Path, metavar="autograder.zip", help="the zip to write")
    parser.add_argument("--pip-conf", type=Path, metavar="FILE",
                        help="a pip.conf, for a package index of your own")  # fmt: skip
    given = parser.parse_args(arguments)
    try:
        count = build(given.file, given.pip_conf)
    except OSError as problem:
        print(f"grader: {problem}", file=sys.stderr)
        return 2
    print(f"{given.file}: {count} files, without solutions; upload it as it is")
    return 0


if __name__ == "__main__":
    sys.exit(main())
