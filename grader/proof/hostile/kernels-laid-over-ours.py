"""Lays a kernel of its own over the one that the grader listens with.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

import warnings

over = torch.library.Library("aten", "IMPL")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    over.impl("_softmax", lambda scores, dim, _: torch.softmax(scores.to_mkldnn(), dim), "CPU")


def softmax(scores, dim=-1):
    return getattr(torch, "soft" + "max")(scores, dim)
