"""A filter of system calls: those in `policy` are let through, every other one is refused."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
from dataclasses import dataclass

from grader.sandbox import policy
from grader.sandbox.bpf import (
    ALLOWED,
    ARCHITECTURE_AT,
    JUMP_AT_LEAST,
    JUMP_EQUAL,
    KILL,
    LOAD,
    NUMBER_AT,
    REFUSE,
    REFUSED,
    RETURN,
    SELF,
    Step,
    packed,
)
from grader.sandbox.kernel import PR_SET_SECCOMP, no_new_privileges, prctl
from grader.sandbox.numbers import NUMBERS, machine

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000  # x86_64's second set of numbers, which the table does not cover
# calls so new that the C library falls back on older ones when told that there are none such;
# clone3 is the first: it keeps its flags in memory, where no filter can read them
_RECENT = 435
_NOT_THERE: Step = (RETURN, 0, 0, REFUSE | errno.ENOSYS)


@dataclass(frozen=True)
class Filter:
    """A filter for any process, and the places where its own number goes."""

    code: bytes
    own: tuple[int, ...]

    def of(self, process: int) -> bytes:
        """Return the filter of one process."""
        code = bytearray(self.code)
        for at in self.own:
            struct.pack_into("<I", code, at, process)
        return bytes(code)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


@functools.cache
def build(kind: str, gpu: bool) -> Filter:
    """Build the filter for a kind of machine."""
    numbers = NUMBERS[kind]
    steps: list[Step] = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_EQUAL, 1, 0, _ARCHITECTURE[kind]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_AT_LEAST, 0, 1, _X32),
        _NOT_THERE,
    ]
    for name in policy.allowed(gpu):
        if name in numbers:
            steps += [(JUMP_EQUAL, 0, 1, numbers[name]), ALLOWED]
    for name, tests in policy.conditional(gpu).items():
        if name in numbers:
            body = [step for test in tests for step in test.steps()]
            steps += [(JUMP_EQUAL, 0, len(body) + 1, numbers[name]), *body, ALLOWED]
    steps += [(JUMP_AT_LEAST, 0, 1, _RECENT), _NOT_THERE, REFUSED]
    own = tuple(8 * line + 4 for line, step in enumerate(steps) if step[3] == SELF)
    return Filter(packed(steps), own)


def install(gpu: bool) -> None:
    """Put the filter on this process, for good."""
    code = build(machine(), gpu).of(os.getpid())
    memory = ctypes.create_string_buffer(code, len(code))
    no_new_privileges()
    prctl(PR_SET_SECCOMP, 2, _Program(len(code) // 8, ctypes.addressof(memory)))
