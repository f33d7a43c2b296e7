"""Attacks that use up what others need."""

from __future__ import annotations

import _thread
import mmap
import os
import resource
from pathlib import Path

from grader.sandbox.drill.attack import World, attack

_MEGABYTE = 1 << 20
_TIMES = 2
_SLACK = 600  # what may be mapped beyond the limit on memory, in megabytes
_MOST_NAMES = 5000


def _map(megabytes: int, flags: int) -> mmap.mmap:
    return mmap.mmap(-1, megabytes * _MEGABYTE, flags=flags)


@attack()
def memory_at_once(world: World) -> object:
    """Take twice the memory in one piece."""
    return len(bytearray(world.memory * _TIMES * _MEGABYTE)) // _MEGABYTE


@attack()
def memory_bit_by_bit(world: World) -> object:
    """Take twice the memory in small pieces."""
    pieces = [bytes(100_000) for _ in range(world.memory * _TIMES * 10)]
    return len(pieces) // 10


@attack()
def memory_mapped(world: World) -> object:
    """Map twice the memory for oneself."""
    return len(_map(world.memory * _TIMES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)) // _MEGABYTE


@attack()
def memory_shared(world: World) -> object:
    """Map memory that could be shared, which the limit on data does not count."""
    kept: list[mmap.mmap] = []
    step = world.memory // 4
    while len(kept) * step < world.memory * _TIMES + _SLACK:
        kept.append(_map(step, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
    return len(kept) * step


@attack()
def memory_in_file(world: World) -> object:
    """Put twice the memory into a file that lies in memory."""
    file = os.memfd_create("full")
    os.truncate(file, world.memory * _TIMES * _MEGABYTE)
    return "a file"


@attack()
def threads(world: World) -> object:
    """Start more threads than one may have."""
    stop = _thread.allocate_lock()
    stop.acquire()
    for _ in range(world.threads + 1):
        _thread.start_new_thread(stop.acquire, ())
    return world.threads + 1


@attack()
def threads_of_small_size(world: World) -> object:
    """Start more threads than one may have, of so little memory that the limit on it is far."""
    _thread.stack_size(64 * 1024)
    return threads(world)


@attack()
def open_files(world: World) -> object:
    """Open more files than one may."""
    return len([os.open(os.devnull, os.O_RDONLY) for _ in range(world.files + 1)])


@attack()
def one_large_file(world: World) -> object:
    """Write a file that is larger than all that one may write."""
    with Path(world.scratch, "large").open("wb") as file:
        for _ in range(world.disk * _TIMES):
            file.write(bytes(_MEGABYTE))
    return "written"


@attack()
def many_large_files(world: World) -> object:
    """Write more than one may, in several files."""
    for number in range(world.disk * _TIMES):
        Path(world.scratch, f"{number}").write_bytes(bytes(_MEGABYTE))
    return "written"


@attack()
def file_of_holes(world: World) -> object:
    """Make a file that is large only by its size."""
    with Path(world.scratch, "holes").open("wb") as file:
        os.truncate(file.fileno(), world.disk * _TIMES * _MEGABYTE)
    return "made"


@attack()
def many_names(world: World) -> object:
    """Make empty files without end."""
    for number in range(_MOST_NAMES):
        Path(world.scratch, f"name{number}").touch()
    return _MOST_NAMES


@attack()
def memory_locked(_: World) -> object:
    """Find out whether memory can be kept from being swapped out."""
    hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    return hard or None
