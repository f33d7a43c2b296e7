"""Style beginner: the softmax as in the book, with a separate way out for every special case."""

import torch

import ex02_scaling
import ex03_masking


def softmax(scores, dim=-1):
    # special case 1: no scores at all
    if scores.numel() == 0:
        return torch.clone(scores)

    # special case 2: minus infinity. Put a harmless 0 there, and remember where it was.
    is_closed = scores == -float("inf")
    zeros = torch.zeros_like(scores)
    safe_scores = torch.where(is_closed, zeros, scores)

    # the largest open score of each slice; a closed one must not count
    lowest_number = torch.finfo(scores.dtype).min
    candidates = torch.where(is_closed, torch.full_like(scores, lowest_number), scores)
    largest = torch.amax(candidates.detach(), dim=dim, keepdim=True)

    # special case 3: a slice with nothing but minus infinity
    everything_closed = torch.all(is_closed, dim=dim, keepdim=True)
    largest = torch.where(everything_closed, torch.zeros_like(largest), largest)

    # where a score is minus infinity, the difference must not get large either
    differences = torch.where(is_closed, zeros, safe_scores - largest)
    exponentials = torch.exp(differences)
    exponentials = torch.where(is_closed, zeros, exponentials)
    sums = torch.sum(exponentials, dim=dim, keepdim=True)
    sums = torch.where(everything_closed, torch.ones_like(sums), sums)
    weights = exponentials / sums
    return weights


def attention_weights(query, key, mask=None):
    scores = ex02_scaling.scaled_scores(query, key)
    if mask is not None:
        scores = ex03_masking.apply_mask(scores, mask)
    weights = softmax(scores, dim=-1)
    return weights
