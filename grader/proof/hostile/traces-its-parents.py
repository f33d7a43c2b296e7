"""Attaches to its parents as a debugger, and reads and writes their memory.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed, crashed
never: traced
"""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def scaled_scores(query, key):
    memory = ctypes.create_string_buffer(4096)

    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    here = Vector(ctypes.addressof(memory), 4096)
    for process in {os.getppid(), 1, 2, os.getpid() - 1, os.getpgrp()} - {os.getpid(), 0}:
        for request in (16, 0x4206):
            if libc.ptrace(request, process, None, None) == 0:
                raise RuntimeError(f"traced {process}")
        there = Vector(id(memory), 8)
        for call in (libc.process_vm_readv, libc.process_vm_writev):
            if call(process, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
                raise RuntimeError(f"traced {process} by its memory")
        for mode in (os.O_RDONLY, os.O_RDWR):
            try:
                os.open(f"/proc/{process}/mem", mode)
                raise RuntimeError(f"traced {process} by its file")
            except OSError:
                pass
    return query
