"""Writing the four files of a new chapter, which `grader check` proves as they are."""

from __future__ import annotations

import builtins
import keyword
import re
from pathlib import Path

from grader import places
from grader.authoring.texts import texts
from grader.chapters.tracks import track_said
from grader.results import TRACKS

STEM = re.compile(r"ex(\d\d)_([a-z][a-z0-9_]*)")
# what the four files import and define
TAKEN = frozenset((
    "CASES", "Case", "EXPLAINS", "FORMULA", "Float", "ModuleCase", "REFUSALS", "TRACK", "Task",
    "Tensor", "check", "checks_by_law", "nn", "reference", "refusal", "same", "torch",
    *keyword.kwlist, *dir(builtins),
))  # fmt: skip


class NotWritten(Exception):
    """The chapter cannot be written; the sentence says why."""


def write(stem: str, names: list[str]) -> list[Path]:
    """Write a chapter, and return its files.

    Args:
        stem: such as `ex14_running`.
        names: its functions and classes, which begin with a capital letter; if there are none,
            one function that is called like the chapter.

    Raises:
        NotWritten: the stem or a name will not do, or a file is there already.
    """
    found = STEM.fullmatch(stem)
    if found is None:
        raise NotWritten(f"`{stem}` is no chapter's name, such as ex14_running")
    names = names or [found.group(2)]
    _refuse_strange(names)
    paths = list(places.files_of(stem))
    taken = next((path for path in paths if path.exists()), None)
    if taken is not None:
        raise NotWritten(f"{places.short(taken)} is there already")
    others = sorted(path.stem for path in places.EXERCISES.glob("ex*.py"))
    same = next((one for one in others if one.startswith(f"ex{found.group(1)}_")), None)
    if same is not None:
        raise NotWritten(f"{same} is chapter {int(found.group(1))} already")
    for other in others:
        text = (places.EXERCISES / f"{other}.py").read_text(encoding="utf-8")
        for name in names:
            if re.search(rf"^(def|class) {name}\b", text, re.M):
                raise NotWritten(f"{other} has a `{name}` already: a name means one function")
    # of the track of the chapter before it
    before = sorted(path.stem for path in places.COACH.glob("ex*.py") if path.stem < stem)
    track = track_said(before[-1]) if before else TRACKS[0]
    made = texts(stem, int(found.group(1)), found.group(2), names, track)
    for path, text in zip(paths, made, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def _refuse_strange(names: list[str]) -> None:
    for name in names:
        if not name.isidentifier() or name.startswith("_"):
            raise NotWritten(f"`{name}` is no name of a function or a class")
        if name in TAKEN:
            raise NotWritten(f"`{name}` is a word of Python's, or of what the files import")
        if [one.lower() for one in names].count(name.lower()) > 1:
            raise NotWritten(f"`{name}` is named twice")
