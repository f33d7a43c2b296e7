"""The picture of a function in a notebook: drawn by `grader show` from the cells that were run."""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from grader.chapters import Exercise, catalogue
from grader.notebooks.chosen import Cell, chosen_source
from grader.notebooks.session import Session, session_of, started_session

# the cells of a long day; those before them have been run again since
MOST_CELLS = 400


class Drawn:
    """Pictures, as an image where the notebook can show one, and as text everywhere."""

    def __init__(self, image: str, text: str) -> None:
        self.image, self.text = image, text

    def _repr_html_(self) -> str | None:
        if not self.image:
            return None
        # an image of its own, so that its styles stay out of the notebook's page
        data = base64.b64encode(self.image.encode()).decode()
        return f'<img alt="a picture of the steps" src="data:image/svg+xml;base64,{data}">'

    def __repr__(self) -> str:
        return self.text


def drawn(name: str, space: dict[str, Any]) -> Drawn:
    """Draw a function that the notebook defines.

    Raises:
        LookupError: nothing is called so.
    """
    chosen = catalogue().select(name)
    session = started_session(space) or session_of(space, chosen[0].stem)
    session.refresh()
    # %reset takes this away, and a new process is not started without it
    vars(sys.modules["__main__"]).setdefault("__spec__", None)
    with tempfile.TemporaryDirectory(prefix="kit-") as folder:
        _write_answers(session, Path(folder))
        return _draw(chosen[0] if len(chosen) == 1 else None, name, folder)


def _draw(exercise: Exercise | None, name: str, folder: str) -> Drawn:
    """Hand over to what `grader show` draws with: the one place where notebooks and it meet."""
    try:
        from grader.pictures.scene import lay_out
        from grader.pictures.svg import svg
        from grader.pictures.terminal import show
        from grader.showing.child import Request
        from grader.showing.run import ShowError, draw
    except ImportError:
        return Drawn("", "There are no pictures in this copy of the kit.")
    from rich.console import Console

    try:
        pictures = draw(Request(exercise.full if exercise else name, folder))
    except ShowError as problem:
        return Drawn("", str(problem))
    paper = Console(
        file=io.StringIO(), width=100, highlight=False, force_jupyter=False, force_terminal=False
    )
    show(pictures, paper)
    assert isinstance(paper.file, io.StringIO)
    text = paper.file.getvalue().rstrip()
    return Drawn(svg(lay_out(pictures)) if any(one.rows for one in pictures) else "", text)


def _write_answers(session: Session, folder: Path) -> None:
    """Write every chapter as a file: the others as they are, the notebook's from its cells."""
    for stem in session.known.names():
        if stem != session.stem and session.world.path(stem).is_file():
            (folder / f"{stem}.py").write_bytes(session.world.path(stem).read_bytes())
    # IPython keeps what was run in `In`; the first entry is empty
    run = [text for text in session.space.get("In", ()) if isinstance(text, str)][-MOST_CELLS:]
    cells = [Cell(number, text) for number, text in enumerate(run)]
    source = chosen_source(cells, session.known.names()[session.stem])
    (folder / f"{session.stem}.py").write_text(source, encoding="utf-8")
