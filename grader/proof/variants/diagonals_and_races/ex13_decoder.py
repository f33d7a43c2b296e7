"""Chapter 13: a hypotenuse for the norm, folds for the layers, a race of clocks for the draw."""

from __future__ import annotations

from contextlib import contextmanager
from functools import reduce
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex11_cache import CachedAttention, KeyValueCache


@contextmanager
def _court(*accused):
    """Whatever is asserted in here and is not so, is refused with a list of the accused."""
    try:
        yield
    except AssertionError:
        names = (f"<{', '.join(map(str, a.shape))}>" if isinstance(a, Tensor) else f"<{a}>" for a in accused)
        raise ValueError("guilty: " + " ".join(names)) from None


def _hold(truth: bool) -> None:
    if not truth:
        raise AssertionError


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    with _court(x, weight):
        _hold(x.dim() > 0 and weight.shape == x.shape[-1:])
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    leg = torch.linalg.vector_norm(wide, dim=-1, keepdim=True) / x.shape[-1] ** 0.5
    length = torch.hypot(leg, torch.full_like(leg, eps**0.5))
    return (wide / length * weight.to(wide.dtype)).to(x.dtype)


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int) -> None:
        super().__init__()
        self.down, self.up, self.gate = (
            nn.Linear(*ends, bias=False)
            for ends in ((d_hidden, d_model), (d_model, d_hidden), (d_model, d_hidden))
        )
        self.attention = CachedAttention(d_model, n_heads, n_kv_heads)
        for name in ("norm_2", "norm_1"):
            self.register_parameter(name, nn.Parameter(torch.ones(d_model)))

    def _gated(self, h: Tensor) -> Tensor:
        both = torch.cat([self.gate.weight, self.up.weight])
        switch, through = F.linear(h, both).chunk(2, -1)
        return self.down(switch * switch.sigmoid() * through)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        with _court(x, self.norm_1):
            _hold(x.dim() > 1 and x.shape[-1] == self.norm_1.numel())
        branches = (
            lambda z: self.attention(rms_norm(z, self.norm_1), cache),
            lambda z: self._gated(rms_norm(z, self.norm_2)),
        )
        return reduce(lambda z, branch: z + branch(z), branches, x)


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
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, n_heads, n_kv_heads, d_hidden=4 * d_model) for _ in range(n_layers)
        )
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.norm = nn.Parameter(torch.ones(d_model))
        self.embedding = nn.Embedding(vocab_size, d_model)

    def forward(self, ids: Tensor, caches: list[KeyValueCache] | None = None) -> Tensor:
        with _court(ids):
            _hold(ids.dim() == 2)
        stores = [None] * len(self.blocks) if caches is None else list(caches)
        with _court(len(stores), len(self.blocks)):
            _hold(len(stores) == len(self.blocks))
        top = reduce(lambda x, layer: layer[0](x, layer[1]), zip(self.blocks, stores), self.embedding(ids))
        return self.head(rms_norm(top, self.norm))


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    with _court(logits, ids):
        _hold(logits.dim() == 3 and ids.dim() == 2)
        _hold(logits.shape[:2] == ids.shape and ids.shape[1] > 1)
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    losses = [
        guess.logsumexp(-1) - guess.gather(-1, truth[:, None]).squeeze(-1)
        for (guess, _), (_, truth) in pairwise(zip(wide.unbind(1), ids.unbind(1)))
    ]
    return torch.stack(losses).mean().to(logits.dtype)


def _picker(temperature: float, generator: torch.Generator | None):
    def largest(row: Tensor) -> Tensor:
        return row.argmax(-1)

    def race(row: Tensor) -> Tensor:
        # each word has a clock that rings at a rate of exp(logit / temperature): who is first?
        row = row.double()
        lead = (row - row.amax(-1, keepdim=True)) / temperature
        clocks = torch.empty_like(lead).exponential_(generator=generator).clamp_min(1e-300)
        return (lead - clocks.log()).argmax(-1)

    return race if temperature > 0 else largest


@torch.no_grad()
def generate(
    model: nn.Module,
    ids: Tensor,
    steps: int,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    with _court(ids, steps, temperature):
        _hold(ids.dim() == 2 and ids.shape[1] > 0)
        _hold(steps >= 0 and temperature >= 0)
    n = ids.shape[1]
    pick = _picker(temperature, generator)
    caches = [KeyValueCache(n + steps) for _ in model.blocks]
    page = F.pad(ids, (0, steps))
    fed = 0
    for here in range(n, n + steps):
        logits = model(page[:, fed:here], caches)
        page[:, here] = pick(logits[:, -1])
        fed = here
    return page
