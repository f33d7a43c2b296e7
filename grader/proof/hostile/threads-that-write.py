"""Leaves threads behind that write messages to the pipe between the calls.

chapter: ex02_scaling
earns: nothing
outcomes: failed, error, crashed, timeout
at most: scale_scores, score_spread
"""

import gc
import os
import threading
import time

worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")


def write():
    while True:
        text = b'{"reply":1,"value":true}'
        try:
            os.write(
                worker.channel.socket.fileno(), len(text).to_bytes(4, "little") + b"\0" * 4 + text
            )
        except OSError:
            return
        time.sleep(0.001)


def scaled_scores(query, key):
    threading.Thread(target=write, daemon=True).start()
    return query
