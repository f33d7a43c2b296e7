"""What one worker may have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Walls:
    """What one worker may have, besides what Python and PyTorch need.

    Attributes:
        readable: files and folders that it may read: the submission's own. They must be there.
        hidden: folders and files that it may not read even where they lie under what it may; what
            is readable by a longer path stays so. The kit's own folder, the batch's, home.
        keep: the open descriptors that stay open. 0, 1 and 2 become /dev/null.
        memory: megabytes of memory beyond what it was forked with.
        scratch: megabytes of its private folder, `TMPDIR`, where the machine can give one; 0 for
            none. It goes with the worker.
        threads: how many threads it may have, the first one included.
        files: how many files it may have open.
        gpu: whether it uses one. Then it may call the drivers, see parts of /proc and /sys, use
            private shared memory, files in memory and pairs of sockets, and the limits on memory
            and open files are loose: what it uses must be watched from outside.
    """

    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    keep: tuple[int, ...] = ()
    memory: int = 1024
    scratch: int = 64
    threads: int = 32
    files: int = 64
    gpu: bool = False
