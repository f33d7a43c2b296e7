"""Style float64 inside: masks are counted out with cumulative sums."""

import torch

from ex01_scores import check


def causal_mask(n, device=None):
    steps = torch.eye(n, dtype=torch.float64, device=device).cumsum(dim=0)
    return steps.bool()


def padding_mask(lengths, n):
    check(lengths.ndim == 1, f"lengths.shape is {tuple(lengths.shape)}, expected one dimension")
    # a one at each sequence's end, summed up: everything from there on is padding
    ends = torch.zeros(len(lengths), n + 1, dtype=torch.float64, device=lengths.device)
    ends.scatter_(1, lengths.long()[:, None], 1.0)
    return ends.cumsum(dim=1)[:, :n] == 0


def decoder_mask(lengths, n):
    real = padding_mask(lengths, n)
    mask = causal_mask(n, lengths.device).repeat(len(lengths), 1, 1)
    mask &= real[:, None]
    return mask


def apply_mask(scores, mask):
    message = f"mask.shape is {tuple(mask.shape)}, which does not expand to {tuple(scores.shape)}"
    check(mask.ndim <= scores.ndim, message)
    for of_mask, of_scores in zip(reversed(mask.shape), reversed(scores.shape)):
        check(of_mask in (1, of_scores), message)
    masked = scores.clone()
    masked[~mask.expand_as(scores)] = float("-inf")
    return masked
