"""Fills memory and makes it read-only: the kernel's limit on data no longer counts it.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: crashed, timeout
"""

import ctypes
import mmap

protect = ctypes.CDLL(None).mprotect
protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def scaled_scores(query, key):
    eaten = []
    while True:
        eaten.append(mmap.mmap(-1, 2**24, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        eaten[-1].write(b"x" * 2**24)
        at = ctypes.addressof(ctypes.c_char.from_buffer(eaten[-1]))
        protect(at, 2**24, mmap.PROT_READ)
