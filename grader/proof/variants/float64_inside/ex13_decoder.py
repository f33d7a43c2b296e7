"""Norms, switches and losses in float64, and a word is drawn as the first of exponential clocks that rings."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ex11_cache import CachedAttention, KeyValueCache


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    if x.dim() < 1 or weight.dim() != 1 or len(weight) != x.size(-1):
        raise ValueError(f"cannot weigh {tuple(x.shape)} by {tuple(weight.shape)}")
    wide = x.double()
    size = (wide.pow(2).sum(-1, keepdim=True) / x.size(-1) + eps).sqrt()
    return (wide / size * weight.double()).to(x.dtype)


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int) -> None:
        super().__init__()
        self.norm_1 = nn.Parameter(torch.ones(d_model))
        self.attention = CachedAttention(d_model, n_heads, n_kv_heads)
        self.norm_2 = nn.Parameter(torch.ones(d_model))
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        found = self.attention(rms_norm(x, self.norm_1), cache)
        between = x.double() + found.double()
        h = rms_norm(between, self.norm_2)
        gate, up, down = (one.weight.double() for one in (self.gate, self.up, self.down))
        switched = h @ gate.T * torch.sigmoid(h @ gate.T)
        return (between + switched * (h @ up.T) @ down.T).to(x.dtype)


class Decoder(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_layers: int, n_heads: int,
        n_kv_heads: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.norm = nn.Parameter(torch.ones(d_model))
        self.blocks = nn.ModuleList(
            [DecoderBlock(d_model, n_heads, n_kv_heads, 4 * d_model) for _ in range(n_layers)]
        )
        self.embedding = nn.Embedding(vocab_size, d_model)

    def forward(self, ids: Tensor, caches: list[KeyValueCache] | None = None) -> Tensor:
        if ids.ndim != 2:
            raise ValueError(f"ids have {ids.ndim} dimensions, and 2 are needed: {tuple(ids.shape)}")
        x, count = self.embedding(ids), len(self.blocks)
        if caches is not None and len(caches) != count:
            raise ValueError(f"{count} blocks, {len(caches)} caches")
        for block, cache in zip(self.blocks, caches if caches is not None else [None] * count):
            x = block(x, cache)
        wide = rms_norm(x.double(), self.norm) @ self.head.weight.double().T
        return wide.to(x.dtype)


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    if logits.ndim != 3 or ids.ndim != 2 or ids.shape != logits.shape[:-1]:
        raise ValueError(f"{tuple(logits.shape)} does not guess {tuple(ids.shape)}")
    if ids.size(1) == 1:
        raise ValueError("n is 1, and there is no next word")
    wide = logits.double()
    logs = wide - wide.amax(-1, keepdim=True)
    logs = logs - logs.exp().sum(-1, keepdim=True).log()
    hits = logs[:, :-1].gather(2, ids[:, 1:].unsqueeze(2))
    return hits.mean().neg().to(logits.dtype)


def generate(
    model: nn.Module, ids: Tensor, steps: int, temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    if ids.ndim != 2 or ids.size(1) == 0:
        raise ValueError(f"no prompts: {tuple(ids.shape)}")
    if min(steps, temperature) < 0:
        raise ValueError(f"below 0: {steps} or {temperature}")
    caches = tuple(KeyValueCache(ids.size(1) + steps) for _ in model.blocks)
    text, new = ids.clone(), ids
    with torch.no_grad():
        for _ in range(steps):
            logits = model(new, caches)[:, -1, :].double()
            if temperature:
                shares = (logits / temperature).softmax(-1)
                clocks = torch.empty_like(shares).exponential_(generator=generator)
                logits = shares / clocks
            new = logits.max(-1, keepdim=True).indices
            text = torch.cat([text, new], dim=1)
    return text
