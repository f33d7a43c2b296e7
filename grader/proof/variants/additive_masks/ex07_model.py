"""Style additive masks, chapter 7: small normal weights at the start, Adam from torch.optim."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .ex03_masking import padding_mask
from .ex06_heads import MultiHeadAttention


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    place = torch.arange(n, device=device, dtype=torch.get_default_dtype()).unsqueeze(1)
    step = torch.arange(0, d_model, 2, device=device, dtype=torch.get_default_dtype())
    factor = torch.exp(step * (-math.log(10000.0) / d_model))
    table = torch.zeros(n, d_model, device=device)
    table[:, 0::2] = torch.sin(place * factor)
    table[:, 1::2] = torch.cos(place * factor)[:, : d_model // 2]
    return table


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    try:
        return torch.tensor([vocabulary[word] for word in words]).long()
    except KeyError as problem:
        raise KeyError(f"I do not know the word {problem.args[0]!r}") from None


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    if x.ndim != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}, and should have 3 dimensions")
    if lengths is None:
        lengths = torch.full((x.shape[0],), x.shape[1], device=x.device)
    if lengths.shape != x.shape[:1]:
        raise ValueError(f"lengths is {tuple(lengths.shape)} for x of {tuple(x.shape)}")
    real = padding_mask(lengths, x.shape[1]).unsqueeze(2)
    return torch.where(real, x, 0.0).sum(1).div(lengths.to(x.dtype).unsqueeze(1))


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = positions
        self.d_model = d_model
        nn.init.normal_(self.embedding.weight, std=0.02)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        if ids.ndim != 2:
            raise ValueError(f"ids has shape {tuple(ids.shape)}, and should have 2 dimensions")
        if lengths is not None and lengths.shape != ids.shape[:1]:
            raise ValueError(f"lengths is {tuple(lengths.shape)} for ids of {tuple(ids.shape)}")
        x = self.embedding(ids)
        if self.positions:
            waves = positional_encoding(ids.shape[1], self.d_model, ids.device)
            x = x + waves.to(dtype=x.dtype)
        mask = None if lengths is None else padding_mask(lengths, ids.shape[1]).unsqueeze(1)
        return self.head(mean_pool(self.attention(x, mask=mask), lengths))


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    if targets.shape != ids.shape[:1]:
        raise ValueError(f"targets is {tuple(targets.shape)} for ids of {tuple(ids.shape)}")
    # 1e-4 can be told from 0 in float16, too
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, eps=1e-4)
    criterion = nn.CrossEntropyLoss()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(ids, lengths=lengths), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if not words:
        raise ValueError(f"{len(words)} words are too few")
    ids = encode_words(words, vocabulary)[None]
    logits = model(ids.to(model.embedding.weight.device))[0].detach()
    closed = torch.full_like(logits, -torch.inf)
    for number in vocabulary.values():
        closed[number] = 0
    number = int((logits + closed).argmax())
    return next(word for word in vocabulary if vocabulary[word] == number)
