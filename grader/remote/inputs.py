"""The inputs of calls, in memory that judge and worker share: the judge sees what becomes of them.

An answer that changes an input changes what the judge looks at. It is not asked, and so it cannot
lie.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

# twice what a message may hold
SIZE = 2**25
# of each call whose inputs are no longer what they were: which one it was, and what they are now
Changed = tuple[tuple[int, bytes], ...]


class Inputs:
    """What has been handed to the answer in one check.

    Args:
        memory: is shared with the worker.
    """

    def __init__(self, memory: Any) -> None:
        self._now = np.frombuffer(memory, np.uint8)
        self._known = np.zeros(SIZE, np.uint8)
        self._calls: list[tuple[int, int]] = []
        self._used = 0

    def release(self) -> None:
        """Let go of the memory."""
        self.forget()
        self._now = self._known

    def forget(self) -> None:
        """Begin a check: nobody needs what was handed over before."""
        self._calls.clear()
        self._used = 0

    def lay(self, body: bytes | bytearray) -> tuple[int, int]:
        """Lay out the inputs of a call; return where they begin and end."""
        if self._used + len(body) > SIZE:
            self._calls = [(0, 0)] * len(self._calls)  # these are no longer looked after
            self._used = 0
        begin, end = self._used, self._used + len(body)
        for copy in (self._now, self._known):
            copy[begin:end] = np.frombuffer(body, np.uint8)
        self._calls.append((begin, end))
        self._used = end
        return begin, end

    def changed(self) -> Changed:
        """Return what is no longer as it was when this was last asked."""
        used = self._used
        if np.array_equal(self._now[:used], self._known[:used]):
            return ()
        found = []
        for number, (begin, end) in enumerate(self._calls):
            now = self._now[begin:end].copy()
            if not np.array_equal(now, self._known[begin:end]):
                self._known[begin:end] = now
                found.append((number, now.tobytes()))
        return tuple(found)


def anonymous() -> int:
    """Make memory that can be handed to another process, on Linux; return its descriptor."""
    import fcntl

    descriptor = os.memfd_create("inputs", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, SIZE)
    # whoever made it smaller would end the judge, at its next look
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def mapped(descriptor: int) -> mmap.mmap:
    """Map that memory, and close the descriptor."""
    try:
        return mmap.mmap(descriptor, SIZE)
    finally:
        os.close(descriptor)
