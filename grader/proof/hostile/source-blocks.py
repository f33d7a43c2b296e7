"""Is a tower of 90 loops, a chain of 30,000 elifs and 200,000 nested lists in one string.

chapter: ex02_scaling
onto: nothing, made by source()
earns: nothing
outcomes: error, crashed, timeout
"""


def source():
    loops = b"".join(b" " * n + b"for a in b:\n" for n in range(90)) + b" " * 90 + b"pass\n"
    chain = b"if 0:\n pass\n" + b"elif 0:\n pass\n" * 30_000
    return chain + b"eval('[' * 200000)\n" + loops
