from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex01_scores import project_rows, spelled
from ex03_masking import padding_mask
from ex04_softmax import attention_weights
from ex05_mixing import mix_values
from ex06_heads import MultiHeadAttention


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    like = {"dtype": torch.float64, "device": device}
    positions = torch.arange(n, **like).unsqueeze(-1)
    rates = 10000.0 ** -(torch.arange(0, d_model, 2, **like) / d_model)
    angles = project_rows(positions, rates.unsqueeze(0))
    waves = torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
    return waves[:, :d_model].to(torch.get_default_dtype())


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    for word in words:
        if word not in vocabulary:
            raise KeyError(word)
    return torch.tensor([vocabulary[word] for word in words], dtype=torch.long, device="cpu")


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    if x.dim() != 3:
        raise ValueError(f"x is [batch, n, d], not {spelled(x)}")
    batch, n, _ = x.shape
    real = None
    rows = x.to(torch.promote_types(x.dtype, torch.float32))
    if lengths is not None:
        if lengths.shape != x.shape[:1]:
            raise ValueError(f"{batch} sequences have {batch} lengths, not {spelled(lengths)}")
        real = padding_mask(lengths, n).unsqueeze(-2)
        rows = rows.where(real.mT, 0.0)
    # One query without a question, keys without an answer: all that is left gets the same.
    blank = rows.new_zeros(batch, n, 1)
    return mix_values(attention_weights(blank[:, :1], blank, real), rows).squeeze(-2).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.positions = positions
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        if ids.dim() != 2:
            raise ValueError(f"ids are [batch, n], not {spelled(ids)}")
        real = None
        if lengths is not None:
            if lengths.shape != ids.shape[:1]:
                raise ValueError(
                    f"{len(ids)} sequences have {len(ids)} lengths, not {spelled(lengths)}"
                )
            real = padding_mask(lengths, ids.shape[1]).unsqueeze(1)
        x = self.embedding(ids)
        if self.positions:
            x = x + positional_encoding(*x.shape[1:], device=x.device).to(x.dtype)
        return self.head(mean_pool(self.attention(x, mask=real), lengths))


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    if targets.shape != ids.shape[:1]:
        raise ValueError(
            f"each sequence has one target: ids is {spelled(ids)}, targets is {spelled(targets)}"
        )
    # Adamax divides by the largest gradient so far, often too small for 16 bits: it works on masters
    # of 32 bits or more, and takes a quarter of the rate, as its first steps are whole ones.
    weights = list(model.parameters())
    masters = [
        w.detach().to(torch.promote_types(w.dtype, torch.float32), copy=True) for w in weights
    ]
    optimiser = torch.optim.Adamax(masters, lr=0.25 * lr)
    losses = []
    for _ in range(steps):
        model.zero_grad()
        loss = F.cross_entropy(model(ids, lengths).to(masters[0].dtype), targets)
        loss.backward()
        losses.append(loss.item())
        for w, master in zip(weights, masters, strict=True):
            master.grad = None if w.grad is None else w.grad.to(master.dtype)
        optimiser.step()
        with torch.no_grad():
            for w, master in zip(weights, masters, strict=True):
                w.copy_(master)
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if not words:
        raise ValueError("after 0 words there is nothing to expect")
    ids = encode_words(words, vocabulary)
    with torch.no_grad():
        (logits,) = model(ids.unsqueeze(0).to(next(model.parameters()).device)).tolist()
    return max(vocabulary, key=lambda word: logits[vocabulary[word]])
