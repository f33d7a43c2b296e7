"""Sends half a message and then nothing more.

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
    os.write(worker.channel.socket.fileno(), (10**6).to_bytes(4, "little") + b"\0\0\0\0{")
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
