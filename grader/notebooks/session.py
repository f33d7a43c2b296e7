"""One notebook at work: its chapter, its namespace, and the world that its checks judge."""

from __future__ import annotations

import contextlib
import linecache
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader import places
from grader.chapters import Catalogue, catalogue
from grader.notebooks.world import NotebookWorld
from grader.written.chosen import Cell
from grader.written.folder import Folder
from grader.written.read import chapter_source
from grader.written.source import NOTEBOOK, Source, Unreadable
from grader.written.started import started

KEY = "__kit__"
# the cells of a long day; those before them have been run again since
MOST_CELLS = 400
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
        self._stack = contextlib.ExitStack()
        self._sources = self._found()
        self.world = self._made()

    def _found(self) -> dict[str, tuple[Path, Source]]:
        """Find the other chapters, here or among the exercises: each where it is further."""
        names, found = self.known.names(), {}
        folders = self._folders()
        for stem in (one for one in names if one != self.stem):
            there = [(one.file(stem), source) for one in folders if (source := one.source(stem))]
            if there:
                # max keeps the first of equals
                found[stem] = max(there, key=lambda one: started(one[1].text, names[stem]))
        return found

    def _folders(self) -> list[Folder]:
        here = dict.fromkeys((Path.cwd(), places.EXERCISES))
        return [Folder(path, self.known.names()) for path in here]

    def notes(self) -> list[str]:
        """Say what counts of this chapter, where it is written twice, as it was saved last."""
        found = (folder for folder in self._folders() if folder.source(self.stem) is not None)
        return next((folder.notes([self.stem]) for folder in found), [])

    def ran(self) -> list[Cell]:
        """Return the cells that were run, which IPython keeps by the number beside the cell."""
        shell = self.space["get_ipython"]() if "get_ipython" in self.space else None
        # in `In` a cell with a magic is a call that holds it
        kept = getattr(getattr(shell, "history_manager", None), "input_hist_raw", None)
        run = enumerate(kept or self.space.get("In", ()))
        return [Cell(number, text) for number, text in run if isinstance(text, str)][-MOST_CELLS:]

    def saved(self, names: Sequence[str]) -> bytes:
        """Return functions of this chapter as the notebook was saved; nothing if it was not."""
        for folder in self._folders() if names else ():
            with contextlib.suppress(OSError, Unreadable):
                data = (folder.path / f"{self.stem}{NOTEBOOK}").read_bytes()
                return chapter_source(data, f"{self.stem}{NOTEBOOK}", names)
        return b""

    def _made(self) -> NotebookWorld:
        """Make the world, and leave it open to the notebook's imports."""
        world = NotebookWorld(self.stem, self.space, self._sources, self.known.names())
        self._stack.enter_context(world.active())
        return world

    def refresh(self) -> list[str]:
        """Take in what has changed in other chapters' files since; return which these are."""
        found = self._found()
        changed = [stem for stem in found if _text(found, stem) != _text(self._sources, stem)]
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
        places_of = [self._sources[one][1].name for one in earlier if one in self._sources]
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


def _text(found: dict[str, tuple[Path, Source]], stem: str) -> bytes | None:
    return found[stem][1].text if stem in found else None


def session_of(space: dict[str, Any], stem: str) -> Session:
    """Return the session of a namespace; begin one, and end the one before, if need be."""
    session = space.get(KEY)
    if not isinstance(session, Session) or session not in _open or stem != session.stem:
        close_all()
        session = space[KEY] = Session(stem, space)
        _open.append(session)
    return session


def close_all() -> None:
    """End every session, so that nobody's imports find its chapters any more."""
    while _open:
        _open.pop().close()


def started_session(space: dict[str, Any]) -> Session | None:
    """Return the session that a namespace has already."""
    session = space.get(KEY)
    return session if isinstance(session, Session) and session in _open else None
