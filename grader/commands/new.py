"""The four files of a new chapter, whole and small: grader/WRITING.md says how to go on."""

from __future__ import annotations

import argparse

from grader.commands.usage import UsageError

HELP = "write the four files of a new chapter"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the chapter's name, and those of its functions and classes."""
    parser.add_argument("stem", metavar="STEM", help="ex14_running")
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="its functions, and classes: Capitalised (default: one function, as the chapter)",
    )


def run(given: argparse.Namespace) -> int:
    """Write them, and say how to go on."""
    from grader.authoring.new import NotWritten, write
    from grader.places import short

    try:
        paths = write(given.stem, given.names)
    except NotWritten as problem:
        raise UsageError(str(problem)) from problem
    for path, holds in zip(paths, ("stubs", "solution", "checks", "coach"), strict=True):
        print(f"{holds:<10}{short(path)}")
    print(f"\nprove it with: python -m grader check {given.stem} --jobs 2")
    print("how to go on: grader/WRITING.md")
    return 0
