"""Attacks that use up what others need."""

from __future__ import annotations

import _thread
import ctypes
import mmap
import os
import resource
from pathlib import Path

from grader.sandbox.drill.attack import Target, attack

_MEGABYTE = 1 << 20
_TIMES = 2
_SLACK = 600  # what may be mapped beyond the limit on memory, in megabytes
_MOST_NAMES = 5000
_GROWS_DOWN = 0x100  # mmap has a name for it from Python 3.13 on only


def _map(megabytes: int, flags: int) -> mmap.mmap:
    return mmap.mmap(-1, megabytes * _MEGABYTE, flags=flags)


@attack()
def memory_at_once(world: Target) -> object:
    """Take twice the memory in one piece."""
    return len(bytearray(world.memory * _TIMES * _MEGABYTE)) // _MEGABYTE


@attack()
def memory_bit_by_bit(world: Target) -> object:
    """Take twice the memory in small pieces."""
    pieces = [bytes(100_000) for _ in range(world.memory * _TIMES * 10)]
    return len(pieces) // 10


@attack()
def memory_mapped(world: Target) -> object:
    """Map twice the memory for oneself."""
    return len(_map(world.memory * _TIMES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)) // _MEGABYTE


@attack()
def memory_shared(world: Target) -> object:
    """Map memory that could be shared, which the limit on data does not count."""
    return len(_map(world.memory * _TIMES, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)) // _MEGABYTE


@attack()
def memory_shared_of_a_device(world: Target) -> object:
    """Map the device of zeros to be shared, which is memory too."""
    zeros = os.open("/dev/zero", os.O_RDWR)
    return len(mmap.mmap(zeros, world.memory * _TIMES * _MEGABYTE)) // _MEGABYTE


@attack()
def memory_that_grows_down(world: Target) -> object:
    """Map memory as a stack, which the limit on data does not count."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _GROWS_DOWN
    return len(_map(world.memory * _TIMES, flags)) // _MEGABYTE


@attack()
def memory_made_read_only(world: Target) -> object:
    """Fill memory and make it read-only piece by piece: the limit on data counts it no more."""
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    step = world.memory // 4
    kept: list[mmap.mmap] = []
    while len(kept) * step < world.memory * _TIMES + _SLACK:
        kept.append(_map(step, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        at = ctypes.addressof(ctypes.c_char.from_buffer(kept[-1]))
        if protect(at, step * _MEGABYTE, mmap.PROT_READ):
            raise OSError(ctypes.get_errno(), "mprotect")
    return len(kept) * step


@attack()
def stack_without_end(_: Target) -> object:
    """Lift the limit of the stack, which no other limit counts."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))
    return "lifted"


@attack()
def memory_in_file(world: Target) -> object:
    """Put twice the memory into a file that lies in memory."""
    file = os.memfd_create("full")
    os.truncate(file, world.memory * _TIMES * _MEGABYTE)
    return "a file"


@attack()
def threads(world: Target) -> object:
    """Start more threads than one may have."""
    stop = _thread.allocate_lock()
    stop.acquire()
    for _ in range(world.threads + 1):
        _thread.start_new_thread(stop.acquire, ())
    return world.threads + 1


@attack()
def threads_of_small_size(world: Target) -> object:
    """Start more threads than one may have, of so little memory that the limit on it is far."""
    _thread.stack_size(64 * 1024)
    return threads(world)


@attack()
def open_files(world: Target) -> object:
    """Open more files than one may."""
    return len([os.open(os.devnull, os.O_RDONLY) for _ in range(world.files + 1)])


@attack()
def one_large_file(world: Target) -> object:
    """Write a file that is larger than all that one may write."""
    with Path(world.scratch, "large").open("wb") as file:
        for _ in range(world.disk * _TIMES):
            file.write(bytes(_MEGABYTE))
    return "written"


@attack()
def many_large_files(world: Target) -> object:
    """Write more than one may, in several files."""
    for number in range(world.disk * _TIMES):
        Path(world.scratch, f"{number}").write_bytes(bytes(_MEGABYTE))
    return "written"


@attack()
def file_of_holes(world: Target) -> object:
    """Make a file that is large only by its size."""
    with Path(world.scratch, "holes").open("wb") as file:
        os.truncate(file.fileno(), world.disk * _TIMES * _MEGABYTE)
    return "made"


@attack()
def many_names(world: Target) -> object:
    """Make empty files without end."""
    for number in range(_MOST_NAMES):
        Path(world.scratch, f"name{number}").touch()
    return _MOST_NAMES


@attack()
def memory_locked(_: Target) -> object:
    """Find out whether memory can be kept from being swapped out."""
    hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    return hard or None
