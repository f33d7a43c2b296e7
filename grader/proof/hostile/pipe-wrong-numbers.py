"""Sends replies with the numbers of other questions, without a number, and with True for 1.

chapter: ex02_scaling
earns: score_spread
outcomes: failed, error, crashed
"""

import gc
import itertools
import os

wire = __import__("sys").modules["grader.remote.wire"]
channel = __import__("sys").modules["grader.remote.channel"]
turn = itertools.count()


def scale_scores(scores, d_k):
    worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")
    number = [True, -1, 2**62, None, "1", [1]][next(turn) % 6]
    text = wire.ENCODE({"reply": number, "value": True}).encode()
    os.write(worker.channel.socket.fileno(), channel.HEAD.pack(len(text), 0) + text)
    return scores
