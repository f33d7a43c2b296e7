"""What torch has ready: F.rms_norm, F.silu, F.cross_entropy with targets to ignore, inference mode and multinomial."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex11_cache import CachedAttention, KeyValueCache

IGNORED = -100


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    if x.ndim == 0 or weight.shape != x.shape[-1:]:
        raise ValueError(f"got x {x.shape} and weight {weight.shape}")
    wide = torch.promote_types(x.dtype, torch.float32)
    return F.rms_norm(x.to(wide), weight.shape, weight.to(wide), eps).to(x.dtype)


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int) -> None:
        super().__init__()
        self.norm_1 = nn.Parameter(torch.empty(d_model))
        self.norm_2 = nn.Parameter(torch.empty(d_model))
        for norm in (self.norm_1, self.norm_2):
            nn.init.ones_(norm)
        self.attention = CachedAttention(d_model, n_heads, n_kv_heads)
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        x = torch.add(x, self.attention(rms_norm(x, self.norm_1), cache))
        h = rms_norm(x, self.norm_2)
        return torch.add(x, self.down(torch.mul(F.silu(self.gate(h)), self.up(h))))


class Decoder(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_layers: int, n_heads: int,
        n_kv_heads: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, n_heads, n_kv_heads, d_model * 4) for _ in range(n_layers)
        )
        self.norm = nn.Parameter(nn.init.ones_(torch.empty(d_model)))
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)

    def forward(self, ids: Tensor, caches: list[KeyValueCache] | None = None) -> Tensor:
        if ids.ndim != 2:
            raise ValueError(f"got ids {ids.shape}")
        x = self.embedding(ids)
        if caches is None:
            for block in self.blocks:
                x = block(x)
        elif len(caches) == len(self.blocks):
            for block, cache in zip(self.blocks, caches, strict=True):
                x = block(x, cache=cache)
        else:
            raise ValueError(f"got {len(caches)} caches for {len(self.blocks)} blocks")
        return self.head(rms_norm(x, self.norm))


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    if logits.ndim != 3 or ids.ndim != 2 or logits.shape[:2] != ids.shape or ids.shape[1] < 2:
        raise ValueError(f"got logits {logits.shape} and ids {ids.shape}")
    targets = F.pad(ids[:, 1:], (0, 1), value=IGNORED)
    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=IGNORED)


@torch.inference_mode()
def _written(model, ids, steps, temperature, generator):
    caches = [KeyValueCache(ids.shape[1] + steps) for _ in model.blocks]
    texts, new = [ids], ids
    for _ in range(steps):
        logits = model(new, caches).select(1, -1)
        if temperature == 0:
            new = logits.topk(1).indices
        else:
            new = F.softmax(logits / temperature, -1).multinomial(1, generator=generator)
        texts.append(new)
    return torch.hstack(texts)


def generate(
    model: nn.Module, ids: Tensor, steps: int, temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    if ids.ndim != 2 or ids.shape[1] == 0:
        raise ValueError(f"got ids {ids.shape}")
    if steps < 0 or temperature < 0:
        raise ValueError(f"got {steps} steps and a temperature of {temperature}")
    return _written(model, ids, steps, temperature, generator).clone()
