"""Loops over rows, words and texts: every text is written by itself, with caches of its own."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ex11_cache import CachedAttention, KeyValueCache


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    if x.dim() == 0 or list(weight.shape) != [x.shape[-1]]:
        raise ValueError(f"x is {list(x.shape)} and weight {list(weight.shape)}")
    rows = []
    for row in x.reshape(-1, x.shape[-1]).unbind(0):
        wide = row.to(torch.promote_types(row.dtype, torch.float32))
        size = torch.sqrt(torch.dot(wide, wide) / len(wide) + eps)
        rows.append((wide / size * weight).to(x.dtype))
    return torch.stack(rows).reshape(x.shape)


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int) -> None:
        super().__init__()
        for name in ("norm_1", "norm_2"):
            self.register_parameter(name, nn.Parameter(torch.ones(d_model)))
        self.attention = CachedAttention(d_model, n_heads, n_kv_heads)
        for name, sizes in {
            "gate": (d_model, d_hidden), "up": (d_model, d_hidden), "down": (d_hidden, d_model)
        }.items():  # fmt: skip
            self.add_module(name, nn.Linear(*sizes, bias=False))

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        x = x + self.attention(rms_norm(x, self.norm_1), cache)
        rows = []
        for row in rms_norm(x, self.norm_2).unbind(-2):  # one token after the other
            gate = self.gate(row)
            rows.append(self.down(gate / (1 + torch.exp(-gate)) * self.up(row)))
        return x + torch.stack(rows, -2)


class Decoder(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_layers: int, n_heads: int,
        n_kv_heads: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(n_layers):
            self.blocks.append(DecoderBlock(d_model, n_heads, n_kv_heads, d_model * 4))
        self.norm = nn.Parameter(torch.ones(d_model))
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids: Tensor, caches: list[KeyValueCache] | None = None) -> Tensor:
        if len(ids.shape) != 2:
            raise ValueError(f"ids are {list(ids.shape)}")
        if caches is not None and len(caches) != len(self.blocks):
            raise ValueError(f"{len(caches)} caches, {len(self.blocks)} blocks")
        x = self.embedding(ids)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x, None if caches is None else caches[i])
        return self.head(rms_norm(x, self.norm))


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    if logits.dim() != 3 or ids.dim() != 2 or logits.shape[:2] != ids.shape:
        raise ValueError(f"logits are {list(logits.shape)} and ids {list(ids.shape)}")
    if ids.shape[1] < 2:
        raise ValueError(f"{ids.shape[1]} word has no next one")
    costs = []
    for rows, words in zip(logits, ids):
        for row, word in zip(rows[:-1], words[1:]):
            costs.append(torch.logsumexp(row, 0) - row[word])
    return sum(costs) / len(costs)


def generate(
    model: nn.Module, ids: Tensor, steps: int, temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    if ids.dim() != 2 or ids.shape[1] == 0:
        raise ValueError(f"ids are {list(ids.shape)}")
    if steps < 0:
        raise ValueError(f"steps is {steps}")
    if temperature < 0 or math.isnan(temperature):
        raise ValueError(f"temperature is {temperature}")
    texts = []
    for prompt in ids:
        caches = [KeyValueCache(len(prompt) + steps) for _ in model.blocks]
        text, new = [prompt], prompt
        for _ in range(steps):
            with torch.no_grad():
                row = model(new[None], caches)[0, -1]
            if temperature == 0:
                new = row.argmax()[None]
            else:
                # the first word up to which the shares reach a number that was drawn
                reached = torch.softmax(row.double() / temperature, 0).cumsum(0)
                drawn = torch.rand((), generator=generator, device=ids.device).double()
                new = (reached < drawn * reached[-1]).sum()[None]
            text.append(new)
        texts.append(torch.cat(text))
    return torch.stack(texts)
