"""What the system tells a program by signals."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def listening(changed: Callable[[], None]) -> Iterator[None]:
    """Quit on what ends programs, and tell when the terminal has changed.

    Args:
        changed: called when the terminal has another size, or is ours again.
    """

    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    def redraw(*_: object) -> None:
        changed()

    wanted = {"SIGTERM": leave, "SIGHUP": leave, "SIGWINCH": redraw, "SIGCONT": redraw}
    before = {
        number: signal.signal(number, handler)
        for name, handler in wanted.items()
        if (number := getattr(signal, name, None)) is not None
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C go by: it is meant for an editor, or has been heard already."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
