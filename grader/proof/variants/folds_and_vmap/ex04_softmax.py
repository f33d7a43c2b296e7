"""Chapter 4. Weights: folds over slices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import add

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask

widen = lambda t: t.to(torch.promote_types(t.dtype, torch.float32))  # noqa: E731


def tree(combine: Callable[[Tensor, Tensor], Tensor], items: tuple[Tensor, ...]) -> Tensor:
    """A fold by halves: rounding grows with the depth of the tree, not with its leaves."""
    match items:
        case (only,):
            return only
        case _:
            half = len(items) // 2
            return combine(tree(combine, items[:half]), tree(combine, items[half:]))


def fold(combine: Callable[[Tensor, Tensor], Tensor], dim: int, t: Tensor) -> Tensor:
    return tree(combine, t.unbind(dim)).unsqueeze(dim)


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    if scores.numel() == 0:
        return scores.clone()
    wide = widen(scores)
    top = fold(torch.maximum, dim, wide.detach())
    grown = torch.exp(wide - torch.where(top.isfinite(), top, 0))
    total = fold(add, dim, grown)
    return (grown / torch.where(total > 0, total, 1)).to(scores.dtype)


def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    masked = (lambda s: s) if mask is None else partial(apply_mask, mask=mask)
    return reduce(lambda s, f: f(s), (masked, softmax), scaled_scores(query, key))
