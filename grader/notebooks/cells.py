"""What the cells of a notebook call. Nothing in here knows of IPython: a namespace is enough.

What they print is for a student: whatever goes wrong, no traceback of ours is in it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


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


def check(name: str, *, device: str = "cpu", seconds: float = 10.0) -> None:
    """Judge a function that the notebook defines, and print what pytest would say of it.

    Args:
        name: `softmax`, `ex04_softmax.softmax`, or a whole chapter.
        device: where to run it: `cpu` or `cuda`.
        seconds: how long each check may take.
    """
    space = sys._getframe(1).f_globals

    def judge() -> None:
        from grader.notebooks.checking import checked

        print(checked(name, space, device, seconds))

    _quietly(judge)


def show(name: str) -> Any:
    """Draw what a function that the notebook defines does."""
    space = sys._getframe(1).f_globals

    def draw() -> Any:
        from grader.notebooks.drawing import drawn

        return drawn(name, space)

    return _quietly(draw)


def hint(name: str) -> None:
    """Print the next of three hints for a function."""

    def tell() -> None:
        from grader.cli import main

        main(["hint", name])

    _quietly(tell)


def _quietly(do: Callable[[], Any]) -> Any:
    """Turn what goes wrong into a sentence."""
    try:
        return do()
    except KeyboardInterrupt:
        print("stopped")
    except (LookupError, ValueError, OSError) as problem:
        print(problem.args[0] if isinstance(problem, LookupError) else problem)
    except ImportError as problem:
        print(f"{problem}: run the set-up cell at the top of this notebook")
    except SystemExit:
        pass
    except Exception as problem:
        said = f"{type(problem).__name__}: {problem}"
        print(f"This should not happen; it is no mistake of yours. Please report it: {said}")
    return None
