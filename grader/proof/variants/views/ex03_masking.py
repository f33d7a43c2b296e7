"""Style views: masks are cut from larger ones, and doors are closed in a flat copy."""

import torch

from ex01_scores import ShapeError


def causal_mask(n, device=None):
    later = torch.ones((n, n), device=device).triu(diagonal=1)
    return later == 0


def padding_mask(lengths, n):
    if lengths.ndim != 1:
        raise ShapeError("lengths is not a vector", lengths=lengths)
    places = torch.arange(1, n + 1, device=lengths.device).expand(len(lengths), n)
    return places <= lengths.reshape(-1, 1)


def decoder_mask(lengths, n):
    causal = causal_mask(n, lengths.device)
    real = padding_mask(lengths, n)
    pages = real.repeat_interleave(n, dim=0).reshape(len(lengths), n, n)
    return pages.logical_and(causal.expand_as(pages))


def apply_mask(scores, mask):
    try:
        together = torch.broadcast_shapes(scores.shape, mask.shape)
    except RuntimeError:
        together = None
    if together != scores.shape:
        raise ShapeError("the mask does not broadcast to the scores", mask=mask, scores=scores)
    closed = mask.logical_not().expand_as(scores).reshape(-1)
    flat = scores.reshape(-1).index_fill(0, closed.nonzero().squeeze(1), -torch.inf)
    return flat.reshape(scores.shape)
