"""Gives a module whose properties and methods raise, hang or leave when they are looked at.

chapter: ex06_heads
earns: split_heads, merge_heads, multi_head
outcomes: failed, error, crashed, timeout
"""

import time
import os


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()

    @property
    def w_q(self):
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass

    @property
    def w_k(self):
        os._exit(0)

    @property
    def training(self):
        raise KeyboardInterrupt

    @training.setter
    def training(self, value):
        pass

    def named_modules(self, *_, **__):
        raise SystemExit
