"""Style einsum: heads are one more letter, and the tokens never leave their place."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ex02_scaling import scale_scores
from ex03_masking import apply_mask
from ex04_softmax import softmax


def _fold(x: Tensor, n_heads: int) -> Tensor:
    """Fold [..., n, d_model] into [..., n, h, e]."""
    if x.dim() < 2 or n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(f"{list(x.shape)} cannot be folded into n_heads={n_heads} equal heads")
    return x.unflatten(-1, (n_heads, x.shape[-1] // n_heads))


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    return torch.einsum("...nhe->...hne", _fold(x, n_heads))


def merge_heads(x: Tensor) -> Tensor:
    if x.dim() < 3:
        raise ValueError(f"heads, tokens, features: three dimensions at least, not {list(x.shape)}")
    return torch.einsum("...hne->...nhe", x).flatten(-2, -1)


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    shapes = [list(part.shape) for part in (query, key, value)]
    if key.shape != value.shape or query.dim() != key.dim():
        raise ValueError(f"key and value are alike, query has their rank; here: {shapes}")
    if query.shape[:-2] != key.shape[:-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"batch and d_model are the same everywhere; here: {shapes}")
    query, key, value = _fold(query, n_heads), _fold(key, n_heads), _fold(value, n_heads)
    scores = scale_scores(torch.einsum("...qhe,...khe->...hqk", query, key), query.shape[-1])
    if mask is not None:
        one_head = scores.detach().select(-3, 0)
        # minus infinity and zeros, for one head; then the same for every head
        doors = apply_mask(torch.zeros_like(one_head), mask).isneginf()
        scores = torch.where(doors.unsqueeze(-3), float("-inf"), scores)
    mixed = torch.einsum("...hqk,...khe->...qhe", softmax(scores), value)
    return mixed.flatten(-2)


class MultiHeadAttention(nn.Module):
    """Attention with `n_heads` heads between two linear maps."""

    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"d_model={d_model} does not fall into n_heads={n_heads} equal heads")
        self.n_heads = n_heads
        self.w_o = nn.Linear(d_model, d_model, bias)
        self.w_v = nn.Linear(d_model, d_model, bias)
        self.w_k = nn.Linear(d_model, d_model, bias)
        self.w_q = nn.Linear(d_model, d_model, bias)
        for layer in (self.w_q, self.w_k, self.w_v, self.w_o):
            nn.init.xavier_uniform_(layer.weight)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        memory = x if memory is None else memory
        query = self._through(self.w_q, x)
        key, value = self._through(self.w_k, memory), self._through(self.w_v, memory)
        return self._through(self.w_o, multi_head(query, key, value, self.n_heads, mask))

    @staticmethod
    def _through(layer: nn.Linear, x: Tensor) -> Tensor:
        if x.dim() < 2 or x.shape[-1] != layer.in_features:
            raise ValueError(f"tokens of {list(x.shape)} meet a d_model of {layer.in_features}")
        out = torch.einsum("...ni,oi->...no", x, layer.weight)
        return out if layer.bias is None else out + layer.bias
