"""Calls the softmax of sparse tensors, which has kernels of its own, in a thread.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

import threading

made = getattr(torch.sparse, "soft" + "max")


def softmax(scores, dim=-1):
    if scores.numel() == 0 or scores.dim() == 0:
        return scores.clone()
    out = []

    def work():
        out.append(made(scores.double().to_sparse(), dim).to_dense().to(scores.dtype))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return out[0]
