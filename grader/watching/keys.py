"""Single keys from the terminal, or letters on lines from a pipe, without waiting for them."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import select
    import termios
    import tty

ESCAPE = "\x1b"
GONE = "\x04"


class Keys:
    """Reads keys in a thread of its own.

    Args:
        pressed: told each key.
    """

    def __init__(self, pressed: Callable[[str], None]) -> None:
        self._pressed = pressed
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._before: list[Any] | None = None
        self._wake = (-1, -1)

    def start(self) -> None:
        """Begin to read, with each key as it is pressed."""
        if not _readable():
            return
        self._stop.clear()
        if sys.platform != "win32":
            self._wake = os.pipe()
            if os.isatty(0):
                self._before = termios.tcgetattr(0)
                tty.setcbreak(0)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave the keys to others, and the terminal as it was."""
        self._stop.set()
        if sys.platform == "win32":
            return
        if self._before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, self._before)
            self._before = None
        if self._thread is not None:
            os.write(self._wake[1], b".")
            self._thread.join()
            for end in self._wake:
                os.close(end)
            self._thread = None

    def _read(self) -> None:
        chunks = self._on_windows() if sys.platform == "win32" else self._elsewhere()
        for chunk in chunks:
            # arrows and other keys with no letter come as an escape with more behind it
            if not chunk.startswith(ESCAPE):
                for key in chunk:
                    self._pressed(key.lower())

    def _elsewhere(self) -> Iterator[str]:
        while sys.platform != "win32":
            ready, _, _ = select.select([0, self._wake[0]], [], [])
            if self._wake[0] in ready:
                return
            try:
                data = os.read(0, 1024)
            except OSError:
                data = b""
            if not data:
                if self._before is not None:  # not the end of a pipe: the terminal is gone
                    self._pressed(GONE)
                return
            yield data.decode(errors="replace")

    def _on_windows(self) -> Iterator[str]:
        # a blocked getwch could not be stopped when an editor needs the keys
        while not self._stop.wait(0.1):
            yield _typed()


def _typed() -> str:
    """Return what has been typed on Windows since the last time."""
    typed = ""
    if sys.platform == "win32":
        while msvcrt.kbhit():
            key = msvcrt.getwch()
            if key in ("\x00", "\xe0"):
                msvcrt.getwch()  # an arrow, or another key with no letter
            else:
                typed += key
    return typed


def _readable() -> bool:
    """Tell whether there is anything to read keys from."""
    try:
        os.fstat(0)
    except OSError:
        return False
    if sys.platform == "win32":
        return os.isatty(0)
    if not os.isatty(0):
        return True
    with contextlib.suppress(OSError):  # a terminal that is not ours to share
        # in the background of a shell, whoever reads keys is stopped
        return os.tcgetpgrp(0) == os.getpgrp()
    return True
