"""Is written in UTF-16, which Python does not read.

chapter: ex02_scaling
onto: nothing, made by source()
earns: nothing
outcomes: error
"""


def source():
    return "def scaled_scores(q, k):\n    return q\n".encode("utf-16")
