"""One notebook at work: its chapter, its namespace, and the world that its checks judge."""

from __future__ import annotations

import contextlib
import linecache
from pathlib import Path
from typing import Any

from grader.chapters import Catalogue, catalogue, places
from grader.notebooks.sources import Shelf, Source, sources
from grader.notebooks.world import NotebookWorld

KEY = "__kit__"
_open: list[Session] = []


class Session:
    """A notebook's chapter, ready to be judged.

    Attributes:
        stem: the notebook's chapter.
        world: what is judged; made anew when another chapter's file changes.
        judged: the very functions that the last checks judged, and whether they passed.
    """

    def __init__(self, stem: str, space: dict[str, Any]) -> None:
        self.stem, self.space = stem, space
        self.known: Catalogue = catalogue()
        self.judged: dict[str, tuple[Any, bool]] = {}
        self._shelf, self._stack = Shelf(), contextlib.ExitStack()
        self._sources = self._found()
        self.world = self._made()

    def _found(self) -> dict[str, Source]:
        others = {stem: names for stem, names in self.known.names().items() if stem != self.stem}
        return sources(others, [Path.cwd(), places.EXERCISES])

    def _made(self) -> NotebookWorld:
        """Make the world, and leave it open to the notebook's imports."""
        files = {stem: self._shelf.file(source) for stem, source in self._sources.items()}
        world = NotebookWorld(self.stem, self.space, files, self.known.names())
        self._stack.enter_context(world.active())
        return world

    def refresh(self) -> list[str]:
        """Take in what has changed in other chapters' files since; return which these are."""
        found = self._found()
        changed = [stem for stem in found if found[stem] != self._sources.get(stem)]
        changed += [stem for stem in self._sources if stem not in found]
        if changed:
            self.close()
            linecache.checkcache()
            before, self._sources = self.world, found
            self.world = self._made()
            self.world.take_over(before)
        return changed

    def said(self) -> str:
        """Say which chapter this is, and where the others come from."""
        earlier = [stem for stem in self.known.names() if stem < self.stem]
        places_of = [self._sources[one].file.name for one in earlier if one in self._sources]
        missing = [one for one in earlier if one not in self._sources]
        lines = [f"{self.stem} is ready."]
        if places_of:
            lines.append(f"Your earlier chapters: {', '.join(places_of)}.")
        if missing:
            lines.append(f"Not found, so what calls them cannot pass: {', '.join(missing)}.")
        return "\n".join(lines)

    def close(self) -> None:
        """Take the world out of the notebook's imports."""
        self._stack.close()


def session_of(space: dict[str, Any], stem: str) -> Session:
    """Return the session of a namespace; begin one, and end the one before, if need be."""
    session = space.get(KEY)
    if not isinstance(session, Session) or session not in _open or stem != session.stem:
        while _open:
            _open.pop().close()
        session = space[KEY] = Session(stem, space)
        _open.append(session)
    return session


def started_session(space: dict[str, Any]) -> Session | None:
    """Return the session that a namespace has already."""
    session = space.get(KEY)
    return session if isinstance(session, Session) and session in _open else None
