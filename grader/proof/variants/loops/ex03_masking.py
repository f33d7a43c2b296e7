"""Style loops: masks are lists of lists, doors are closed one at a time."""

import torch

from ex01_scores import complain, nothing, stacked


def causal_mask(n, device=None):
    rows = []
    for i in range(n):
        rows.append([j <= i for j in range(n)])
    return torch.tensor(rows, dtype=torch.bool, device=device).reshape(n, n)


def padding_mask(lengths, n):
    if lengths.dim() != 1:
        complain("lengths should be a plain list of numbers", lengths)
    rows = []
    for length in lengths.tolist():
        rows.append([True] * length + [False] * (n - length))
    return torch.tensor(rows, dtype=torch.bool, device=lengths.device).reshape(len(lengths), n)


def decoder_mask(lengths, n):
    if lengths.dim() != 1:
        complain("lengths should be a plain list of numbers", lengths)
    pages = []
    for length in lengths.tolist():
        page = [[j <= i and j < length for j in range(n)] for i in range(n)]
        pages.append(page)
    mask = torch.tensor(pages, dtype=torch.bool, device=lengths.device)
    return mask.reshape(len(lengths), n, n)


def apply_mask(scores, mask):
    if mask.dim() > scores.dim():
        complain("the mask has more dimensions than the scores", mask, scores)
    for back in range(1, mask.dim() + 1):
        if mask.size(-back) not in (1, scores.size(-back)):
            complain("the mask does not stretch to the scores", mask, scores)
    return _close(scores, mask)


def _close(scores, mask):
    if scores.dim() == 0:
        return scores if mask.item() else nothing(scores) - torch.inf
    parts = []
    for i, part in enumerate(scores):
        if mask.dim() < scores.dim():
            parts.append(_close(part, mask))
        elif mask.size(0) == 1:
            parts.append(_close(part, mask[0]))
        else:
            parts.append(_close(part, mask[i]))
    return stacked(parts, [scores], *scores.shape)
