"""A file system of a worker's own: what it may see, and a small folder to write to."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from pathlib import Path

from grader.sandbox.kernel import call
from grader.sandbox.visible import VisibleFiles, devices, own_threads

SCRATCH = Path("/scratch")
_SHARED_MEMORY = Path("/dev/shm")
_NO_SUID, _NO_DEVICES, _NO_PROGRAMS, _BIND, _ALL_BENEATH, _PRIVATE = (
    2,
    4,
    8,
    0x1000,
    0x4000,
    1 << 18,
)
_DETACH = 2
_HERE, _RECURSIVE = -100, 0x8000
_READ_ONLY = 1
# any folder that every machine has; what lies there is out of the way only for a moment
_GROUND = "/dev"
_OUTSIDE = "old"
_MOST_FILES = 1024


def keep_mounts_private() -> None:
    """Let no mount of this namespace reach any other."""
    call("mount", None, b"/", None, _ALL_BENEATH | _PRIVATE, None)


def enter(
    seen: VisibleFiles, scratch: int, owner: tuple[int, int], gpu: bool, own_processes: bool
) -> None:
    """Move this process into a file system of its own.

    It needs a mount namespace of its own and the right to mount in it.

    Args:
        seen: what is to be found there.
        scratch: megabytes of the one folder that can be written to, 0 for none.
        owner: user and group of that folder.
        gpu: whether the drivers' files must be there.
        own_processes: whether it is in a pid namespace of its own.

    Raises:
        OSError: the kernel refused, or what is to be seen is not there.
    """
    at_hand = tuple(devices(gpu))  # before the ground, /dev itself, is covered
    _mount_empty(_GROUND, "size=1m,mode=755", _NO_SUID | _NO_DEVICES)
    os.chdir(_GROUND)
    os.mkdir(_OUTSIDE)
    call("pivot_root", b".", _OUTSIDE.encode())
    os.chdir("/")
    for link, target in seen.links:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    hidden = set(seen.hidden)
    for path in sorted((*seen.shown, *seen.hidden, *at_hand)):
        if path in hidden:
            _cover(path)
        else:
            _show(path)
    if gpu:
        _show_processes(own=own_processes)
    SCRATCH.mkdir()
    (_SHARED_MEMORY if gpu else SCRATCH).mkdir(parents=True, exist_ok=True)
    call("umount2", f"/{_OUTSIDE}".encode(), _DETACH)
    os.rmdir(f"/{_OUTSIDE}")
    _set_attributes("/", _READ_ONLY | _NO_SUID)
    if gpu:
        _let_name_threads(own_threads())
    if scratch:
        _mount_scratch(SCRATCH, scratch, owner)
    if gpu:
        _mount_scratch(_SHARED_MEMORY, scratch or 1, owner)


def _show_processes(*, own: bool) -> None:
    """Show /proc with the numbers that processes have here: drivers look themselves up."""
    if own:
        Path("/proc").mkdir(exist_ok=True)
        flags = _NO_SUID | _NO_DEVICES | _NO_PROGRAMS
        with contextlib.suppress(OSError):  # a container that hides some of it lets none be mounted
            call("mount", b"proc", b"/proc", b"proc", flags, None)
            return
    _show(Path("/proc"))


def _let_name_threads(at: Path) -> None:
    """Let a GPU's drivers write the names of this process's threads; the rest of /proc stays."""
    call("mount", os.fsencode(at), os.fsencode(at), None, _BIND, None)
    _set_attributes(str(at), 0, _READ_ONLY)


def _set_attributes(at: str, put: int, taken: int = 0) -> None:
    attributes = struct.pack("<QQQQ", put, taken, 0, 0)
    memory = ctypes.create_string_buffer(attributes, len(attributes))
    call("mount_setattr", _HERE, os.fsencode(at), _RECURSIVE, memory, len(attributes))


def _show(path: Path) -> None:
    """Make a file or folder of the outside appear at the same path."""
    outside = f"/{_OUTSIDE}{path}"
    if os.path.isdir(outside):
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    # with all that is mounted beneath: the kernel lets an ordinary user have it no other way
    call("mount", outside.encode(), os.fsencode(path), None, _BIND | _ALL_BENEATH, None)


def _cover(path: Path) -> None:
    if path.is_dir():
        _mount_empty(str(path), "size=64k,mode=755", _NO_SUID | _NO_DEVICES)
    elif path.exists():
        call("mount", b"/dev/null", os.fsencode(path), None, _BIND, None)


def _mount_scratch(at: Path, megabytes: int, owner: tuple[int, int]) -> None:
    options = f"size={megabytes}m,nr_inodes={_MOST_FILES},mode=700,uid={owner[0]},gid={owner[1]}"
    _mount_empty(str(at), options, _NO_SUID | _NO_DEVICES | _NO_PROGRAMS)


def _mount_empty(at: str, options: str, flags: int) -> None:
    call("mount", b"tmpfs", os.fsencode(at), b"tmpfs", flags, options.encode())
