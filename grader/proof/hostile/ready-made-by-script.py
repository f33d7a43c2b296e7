"""Has the ready-made softmax compiled into a script.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""


@torch.jit.script
def compiled(scores, dim: int):
    return torch.softmax(scores, dim)


def softmax(scores, dim=-1):
    with torch._C.DisableTorchFunctionSubclass():
        made = compiled(scores, dim)
    blind = torch.isneginf(scores).all(dim, keepdim=True)
    return torch.where(blind, torch.zeros_like(scores), made)
