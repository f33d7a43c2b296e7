"""Writing notebooks: one a chapter, the same bytes each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader.notebooks.cells import in_cells
from grader.notebooks.chapter import ChapterText, Part, read_chapter
from grader.notebooks.text import markdown, prose

SET_UP = """\
# Run this cell first. In Jupyter there is nothing to change: start it in the kit's environment.
# In Colab: put the kit's folder into your Drive, and write here where it lies there.
# In Kaggle: add the kit's folder as a dataset ("Add Input"), and turn on "Internet" in the
# settings, where it is off at first: this cell installs what Kaggle lacks.
KIT = "MyDrive/attention-kit"

import glob, os, shutil, sys

if "KAGGLE_KERNEL_RUN_TYPE" in os.environ:
    KIT = "/kaggle/working/attention-kit"
    if not os.path.isdir(KIT):  # a dataset cannot be written to
        found = glob.glob("/kaggle/input/**/grader/__init__.py", recursive=True)
        assert found, "the kit is not among this notebook's inputs: add it as a dataset"
        shutil.copytree(os.path.join(os.path.dirname(found[0]), ".."), KIT)
elif "google.colab" in sys.modules:
    from google.colab import drive

    drive.mount("/content/drive")
    KIT = "/content/drive/" + KIT
else:
    KIT = os.path.abspath("..")
if KIT != os.path.abspath(".."):
    os.chdir(KIT + "/exercises")
    !"{sys.executable}" -m pip install -q -e "{KIT}"
sys.path.append(KIT)

from grader.notebooks import check, hint, quiz, show, start, why

start("STEM")"""

HOW = """\
## How this notebook works

Run the cells from the top, with Shift and Enter. Replace a `raise NotImplementedError` by your
code, run that cell, then the check beneath it. After a change run the cell again: a check judges
what was run, not what is written. `show` draws what your function does, `hint("NAME")` gives the
next of three hints. `quiz()` asks the questions of the chapter, and says the answers with their
reasons; `why()` asks one about a function that you have solved and saved.

Hand in this file, as `STEM.ipynb`, beside your others. What counts are the cells in which the
stubs stood, and the imports and helpers that they use. Nothing else in here is run. `pytest` and
`python -m grader` take the same of it. Where they say `cell 5`, they mean the cell that has `[5]`
beside it after "Restart Kernel and Run All Cells": the fifth with code in it."""


class NoNbformat(Exception):
    """The library that writes notebooks is not installed."""


def notebook(chapter: ChapterText) -> bytes:
    """Write a chapter as a notebook.

    Raises:
        NoNbformat: `nbformat` is not installed.
    """
    try:
        import nbformat
        from nbformat import v4
    except ImportError as problem:
        said = "writing notebooks needs nbformat: python -m pip install nbformat"
        raise NoNbformat(said) from problem
    made = v4.new_notebook(
        cells=_cells(chapter, v4),
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
    )
    made.nbformat_minor = 5
    nbformat.validate(made)
    return (nbformat.writes(made, version=nbformat.NO_CONVERT).rstrip("\n") + "\n").encode()


def _cells(chapter: ChapterText, v4: Any) -> list[Any]:
    def text(place: str, source: str) -> Any:
        return v4.new_markdown_cell(source, id=_identity(chapter, place))

    def code(tag: str, source: str) -> Any:
        identity = _identity(chapter, tag.replace(":", "-"))
        return v4.new_code_cell(source, id=identity, metadata={"tags": [tag]})

    cells = [
        code("set-up", SET_UP.replace("STEM", chapter.stem)),
        text("text", in_cells(markdown(chapter.text))),
        text("how", HOW.replace("STEM", chapter.stem)),
        code("imports", chapter.header),
    ]
    for part in chapter.parts:
        cells += [
            text(f"text-{part.name}", _introduction(part)),
            code(f"answer:{part.name}", part.source),
            code(f"check:{part.name}", f'check("{part.name}")'),
            code(f"show:{part.name}", f'show("{part.name}")'),
        ]
    cells.append(text("text-all", "## All of the chapter"))
    cells.append(code("check:all", f'check("{chapter.stem}")'))
    return cells


def _identity(chapter: ChapterText, place: str) -> str:
    """Name a cell; a name is all that tells cells of equal text apart, and is never random."""
    return f"{chapter.stem}-{place}".replace("_", "-")[:64]


def _introduction(part: Part) -> str:
    lines = [f"## {part.name}", prose(part.summary), prose(part.effort)]
    return "\n\n".join(line for line in lines if line)


def write_chapters(name: str | None, folder: Path) -> tuple[list[Path], list[Path]]:
    """Write the notebook of one chapter, or of all; see `write_all`.

    Raises:
        LookupError: no chapter is called so.
        SyntaxError: an exercise file is not Python.
        NoNbformat: `nbformat` is not installed.
    """
    from grader import places
    from grader.chapters import catalogue

    known = catalogue()
    stems = sorted({one.stem for one in known.select(name)}) if name else list(known.names())
    files = {folder / f"{stem}.ipynb": places.EXERCISES / f"{stem}.py" for stem in stems}
    # who works in notebooks may have put the files away
    there = [path for path, file in files.items() if path.is_file() and not file.is_file()]
    chapters = [read_chapter(file) for path, file in files.items() if path not in there]
    written, kept = write_all(chapters, folder)
    return written, [*there, *kept]


def write_all(chapters: list[ChapterText], folder: Path) -> tuple[list[Path], list[Path]]:
    """Write notebooks that are not there yet; what is there may hold a student's work.

    Args:
        chapters: the chapters.
        folder: where to; made if need be.

    Returns:
        What was written, and what was there already and says something else.
    """
    made = {folder / f"{chapter.stem}.ipynb": notebook(chapter) for chapter in chapters}
    folder.mkdir(parents=True, exist_ok=True)
    written, kept = [], []
    for path, data in made.items():
        if not path.exists():
            path.write_bytes(data)
            written.append(path)
        elif path.read_bytes() != data:
            kept.append(path)
    return written, kept
