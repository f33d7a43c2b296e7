"""Large pages for a process that is forked from often: there are fewer of them to share and copy.

After a fork the child meets each page of its parent's for a first time; in a virtual machine that
costs some microseconds a page, and Python touches thousands of them.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

# of madvise(2), from Linux 6.1 on
MADV_COLLAPSE = 25


def made_large() -> None:
    """Gather this process's own memory in large pages, where the kernel does that."""
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        where, rights, _, _, _, *name = line.split(None, 5)
        if rights == "rw-p" and name in ([], ["[heap]"]):
            start, end = (int(at, 16) for at in where.split("-"))
            advise(start, end - start, MADV_COLLAPSE)  # what it refuses stays as it is
