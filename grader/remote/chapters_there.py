"""The chapters that the other process has imported, as it says, and their sources, as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.reading.calls import ready_made
from grader.remote.claims import words
from grader.remote.talk import Glance
from grader.trouble import BrokenFile, Missing, printable
from grader.written.source import name_of

LONGEST_TYPE = 60


class ChaptersThere:
    """What a worker has told of the chapters that it has imported.

    Attributes:
        found: for each chapter what stands under the names of its exercises.
        broken: those that do not run.
        stubs: for each chapter the exercises that hold nothing yet.
        uses: for each chapter which exercises each of its exercises names.
        about: for each chapter all this as one text; made by whoever asks for it.
    """

    def __init__(self) -> None:
        self.found: dict[str, dict[str, str]] = {}
        self.broken: dict[str, BrokenFile] = {}
        self.stubs: dict[str, list[str]] = {}
        self.uses: dict[str, dict[str, list[str]]] = {}
        self.about: dict[str, str] = {}

    def take(self, stem: str, header: Mapping[str, Any]) -> None:
        """Take in what the worker says of a chapter."""
        found, uses = header.get("found"), header.get("uses")
        self.found[stem] = {
            name: printable(what)[:LONGEST_TYPE]
            for name, what in (found.items() if type(found) is dict else ())
            if type(what) is str
        }
        self.stubs[stem] = words(header.get("stubs"))
        self.uses[stem] = {
            name: words(named)
            for name, named in (uses.items() if type(uses) is dict else ())
            if type(name) is str
        }


class Sources:
    """The chapters' sources, on this side: what stands there is no claim.

    Args:
        held: the sources by the names of their files.
    """

    def __init__(self, held: Mapping[str, bytes]) -> None:
        self._held = held
        self._read: dict[Glance, list[str]] = {}

    def must_be_callable(self, stem: str, name: str, found: str | None) -> None:
        """Refuse an exercise that cannot be called.

        Raises:
            Missing: the file has no such function.
        """
        file = name_of(stem, self._text(stem))
        if found is None:
            raise Missing(f"{file} has no `{name}`")
        if found != "callable":
            raise Missing(f"`{name}` in {file} is a {found}, not a function")

    def glance(self, glance: Glance) -> list[str]:
        """Return the ready-made calls that stand in an exercise's source, whether made or not."""
        if glance not in self._read:
            self._read[glance] = ready_made(self._text(glance.stem), glance.name, glance.family)
        return self._read[glance]

    def _text(self, stem: str) -> bytes:
        return self._held.get(f"{stem}.py", b"")
