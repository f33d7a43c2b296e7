"""Is an expression so deep that the compiler may crash on it after the parser is done.

chapter: ex02_scaling
onto: nothing, made by source()
earns: nothing
outcomes: error, crashed
"""


def source():
    return b"x = " + b"-" * 400_000 + b"1\ny = " + b"+".join([b"1"] * 150_000) + b"\n"
