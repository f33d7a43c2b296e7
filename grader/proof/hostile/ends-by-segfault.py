"""Reads from address 0.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: crashed
says: SIGSEGV
"""

import ctypes


def scaled_scores(query, key):
    ctypes.string_at(0)
