"""Starts programs and processes by every means that Python has, in a loop.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed, crashed, timeout
"""

import ctypes
import multiprocessing
import os
import subprocess
import sys


def scaled_scores(query, key):
    libc = ctypes.CDLL(None)
    ways = (
        lambda: os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 1000 &"], {}),
        lambda: subprocess.Popen([sys.executable, "-c", "while 1: pass"]),
        lambda: multiprocessing.get_context("fork").Process(target=scaled_scores).start(),
        lambda: libc.vfork(),
        lambda: libc.syscall(435, 0, 0),
        lambda: libc.syscall(56, 17, 0, 0, 0, 0),
        lambda: os.execv("/bin/true", ["true"]),
        lambda: os.system("sleep 1000 &"),
    )
    for way in ways * 20:
        try:
            way()
        except Exception:
            pass
    return query
