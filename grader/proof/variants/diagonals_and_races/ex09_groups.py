"""Chapter 9, with einsum, a ledger of complaints, and a module that is a dictionary."""

from __future__ import annotations

import operator
from functools import reduce

import torch
from torch import Tensor, nn


class TooOdd(ValueError):
    pass


class _Ledger:
    """Collects complaints; whoever leaves it with one pays."""

    def __init__(self, **things):
        self.things = {
            n: list(t.shape) if isinstance(t, Tensor) else t for n, t in things.items()
        }

    def fine(self, *claims):
        for claim in claims:
            if not claim(self.things):
                raise TooOdd("; ".join(f"{n}={s}" for n, s in self.things.items()))
        return self


def _covers(small, large) -> bool:
    small, large = list(small), list(large)
    if len(small) > len(large):
        return False
    return all(s in (1, t) for s, t in zip(reversed(small), reversed(large)))


def repeat_heads(x: Tensor, times: int) -> Tensor:
    _Ledger(x=x, times=times).fine(lambda t: len(t["x"]) > 2, lambda t: t["times"] >= 1)
    which = torch.arange(x.shape[-3] * times, device=x.device)
    return x.index_select(-3, which.div(times, rounding_mode="floor"))


def grouped_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    book = _Ledger(query=query, key=key, value=value).fine(
        lambda t: all(len(s) > 2 for s in t.values()),
        lambda t: t["query"][-1] == t["key"][-1],
        lambda t: t["key"][-3:-1] == t["value"][-3:-1],
        lambda t: t["query"][:-3] == t["key"][:-3] == t["value"][:-3],
        lambda t: t["key"][-3] > 0 and t["query"][-3] % t["key"][-3] == 0,
    )
    g = key.shape[-3]
    asks = query.unflatten(-3, (g, query.shape[-3] // g))
    scores = torch.einsum("...grqd,...gkd->...grqk", asks, key) * key.shape[-1] ** -0.5
    if mask is not None:
        fits = [*query.shape[:-3], query.shape[-2], key.shape[-2]]
        book.things["mask"] = list(mask.shape)
        book.fine(lambda t: _covers(t["mask"], fits))
        if mask.dim() > 2:
            mask = mask[..., None, None, :, :]
        scores = torch.where(mask, scores, scores.new_tensor(-torch.inf))
    if not scores.numel():
        return torch.einsum("...grqk,...gkd->...grqd", scores, value).flatten(-4, -3)
    with torch.no_grad():
        peak = scores.amax(-1, keepdim=True)
        peak = torch.where(peak == -torch.inf, torch.zeros_like(peak), peak)
    powers = (scores - peak).exp()
    sums = powers.sum(-1, keepdim=True)
    weights = powers / (sums + (sums == 0))
    return torch.einsum("...grqk,...gkd->...grqd", weights, value).flatten(-4, -3)


def cache_bytes(
    n_layers: int,
    n_kv_heads: int,
    d_head: int,
    n: int,
    batch: int = 1,
    dtype: torch.dtype = torch.float16,
) -> int:
    return reduce(operator.mul, (n_layers, n_kv_heads, d_head, n, batch, dtype.itemsize)) << 1


class GroupedQueryAttention(nn.ModuleDict):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, bias: bool = False) -> None:
        _Ledger(d_model=d_model, n_heads=n_heads, n_kv_heads=n_kv_heads).fine(
            lambda t: t["n_heads"] >= 1 and t["d_model"] % t["n_heads"] == 0,
            lambda t: t["n_kv_heads"] >= 1 and t["n_heads"] % t["n_kv_heads"] == 0,
        )
        narrow = d_model // n_heads * n_kv_heads
        widths = {"w_o": d_model, "w_v": narrow, "w_k": narrow, "w_q": d_model}
        super().__init__({n: nn.Linear(d_model, w, bias=bias) for n, w in widths.items()})
        self.sizes = d_model, n_heads, n_kv_heads

    def _heads(self, name: str, x: Tensor, count: int) -> Tensor:
        layer = self[name]
        made = torch.einsum("...nm,hdm->...hnd", x, layer.weight.unflatten(0, (count, -1)))
        return made if layer.bias is None else made + layer.bias.unflatten(0, (count, 1, -1))

    def forward(self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        memory = x if memory is None else memory
        d_model, h, g = self.sizes
        book = _Ledger(x=x, memory=memory).fine(
            lambda t: all(len(s) > 1 and s[-1] == d_model for s in t.values()),
            lambda t: t["x"][:-2] == t["memory"][:-2],
        )
        if mask is not None:
            book.things["mask"] = list(mask.shape)
            book.fine(lambda t: _covers(t["mask"], [*x.shape[:-1], memory.shape[-2]]))
        found = grouped_attention(
            self._heads("w_q", x, h), self._heads("w_k", memory, g), self._heads("w_v", memory, g), mask
        )
        wo = self["w_o"]
        out = torch.einsum("...hnd,mhd->...nm", found, wo.weight.unflatten(1, (h, -1)))
        return out if wo.bias is None else out + wo.bias
