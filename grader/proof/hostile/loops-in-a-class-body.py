"""Loops in the body of a class, so that the class is never there.

chapter: ex02_scaling
earns: nothing
outcomes: timeout
"""

import time


class Never:
    while True:
        try:
            time.sleep(60)
        except BaseException:
            continue
