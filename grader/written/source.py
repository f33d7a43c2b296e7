"""A chapter's Python source, as a file or a notebook has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FILE, NOTEBOOK = ".py", ".ipynb"
# with these words begins the Python that a notebook amounts to
HEADER = b"# what counts of "
# and then each line that says which of several definitions counts
TWICE = "# note: "
# a notebook holds its outputs as well
LARGEST = 8 * 2**20


class Unreadable(ValueError):
    """A notebook that holds no chapter; the sentence names it and says why."""


@dataclass(frozen=True)
class Source:
    """A chapter's source.

    Attributes:
        name: of the file that it was read from.
        text: Python.
        problem: why it cannot be read, if so.
        note: which of two counts, where both were started.
    """

    name: str
    text: bytes = b""
    problem: str = ""
    note: str = ""


def is_of_notebook(text: bytes) -> bool:
    """Tell whether a source is what a notebook amounts to."""
    return text.startswith(HEADER)


def twice(text: bytes) -> list[str]:
    """Say of a notebook which cell counts of a function that several define."""
    if not is_of_notebook(text):
        return []
    head = text.partition(b"\n\n")[0].decode("utf-8", "replace").splitlines()
    return [line.removeprefix(TWICE) for line in head if line.startswith(TWICE)]


def name_of(stem: str, text: bytes) -> str:
    """Return the name of the file that a student finds a source in."""
    return stem + (NOTEBOOK if is_of_notebook(text) else FILE)


def functions_of(stem: str, names: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return a chapter's functions; all there are, if it is none of the kit's."""
    return names.get(stem) or [one for listed in names.values() for one in listed]
