"""The chapters beyond the seven, told by their coaches' text: nobody has to load them for it."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from grader import places
from grader.written.folder import Folder

TRACK = re.compile(r'^TRACK\b[^=\n]*= "(\w+)"$', re.M)
TASKS = re.compile(r'^\w+ = Task\(\s*"(\w+)"', re.M)


def track_said(stem: str) -> str:
    """Return what a chapter's coach says of its track: `core`, unless it says something else."""
    said = TRACK.search(_coach(stem))
    return said[1] if said else "core"


@functools.cache
def beyond() -> dict[str, list[str]]:
    """Return the chapters beyond the seven, each with the names of its exercises."""
    stems = sorted(path.stem for path in places.COACH.glob("ex*.py"))
    return {one: TASKS.findall(_coach(one)) for one in stems if track_said(one) == "beyond"}


def not_begun(answers: Path) -> frozenset[str]:
    """Name the chapters beyond the seven of which a folder of answers holds nothing yet.

    None, where there are no others, as in the pack of a late week.
    """
    further = beyond()
    suites = {path.stem.removeprefix("test_") for path in places.SUITES.glob("test_ex*.py")}
    if suites <= set(further):
        return frozenset()
    folder = Folder(answers, further)
    return frozenset(stem for stem in further if not folder.has_begun(stem))


def _coach(stem: str) -> str:
    return (places.COACH / f"{stem}.py").read_text(encoding="utf-8")
