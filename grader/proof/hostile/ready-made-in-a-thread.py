"""Calls the ready-made softmax in another thread, where modes of torch's do not look.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

import threading


def softmax(scores, dim=-1):
    made = []
    thread = threading.Thread(target=lambda: made.append(torch.softmax(scores, dim)))
    thread.start()
    thread.join()
    blind = torch.isneginf(scores).all(dim, keepdim=True)
    return torch.where(blind, torch.zeros_like(scores), made[0])
