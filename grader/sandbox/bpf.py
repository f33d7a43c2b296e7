"""The kernel's little language for filters (classic BPF), as far as the sandbox speaks it."""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
SELF = 0x7FFFFFFE  # stands for the number of the process until that is known

# what to do, how many steps to skip if it holds, how many if not, with which value
Step = tuple[int, int, int, int]
REFUSED: Step = (RETURN, 0, 0, REFUSE | errno.EPERM)
ALLOWED: Step = (RETURN, 0, 0, ALLOW)


def packed(steps: list[Step]) -> bytes:
    """Return the steps as the kernel reads them."""
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def _load(argument: int, high: bool = False) -> Step:
    return (LOAD, 0, 0, ARGUMENTS_AT + 8 * argument + 4 * high)


@dataclass(frozen=True)
class Among:
    """The argument is one of some values."""

    argument: int
    values: tuple[int, ...]

    def steps(self) -> list[Step]:
        """Return steps that refuse the call, or go on behind their end."""
        left = range(len(self.values), 0, -1)
        jumps = [(JUMP_EQUAL, n, 0, value) for n, value in zip(left, self.values, strict=True)]
        return [_load(self.argument), *jumps, REFUSED]


@dataclass(frozen=True)
class NotAmong:
    """The argument is none of some values."""

    argument: int
    values: tuple[int, ...]

    def steps(self) -> list[Step]:
        """Return steps that refuse the call, or go on behind their end."""
        left = range(len(self.values) - 1, -1, -1)
        jumps = [
            (JUMP_EQUAL, n, int(n == 0), value) for n, value in zip(left, self.values, strict=True)
        ]
        return [_load(self.argument), *jumps, REFUSED]


@dataclass(frozen=True)
class Flags:
    """The argument has all of some bits and none of others."""

    argument: int
    has: int
    lacks: int

    def steps(self) -> list[Step]:
        """Return steps that refuse the call, or go on behind their end."""
        bits = [1 << n for n in range(32) if self.has >> n & 1]
        steps = [_load(self.argument), (JUMP_BITS, 0, 1, self.lacks), REFUSED]
        for bit in bits:
            steps += [(JUMP_BITS, 1, 0, bit), REFUSED]
        return steps


@dataclass(frozen=True)
class Implies:
    """If the argument has any of some bits, then also any of others."""

    argument: int
    bits: int
    others: int

    def steps(self) -> list[Step]:
        """Return steps that refuse the call, or go on behind their end."""
        return [
            _load(self.argument),
            (JUMP_BITS, 0, 2, self.bits),
            (JUMP_BITS, 1, 0, self.others),
            REFUSED,
        ]


@dataclass(frozen=True)
class Excludes:
    """If the argument has any of some bits, then none of others."""

    argument: int
    bits: int
    others: int

    def steps(self) -> list[Step]:
        """Return steps that refuse the call, or go on behind their end."""
        return [
            _load(self.argument),
            (JUMP_BITS, 0, 2, self.bits),
            (JUMP_BITS, 0, 1, self.others),
            REFUSED,
        ]


@dataclass(frozen=True)
class Nothing:
    """The argument is a pointer to nothing."""

    argument: int

    def steps(self) -> list[Step]:
        """Return steps that refuse the call, or go on behind their end."""
        return [
            _load(self.argument),
            (JUMP_EQUAL, 0, 2, 0),
            _load(self.argument, high=True),
            (JUMP_EQUAL, 1, 0, 0),
            REFUSED,
        ]


Test = Among | NotAmong | Flags | Implies | Excludes | Nothing
