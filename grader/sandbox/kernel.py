"""The kernel's own calls, by name, for what Python has no function for."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import Array, Structure
from typing import Any

from grader.sandbox.numbers import NUMBERS, machine

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_CAPABILITY_VERSION_3 = 0x20080522


class SandboxError(Exception):
    """A wall could not be put up; what would have run inside must not run."""


@functools.cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def call(name: str, *arguments: int | bytes | Array[Any] | Structure | None) -> int:
    """Make one system call.

    Args:
        name: of the call, as in `numbers`.
        arguments: numbers, texts that end at their first zero byte, memory, or nothing.

    Returns:
        What the kernel returned.

    Raises:
        OSError: the kernel refused.
    """
    number = NUMBERS[machine()][name]
    result = int(_libc().syscall(ctypes.c_long(number), *map(_plain, arguments)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)
    return result


def _plain(argument: int | bytes | Array[Any] | Structure | None) -> Any:
    if isinstance(argument, int):
        return ctypes.c_long(argument)
    return ctypes.byref(argument) if isinstance(argument, Structure) else argument


def prctl(option: int, value: int = 0, third: Array[Any] | Structure | None = None) -> None:
    """Set one property of this process."""
    call("prctl", option, value, third, 0, 0)


def no_new_privileges() -> None:
    """Give up for good that a program may bring rights of its own."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up every capability of this process."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    call("capset", header, (ctypes.c_uint32 * 6)())
