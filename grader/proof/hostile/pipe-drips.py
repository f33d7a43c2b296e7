"""Sends a long message byte by byte, each in time, so that a clock for each byte never runs out.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: timeout, crashed
says: did not come back in time
"""

import gc
import os
import time


def scaled_scores(query, key):
    worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")
    descriptor = worker.channel.socket.fileno()
    os.write(descriptor, (10**6).to_bytes(4, "little") + b"\0\0\0\0{")
    while True:
        try:
            os.write(descriptor, b" ")
            time.sleep(0.02)
        except BaseException:
            pass
