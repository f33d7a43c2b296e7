from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from ex01_scores import project_rows
from torch.utils.checkpoint import checkpoint

from ex11_cache import CachedAttention, KeyValueCache


class Sai(ValueError):
    pass


def _s(t: Tensor) -> str:
    return "".join(f"#{size}" for size in t.shape)


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    wide = x.double()
    root = (wide.square().mean(-1, keepdim=True) + eps).sqrt()
    # times a diagonal matrix; chapter 1 refuses what does not fit
    try:
        diagonal = torch.diag(weight.double())
    except RuntimeError as why:
        raise Sai(_s(weight)) from why
    return project_rows((wide / root).unsqueeze(0), diagonal)[0].to(x.dtype)


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int) -> None:
        super().__init__()
        self.norm_2 = nn.Parameter(torch.full((d_model,), 1.0))
        self.gate, self.up = (nn.Linear(d_model, d_hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(d_hidden, d_model, bias=False)
        self.attention = CachedAttention(d_model, n_heads, n_kv_heads)
        self.norm_1 = nn.Parameter(torch.full((d_model,), 1.0))

    def _branch(self, x: Tensor) -> Tensor:
        h = rms_norm(x, self.norm_2)
        gate, up = F.linear(h, torch.cat((self.gate.weight, self.up.weight))).chunk(2, -1)
        out = None
        # a few hidden features at a time
        for g, u, w in zip(gate.split(7, -1), up.split(7, -1), self.down.weight.split(7, 1)):
            part = (F.silu(g) * u).double() @ w.double().mT
            out = part if out is None else out + part
        return out.to(x.dtype)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        x = x + self.attention(rms_norm(x, self.norm_1), cache)
        return x + checkpoint(self._branch, x, use_reentrant=False)


class Decoder(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_layers: int,
        n_heads: int,
        n_kv_heads: int | None = None,
    ) -> None:
        super().__init__()
        self.norm = nn.Parameter(torch.ones(d_model))
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, n_heads, n_kv_heads, 4 * d_model) for _ in range(n_layers)
        )

    def forward(self, ids: Tensor, caches: list[KeyValueCache] | None = None) -> Tensor:
        try:
            _, _ = ids.shape
        except ValueError as why:
            raise Sai(_s(ids)) from why
        if caches is None:
            caches = [None] * len(self.blocks)
        if len(caches) != len(self.blocks):
            raise Sai(f"{len(caches)} kho")
        x = self.embedding.weight.index_select(0, ids.flatten()).view(*ids.shape, -1)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x, caches[i])
        return self.head(rms_norm(x, self.norm))


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(logits, ids)
        wide = logits[:, :-1].double()
        chosen = wide.gather(-1, ids[:, 1:, None])
        return (wide.logsumexp(-1, keepdim=True) - chosen).mean().to(logits.dtype)

    @staticmethod
    def backward(ctx, grad: Tensor):
        logits, ids = ctx.saved_tensors
        out = torch.zeros_like(logits, dtype=torch.float64)
        out[:, :-1] = torch.softmax(logits[:, :-1].double(), -1)
        one = torch.full(ids[:, 1:, None].shape, -1.0, dtype=torch.float64, device=ids.device)
        out[:, :-1].scatter_add_(-1, ids[:, 1:, None], one)
        return (out * (grad.double() / ids[:, 1:].numel())).to(logits.dtype), None


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    if logits.ndim != 3 or ids.ndim != 2 or logits.shape[:-1] != ids.shape:
        raise Sai(f"{_s(logits)} {_s(ids)}")
    if ids.shape[1] < 2:
        raise Sai(_s(ids))
    return _Loss.apply(logits, ids)


def generate(
    model: nn.Module,
    ids: Tensor,
    steps: int,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    if ids.ndim != 2 or ids.shape[-1] < 1:
        raise Sai(_s(ids))
    if steps < 0:
        raise Sai(f"#{steps}")
    if temperature < 0:
        raise Sai(f"#{temperature}")
    words = [ids.clone()]
    # the last word is not fed, so it needs no room
    caches = [KeyValueCache(max(1, ids.shape[1] + steps - 1)) for _ in model.blocks]
    while len(words) <= steps:
        with torch.no_grad():
            logits = model(words[-1], caches)[:, -1, :].double()
        if temperature > 0:
            # the words race: the one that comes first is drawn as its share says
            log_share = (logits - logits.amax(-1, keepdim=True)) / temperature
            time = torch.empty_like(logits).exponential_(generator=generator).log()
            logits = log_share - time
        words.append(logits.max(-1, keepdim=True).indices)
    return torch.cat(words, 1)
