"""Describes a module in which each part holds one and the same part twice, 60 deep.

chapter: ex06_heads
earns: split_heads, merge_heads, multi_head
outcomes: failed, error, timeout, crashed
passes: refuses
"""

import sys


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        parts = [["", "M", "Module", True, None, []]]
        for depth in range(1, 61):
            one = ".".join("x" * depth)
            parts += [[one, "M", "Module", True, None, []],
                      [one[:-1] + "y", "M", "Module", True, one, []]]
        trees = sys.modules["grader.remote.trees"]
        trees.described = lambda module, parcel: {"parts": parts, "weights": []}
