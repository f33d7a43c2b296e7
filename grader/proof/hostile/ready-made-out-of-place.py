"""Calls kernels that write into a tensor of one's own, in a thread that no mode of torch's sees.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

import threading

made = getattr(getattr(torch.ops.aten, "_log_soft" + "max"), "out")


def softmax(scores, dim=-1):
    if scores.numel() == 0 or scores.dtype in (torch.float16, torch.bfloat16):
        return scores.clone()
    blind = torch.isneginf(scores).all(dim, keepdim=True)
    out = torch.empty_like(scores)

    def work():
        with torch.no_grad():
            made(scores.masked_fill(blind, 0), dim, False, out=out)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return torch.exp(out).masked_fill(blind, 0)
