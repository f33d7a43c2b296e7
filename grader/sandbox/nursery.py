"""What a nursery does once, before it forks its first worker."""

from __future__ import annotations

import importlib
import os
import signal
import sys

from grader.sandbox import namespaces, room, seccomp, visible
from grader.sandbox.isolation import Isolation
from grader.sandbox.kernel import PR_SET_PDEATHSIG, SandboxError, prctl
from grader.sandbox.numbers import machine

# for which isolation the nursery was prepared, and its number; workers inherit it
_prepared: list[tuple[Isolation, int]] = []


def prepare_nursery(isolation: Isolation) -> None:
    """Prepare this process to fork workers that can be enclosed.

    Call it once, early: before PyTorch is imported is best, as one more small process is forked
    here. This process must have one thread only. After it, this process has no network, and it ends
    with the thread that started it, and all workers with it: that thread must live as long as this
    process is needed.

    Args:
        isolation: what `offered` said.

    Raises:
        SandboxError: what was offered cannot be had.
    """
    if sys.platform == "linux":
        try:
            _enter(isolation)
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        except OSError as error:
            raise SandboxError(f"The nursery could not be prepared: {error}.") from error
        _warm_up()
    _prepared[:] = [(isolation, os.getpid())]


def require(isolation: Isolation) -> None:
    """Fail in a worker whose nursery was not prepared for these walls.

    Raises:
        SandboxError: it was not.
    """
    if not _prepared or _prepared[0][0] != isolation:
        raise SandboxError("The nursery was not prepared for these walls.")


def require_alive() -> None:
    """Fail in a worker whose nursery ended before the kernel knew that the worker is to follow.

    Raises:
        SandboxError: it ended.
    """
    isolation, number = _prepared[0]
    # in a pid namespace the nursery has no number, but there the kernel has ended this process
    if "pid" not in isolation.spaces and os.getppid() != number:
        raise SandboxError("The nursery has ended.")


def _warm_up() -> None:
    """Work out what workers inherit, and load what they would load each for itself."""
    importlib.import_module("resource")
    for gpu in (False, True):
        visible.needed(gpu)
        if machine():
            seccomp.build(machine(), gpu)


def _enter(isolation: Isolation) -> None:
    if not isolation.room:
        return
    namespaces.unshare(isolation.spaces, isolation.namespaces)
    room.keep_mounts_private()
    if "pid" in isolation.spaces:
        namespaces.start_anchor()
