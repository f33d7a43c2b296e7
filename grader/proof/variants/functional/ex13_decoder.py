"""Chapter 13: pure functions first, modules as thin shells around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from ex11_cache import CachedAttention, KeyValueCache


@dataclass(frozen=True)
class BlockConfig:
    d_model: int
    n_heads: int
    n_kv_heads: int | None
    d_hidden: int

    def linear(self, rows: int, columns: int) -> nn.Linear:
        layer = nn.Linear(columns, rows, bias=False)
        nn.init.orthogonal_(layer.weight)
        return layer


@dataclass
class DecoderConfig:
    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int | None = None

    @property
    def block(self) -> BlockConfig:
        return BlockConfig(self.d_model, self.n_heads, self.n_kv_heads, 4 * self.d_model)


def need(condition: bool, **what: object) -> None:
    if not condition:
        raise ValueError(", ".join(f"{name}={value}" for name, value in what.items()))


def shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    need(x.ndim > 0 and shape(weight) == shape(x)[-1:], x=shape(x), weight=shape(weight))
    wide = torch.promote_types(x.dtype, torch.float32)
    up = x.to(wide)
    return torch.mul(up.mul(up.square().mean(-1, True).add(eps).rsqrt()), weight).to(x.dtype)


def swiglu(h: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return F.linear(F.silu(F.linear(h, gate)) * F.linear(h, up), down)


def residual(f, x: Tensor) -> Tensor:
    return torch.add(x, f(x))


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int) -> None:
        super().__init__()
        config = BlockConfig(d_model, n_heads, n_kv_heads, d_hidden)
        self.attention = CachedAttention(config.d_model, config.n_heads, config.n_kv_heads)
        self.register_parameter("norm_1", nn.Parameter(torch.ones(config.d_model)))
        self.register_parameter("norm_2", nn.Parameter(torch.ones(config.d_model)))
        self.add_module("up", config.linear(config.d_hidden, config.d_model))
        self.add_module("gate", config.linear(config.d_hidden, config.d_model))
        self.add_module("down", config.linear(config.d_model, config.d_hidden))

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        weights = dict(self.attention.named_parameters())

        def attend(rows: Tensor) -> Tensor:
            args = (rms_norm(rows, self.norm_1), cache)
            return functional_call(self.attention, weights, args)

        def think(rows: Tensor) -> Tensor:
            h = rms_norm(rows, self.norm_2)
            return swiglu(h, self.gate.weight, self.up.weight, self.down.weight)

        return reduce(lambda rows, f: residual(f, rows), (attend, think), x)


def through(blocks: list, caches: list, x: Tensor) -> Tensor:
    """Send x through all blocks, the first one first."""
    if not blocks:
        return x
    return through(blocks[1:], caches[1:], blocks[0](x, caches[0]))


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
        self.config = DecoderConfig(vocab_size, d_model, n_layers, n_heads, n_kv_heads)
        block = self.config.block
        make = partial(
            DecoderBlock, block.d_model, block.n_heads, block.n_kv_heads, block.d_hidden
        )
        self.blocks = nn.ModuleList([make() for _ in range(n_layers)])
        self.norm = nn.Parameter(torch.ones(d_model))
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.embedding = nn.Embedding(vocab_size, d_model, _weight=torch.randn(vocab_size, d_model))

    def forward(self, ids: Tensor, caches: list[KeyValueCache] | None = None) -> Tensor:
        need(ids.ndim == 2, ids=shape(ids))
        each = [None] * len(self.blocks) if caches is None else list(caches)
        need(len(each) == len(self.blocks), caches=len(each), blocks=len(self.blocks))
        x = through(list(self.blocks), each, F.embedding(ids, self.embedding.weight))
        return F.linear(rms_norm(x, self.norm), self.head.weight)


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    fit = logits.ndim == 3 and ids.ndim == 2 and shape(logits)[:2] == shape(ids)
    need(fit and ids.shape[1] > 1, logits=shape(logits), ids=shape(ids))

    def one(rows: Tensor, words: Tensor) -> Tensor:
        return F.cross_entropy(rows[:-1].to(torch.promote_types(rows.dtype, torch.float32)),
                               words[1:])

    return torch.stack([one(*pair) for pair in zip(logits, ids)]).mean().to(logits.dtype)


def choose(last: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    """Draw one word for each row of last [batch, vocab_size]."""
    if temperature == 0:
        return last.argmax(-1, keepdim=True)
    high = last.double()
    share = ((high - high.max(-1, True)[0]) / temperature).softmax(-1)
    return torch.multinomial(share, 1, generator=generator)


def words(model, ids, caches, temperature, generator) -> Iterator[Tensor]:
    """Yield new words for ever."""
    frozen = {name: weight.detach() for name, weight in model.named_parameters()}
    while True:
        with torch.no_grad():
            logits = functional_call(model, frozen, (ids, caches))
        ids = choose(logits[:, -1], temperature, generator)
        yield ids


def generate(
    model: nn.Module,
    ids: Tensor,
    steps: int,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    need(ids.ndim == 2 and ids.shape[1] > 0, ids=shape(ids))
    need(steps >= 0, steps=steps)
    need(temperature >= 0, temperature=temperature)
    caches = [KeyValueCache(ids.shape[1] + steps) for _ in model.blocks]
    writer = words(model, ids, caches, temperature, generator)
    return torch.cat([ids, *(word for _, word in zip(range(steps), writer))], dim=1)
