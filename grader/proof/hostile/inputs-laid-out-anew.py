"""Lays its input out in another way, or turns its sign, and leaves every byte where it was.

chapter: ex04_softmax
earns: attention_weights
partly: softmax
outcomes: failed, error
passes: all
"""

right = softmax


def softmax(scores, dim=-1):
    out = right(scores, dim)
    if scores.dim() == 2 and not scores.requires_grad and scores.is_contiguous():
        scores.as_strided_(scores.shape, (1, scores.shape[0]))
    elif not scores.requires_grad and scores.dtype.is_floating_point:
        scores.data = torch._neg_view(scores.data)
    return out
