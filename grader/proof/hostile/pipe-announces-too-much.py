"""Announces a header of 4 GB and a body of 4 GB, sizes that are negative to whoever reads signs.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, crashed
says: a message is too long
"""

import gc
import os
import time


def scaled_scores(query, key):
    worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")
    os.write(worker.channel.socket.fileno(), b"\xff" * 8 + b"x" * 1000)
    time.sleep(60)
