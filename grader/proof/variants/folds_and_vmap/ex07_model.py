"""Chapter 7. The model: training is a fold, the weights are its state."""

from __future__ import annotations

from functools import partial, reduce
from math import cos, sin
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention

show = lambda t: "x".join(map(str, t.shape)) or "a scalar of 0 dimensions"  # noqa: E731
widen = lambda t: t.to(torch.promote_types(t.dtype, torch.float32))  # noqa: E731


def fitting(lengths: Tensor | None, whole: Tensor, name: str) -> None:
    if lengths is not None and lengths.shape != whole.shape[:1]:
        raise ValueError(
            f"lengths is {show(lengths)}, {name} is {show(whole)}: one length per sequence"
        )


def positional_encoding(
    n: int, d_model: int, device: torch.device | str | None = None
) -> Float[Tensor, "n d_model"]:
    wave = lambda p, f: (sin, cos)[f % 2](p / 10000 ** ((f - f % 2) / d_model))  # noqa: E731
    rows = [[wave(p, f) for f in range(d_model)] for p in range(n)]
    return torch.tensor(rows, dtype=torch.get_default_dtype(), device=device).reshape(n, d_model)


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Int[Tensor, " n"]:
    match [word for word in words if word not in vocabulary]:
        case []:
            ids = [vocabulary[word] for word in words]
            return torch.tensor(ids, dtype=torch.long, device="cpu")
        case unknown:
            raise KeyError(*unknown)


def mean_pool(
    x: Float[Tensor, "batch n d"], lengths: Int[Tensor, " batch"] | None = None
) -> Float[Tensor, "batch d"]:
    match tuple(x.shape):
        case (_, n, _):
            fitting(lengths, x, "x")
        case _:
            raise ValueError(f"x is {show(x)}, not batch x tokens x features")
    if lengths is None:
        return x.mean(1)

    def one(tokens: Tensor, real: Tensor, length: Tensor) -> Tensor:
        kept = torch.where(real[:, None], tokens, 0)
        return (widen(kept).sum(0) / length).to(x.dtype)

    return torch.vmap(one)(x, padding_mask(lengths, n), lengths.long())


class NextWordModel(nn.Module):
    """A record of three parts."""

    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"n_heads={n_heads} must be a divisor of d_model={d_model}")
        super().__init__()
        self.positions = positions
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(
        self, ids: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch vocab_size"]:
        match tuple(ids.shape):
            case (_, n):
                fitting(lengths, ids, "ids")
            case _:
                raise ValueError(f"ids is {show(ids)}, not batch x tokens")
        mask = None if lengths is None else padding_mask(lengths, n)[:, None, :]
        placed = (
            lambda x: x + positional_encoding(*x.shape[1:], device=x.device).to(x.dtype)
            if self.positions
            else x
        )
        steps = (
            self.embedding,
            placed,
            partial(self.attention, mask=mask),
            partial(mean_pool, lengths=lengths),
            self.head,
        )
        return reduce(lambda value, step: step(value), steps, ids)


class State(NamedTuple):
    """All that training knows: nothing in it is ever changed."""

    weights: dict[str, Tensor]
    speed: dict[str, Tensor]
    losses: tuple[float, ...]


def train(
    model: NextWordModel,
    ids: Int[Tensor, "batch n"],
    targets: Int[Tensor, " batch"],
    steps: int = 200,
    lr: float = 0.05,
    lengths: Int[Tensor, " batch"] | None = None,
) -> list[float]:
    if targets.ndim != 1 or targets.shape != ids.shape[:1]:
        raise ValueError(f"targets is {show(targets)}, ids is {show(ids)}: one target each")
    held = dict(model.named_parameters())

    def loss_of(weights: dict[str, Tensor]) -> Tensor:
        own = {name: weight.to(held[name].dtype) for name, weight in weights.items()}
        return F.cross_entropy(widen(functional_call(model, own, (ids, lengths))), targets)

    def step(state: State, _: int) -> State:
        slopes, loss = grad_and_value(loss_of)(state.weights)
        speed = {name: 0.9 * v + slopes[name] for name, v in state.speed.items()}
        weights = {name: w - lr * speed[name] for name, w in state.weights.items()}
        return State(weights, speed, (*state.losses, loss.item()))

    start = {name: widen(weight.detach()) for name, weight in held.items()}
    still = {name: torch.zeros_like(weight) for name, weight in start.items()}
    end = reduce(step, range(steps), State(start, still, ()))
    with torch.no_grad():
        for name, weight in end.weights.items():
            held[name].copy_(weight)
    return list(end.losses)


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    match words:
        case []:
            raise ValueError("0 words: nothing to go on")
        case _:
            ids = encode_words(words, vocabulary).to(next(model.parameters()).device)
    with torch.no_grad():
        (logits,) = model(ids[None])
    return max(vocabulary, key=lambda word: logits[vocabulary[word]].item())
