"""Names an encoding that there is not, and one that is a codec of bytes to bytes.

chapter: ex02_scaling
onto: nothing, made by source()
earns: nothing
outcomes: error
"""


def source():
    return b"# -*- coding: rot13 -*-\nqrs fpnyrq_fpberf(d, x):\n    erghea d\n"
