"""Is 900,000 opening parentheses, on which Python's own parser may overflow.

chapter: ex02_scaling
onto: nothing, made by source()
earns: nothing
outcomes: error, crashed
"""


def source():
    return b"x = " + b"(" * 900_000
