"""Style einsum: angles and means by letters, trained with Adamax."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    dtype = torch.get_default_dtype()
    places = torch.arange(n, device=device, dtype=dtype)
    pair = torch.arange(d_model, device=device) // 2
    speed = torch.pow(10000.0, -2 * pair.to(dtype) / d_model)
    angles = torch.einsum("n,d->nd", places, speed)
    even = torch.arange(d_model, device=device) % 2 == 0
    return torch.where(even, torch.sin(angles), torch.cos(angles))


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    unknown = [word for word in words if word not in vocabulary]
    if unknown:
        raise KeyError(f"not in the vocabulary: {', '.join(unknown)}")
    return torch.tensor(list(map(vocabulary.__getitem__, words)), dtype=torch.int64)


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    if x.dim() != 3:
        raise ValueError(f"'bnd->bd' wants three dimensions, not {list(x.shape)}")
    batch, n, _ = x.shape
    if lengths is None:
        return torch.einsum("bnd->bd", x) / n
    if list(lengths.shape) != [batch]:
        raise ValueError(f"{list(x.shape)} wants {batch} lengths, not {list(lengths.shape)}")
    real = padding_mask(lengths, n)
    share = real.to(x.dtype) / lengths.unsqueeze(-1)
    return torch.einsum("bn,bnd->bd", share, torch.where(real.unsqueeze(-1), x, 0.0))


class NextWordModel(nn.Module):
    """Embedding, attention, mean and head."""

    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.head = nn.Linear(d_model, vocab_size)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.with_positions = positions
        nn.init.xavier_normal_(self.head.weight)
        nn.init.constant_(self.head.bias, 0.0)

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        if ids.dim() != 2:
            raise ValueError(f"ids come as rows of a batch, not as {list(ids.shape)}")
        if lengths is not None and lengths.shape != ids.shape[:1]:
            raise ValueError(f"{list(ids.shape)} ids, but lengths of {list(lengths.shape)}")
        x = self.embedding(ids)
        if self.with_positions:
            x = x + positional_encoding(*x.shape[1:], device=x.device).type_as(x)
        mask = None
        if lengths is not None:
            mask = padding_mask(lengths, ids.shape[1]).unsqueeze(1)
        return self.head(mean_pool(self.attention(x, None, mask), lengths))


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    if targets.dim() != 1 or targets.shape[0] != ids.shape[0]:
        raise ValueError(f"one target a row: {list(targets.shape)} targets, {list(ids.shape)} ids")
    # eps: 1e-8 is 0 in float16
    optimiser = torch.optim.Adamax(model.parameters(), lr=lr, eps=1e-5)
    history: list[float] = []
    while len(history) < steps:
        optimiser.zero_grad()
        loss = F.cross_entropy(model(ids, lengths), targets)
        loss.backward()
        optimiser.step()
        history.append(float(loss.detach()))
    return history


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if not words:
        raise ValueError("with 0 words there is nothing to go on")
    ids = encode_words(words, vocabulary).to(model.embedding.weight.device)
    with torch.inference_mode():
        logits = model(ids.unsqueeze(0)).squeeze(0)
    names = list(vocabulary)
    best = int(torch.stack([logits[vocabulary[name]] for name in names]).argmax())
    return names[best]
