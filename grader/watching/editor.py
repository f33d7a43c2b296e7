"""Opening a file at a line in the student's editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# how an editor is told the line; those with a window of their own come first
WINDOWED = {
    "code": "-g {file}:{line}",
    "codium": "-g {file}:{line}",
    "code-insiders": "-g {file}:{line}",
    "cursor": "-g {file}:{line}",
    "subl": "{file}:{line}",
    "zed": "{file}:{line}",
    "pycharm": "--line {line} {file}",
    "kate": "-l {line} {file}",
    "gedit": "+{line} {file}",
    "gnome-text-editor": "+{line} {file}",
    "mate": "-l {line} {file}",
    "notepad++": "-n{line} {file}",
    "notepad": "{file}",
}
IN_TERMINAL = {
    "micro": "+{line} {file}",
    "hx": "{file}:{line}",
    "nano": "+{line} {file}",
    "nvim": "+{line} {file}",
    "vim": "+{line} {file}",
    "emacs": "+{line} {file}",
    "vi": "+{line} {file}",
}

NOTEBOOKS = ("code", "codium", "code-insiders", "cursor", "pycharm")


def command(path: Path, line: int) -> list[str] | None:
    """Return the command that opens a file: $VISUAL, $EDITOR, or an editor that is installed."""
    wanted = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if wanted:
        # the backslashes of a Windows path are no escapes
        words = [word.strip('"') for word in shlex.split(wanted, posix=os.name == "posix")]
        return [*words, *_place(words[0], path, line)] if words else None
    found = next((name for name in _candidates() if shutil.which(name)), None)
    return [str(shutil.which(found)), *_place(found, path, line)] if found else None


def open_at(words: Sequence[str]) -> str:
    """Run the command; one with a window of its own is not waited for.

    Returns:
        What went wrong, or nothing.
    """
    try:
        if is_windowed(words):
            quiet = subprocess.DEVNULL
            subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        else:
            subprocess.call(words)
    except OSError as problem:
        return f"{words[0]} cannot be started: {problem.strerror or problem}"
    return ""


def is_windowed(words: Sequence[str]) -> bool:
    """Tell whether an editor leaves the terminal alone."""
    return _name(words[0]) in WINDOWED


def shows_notebooks(words: Sequence[str]) -> bool:
    """Tell whether an editor shows the cells of a notebook, and not the text of its file."""
    return _name(words[0]) in NOTEBOOKS


def _candidates() -> list[str]:
    inside_code = os.environ.get("TERM_PROGRAM") == "vscode"
    screen = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    return ["code"] * inside_code + [*WINDOWED] * screen + [*IN_TERMINAL]


def _place(program: str, path: Path, line: int) -> list[str]:
    form = {**WINDOWED, **IN_TERMINAL}.get(_name(program), "{file}")
    return [part.format(file=path, line=line) for part in form.split()]


def _name(program: str) -> str:
    name = Path(program.replace("\\", "/")).name.lower()
    return name.removesuffix(".exe").removesuffix(".cmd")
