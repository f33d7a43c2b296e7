"""Writes down a number of 900,000 digits and another one with an exponent of a billion.

chapter: ex02_scaling
onto: nothing, made by source()
earns: nothing
outcomes: error, timeout, crashed
"""


def source():
    return b"x = 10 ** 10 ** 9\ny = " + b"9" * 900_000 + b"\n"
