"""Why a submission without chapters cannot be graded: what is there instead, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.batch.member import Member
from grader.batch.names import listed
from grader.batch.sources import LARGEST
from grader.batch.uploads import ARCHIVES, OTHER_ARCHIVES

WANTED = "ex*.py or ex*.ipynb"
COMPILED = (".pyc", ".pyo")


def _ends(*endings: str) -> Callable[[Member], bool]:
    return lambda member: member.type == "file" and member.name.lower().endswith(endings)


# what may lie there instead, and what to do then; the first that is there is most likely what was
# meant to be handed in
KINDS: tuple[tuple[Callable[[Member], bool], str], ...] = (
    (_ends(*LARGEST), "give each file the name of its chapter, such as ex01_scores.py"),
    (_ends(*COMPILED), "Python has made that: hand in the .py that it is made of"),
    (_ends(*ARCHIVES, *OTHER_ARCHIVES), "it is not opened here: hand in what is in it"),
    (lambda one: one.type == "link", "links are not followed: hand in the files"),
    (lambda _: True, "hand in the code itself, in files called as the chapters are"),
)


def no_chapter(there: Sequence[Member], passed_over: str = "") -> str:
    """Say it in a sentence.

    Args:
        there: all that is there.
        passed_over: why something that is like a chapter does not count, if there is such.
    """
    if passed_over:
        return f"it holds no {WANTED} that counts: {passed_over}"
    files = [one for one in there if one.type != "folder" and not one.hidden]
    if not files:
        return f"it holds no file: hand in {WANTED}"
    return _instead(files)


def nothing_called_so(names: Sequence[str]) -> str:
    """Say it of loose files of one student, by their names."""
    return _instead([Member(name, "file", 0, lambda _: b"") for name in names])


def _instead(files: Sequence[Member]) -> str:
    is_one, advice = next(kind for kind in KINDS if any(map(kind[0], files)))
    names = [one.path.name for one in files if is_one(one)]
    return f"it holds no {WANTED}, but {listed(names)}: {advice}"
