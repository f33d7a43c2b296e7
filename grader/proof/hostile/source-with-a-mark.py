"""Begins with a byte order mark and ends its lines as Windows does: odd, but right.

chapter: ex02_scaling
onto: the solution, changed by source()
earns: scale_scores, scaled_scores, score_spread
outcomes: failed
"""


def source(right):
    return b"\xef\xbb\xbf" + right.replace(b"\n", b"\r\n")
