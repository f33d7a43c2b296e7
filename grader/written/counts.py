"""Which of a file and a notebook of one chapter counts, and why."""

from __future__ import annotations

from collections.abc import Collection

from grader.written.read import chapter_source
from grader.written.source import FILE, NOTEBOOK, Source, Unreadable
from grader.written.started import same, started


def the_one_that_counts(
    stem: str, script: bytes | None, notebook: bytes, exercises: Collection[str]
) -> Source:
    """Choose between `ex*.py` and `ex*.ipynb` of one chapter: where more functions are started.

    The file counts if both are equally far, and if it is started and the notebook is none.

    Args:
        stem: the chapter.
        script: the file that ends in `.py`, if there is one.
        notebook: the other one.
        exercises: the names of the chapter's functions.
    """
    begun = started(script, exercises) if script is not None else 0
    try:
        text = chapter_source(notebook, stem + NOTEBOOK, exercises)
    except Unreadable as problem:
        if script is None or not begun:
            return Source(stem + NOTEBOOK, problem=str(problem))
        return Source(stem + FILE, script, note=f"{problem}: {stem}{FILE} counts")
    if script is None:
        return Source(stem + NOTEBOOK, text)
    further, of = started(text, exercises), len(exercises)
    told = begun and further and not same(script, text, exercises)
    note = _note(stem, begun, further, of) if told else ""
    if further > begun:
        return Source(stem + NOTEBOOK, text, note=note)
    return Source(stem + FILE, script, note=note)


def _note(stem: str, script: int, notebook: int, of: int) -> str:
    """Say which of two counts."""
    if script == notebook:
        both = f"{script} of {of} started in both"
        away = "to have the other count, move the file away"
        return f"{stem}: the file counts, not the notebook ({both}): {away}"
    counted = (("notebook", notebook), ("file", script))
    (more, most), (less, least) = sorted(counted, key=lambda one: -one[1])
    return f"{stem}: the {more} counts ({most} of {of} started), not the {less} ({least} of {of})"
