"""What the process does that trains the student's model and draws it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.finishing import paper
from grader.pictures.model import Picture, Row, pack

if TYPE_CHECKING:
    from grader.chapters import World
    from grader.showing.child import TimedSender

NAME = "Your model"
NARROW = 60
SAYS = "trained by your own functions, from the first word to the last."


@dataclass(frozen=True)
class Finish:
    """The end.

    Attributes:
        answers: the folder of answers; None for the student's exercises.
        sentences: one's own, whose last word is the one to follow.
        seconds: how long one call may take.
    """

    answers: str | None = None
    sentences: tuple[tuple[str, ...], ...] = ()
    seconds: float = 10.0

    def work(self, line: TimedSender) -> None:
        """Send two pictures: the trained model, and what has been built."""
        from grader.chapters import catalogue
        from grader.finishing.drawing import NotToBeDrawn, draw
        from grader.showing.child import world_of
        from grader.showing.workbench import Workbench

        known = catalogue()
        world = line.world = world_of(self.answers)
        line.picture = Picture(NAME, SAYS)
        bench = Workbench(known, world, "", line.announce)
        try:
            draw(bench, line.picture, self.sentences)
        except NotToBeDrawn as problem:
            line.picture.trouble = textwrap.wrap(str(problem), NARROW)
            line.picture.state = "stopped"
        line.send({"done": pack(line.picture)})
        line.send({"done": pack(_built(world, line.picture.state != "stopped"))})


def _built(world: World, is_done: bool) -> Picture:
    """List the boxes of the paper's figures with the student's own functions."""
    from grader.chapters.tracks import not_begun

    begun = set(world.names) - not_begun(world.folder)
    today = [box for box in paper.TODAY if box.names[0].split(".")[0] in begun]
    figures = {**paper.FIGURES, **({paper.IN_PLACES_TODAY: today} if today else {})}
    built = Picture(*(paper.BUILT if is_done else paper.BUILDING))
    for title, parts in figures.items():
        notes = [line for part in parts for line in _lines(part, lambda full: _where(world, full))]
        built.rows.append(Row(title, notes=notes))
    built.rows.append(_not_built(paper.DECODER in begun, paper.DECODER in world.names))
    built.rows.append(Row("What to read next.", notes=[f"- {text}" for text in paper.READ_NEXT]))
    return built


def _not_built(decoder: bool, can_be: bool) -> Row:
    """Say what of the figures is missing, and whether a chapter that is not begun builds it."""
    who = "this kit does" if decoder else "the seven chapters do"
    lacks = paper.NOT_BUILT_BESIDE_A_DECODER if decoder else paper.NOT_BUILT
    notes = [f"- {text}" for text in lacks]
    if can_be and not decoder:
        notes.append(paper.BUILT_BEYOND)
    return Row(f"What the figures show and {who} not build.", notes=notes)


def _lines(part: paper.Box, where: Callable[[str], str]) -> Iterator[str]:
    adds = f" ({part.adds})" if part.adds else ""
    named = [f"{full.split('.')[1]}, {where(full)}" for full in part.names]
    yield f"- {part.box}:  {'  and  '.join(named)}{adds}"


def _where(world: World, full: str) -> str:
    """Say where a function begins, if it is more than its stub."""
    from grader.places import short
    from grader.written.cells import place
    from grader.written.started import is_stub, parsed

    stem, name = full.split(".")
    text = world.source(stem) or b""
    try:
        tree = parsed(text)
    except SyntaxError:
        tree = ast.Module([], [])
    made = [node for node in tree.body if getattr(node, "name", "") == name]
    if made and is_stub(made[-1]):
        return "not started"
    return place(text, made[-1].lineno).begins(short(world.path(stem))) if made else "not there yet"
