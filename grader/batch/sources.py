"""What counts in a submission: the files that can hold a chapter, and how each becomes Python."""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.naming import in_words

MEBIBYTE = 2**20
SCRIPT, NOTEBOOK = ".py", ".ipynb"
# by suffix; a notebook holds its outputs as well
LARGEST = {SCRIPT: MEBIBYTE, NOTEBOOK: 8 * MEBIBYTE}


MOST_NAMED = 100
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Unusable(Exception):
    """A submission that cannot be read; the sentence says why."""


class NoChapter(Unusable):
    """No chapter is there; a sentence says why what is like one does not count, if there is one."""

    def __init__(self, passed_over: str = "") -> None:
        super().__init__(passed_over)
        self.passed_over = passed_over


@dataclass
class Told:
    """What is to be said of a submission's files, beside what they hold.

    Attributes:
        notes: a sentence for each that counts under another name, or does not count.
        unused: the names of what was handed in and has no part in the verdict.
        most: so many of each are kept; of a whole batch all.
    """

    notes: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    most: int = MOST_NAMED

    def note(self, sentence: str, unused: Iterable[str] = ()) -> None:
        """Add a sentence, and the files that it says are not used."""
        self.notes.append(sentence)
        del self.notes[self.most :]
        self.leave(unused)

    def leave(self, names: Iterable[str]) -> None:
        """Add the names of files that are not used; of very many, the first ones."""
        known = set(self.unused)
        self.unused += [name for name in dict.fromkeys(names) if name not in known]
        del self.unused[self.most :]


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
    told: Told | None = None,
) -> dict[str, bytes]:
    """Turn the files that count into the chapters' sources, by names that end in `.py`.

    A file that cannot be read costs its own chapter, which says why when it is imported.

    Args:
        files: by their names.
        names: every chapter's stem with the names of its exercises; None: as the kit has them.
        bad: why other files cannot be read.
        told: is told of a file that cannot be read, or that another one outdoes.

    Raises:
        Unusable: no file can be read.
    """
    told = told or Told()
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    unread = {_parts(name)[0]: why for name, why in (bad or {}).items()}
    for name, data in files.items():
        stem, suffix = _parts(name)
        found[stem][suffix] = data
    made: dict[str, bytes] = {}
    for stem, kinds in found.items():
        try:
            made[f"{stem}.py"] = text = _source(stem, kinds, names, told)
            if not text.strip():
                told.note(f"nothing is in {in_words([stem + suffix for suffix in kinds])}")
        except Unusable as problem:
            unread[stem] = str(problem)
            told.leave(f"{stem}{suffix}" for suffix in kinds)
    if unread and not made:
        raise Unusable(next(iter(unread.values())))
    for stem, why in unread.items():
        counts = f": {stem}.py counts" if f"{stem}.py" in made else ""
        told.note(f"not read: {why}{counts}")
        made.setdefault(f"{stem}.py", f"raise SyntaxError({why!r})\n".encode())
    return dict(sorted(made.items()))


def _parts(name: str) -> tuple[str, str]:
    return chapter_of(name) or (name, SCRIPT)


def _source(
    stem: str,
    kinds: Mapping[str, bytes],
    names: Mapping[str, Sequence[str]] | None,
    told: Told,
) -> bytes:
    script, notebook = kinds.get(SCRIPT), kinds.get(NOTEBOOK)
    no_text = _no_text(f"{stem}{SCRIPT}", script or b"")
    if notebook is None:
        if no_text:
            raise Unusable(no_text)
        return script or b""
    if no_text:
        told.note(f"not read: {no_text}: {stem}{NOTEBOOK} counts", [f"{stem}{SCRIPT}"])
        script = None
    from grader.written.counts import the_one_that_counts
    from grader.written.source import functions_of

    if names is None:
        from grader.chapters import catalogue

        names = catalogue().names()
    found = the_one_that_counts(stem, script, notebook, functions_of(stem, names))
    if found.problem:
        raise Unusable(found.problem)
    if found.note:
        told.note(found.note)
    told.leave(f"{stem}{suffix}" for suffix in kinds if f"{stem}{suffix}" != found.name)
    return found.text


def _no_text(name: str, script: bytes) -> str:
    """Say why a file is no text that Python reads; what else is wrong with it, Python says."""
    if script.startswith(UTF_16):
        return f"{name} is saved as UTF-16, which Python does not read: save it as UTF-8"
    return f"{name} holds null bytes, so it is no code: save it as UTF-8" if b"\0" in script else ""
