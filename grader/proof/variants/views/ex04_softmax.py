"""Style views: rows of a flat matrix, divided by their 1-norm."""

import torch
import torch.nn.functional as F

from ex01_scores import ShapeError, dot_product_scores
from ex02_scaling import scale_scores
from ex03_masking import apply_mask


def softmax(scores, dim=-1):
    if scores.numel() == 0:
        return scores.clone()
    if scores.ndim == 0:
        return softmax(scores.view(1), 0).view(())
    last = scores.transpose(dim, -1)
    rows = last.reshape(-1, last.shape[-1])
    # the peak is part of the graph here; what flows through it adds up to nothing
    peak = torch.max(rows, dim=1, keepdim=True).values.nan_to_num(neginf=0.0)
    # a row without a door has norm 0; any other has 1 or more
    weights = F.normalize((rows - peak).exp(), p=1, dim=1, eps=0.5)
    return weights.reshape(last.shape).transpose(dim, -1)


def attention_weights(query, key, mask=None):
    if query.ndim != key.ndim:
        raise ShapeError("query and key differ in their dimensions", query=query, key=key)
    scores = scale_scores(dot_product_scores(query, key), query.shape[-1])
    if mask is None:
        return softmax(scores)
    return softmax(apply_mask(scores, mask))
