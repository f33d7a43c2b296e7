"""Style reuse: the mean is an attention that asks nothing; trained with RMSprop."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from exercises.ex01_scores import project_linear
from exercises.ex03_masking import padding_mask
from exercises.ex05_mixing import attention
from exercises.ex06_heads import MultiHeadAttention


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    dtype = torch.get_default_dtype()
    position = torch.arange(n, dtype=dtype, device=device)[:, None]
    feature = torch.arange(d_model, dtype=dtype, device=device)
    even = 2 * torch.div(feature, 2, rounding_mode="floor")
    angle = project_linear(position, (10000 ** -(even / d_model))[:, None])
    return angle.sin() * (feature == even) + angle.cos() * (feature != even)


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    return torch.as_tensor([vocabulary[word] for word in words], dtype=torch.long)


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    if x.dim() != 3:
        raise ValueError(f"No sequences of tokens in {x.size()}.")
    if lengths is not None and lengths.size() != x.size()[:1]:
        raise ValueError(f"Lengths of {lengths.size()} do not fit tokens of {x.size()}.")
    mask = None
    if lengths is not None:
        real = padding_mask(lengths, x.size(1))
        x = x.masked_fill(~real[..., None], 0)
        mask = real[:, None, :]
    # all scores are 0, so all weights are alike
    nothing = x.new_zeros(x.size(0), x.size(1), 1)
    return attention(x.new_zeros(x.size(0), 1, 1), nothing, x, mask).squeeze(1)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = positions
        # the first guess of an untrained model: all words are equally likely
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        if ids.dim() != 2 or (lengths is not None and lengths.size() != ids.size()[:1]):
            sizes = [ids.size()] if lengths is None else [ids.size(), lengths.size()]
            raise ValueError(f"No [batch, n] ids with [batch] lengths in {sizes}.")
        x = self.embedding(ids)
        if self.positions:
            x = x + positional_encoding(x.size(1), x.size(2), x.device).to(x.dtype)
        mask = None if lengths is None else padding_mask(lengths, ids.size(1))[:, None, :]
        pooled = mean_pool(self.attention(x, mask=mask), lengths)
        return project_linear(pooled, self.head.weight, self.head.bias)


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    if targets.size() != ids.size()[:1]:
        raise ValueError(f"Targets of {targets.size()} do not fit ids of {ids.size()}.")
    # eps: float16 has no 1e-8; a fifth of the rate, because its first steps are long
    optimiser = torch.optim.RMSprop(model.parameters(), lr=lr / 5, alpha=0.9, eps=1e-4)
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(model(ids, lengths), targets, reduction="mean")
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if len(words) == 0:
        raise ValueError("No prediction from 0 words.")
    ids = encode_words(words, vocabulary).to(model.embedding.weight.device)
    with torch.no_grad():
        logits = model(ids[None, :])[0]
    by_id = {number: word for word, number in vocabulary.items()}
    for number in logits.argsort(descending=True).tolist():
        if number in by_id:
            return by_id[number]
    raise ValueError(f"None of the {len(vocabulary)} words is among the {len(logits)} logits.")
