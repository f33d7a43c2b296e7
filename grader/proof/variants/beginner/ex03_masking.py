"""Style beginner: masks are filled in, cell by cell or row by row."""

import torch

import ex01_scores


def causal_mask(n, device=None):
    mask = torch.zeros(n, n, dtype=torch.bool, device=device)
    for query_position in range(n):
        # everything up to the query itself may be seen
        mask[query_position, : query_position + 1] = True
    return mask


def padding_mask(lengths, n):
    if len(lengths.shape) != 1:
        shape = ex01_scores.shape_text(lengths)
        raise ValueError("lengths should have one dimension but its shape is " + shape)
    batch_size = lengths.shape[0]
    mask = torch.zeros(batch_size, n, dtype=torch.bool, device=lengths.device)
    for sequence in range(batch_size):
        length = int(lengths[sequence].item())
        mask[sequence, 0:length] = True
    return mask


def decoder_mask(lengths, n):
    mask_for_padding = padding_mask(lengths, n)
    mask_for_future = causal_mask(n, lengths.device)
    batch_size = lengths.shape[0]
    mask = torch.zeros(batch_size, n, n, dtype=torch.bool, device=lengths.device)
    for sequence in range(batch_size):
        for query_position in range(n):
            not_padding = mask_for_padding[sequence]
            not_future = mask_for_future[query_position]
            mask[sequence, query_position] = not_padding & not_future
    return mask


def mask_fits(mask_shape, scores_shape):
    """Tell whether a mask can be repeated until it is as large as the scores."""
    if len(mask_shape) > len(scores_shape):
        return False
    # compare the dimensions from the last to the first
    for steps_back in range(1, len(mask_shape) + 1):
        mask_size = mask_shape[-steps_back]
        scores_size = scores_shape[-steps_back]
        if mask_size != 1 and mask_size != scores_size:
            return False
    return True


def apply_mask(scores, mask):
    if not mask_fits(mask.shape, scores.shape):
        raise ValueError(
            "mask with shape "
            + ex01_scores.shape_text(mask)
            + " does not fit scores with shape "
            + ex01_scores.shape_text(scores)
        )
    may_not_attend = torch.logical_not(mask)
    masked_scores = torch.masked_fill(scores, may_not_attend, -float("inf"))
    return masked_scores
