"""The project's own files as a student gets them: read-me and project file."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from grader.release import ReleaseError

# a student has no solutions: what the read-me says of them, and what it says instead
INSTEAD = {
    "Set up and score the stubs and the solutions": "Set up and see the board",
    "-m grader grade exercises solutions": "-m grader",
    "Set up and pass the tests": "Set up and run the checks",
    "-m pytest --answers=solutions": "-m pytest",
}
SECTION = "Students"
# the chapter that the section begins with, and the one beyond the seven that it leads on to
FIRST, FURTHER = "ex01_scores", "ex08_positions"
TABLES = re.compile(r"\[(build-system|project|tool\.setuptools|tool\.pytest)\b")
DEV = re.compile(r"^dev = \[\n(?:  .*\n)*\]\n", re.MULTILINE)


def readme(text: str, chapters: Sequence[str] = (), before: Sequence[str] = ()) -> str:
    """Keep what comes before the first section, and the students' section.

    Args:
        text: the whole.
        chapters: those that the pack holds, if it does not hold all.
        before: earlier ones that it does not hold.

    Raises:
        ReleaseError: the text is no longer what this was written for.
    """
    for old, new in INSTEAD.items():
        if text.count(old) != 1:
            raise ReleaseError(f"README.md should hold once: {old}")
        text = text.replace(old, new)
    sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    wanted = [one for one in sections[1:] if one.startswith(f"## {SECTION}\n")]
    if len(wanted) != 1:
        raise ReleaseError(f"README.md should have one section called {SECTION}")
    kept = sections[0] + _of_what_is_there(wanted[0], chapters).rstrip() + "\n"
    if "solutions" in kept:
        raise ReleaseError("README.md names the solutions where students read")
    return kept.replace("\n\n", f"\n\n{_some(chapters, before)}", 1)


def _of_what_is_there(section: str, chapters: Sequence[str]) -> str:
    """Begin with the first chapter that there is, and lead to none that there is not.

    Raises:
        ReleaseError: the text is no longer what this was written for.
    """
    if FIRST not in section or FURTHER not in section:
        raise ReleaseError(f"README.md should name {FIRST} and {FURTHER} where students read")
    if not chapters:
        return section
    paragraphs = section.split("\n\n")
    if FURTHER not in chapters:
        paragraphs = [one for one in paragraphs if FURTHER not in one]
    return "\n\n".join(paragraphs).replace(FIRST, chapters[0])


def _some(chapters: Sequence[str], before: Sequence[str]) -> str:
    """Say which chapters are in the pack, if not all are."""
    if not chapters:
        return ""
    said = f"This pack holds {', '.join(f'`{stem}`' for stem in chapters)}."
    if before:
        files = ", ".join(f"`{stem}.py`" for stem in before)
        said += (
            f" They call your earlier answers: put {files}, or your notebooks, into `exercises/`."
        )
    return textwrap.fill(said, 100, break_on_hyphens=False, break_long_words=False) + "\n\n"


def project_file(text: str) -> str:
    """Keep the tables that installing and testing need, without what maintainers install."""
    tables = re.split(r"^(?=\[)", text, flags=re.MULTILINE)[1:]
    kept = "\n\n".join(table.strip() for table in tables if TABLES.match(table))
    return DEV.sub("", f"{kept}\n")
