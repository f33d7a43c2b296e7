"""Shuts a freshly forked worker in, for good."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.sandbox import (
    environment,
    identity,
    landlock,
    limits,
    namespaces,
    nursery,
    room,
    seccomp,
    visible,
)
from grader.sandbox.isolation import Isolation
from grader.sandbox.kernel import (
    PR_SET_DUMPABLE,
    PR_SET_PDEATHSIG,
    SandboxError,
    drop_capabilities,
    no_new_privileges,
    prctl,
)
from grader.sandbox.walls import Walls


def enclose(walls: Walls, isolation: Isolation) -> None:
    """Shut this process in; there is no way back.

    It must be a fresh fork of a prepared nursery, with one thread. Afterwards it can use what it
    has in memory, read what is in `walls` and what Python and PyTorch need, and talk on the
    descriptors that it keeps.

    Args:
        walls: what it may have.
        isolation: what `offered` said, and what the nursery was prepared for.

    Raises:
        SandboxError: a wall could not be put up. This process may have lost some of its rights
            already; it must end, and run nothing of a submission.
    """
    nursery.require(isolation)
    for path in walls.readable:
        if not path.exists():
            raise SandboxError(f"{path} is not there.")
    try:
        if sys.platform == "linux":
            _enclose_on_linux(walls, isolation)
        else:
            _enclose_elsewhere(walls, isolation)
    except (OSError, ValueError) as error:
        raise SandboxError(f"A wall could not be put up: {error}.") from error
    for path in walls.readable:
        _require_readable(path)


def _enclose_on_linux(walls: Walls, isolation: Isolation) -> None:
    """Put up the walls, each while the rights for it are still there."""
    _detach(walls.keep)
    limits.be_first_to_go()
    figures = limits.work_out(walls, isolation) if isolation.limits else {}
    seen = visible.view(walls.readable, walls.hidden, walls.gpu)
    user = identity.of_process() if isolation.own_uid else os.getuid()
    group = user if isolation.own_uid else os.getgid()
    scratch = room.SCRATCH if isolation.room and walls.scratch else None
    if isolation.room:
        namespaces.unshare(("mount",), isolation.namespaces)
        own_processes = "pid" in isolation.spaces
        room.enter(seen, walls.scratch, (user, group), walls.gpu, own_processes)
    os.chdir(scratch or "/")
    environment.settle(scratch, gpu=walls.gpu)
    limits.put_up(figures)  # in a user namespace already, or threads of others would count
    if isolation.own_uid:
        identity.become(user)
    if isolation.capabilities:
        drop_capabilities()
    no_new_privileges()
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # after the change of user, which would undo it
    nursery.require_alive()
    prctl(PR_SET_DUMPABLE, 0)
    if isolation.landlock:
        landlock.restrict(_files(seen, isolation.room, walls.gpu), isolation.landlock)
    if isolation.seccomp:
        seccomp.install(walls.gpu)


def _enclose_elsewhere(walls: Walls, isolation: Isolation) -> None:
    if sys.platform != "win32":
        _detach(walls.keep)
        if isolation.limits:
            limits.put_up(limits.work_out(walls, isolation))
    environment.settle(None)


def _detach(keep: Iterable[int]) -> None:
    """Leave the terminal, and close every descriptor but those to keep."""
    os.umask(0o022)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in {0, 1, 2} - set(keep):
        os.dup2(nothing, standard)
    last = 2
    for descriptor in sorted({*keep} - {0, 1, 2}):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, max(last + 1, os.sysconf("SC_OPEN_MAX")))


def _require_readable(path: Path) -> None:
    inside = path.iterdir() if path.is_dir() and os.access(path, os.R_OK | os.X_OK) else ()
    for each in (path, *inside):
        if not each.is_symlink() and not os.access(each, os.R_OK):
            raise SandboxError(f"{each} cannot be read by the user that runs submissions.")


def _files(seen: visible.VisibleFiles, in_room: bool, gpu: bool) -> Iterator[tuple[Path, int]]:
    """Name what Landlock lets through."""
    if in_room:  # what is hidden is not there
        yield from ((path, landlock.READ) for path in seen.shown)
        yield room.SCRATCH, landlock.WRITE
    else:
        for path, readable in visible.without_hidden(seen):
            yield path, landlock.READ if readable else landlock.LIST
    for path in visible.devices(gpu):
        yield path, landlock.USE_DEVICE
    if gpu:
        yield from ((path, landlock.READ) for path in visible.process_facts())
        yield visible.own_threads(), landlock.NAME
        yield Path("/dev/shm"), landlock.WRITE
