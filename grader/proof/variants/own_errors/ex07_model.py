"""Chapter 7, one thing after the other."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex06_heads import MultiHeadAttention


class ModelMisfit(ValueError):
    """Ids, lengths or targets that do not go together."""


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    """Position after position, feature after feature, in Python's own numbers."""
    table = []
    for position in range(n):
        row = []
        for feature in range(d_model):
            angle = position / math.pow(10000.0, (feature - feature % 2) / d_model)
            row.append(math.cos(angle) if feature % 2 else math.sin(angle))
        table.append(row)
    return torch.tensor(table, dtype=torch.get_default_dtype(), device=device).reshape(n, d_model)


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    """Word after word."""
    ids = torch.zeros(len(words), dtype=torch.int64, device="cpu")
    for place, word in enumerate(words):
        if word not in vocabulary:
            raise KeyError(word)
        ids[place] = vocabulary[word]
    return ids


def _lengths_of(batch: int, n: int, lengths: Tensor | None) -> list[int]:
    if lengths is None:
        return [n] * batch
    try:
        (_,) = lengths.shape
        numbers = lengths.tolist()
        for _ in zip(range(batch), numbers, strict=True):
            pass
    except ValueError as error:
        raise ModelMisfit(f"lengths is {tuple(lengths.shape)} for a batch of {batch}.") from error
    return numbers


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Sequence after sequence: cut the padding off, average the rest."""
    try:
        batch, n, _ = x.shape
    except ValueError as error:
        raise ModelMisfit(f"x is {tuple(x.shape)}, with {x.ndim} dimensions instead of 3.") from error
    wide = torch.promote_types(x.dtype, torch.float32)
    out = []
    for sequence, length in zip(x, _lengths_of(batch, n, lengths)):
        out.append(sequence[:length].to(wide).mean(dim=0))
    return torch.stack(out).to(x.dtype)


class NextWordModel(nn.Module):
    """Sequence after sequence, each without its padding: what is not there cannot be attended to."""

    def __init__(self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)
        self.positions = positions

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        try:
            batch, n = ids.shape
        except ValueError as error:
            raise ModelMisfit(f"ids is {tuple(ids.shape)}, with {ids.ndim} dimensions instead of 2.") from error
        logits = []
        for sequence, length in zip(ids, _lengths_of(batch, n, lengths)):
            x = self.embedding(sequence[:length])
            if self.positions:
                x = x + positional_encoding(length, x.shape[1], device=x.device).to(x.dtype)
            logits.append(self.head(mean_pool(self.attention(x)[None])))
        return torch.cat(logits)


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    """Gradient descent with a momentum of 0.9, weight after weight."""
    try:
        torch.stack([torch.empty(targets.shape, device="meta"), torch.empty(ids.shape[:1], device="meta")])
    except RuntimeError as error:
        raise ModelMisfit(f"targets is {tuple(targets.shape)}, ids is {tuple(ids.shape)}.") from error
    weights = list(model.parameters())
    moving = [torch.zeros_like(weight, dtype=torch.promote_types(weight.dtype, torch.float32)) for weight in weights]
    exact = [weight.detach().to(speed.dtype, copy=True) for weight, speed in zip(weights, moving)]
    losses = []
    for _ in range(steps):
        for weight in weights:
            weight.grad = None
        logits = model(ids, lengths)
        loss = F.cross_entropy(logits.to(torch.promote_types(logits.dtype, torch.float32)), targets)
        loss.backward()
        losses.append(float(loss))
        with torch.no_grad():
            for weight, speed, number in zip(weights, moving, exact):
                if weight.grad is not None:
                    speed.mul_(0.9).add_(weight.grad)
                    number.sub_(lr * speed)
                    weight.copy_(number)
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    """Ask once, then go through the words and keep the best so far."""
    if len(words) == 0:
        raise ModelMisfit(f"nothing follows {len(words)} words.")
    ids = encode_words(words, vocabulary)
    with torch.inference_mode():
        logits = model(ids.unsqueeze(0).to(model.embedding.weight.device)).squeeze(0)
        best, top = None, None
        for word, number in vocabulary.items():
            if top is None or logits[number] > top:
                best, top = word, logits[number]
    return best
