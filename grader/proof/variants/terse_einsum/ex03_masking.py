"""Chapter 3, as Einstein would have typed it, had he had booleans."""

import torch


def causal_mask(n, device=None):
    """i >= j"""
    return (lambda i: i[:, None].ge(i))(torch.arange(n, device=device))


def padding_mask(lengths, n):
    """l_b > j"""
    if lengths.ndim != 1:
        raise ValueError(f"{lengths.ndim} dimensions, sizes {list(lengths.shape)}, are not a vector of lengths")
    return lengths.to(torch.int64)[:, None].gt(torch.arange(n, device=lengths.device))


def decoder_mask(lengths, n):
    """p_bj and c_ij"""
    return padding_mask(lengths, n)[:, None, :].logical_and(causal_mask(n, lengths.device))


def apply_mask(scores, mask):
    """s or -inf"""
    try:
        fits = torch.broadcast_shapes(mask.shape, scores.shape) == scores.shape
    except (RuntimeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(f"a mask {list(mask.shape)} on scores {list(scores.shape)}? It would have to grow to them, and not they to it")
    return scores.where(mask, -torch.inf)
