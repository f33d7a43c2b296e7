"""Sends headers that are no JSON, no UTF-8, no dictionary, doubled, or full of NaN.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, crashed, failed
"""

import gc
import itertools
import os
import time

turn = itertools.count()
TEXTS = (
    b"\xff\xfe", b"[]", b"null", b'{"reply": NaN}', b'{"reply": 1e999}', b'{"reply": 1.0}',
    b'{"reply": 1, "reply": 3, "ask": "load", "n": 2, "n": 3}', b'{"ask": "x"}', b'{"n": 1}',
    b'{"reply": 1, "tensors": NaN}', b'{"reply": 1, "tensors": {}}', b'{"reply":' + b"9" * 5000 + b"}",
)  # fmt: skip


def scaled_scores(query, key):
    worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")
    text = TEXTS[time.monotonic_ns() % len(TEXTS)]
    os.write(worker.channel.socket.fileno(), len(text).to_bytes(4, "little") + b"\0" * 4 + text)
    time.sleep(60)
