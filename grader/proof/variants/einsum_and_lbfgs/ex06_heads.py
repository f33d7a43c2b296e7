"""Heads, in Einstein's notation: the head is one more letter."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex03_masking import apply_mask
from ex04_softmax import softmax


def _say(**tensors: Tensor) -> str:
    return " and ".join(
        f"{name} is {'x'.join(str(size) for size in t.shape) or 'one number, 0 dimensions'}"
        for name, t in tensors.items()
    )


def _width(d_model: int, n_heads: int) -> int:
    if n_heads < 1 or d_model % n_heads != 0:
        raise ValueError(f"{n_heads} heads cannot share {d_model} features")
    return d_model // n_heads


def _mask_for_heads(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    if mask is None:
        return None
    shape = (*query.shape[:-1], key.size(-2))
    try:
        return mask.expand(shape).unsqueeze(-3)
    except RuntimeError:
        raise ValueError(
            f"{_say(mask=mask)} but the scores are {'x'.join(map(str, shape))}"
        ) from None


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    if x.ndim < 2:
        raise ValueError(f"x needs at least two dimensions: {_say(x=x)}")
    d_head = _width(x.size(-1), n_heads)
    return torch.einsum("...nhf->...hnf", x.unflatten(-1, (n_heads, d_head)))


def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    if x.ndim < 3:
        raise ValueError(f"x needs at least three dimensions: {_say(x=x)}")
    return torch.einsum("...hnf->...nhf", x).flatten(-2)


def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    if (
        min(query.ndim, key.ndim, value.ndim) < 2
        or key.shape != value.shape
        or query.shape[:-2] != key.shape[:-2]
        or query.size(-1) != key.size(-1)
    ):
        said = _say(query=query, key=key, value=value)
        raise ValueError(f"these do not go together: {said}")
    d_head = _width(query.size(-1), n_heads)
    mask = _mask_for_heads(mask, query, key)
    query, key, value = (t.unflatten(-1, (n_heads, d_head)) for t in (query, key, value))
    scores = torch.einsum("...qhf,...khf->...hqk", query / d_head**0.25, key / d_head**0.25)
    weights = softmax(scores if mask is None else apply_mask(scores, mask))
    return torch.einsum("...hqk,...khf->...qhf", weights, value).flatten(-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        _width(d_model, n_heads)
        self.d_model, self.n_heads = d_model, n_heads
        self.w_q = nn.Linear(d_model, d_model, bias)
        self.w_k = nn.Linear(d_model, d_model, bias)
        self.w_v = nn.Linear(d_model, d_model, bias)
        self.w_o = nn.Linear(d_model, d_model, bias)

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        if memory is None:
            memory = x
        if (
            min(x.ndim, memory.ndim) < 2
            or {x.size(-1), memory.size(-1)} != {self.d_model}
            or x.shape[:-2] != memory.shape[:-2]
        ):
            raise ValueError(
                f"these do not go together: {_say(x=x, memory=memory)}, d_model is {self.d_model}"
            )

        def through(layer: nn.Linear, tokens: Tensor) -> Tensor:
            out = torch.einsum("oi,...ni->...no", layer.weight, tokens)
            return out if layer.bias is None else out + layer.bias

        heads = multi_head(
            through(self.w_q, x),
            through(self.w_k, memory),
            through(self.w_v, memory),
            self.n_heads,
            mask,
        )
        return through(self.w_o, heads)
