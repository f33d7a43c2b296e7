"""Has null bytes in its source.

chapter: ex02_scaling
onto: nothing, made by source()
earns: nothing
outcomes: error
says: null
"""


def source():
    return b"x = 1\0\ndef scaled_scores(q, k):\n    return q\n"
