"""Chapter 7: complex numbers, one sequence at a time, torch.func and an Adam of one's own."""

from __future__ import annotations

import math
import operator

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ex01_scores import project_linear
from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(
    n: int, d_model: int, device: torch.device | str | None = None
) -> Float[Tensor, "n d_model"]:
    real = {"dtype": torch.float64, "device": device}
    i = torch.arange(0, d_model, 2, **real)
    angle = torch.outer(torch.arange(n, **real), (i * (-math.log(1e4) / d_model)).exp())
    z = torch.complex(angle.sin(), angle.cos())
    return torch.view_as_real(z).flatten(1)[:, :d_model].to(torch.get_default_dtype())


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Int[Tensor, " n"]:
    def ids(w):
        match w:
            case []:
                return []
            case [first, *_] if first not in vocabulary:
                raise KeyError(first)
            case [first, *rest]:
                return [vocabulary[first]] + ids(rest)

    return torch.tensor(ids(list(words)), dtype=torch.long, device="cpu")


def _one_each(who: str, t: Tensor, batch: int) -> None:
    if tuple(t.shape) != (batch,):
        raise ValueError(f"{who} of {tuple(t.shape)} for {batch} sequence(s)")


def mean_pool(
    x: Float[Tensor, "batch n d"], lengths: Int[Tensor, " batch"] | None = None
) -> Float[Tensor, "batch d"]:
    match x.shape:
        case (b, n, _):
            pass
        case other:
            raise ValueError(f"three dimensions or nothing; here: {tuple(other)}")
    if lengths is not None:
        _one_each("lengths", lengths, b)
    reals = [n] * b if lengths is None else lengths.tolist()
    return torch.stack([s[:r].mean(0) for s, r in zip(x, reals)])


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        for name, make in {
            "embedding": lambda: nn.Embedding(vocab_size, d_model),
            "attention": lambda: MultiHeadAttention(d_model, n_heads),
            "head": lambda: nn.Linear(d_model, vocab_size),
        }.items():
            self.add_module(name, make())
        self.where = positional_encoding if positions else None

    def forward(
        self, ids: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch vocab_size"]:
        if ids.ndim != 2:
            raise ValueError(f"ids come as a table, not as {tuple(ids.shape)}")
        if lengths is not None:
            _one_each("lengths", lengths, len(ids))
        x = self.embedding.weight[ids]
        if self.where is not None:
            x = x + self.where(*x.shape[1:], device=x.device).type_as(x)
        m = None if lengths is None else padding_mask(lengths, ids.shape[1]).unsqueeze(1)
        z = mean_pool(self.attention(x, mask=m), lengths)
        return project_linear(z, self.head.weight, self.head.bias)


def train(
    model: NextWordModel,
    ids: Int[Tensor, "batch n"],
    targets: Int[Tensor, " batch"],
    steps: int = 200,
    lr: float = 0.05,
    lengths: Int[Tensor, " batch"] | None = None,
) -> list[float]:
    if ids.ndim and targets.shape != ids.shape[:1]:
        raise ValueError(f"targets {tuple(targets.shape)} for ids {tuple(ids.shape)}")

    def loss(weights):
        logits = torch.func.functional_call(model, weights, (ids, lengths))
        return F.cross_entropy(logits if logits.dtype.itemsize > 2 else logits.float(), targets)

    learn = torch.func.grad_and_value(loss)
    own = dict(model.named_parameters())
    wide = lambda p: torch.promote_types(p.dtype, torch.float32)  # noqa: E731
    fine = {k: p.detach().to(wide(p), copy=True) for k, p in own.items()}
    m, v = ({k: torch.zeros_like(p) for k, p in fine.items()} for _ in "mv")
    losses = []
    for t in range(1, steps + 1):
        with torch.enable_grad():
            g, value = learn({k: p.detach() for k, p in own.items()})
        losses.append(value.item())
        with torch.no_grad():
            for k, p in own.items():
                d = g[k].to(fine[k].dtype)
                m[k] = 0.9 * m[k] + 0.1 * d
                v[k] = 0.99 * v[k] + 0.01 * d * d
                move = (m[k] / (1 - 0.9**t)) / ((v[k] / (1 - 0.99**t)).sqrt() + 1e-9)
                fine[k] = fine[k] * (1 - 0.02 * lr) - lr * move  # a little decay: every weight moves
                p.copy_(fine[k])
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if not (n := len(words)):
        raise ValueError(f"{n} words: nothing to go on")
    ids = encode_words(words, vocabulary).to(next(model.parameters()).device)
    with torch.no_grad():
        logits = model(ids[None])[0].tolist()
    return max(vocabulary.items(), key=lambda wi: operator.getitem(logits, wi[1]))[0]
