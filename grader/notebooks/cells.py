"""What the cells of a notebook call. Nothing in here knows of IPython: a namespace is enough.

What they print is for a student: whatever goes wrong, no traceback of ours is in it.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable
from typing import Any

COMMAND = re.compile(r"python\s+-m\s+grader\s+(hint|quiz|show|why)\s+(\w+)")
CHECKS = re.compile(r"pytest tests/test_ex\d\d_\w+\.py::(\w+)")


def start(stem: str) -> None:
    """Say which chapter the notebook is, and let it import the earlier ones.

    Args:
        stem: the chapter, `ex04_softmax`.
    """
    space = sys._getframe(1).f_globals

    def begin() -> None:
        from grader.notebooks.session import session_of

        print(session_of(space, stem).said())

    _quietly(begin)


def check(name: str | None = None, *, device: str = "cpu", seconds: float = 10.0) -> None:
    """Judge a function that the notebook defines, and print what pytest would say of it.

    Args:
        name: `softmax`, `ex04_softmax.softmax`, or a whole chapter; None: the notebook's own.
        device: where to run it: `cpu`, `cuda`, `mps` or another that PyTorch has here.
        seconds: how long each check may take.
    """
    space = sys._getframe(1).f_globals

    def judge() -> None:
        from grader.notebooks.checking import checked

        print(in_cells(checked(_meant(name, space), space, device, seconds)))

    _quietly(judge)


def show(name: str | None = None, *, text: str | None = None) -> Any:
    """Draw what a function that the notebook defines does.

    Args:
        name: `softmax`, or a whole chapter; None: the notebook's own.
        text: your own words, for those pictures that are about words.
    """
    space = sys._getframe(1).f_globals

    def draw() -> Any:
        from grader.notebooks.drawing import drawn

        found = drawn(_meant(name, space), space, text)
        found.text = in_cells(found.text)
        return found

    return _quietly(draw)


def hint(name: str | None = None) -> None:
    """Print the next of three hints for a function, or what a word means.

    Args:
        name: `softmax`, or a word that has a card; None: the notebook's chapter.
    """
    space = sys._getframe(1).f_globals

    def tell() -> None:
        from grader.cli import main
        from grader.notebooks.hinting import hinted

        about = _meant(name, space)
        told = hinted(about, space)
        if told is None:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                main(["hint", about])
            told = said.getvalue().rstrip("\n").split("\n")
        print(in_cells("\n".join(told)))

    _quietly(tell)


def quiz(name: str | None = None, *, seed: int | None = None) -> None:
    """Ask the questions of a chapter or on a function, and say the answers with their reasons.

    Args:
        name: `softmax`, or a whole chapter; None: the notebook's own.
        seed: for the same numbers as before.
    """
    _ask("quiz", name, seed, sys._getframe(1).f_globals)


def why(name: str | None = None, *, seed: int | None = None) -> None:
    """Ask one question about a function that is solved, in the notebooks and files as saved.

    Args:
        name: `softmax`, or a whole chapter; None: the notebook's own.
        seed: for the same question as before.
    """
    _ask("why", name, seed, sys._getframe(1).f_globals)


def _ask(command: str, name: Any, seed: int | None, space: dict[str, Any]) -> None:
    """Give a command that asks, about what is named or else the notebook's own chapter."""

    def ask() -> None:
        from grader.cli import main

        main([command, _meant(name, space), *([] if seed is None else ["--seed", str(seed)])])

    _quietly(ask)


def _meant(name: Any, space: dict[str, Any]) -> str:
    """Return the name of what is meant; a function or a class that was handed over has one, too.

    Raises:
        ValueError: nothing is named, and the notebook has no chapter yet.
    """
    from grader.notebooks.session import KEY

    if name is None:
        if KEY not in space:
            raise ValueError("say which: no chapter has been started here")
        return str(space[KEY].stem)
    return name if isinstance(name, str) else str(getattr(name, "__name__", name))


def in_cells(text: str) -> str:
    """Name the commands that a cell has as a cell calls them."""
    return CHECKS.sub(r'check("\1")', COMMAND.sub(r'\1("\2")', text))


def _quietly(do: Callable[[], Any]) -> Any:
    """Turn what goes wrong into a sentence."""
    try:
        return do()
    except KeyboardInterrupt:
        print("stopped")
    except (LookupError, ValueError, OSError) as problem:
        print(problem.args[0] if isinstance(problem, LookupError) else problem)
    except ImportError as problem:
        print(
            f"{problem} in this notebook's Python, {sys.executable}. Choose the kit's as its "
            "kernel, or start Jupyter with it: .venv/bin/python -m jupyterlab"
        )
    except SystemExit:
        pass
    except Exception as problem:
        said = f"{type(problem).__name__}: {problem}"
        print(f"This should not happen; it is no mistake of yours. Please report it: {said}")
    return None
