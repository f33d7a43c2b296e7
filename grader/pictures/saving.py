"""Saving pictures: the file's ending says how."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from grader.pictures.colours import Theme
from grader.pictures.model import Picture

ENDINGS = (".png", ".svg", ".html")


def problem_with(file: Path) -> str | None:
    """Say why pictures cannot be saved to a file, or None; asked before anything is computed."""
    if file.suffix.lower() not in ENDINGS:
        return f"--save takes a file that ends in .png, .svg or .html, not `{file.name}`"
    if not file.resolve().parent.is_dir():
        return f"--save: there is no folder {file.resolve().parent}"
    if file.suffix.lower() == ".png" and importlib.util.find_spec("matplotlib") is None:
        return (
            "a PNG is drawn by matplotlib, which is not installed: python -m pip install "
            "matplotlib, or save as .svg or .html, which need nothing"
        )
    return None


def save(pictures: list[Picture], file: Path, theme: Theme | None = None) -> None:
    """Write pictures to one file.

    Raises:
        OSError: it cannot be written.
    """
    from grader.pictures.scene import lay_out

    scene = lay_out(pictures)
    ending = file.suffix.lower()
    if ending == ".png":
        from grader.pictures.png import png

        png(scene, file, theme)
        return
    from grader.pictures.svg import html, svg

    write = html if ending == ".html" else svg
    file.write_text(write(scene, theme), encoding="utf-8")
