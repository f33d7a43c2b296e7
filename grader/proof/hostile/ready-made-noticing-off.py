"""Replaces the worker's means of noticing before it calls the ready-made softmax.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

import contextlib
import gc
import sys


@contextlib.contextmanager
def nothing(*_, **__):
    yield []


sys.modules["grader.remote.kernels"].replaced = nothing
sys.modules["grader.answers.world"].noticing = nothing
sys.modules["grader.answers.world"].World.noticing = nothing


def softmax(scores, dim=-1):
    made = torch.softmax(scores, dim)
    blind = torch.isneginf(scores).all(dim, keepdim=True)
    return torch.where(blind, torch.zeros_like(scores), made)
