"""Views of one tensor: gate and up come out of one product, the loss looks at strided rows, and the text is a generator's."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex11_cache import CachedAttention, KeyValueCache


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    if x.ndim < 1 or weight.size() != x.size()[-1:]:
        raise ValueError(f"{weight.size()} does not fit {x.size()}")
    kind = x.dtype if x.dtype == torch.float64 else torch.float32
    wide = x.to(kind).unsqueeze(-2)  # [*batch, 1, d]
    squares = (wide @ wide.mT).squeeze(-1) / x.shape[-1]  # [*batch, 1]
    return (wide.squeeze(-2) / (squares + eps) ** 0.5).mul(weight).to(x.dtype)


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int) -> None:
        super().__init__()
        norms = torch.ones(2, d_model)
        self.norm_1, self.norm_2 = nn.Parameter(norms[0].clone()), nn.Parameter(norms[1].clone())
        self.attention = CachedAttention(d_model, n_heads, n_kv_heads)
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        x = x + self.attention(rms_norm(x, self.norm_1), cache)
        both = rms_norm(x, self.norm_2) @ torch.cat([self.gate.weight, self.up.weight]).mT
        gate, up = both.chunk(2, -1)
        return x + (F.silu(gate) * up) @ self.down.weight.mT


class Decoder(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_layers: int, n_heads: int,
        n_kv_heads: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        sizes = d_model, n_heads, n_kv_heads, 4 * d_model
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList([DecoderBlock(*sizes) for _ in range(n_layers)])
        self.norm = nn.Parameter(torch.ones(d_model))
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids: Tensor, caches: list[KeyValueCache] | None = None) -> Tensor:
        if ids.ndim != 2:
            raise ValueError(f"ids are {ids.size()}")
        each = [(block, None) for block in self.blocks]
        if caches is not None:
            if len(caches) != len(each):
                raise ValueError(f"{len(caches)} caches are not {len(each)}")
            each = list(zip(self.blocks, caches))
        x = self.embedding.weight[ids]
        for block, cache in each:
            x = block(x, cache)
        return rms_norm(x, self.norm) @ self.head.weight.mT


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    if logits.ndim != 3 or ids.ndim != 2 or ids.size() != logits.size()[:2] or ids.size(1) < 2:
        raise ValueError(f"{logits.size()} and {ids.size()}")
    rows = logits.narrow(1, 0, ids.size(1) - 1)
    words = ids.narrow(1, 1, ids.size(1) - 1)
    return F.nll_loss(rows.log_softmax(2).movedim(2, 1), words)


def _words(model, new, room, temperature, generator):
    """Yield one word of each text after the other, for ever."""
    caches = [KeyValueCache(room) for _ in model.blocks]
    while True:
        with torch.no_grad():
            row = model(new, caches)[:, -1:].squeeze(1)
        if temperature == 0:
            new = row.sort(-1, descending=True).indices[:, :1]
        else:
            reached = (row.double() / temperature).softmax(-1).cumsum(-1)
            drawn = torch.rand(
                (len(row), 1), generator=generator, device=row.device, dtype=torch.float64
            )
            new = torch.searchsorted(reached / reached[:, -1:], drawn, right=True)
        yield new


def generate(
    model: nn.Module, ids: Tensor, steps: int, temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    if ids.ndim != 2 or not ids.size(1):
        raise ValueError(f"ids are {ids.size()}")
    if steps < 0 or temperature < 0:
        raise ValueError(f"{steps}, {temperature}")
    words = _words(model, ids, ids.size(1) + steps, temperature, generator)
    return torch.cat([ids, *(next(words) for _ in range(steps))], 1)
