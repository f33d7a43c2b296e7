"""Finds out which walls this machine gives to this user, by putting each up and running into it."""

from __future__ import annotations

import _thread
import contextlib
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from grader.sandbox import environment, landlock, namespaces, seccomp, visible
from grader.sandbox.enclosure import enclose
from grader.sandbox.isolation import Count, Isolation, Rights
from grader.sandbox.kernel import SandboxError, drop_capabilities
from grader.sandbox.numbers import machine
from grader.sandbox.nursery import prepare_nursery
from grader.sandbox.walls import Walls

_THREADS = 8
_SECONDS = 60
_KIT = Path(__file__).parents[2]


@functools.cache
def offered() -> Isolation:
    """Say which walls this machine gives to this user.

    They are tried out in processes of their own; this one stays as it is.

    Raises:
        SandboxError: they could not be tried out.
    """
    if sys.platform != "linux":
        return Isolation(sys.platform, limits=sys.platform != "win32")
    command = [sys.executable, "-m", __package__, "--offered"]
    variables = {**environment.clean_environment(), "PYTHONPATH": str(_KIT)}
    try:
        ran = subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=_SECONDS, check=True
        )
        return Isolation.from_json(json.loads(ran.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, TypeError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise SandboxError(f"The sandbox could not be tried out: {said[-1]}") from error


def find() -> Isolation:
    """Try out the walls, the most protecting combination first, in forks of this process."""
    if not machine():
        return Isolation("linux", limits=True)
    known = landlock.version()
    base = Isolation(
        "linux",
        landlock=known if _holds(lambda: _shut_by_landlock(known)) else 0,
        seccomp=_holds(_shut_by_seccomp),
        capabilities=_holds(drop_capabilities),
        limits=True,
    )
    best: Isolation | None = None
    for namespaces_by, own_uid in _combinations():
        spaces = _spaces(namespaces_by)
        if namespaces_by != "none" and "mount" not in spaces:
            continue
        tried = replace(base, namespaces=namespaces_by, spaces=spaces, own_uid=own_uid)
        threads = _threads_inside(replace(tried, threads="own"))
        if threads is None:
            continue
        found = replace(tried, threads=threads)
        if found.complete:
            return found
        if best is None or len(found.missing) < len(best.missing):
            best = found
    return best or Isolation("linux")


def _combinations() -> Iterator[tuple[Rights, bool]]:
    """Name whose rights for namespaces may do, and whether a change of user does."""
    if os.getuid() == 0:
        yield from (("root", True), ("none", True), ("root", False))
    yield from (("user", False), ("none", False))


def _spaces(by: Rights) -> tuple[str, ...]:
    if by == "none":
        return ()
    return tuple(
        name
        for name in namespaces.SPACES
        if _holds(functools.partial(namespaces.unshare, {"mount", name}, by))
    )


def _threads_inside(isolation: Isolation) -> Count | None:
    """Enclose a worker in a nursery for real, and count the threads that it gets.

    Returns:
        By which count threads are limited, nothing if a wall did not stand up or if the worker
        could not read what it needs.
    """
    listen, tell = os.pipe()
    nursery = os.fork()
    if nursery == 0:
        _as_nursery(isolation, tell)
    os.close(tell)
    with os.fdopen(listen, "rb") as answer:
        said = answer.read()
    os.waitpid(nursery, 0)
    if not said:
        return None
    started = int(said)
    if started >= _THREADS:
        return "none"
    return "own" if isolation.own_uid or started == _THREADS - 1 else "shared"


def _as_nursery(isolation: Isolation, tell: int) -> None:
    """Be a nursery with one worker; does not return."""
    with _leaving():
        prepare_nursery(isolation)
        worker = os.fork()
        if worker == 0:
            with _leaving():
                walls = Walls(keep=(tell,), threads=_THREADS, scratch=1)
                enclose(walls, isolation)
                _read_what_is_needed()
                os.write(tell, str(_start_threads()).encode())
        os.waitpid(worker, 0)


def _read_what_is_needed() -> None:
    for path in visible.needed(False)[0]:
        if path.is_dir():
            os.listdir(path)
    Path(os.__file__).read_bytes()


def _start_threads() -> int:
    stop = _thread.allocate_lock()
    stop.acquire()
    for count in range(_THREADS + 1):
        try:
            _thread.start_new_thread(stop.acquire, ())
        except RuntimeError:
            return count
    return _THREADS + 1


def _shut_by_landlock(known: int) -> None:
    landlock.restrict([], known)
    with contextlib.suppress(PermissionError):
        os.listdir("/")
        raise OSError(0, "Landlock lets files be read")


def _shut_by_seccomp() -> None:
    seccomp.install(False)
    with contextlib.suppress(PermissionError):
        os.getpgid(1)
        raise OSError(0, "seccomp lets calls through")


def _holds(attempt: Callable[[], None]) -> bool:
    """Say whether an attempt succeeds, in a fork."""
    child = os.fork()
    if child == 0:
        with _leaving():
            attempt()
            os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@contextlib.contextmanager
def _leaving() -> Iterator[None]:
    """End this process with what is inside, whatever happens there."""
    try:
        yield
    finally:
        os._exit(1)
