"""What a child process does first."""

from __future__ import annotations

import multiprocessing
import os
import threading


def be_quiet() -> None:
    """Print nothing, read nothing, and lead a group that can be ended with all that it starts."""
    if hasattr(os, "setsid"):
        os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def end_with_parent() -> None:
    """End when the process that has started this one does, however it ends."""
    threading.Thread(target=_wait_for_its_end, daemon=True).start()


def _wait_for_its_end() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)
