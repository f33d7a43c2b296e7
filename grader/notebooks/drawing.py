"""The picture of a function in a notebook: drawn by `grader show` from the cells that were run."""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.chapters import Exercise, catalogue
from grader.notebooks.session import Session, session_of, started_session
from grader.written.chosen import chosen_source


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


def drawn(name: str, space: dict[str, Any], text: str | None = None) -> Drawn:
    """Draw a function that the notebook defines.

    Raises:
        LookupError: nothing is called so.
        ValueError: `text` is no text to draw with.
    """
    chosen = catalogue().select(name)
    session = started_session(space) or session_of(space, chosen[0].stem)
    session.refresh()
    # %reset takes this away, and a new process is not started without it
    vars(sys.modules["__main__"]).setdefault("__spec__", None)
    with tempfile.TemporaryDirectory(prefix="kit-") as folder:
        _write_answers(session, chosen, Path(folder))
        return _draw(chosen[0].full if len(chosen) == 1 else name, folder, text)


def _draw(name: str, folder: str, text: str | None) -> Drawn:
    """Hand over to what `grader show` draws with: the one place where notebooks and it meet."""
    try:
        from grader.pictures.saving import svg
        from grader.pictures.terminal import show
        from grader.showing.child import PictureRequest, own_words
        from grader.showing.run import ShowError, draw
    except ImportError:
        return Drawn("", "There are no pictures in this copy of the kit.")
    from rich.console import Console

    try:
        pictures = draw(PictureRequest(name, folder, own_words(text)))
    except ShowError as problem:
        return Drawn("", str(problem))
    paper = Console(
        file=io.StringIO(), width=100, highlight=False, force_jupyter=False, force_terminal=False
    )
    show(pictures, paper)
    assert isinstance(paper.file, io.StringIO)
    said = paper.file.getvalue().rstrip()
    return Drawn(svg(pictures) if any(one.rows for one in pictures) else "", said)


def _write_answers(session: Session, chosen: Sequence[Exercise], folder: Path) -> None:
    """Write every chapter as a file: the others as they are, the notebook's from its cells."""
    for stem in session.known.names():
        text = session.world.source(stem) if stem != session.stem else None
        if text is not None:
            (folder / f"{stem}.py").write_bytes(text)
    name, exercises = f"{session.stem}.ipynb", session.known.names()[session.stem]
    ran = chosen_source(session.ran(), name, exercises, saved=False)
    asked = {one.name for one in chosen if one.stem == session.stem}
    to_come = [one for one in exercises if one not in session.space and one not in asked]
    # what was run has the last word on a helper that both have
    source = session.saved(to_come) + ran.encode()
    (folder / f"{session.stem}.py").write_bytes(source)
