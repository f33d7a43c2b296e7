"""`python -m grader.proof.made_class DIR`: writes a class, and a ledger of what has to come of it.

With `--check` it is graded as well: at once, one at a time, killed and taken up again, in three
parts, and by `--cluster local` where submitit is there. Everybody has to be graded or named as the
ledger says, all reports have to agree, and json has to be the same, byte for byte.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from grader.proof.made_class.check import check
from grader.proof.made_class.make import make


def main(arguments: list[str] | None = None) -> int:
    """Write a class; the exit status is 1 if something of it does not hold."""
    parser = argparse.ArgumentParser(prog="grader.proof.made_class", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new folder")
    parser.add_argument("--students", type=int, default=150, metavar="N")
    parser.add_argument("--seed", type=int, default=7, metavar="N")
    parser.add_argument("--check", action="store_true", help="grade it, and compare")
    parser.add_argument("--only", metavar="NAME", help="with --check: these functions alone")
    given = parser.parse_args(arguments)
    ledger = make(given.folder, given.students, given.seed)
    print(f"{len(ledger)} students in {given.folder}")
    if not given.check:
        return 0
    figures = check(given.folder, ledger, given.only)
    print("\n".join(line for figure in figures for line in figure.lines()))
    return int(not all(figure.proved for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
