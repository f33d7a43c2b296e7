"""Pours bytes into the pipe without end, as fast as it can.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, crashed
"""

import gc


def scaled_scores(query, key):
    worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")
    while True:
        try:
            worker.channel.socket.sendall(b"{}" * 10**6)
        except Exception:
            pass
