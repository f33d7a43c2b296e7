"""Softmax. A small pipeline of modules without weights."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex01_scores import BATCH, Rows, Same, contract
from ex02_scaling import scaled_scores
from ex03_masking import apply_mask, require_broadcast


class _Over(nn.Module):
    """A step that runs over one dimension."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _Lower(_Over):
    """Bring the largest score of each slice to 0, where it has one."""

    def forward(self, scores: Tensor) -> Tensor:
        top = torch.amax(scores.detach(), self.dim, keepdim=True)
        return scores.sub(top.masked_fill(top.isneginf(), 0))


class _Exp(nn.Module):
    def forward(self, scores: Tensor) -> Tensor:
        return scores.exp()


class _Share(_Over):
    """Divide by the sum of the slice; a slice of zeros stays."""

    def forward(self, parts: Tensor) -> Tensor:
        whole = parts.sum(self.dim, keepdim=True)
        return parts.div(whole.masked_fill(whole.eq(0), 1))


class _In(nn.Module):
    """Run a module in a dtype of at least 32 bits."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        match x.dtype:
            case torch.float16 | torch.bfloat16:
                return self.inner(x.float()).to(x.dtype)
            case _:
                return self.inner(x)


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    match scores.numel():
        case 0:
            return scores.mul(1)
        case _:
            return _In(nn.Sequential(_Lower(dim), _Exp(), _Share(dim)))(scores)


@contract(
    Rows("query"),
    Rows("key"),
    Same("width", query=-1, key=-1),
    Same("batch", query=BATCH, key=BATCH),
)
def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    scores = scaled_scores(query, key)
    match mask:
        case None:
            return softmax(scores)
        case Tensor():
            require_broadcast(mask, tuple(scores.shape))
            return softmax(apply_mask(scores, mask))
        case _:
            raise TypeError("a mask is a tensor")
