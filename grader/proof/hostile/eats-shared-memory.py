"""Fills shared maps, files in memory and /dev/shm, which limits on a process's own may not count.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, crashed, failed, timeout
"""

import mmap
import os


def scaled_scores(query, key):
    eaten = []
    for _ in range(64):
        try:
            eaten.append(mmap.mmap(-1, 2**28))
            eaten[-1].write(b"x" * 2**28)
        except (OSError, ValueError, MemoryError):
            break
    for number in range(64):
        try:
            with open(f"/dev/shm/hostile-{number}", "wb") as file:
                file.write(b"x" * 2**26)
            os.ftruncate(os.memfd_create("x"), 2**30)
        except OSError:
            break
    return query
