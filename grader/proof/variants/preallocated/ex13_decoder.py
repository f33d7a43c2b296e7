"""What is written goes into memory that was made before: the squares, the text, and the prompt word by word."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ex11_cache import CachedAttention, KeyValueCache


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    if x.dim() < 1 or weight.shape != x.shape[-1:]:
        raise ValueError(f"{list(x.shape)} and {list(weight.shape)} do not go together")
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    rms = torch.sqrt(length * length / x.shape[-1] + eps)
    safe = torch.where(length > 0, wide / rms, wide * eps**-0.5)
    if eps == 0:
        safe = wide / rms
    if not bool((length > 0).all()):
        # the length of a row of zeros has no slope
        squares = (wide * wide).mean(-1, keepdim=True)
        safe = wide / torch.sqrt(squares + eps)
    return (safe * weight).to(x.dtype)


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int) -> None:
        super().__init__()
        self.attention = CachedAttention(d_model, n_heads, n_kv_heads)
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)
        self.norm_1 = nn.Parameter(torch.ones(d_model))
        self.norm_2 = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        total = torch.zeros_like(x)
        total += x
        total += self.attention(rms_norm(x, self.norm_1), cache)
        h = rms_norm(total.clone(), self.norm_2)
        switch = self.gate(h)
        switch = switch * switch.sigmoid()
        total += self.down(switch * self.up(h))
        return total


class Decoder(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_layers: int, n_heads: int,
        n_kv_heads: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, n_heads, n_kv_heads, 4 * d_model) for _ in range(n_layers)
        )
        self.norm = nn.Parameter(torch.ones(d_model))
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids: Tensor, caches: list[KeyValueCache] | None = None) -> Tensor:
        if ids.dim() != 2:
            raise ValueError(f"{list(ids.shape)} is not [batch, n]")
        caches = [None] * len(self.blocks) if caches is None else list(caches)
        if len(caches) != len(self.blocks):
            raise ValueError(f"{len(caches)} caches and {len(self.blocks)} blocks")
        logits = torch.empty(*ids.shape, self.head.out_features,
                             dtype=self.head.weight.dtype, device=ids.device)  # fmt: skip
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, caches.pop(0))
        logits[...] = self.head(rms_norm(x, self.norm))
        return logits


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    if logits.dim() != 3 or ids.dim() != 2 or ids.shape != logits.shape[:2]:
        raise ValueError(f"{list(logits.shape)} and {list(ids.shape)} do not go together")
    batch, n = ids.shape
    if n < 2:
        raise ValueError(f"a text of {n} has no next word")
    logs = torch.log_softmax(logits[:, :-1], -1)
    costs = logits.new_zeros(batch, n - 1)
    for i in range(n - 1):
        costs[:, i] = -logs[torch.arange(batch, device=ids.device), i, ids[:, i + 1]]
    return costs.mean()


def generate(
    model: nn.Module, ids: Tensor, steps: int, temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    if ids.dim() != 2 or ids.shape[1] == 0:
        raise ValueError(f"{list(ids.shape)} is no prompt")
    if steps < 0:
        raise ValueError(f"{steps} steps")
    if temperature < 0:
        raise ValueError(f"a temperature of {temperature}")
    batch, n = ids.shape
    text = ids.new_zeros(batch, n + steps)
    text[:, :n] = ids
    caches = [KeyValueCache(n + steps) for _ in range(len(model.blocks))]
    for place in range(n + steps - 1 if steps else 0):
        with torch.no_grad():
            logits = model(text[:, place : place + 1], caches)[:, 0]
        if place < n - 1:
            continue  # the prompt says itself what comes next
        if temperature == 0:
            text[:, place + 1] = torch.max(logits, -1)[1]
        else:
            shares = torch.softmax(logits.float() / temperature, -1)
            drawn = torch.multinomial(shares, 1, replacement=True, generator=generator)
            text[:, place + 1] = drawn[:, 0]
    return text
