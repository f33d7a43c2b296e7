"""Einsum throughout, with the weights of the layers themselves; a word is drawn by adding noise to its logit."""

from __future__ import annotations

import torch
from torch import Tensor, einsum, nn

from ex11_cache import CachedAttention, KeyValueCache


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    if not x.shape or weight.shape != (x.shape[-1],):
        raise ValueError(f"weight {tuple(weight.shape)} cannot weigh rows of {tuple(x.shape)}")
    wide = x.double() if x.dtype == torch.float64 else x.float()
    squares = einsum("...d,...d->...", wide, wide)
    scale = (squares / x.shape[-1] + eps) ** -0.5
    return einsum("...d,...,d->...d", wide, scale, weight.to(wide.dtype)).to(x.dtype)


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int) -> None:
        super().__init__()
        self.attention = CachedAttention(d_model, n_heads, n_kv_heads)
        self.norm_1, self.norm_2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))
        self.gate, self.up = (nn.Linear(d_model, d_hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        x = x + self.attention(rms_norm(x, self.norm_1), cache)
        h = rms_norm(x, self.norm_2)
        gate = einsum("...d,hd->...h", h, self.gate.weight)
        up = einsum("...d,hd->...h", h, self.up.weight)
        return x + einsum("...h,...h,...h,dh->...d", gate, gate.sigmoid(), up, self.down.weight)


class Decoder(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_layers: int, n_heads: int,
        n_kv_heads: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        made = (DecoderBlock(d_model, n_heads, n_kv_heads, 4 * d_model) for _ in range(n_layers))
        self.blocks = nn.ModuleList(made)
        self.norm = nn.Parameter(torch.ones(d_model))
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids: Tensor, caches: list[KeyValueCache] | None = None) -> Tensor:
        if ids.dim() != 2:
            raise ValueError(f"ids {tuple(ids.shape)} are not [batch, n]")
        if caches is None:
            caches = [None for _ in self.blocks]
        if len(caches) != len(self.blocks):
            raise ValueError(f"{len(self.blocks)} blocks cannot share {len(caches)} caches")
        x = self.embedding(ids)
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i])
        return einsum("bnd,vd->bnv", rms_norm(x, self.norm), self.head.weight)


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    if logits.dim() != 3 or ids.dim() != 2:
        raise ValueError(f"logits {tuple(logits.shape)} and ids {tuple(ids.shape)}")
    batch, n, vocabulary = logits.shape
    if ids.shape != (batch, n) or n < 2:
        raise ValueError(f"logits {tuple(logits.shape)} do not guess ids {tuple(ids.shape)}")
    guesses = logits[:, : n - 1]
    one_hot = nn.functional.one_hot(ids[:, 1:], vocabulary).to(logits.dtype)
    hits = einsum("bnv,bnv->bn", guesses, one_hot)
    return (guesses.logsumexp(-1) - hits).mean()


@torch.no_grad()
def generate(
    model: nn.Module, ids: Tensor, steps: int, temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    if ids.dim() != 2 or ids.shape[1] < 1:
        raise ValueError(f"ids {tuple(ids.shape)} are no prompts")
    if steps < 0 or temperature < 0:
        raise ValueError(f"{steps} steps at temperature {temperature}")
    caches = [KeyValueCache(ids.shape[1] + steps) for _ in model.blocks]
    parts = [ids]
    for _ in range(steps):
        logits = model(parts[-1], caches)[:, -1].float()
        if temperature > 0:
            # the largest of logits with Gumbel's noise is a draw from their softmax
            even = torch.rand(logits.shape, generator=generator, device=ids.device)
            logits = logits / temperature - (-even.clamp_min(1e-20).log()).log()
        parts.append(logits.argmax(-1)[:, None])
    return torch.cat(parts, -1)
