"""Searches its own memory, and that of its parents, for tensors and functions of the judge's.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
never: SWORDFISH
"""

import gc
import os
import re
import types


def scaled_scores(query, key):
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType) and re.search(
            "scale.*64|slip|refus", found.__name__
        ):
            try:
                return found(query.double(), key.double()).to(query.dtype)
            except Exception:
                pass
    shape = (*query.shape[:-1], key.shape[-2])
    for found in gc.get_objects():
        if type(found) is torch.Tensor and found.shape == shape and found is not query:
            return found.to(query.dtype)
    for process in ("self", os.getppid(), 1):
        try:
            with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb") as mem:
                for line in maps:
                    start, end = (int(n, 16) for n in line.split()[0].split("-"))
                    mem.seek(start)
                    if b"SWORDFISH" in mem.read(min(end - start, 2**20)):
                        raise RuntimeError("SWORDFISH")
        except (OSError, ValueError):
            pass
    return query
