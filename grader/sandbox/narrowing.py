"""Keeps the system's libraries from workers: what they need of them, their nursery has loaded."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from grader.sandbox import visible
from grader.sandbox.enclosure import enclose
from grader.sandbox.isolation import Isolation
from grader.sandbox.walls import Walls

_SECONDS = 20


def narrow(isolation: Isolation, work: Callable[[], object]) -> bool:
    """Keep the system's libraries from workers: those that this process has loaded, they have.

    Call it when all is loaded. Where a worker cannot do its work so, it may read them after all.

    Args:
        isolation: what the nursery was prepared for.
        work: a little of all that a worker may do; it is tried in a fork.

    Returns:
        Whether it could be done.
    """
    if sys.platform != "linux":
        return False
    # what Python's own modules need, such as sqlite3; the C library when a thread ends early
    own = Path(str(sysconfig.get_config_var("DESTSHARED"))).glob("*.so")
    for name in (*map(str, own), "libgcc_s.so.1"):
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
    modules = _modules_shown()
    visible.show_libraries(of_the_system=False)
    done = _goes_on(isolation, modules, work)
    if not done:
        visible.show_libraries(of_the_system=True)
    visible.needed(False)  # for all workers that will be forked
    return done


def _modules_shown() -> list[str]:
    """Name the files of all loaded modules that a worker may read; the kit's own are not among."""
    shown = set(visible.needed(False)[0])
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    # some stand there only as a link to a place that is not shown
    files = [file for file in found if file and not os.path.islink(file)]
    folders = {os.path.dirname(file) for file in files}
    good = {folder for folder in folders if shown & {*Path(os.path.realpath(folder), "x").parents}}
    return [file for file in files if os.path.dirname(file) in good]


def _goes_on(isolation: Isolation, modules: list[str], work: Callable[[], object]) -> bool:
    """Say whether a worker can read these modules and do the work."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(_SECONDS)
            enclose(Walls(), isolation)
            if all(os.access(name, os.R_OK) for name in modules):
                work()
                os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0
