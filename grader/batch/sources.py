"""What counts in a submission: the files that can hold a chapter, and how each becomes Python."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

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


def sources(
    files: Mapping[str, bytes],
    names: Mapping[str, Sequence[str]] | None = None,
    bad: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, bytes]:
    """Turn the files that count into the chapters' sources, by names that end in `.py`.

    A file that cannot be read costs its own chapter, which says why when it is imported.

    Args:
        files: by their names.
        names: every chapter's stem with the names of its exercises; None: as the kit has them.
        bad: why other files cannot be read.
        tell: is given a sentence for a file that cannot be read, or that another one outdoes.

    Raises:
        Unusable: no file can be read.
    """
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    unread = {_parts(name)[0]: why for name, why in (bad or {}).items()}
    for name, data in files.items():
        stem, suffix = _parts(name)
        found[stem][suffix] = data
    made: dict[str, bytes] = {}
    for stem, kinds in found.items():
        try:
            made[f"{stem}.py"] = _source(stem, kinds, names, tell)
        except Unusable as problem:
            unread[stem] = str(problem)
    if unread and not made:
        raise Unusable(next(iter(unread.values())))
    for stem, why in unread.items():
        counts = f": {stem}.py counts" if f"{stem}.py" in made else ""
        tell(f"not read: {why}{counts}")
        made.setdefault(f"{stem}.py", f"raise SyntaxError({why!r})\n".encode())
    return dict(sorted(made.items()))


def _parts(name: str) -> tuple[str, str]:
    return chapter_of(name) or (name, SCRIPT)


def _source(
    stem: str,
    kinds: Mapping[str, bytes],
    names: Mapping[str, Sequence[str]] | None,
    tell: Callable[[str], None],
) -> bytes:
    script, notebook = kinds.get(SCRIPT), kinds.get(NOTEBOOK)
    if notebook is None:
        return script or b""
    from grader.written.counts import the_one_that_counts
    from grader.written.source import functions_of

    if names is None:
        from grader.chapters import catalogue

        names = catalogue().names()
    found = the_one_that_counts(stem, script, notebook, functions_of(stem, names))
    if found.problem:
        raise Unusable(found.problem)
    if found.note:
        tell(found.note)
    return found.text
