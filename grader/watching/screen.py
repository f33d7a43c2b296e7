"""The whole screen of a terminal, drawn in place, and never more than fits on it."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich.console import Console, RenderableType
from rich.text import Text

from grader.reports import board
from grader.reports.message import INDENT, Parts, parts
from grader.trial.plan import DEVICE
from grader.watching.listing import listing
from grader.watching.view import KEYS, LOADING, View, What

HOME, CLEAR_LINE, CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
TITLE = "{:<14}"
MOST = 8
# from here on there is room for every word of the keys
WIDE = 76
ASIDE = ("The check", "Called as")


@dataclass(frozen=True)
class Room:
    """What is left out for want of room, from nothing to nearly everything."""

    printed: int = 8
    aside: bool = True
    chapters: bool = True
    body: bool = True
    gaps: bool = True


ROOMS = (
    Room(),
    Room(printed=3),
    Room(printed=3, aside=False),
    Room(printed=3, aside=False, chapters=False),
    Room(printed=3, aside=False, chapters=False, body=False),
    Room(printed=1, aside=False, chapters=False, body=False, gaps=False),
)


class Screen:
    """Draws on a terminal that understands ANSI sequences.

    Args:
        console: the terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    def start(self) -> None:
        """Push what was on the screen up, so that nothing of it is lost."""
        self._write("\n" * (self._console.height - 1))
        self._draw(self._lines(Text(LOADING, "dim")))

    def show(self, view: View, what: What) -> None:  # noqa: ARG002
        """Draw everything, whatever is new."""
        self._draw(self.frame(view))

    def leave(self) -> None:
        """Leave the last verdict where it is, and go below it."""
        with contextlib.suppress(KeyboardInterrupt):
            self._write("\n")

    def frame(self, view: View) -> list[str]:
        """Return the lines of the screen: as much as there is room for."""
        height = self._console.height
        for room in ROOMS:
            lines = self._everything(view, room)
            if len(lines) <= height or view.whole:
                return lines
        more = self._lines(Text("... and more: m shows all of it", "dim"))
        return [*lines[: height - 3], *more, *lines[-2:]]

    def _everything(self, view: View, room: Room) -> list[str]:
        gap = [""] if room.gaps else []
        middle = list(self._middle(view, room))
        below = [
            *self._board(view, room),
            *self._lines(self._next(view), cut=True),
            *self._keys(room, view),
        ]
        return [*self._head(view), *gap, *middle, *(gap if middle else []), *below]

    def _head(self, view: View) -> list[str]:
        lines = self._lines(Text(view.running or view.verdict.title, "dim"))
        for line in () if _is_old(view) else view.verdict.lines[:MOST]:
            lines += self._lines(Text(line.says, board.STYLES[line.standing]))
        if view.note:
            lines += self._lines(Text(view.note, "bold red"))
        return lines

    def _middle(self, view: View, room: Room) -> Iterator[str]:
        if view.listing:
            yield from self._lines(listing(view, self._console.width))
            return
        if view.hint is not None:
            yield from self._lines(Text("\n".join(view.hint(self._console.width)), "cyan"))
            yield ""
        if view.verdict.message and not _is_old(view):
            yield from self._message(parts(view.verdict.message), room, view.whole)
            yield from self._printed(view.verdict.printed, room)

    def _message(self, said: Parts, room: Room, whole: bool) -> Iterator[str]:
        if not room.body:
            said = replace(said, body=())
        if not room.aside:
            said = replace(said, advice=tuple(a for a in said.advice if a[0] not in ASIDE))
        for line in said.lines(self._console.width):
            text = Text(line)
            if line[:2] == "  " and line[2:3].strip():
                text.stylize("bold", 0, INDENT)  # what a piece of advice is about
            yield from self._lines(text, cut=not whole)

    def _printed(self, printed: str, room: Room) -> Iterator[str]:
        lines = printed.rstrip().splitlines()
        if lines:
            yield ""
            yield from self._lines(Text("your code printed", "dim"))
        for line in lines[: room.printed]:
            yield from self._lines(Text(f"    {line}"), cut=True)
        if len(lines) > room.printed:
            yield from self._lines(
                Text(f"    ... and {len(lines) - room.printed} lines more", "dim")
            )

    def _board(self, view: View, room: Room) -> list[str]:
        counted = board.counting(view.results, DEVICE)
        chapters = board.chapters(counted, DEVICE, compact=True)
        totals = map(self._hanging, board.totals(view.results, view.answers, DEVICE))
        return self._lines(*([] if view.listing or not room.chapters else [chapters]), *totals)

    def _hanging(self, line: Text) -> Text:
        says = textwrap.wrap(line.plain, self._console.width, subsequent_indent=TITLE.format(""))
        return Text("\n".join(says), spans=line.spans) if len(says) > 1 else line

    def _next(self, view: View) -> Text:
        step, width = view.step, self._console.width
        if step is None:
            says = f"nothing is left; {board.THE_END}" if view.known.results else ""
        else:
            name = f"{step.name}, " if step.name else ""
            name += f"{board.polish(step.polish)}, " if step.polish else ""
            file = step.path.name
            where = step.where
            for shorter in (f".../{view.answers.name}/{file}", file):
                if len(TITLE.format("next") + name + where) > width:
                    where = step.seen_as(shorter)
            says = f"{name}{where}   {step.trouble}".rstrip()
        return Text.assemble((TITLE.format("next"), "bold"), says)

    def _keys(self, room: Room, view: View) -> list[str]:
        line = Text()
        narrow = self._console.width < WIDE
        for key, what in KEYS:
            pressed = {
                "m": not room.body and view.verdict.message,
                "l": view.listing,
                "g": view.goes_on,
            }.get(key)
            line.append(key if narrow else f" {key} ", "reverse")
            said = what.split()[0] if narrow else what
            line.append(f" {said}  " if narrow else f" {said} ", "bold" if pressed else "")
        return ([""] if room.gaps else []) + self._lines(line, cut=True)

    def _lines(self, *drawn: RenderableType, cut: bool = False) -> list[str]:
        """Draw to lines; those that are too long go on below, or are cut."""
        with self._console.capture() as captured:
            for one in drawn:
                self._console.print(one, no_wrap=cut, overflow="ellipsis" if cut else None)
        return captured.get().removesuffix("\n").split("\n")

    def _draw(self, lines: list[str]) -> None:
        # more lines than the screen has move up, where they are reached by scrolling
        body = f"{CLEAR_LINE}\n".join(lines)
        self._write(f"{HOME}{body}{CLEAR_LINE}{CLEAR_BELOW}")

    def _write(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError as problem:  # the terminal is gone
            raise KeyboardInterrupt from problem


def _is_old(view: View) -> bool:
    """Tell whether the verdict says nothing of what is being run."""
    return bool(view.running) and view.stale
