"""Answers with JSON that is nested 300,000 deep.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, crashed
"""

import gc
import os
import time


def scaled_scores(query, key):
    worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")
    text = b'{"reply":1,"value":' + b'{"l":[' * 150_000
    os.write(worker.channel.socket.fileno(), len(text).to_bytes(4, "little") + b"\0" * 4)
    worker.channel.socket.sendall(text)
    time.sleep(60)
