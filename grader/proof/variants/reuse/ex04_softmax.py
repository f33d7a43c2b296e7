"""Style reuse: apply_mask finds the closed doors, and the sum is a product with ones."""

from __future__ import annotations

from torch import Tensor

from exercises.ex01_scores import project_rows
from exercises.ex02_scaling import scaled_scores
from exercises.ex03_masking import apply_mask


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    if scores.numel() == 0:
        return scores.clone()
    rows = scores.reshape(1, 1) if scores.dim() == 0 else scores.transpose(dim, -1)
    if rows.dim() == 1:
        rows = rows[None, :]
    open_doors = rows != float("-inf")
    blind = ~open_doors.any(-1, keepdim=True)
    # blind rows get a score of 0 everywhere for the arithmetic, and weights of 0 at the end
    rows = rows.masked_fill(blind, 0)
    shifted = rows - rows.amax(-1, keepdim=True).detach()
    powers = shifted.exp()
    total = project_rows(powers, powers.new_ones(powers.size(-1), 1))
    weights = (powers / total).masked_fill(blind, 0)
    return weights.reshape(scores.size()) if scores.dim() < 2 else weights.transpose(dim, -1)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = scaled_scores(query, key)
    if mask is not None:
        scores = apply_mask(scores, mask)
    return softmax(scores, -1)
