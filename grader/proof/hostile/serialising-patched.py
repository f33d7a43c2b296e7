"""Replaces the methods of Tensor by which a result is written down: other numbers, other shapes.

chapter: ex02_scaling
earns: scale_scores
at most: score_spread
outcomes: failed, error, crashed
"""


def scaled_scores(query, key):
    torch.Tensor.numpy = lambda self, **_: torch.zeros(7).__array__()
    torch.Tensor.stride = lambda self, *_: (-1, 2**40)
    torch.Tensor.is_contiguous = lambda self, **_: False
    torch.Tensor.tolist = lambda self: ["right"]
    return query @ key.transpose(-1, -2) * 7
