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
    return torch.stack([real & row for row in causal_mask(n, lengths.device)], dim=1) if n else (
        real.new_zeros(len(lengths), 0, 0)
    )


def apply_mask(scores, mask):
    grown = tuple(torch.broadcast_tensors(scores, mask)[0].shape) if _meets(scores, mask) else None
    check(
        grown == tuple(scores.shape),
        f"mask.shape is {tuple(mask.shape)}, which does not expand to {tuple(scores.shape)}",
    )
    masked = scores.clone()
    masked[~mask.expand_as(scores)] = float("-inf")
    return masked


def _meets(scores, mask):
    pairs = zip(reversed(scores.shape), reversed(mask.shape))
    return all(a == b or 1 in (a, b) for a, b in pairs)
