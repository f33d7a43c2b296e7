"""What counts in a submission: the files that can hold a chapter, and how each becomes Python."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

MEBIBYTE = 2**20
SCRIPT, NOTEBOOK = ".py", ".ipynb"
# by suffix; a notebook holds its outputs as well
LARGEST = {SCRIPT: MEBIBYTE, NOTEBOOK: 8 * MEBIBYTE}


class Unusable(Exception):
    """A submission that cannot be read; the sentence says why."""


def chapter_of(name: str) -> tuple[str, str] | None:
    """Split the name of a file that counts into stem and suffix; None for every other file."""
    found = re.fullmatch(r"(ex\d\d_\w+)(\.\w+)", name, re.ASCII)
    return (found[1], found[2]) if found and found[2] in LARGEST else None


def largest(name: str) -> int:
    """Return how many bytes a file of this name may have; 0 for a file that does not count."""
    _, suffix = chapter_of(name) or ("", "")
    return LARGEST.get(suffix, 0)


def sources(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Turn the files that count into the chapters' sources, by names that end in `.py`.

    Raises:
        Unusable: a notebook holds no source.
    """
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    for name, data in files.items():
        stem, suffix = chapter_of(name) or (name, SCRIPT)
        found[stem][suffix] = data
    return {f"{stem}.py": _source(stem, found[stem]) for stem in sorted(found)}


def _source(stem: str, kinds: Mapping[str, bytes]) -> bytes:
    script, notebook = kinds.get(SCRIPT), kinds.get(NOTEBOOK)
    if notebook is None:
        return script or b""
    from grader.notebooks.read import chapter_source, the_one_that_counts

    name = stem + NOTEBOOK
    try:
        if script is None:
            return chapter_source(notebook, name)
        return the_one_that_counts(script, notebook, name)
    except ValueError as problem:
        raise Unusable(str(problem)) from problem
