"""The model, and a training run whose books are kept in float64."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def _up(t: Tensor) -> Tensor:
    if t.dtype in (torch.float16, torch.bfloat16):
        return t.to(torch.float32)
    return t if t.device.type == "mps" else t.to(torch.float64)


def _size(t: Tensor) -> str:
    return f"size {list(t.size())}" if t.dim() else "no size at all, being 0-dimensional"


def _angles(n: int, d_model: int) -> Tensor:
    """Always on the CPU: not every device has float64."""
    pairs = torch.arange((d_model + 1) // 2, dtype=torch.float64, device="cpu")
    frequencies = torch.exp(pairs * (-2.0 * math.log(10000.0) / d_model))
    return torch.outer(torch.arange(n, dtype=torch.float64, device="cpu"), frequencies)


def positional_encoding(
    n: int, d_model: int, device: torch.device | str | None = None
) -> Float[Tensor, "n d_model"]:
    circle = torch.polar(torch.ones(1, dtype=torch.float64, device="cpu"), _angles(n, d_model))
    sines_first = torch.view_as_real(circle).flip(-1).flatten(1)[:, :d_model]
    where = torch.get_default_device() if device is None else device
    return sines_first.to(device=where, dtype=torch.get_default_dtype()).contiguous()


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Int[Tensor, " n"]:
    ids, known = [], dict(vocabulary)
    for word in words:
        try:
            ids.append(known[word])
        except KeyError as error:
            raise KeyError(f"the vocabulary has no {word!r}") from error
    return torch.as_tensor(ids, dtype=torch.int64, device="cpu")


def mean_pool(
    x: Float[Tensor, "batch n d"], lengths: Int[Tensor, " batch"] | None = None
) -> Float[Tensor, "batch d"]:
    if x.dim() != 3:
        raise ValueError(f"x is a batch of matrices, not something with {_size(x)}")
    if lengths is None:
        return _up(x).mean(1).to(x.dtype)
    if list(lengths.size()) != [x.size(0)]:
        raise ValueError(f"lengths with {_size(lengths)} for x with {_size(x)}")
    padding = ~padding_mask(lengths, x.size(1))
    total = _up(x).masked_fill(padding.unsqueeze(2), 0.0).sum(1)
    return (total / lengths.to(total.dtype).unsqueeze(1)).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.positions = positions
        self.head = nn.Linear(d_model, vocab_size)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)

    def forward(
        self, ids: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch vocab_size"]:
        if ids.dim() != 2:
            raise ValueError(f"ids are a table, not something with {_size(ids)}")
        mask = None
        if lengths is not None:
            if list(lengths.size()) != [ids.size(0)]:
                raise ValueError(f"lengths with {_size(lengths)} for ids with {_size(ids)}")
            mask = padding_mask(lengths, ids.size(1)).unsqueeze(1)
        x = self.embedding(ids)
        if self.positions:
            waves = positional_encoding(ids.size(1), x.size(2), x.device)
            x = x + waves.to(x.dtype)
        return self.head(mean_pool(self.attention(x, mask=mask), lengths))


def train(
    model: NextWordModel,
    ids: Int[Tensor, "batch n"],
    targets: Int[Tensor, " batch"],
    steps: int = 200,
    lr: float = 0.05,
    lengths: Int[Tensor, " batch"] | None = None,
) -> list[float]:
    if targets.dim() != 1 or ids.dim() == 0 or targets.size(0) != ids.size(0):
        raise ValueError(f"targets with {_size(targets)} for ids with {_size(ids)}")
    weights = [w for w in model.parameters()]
    book = [_up(w.detach()).clone() for w in weights]
    adagrad = torch.optim.Adagrad(book, lr=0.5 * lr, eps=1e-12)
    losses: list[float] = []
    while len(losses) < steps:
        for w in weights:
            w.grad = None
        with torch.enable_grad():
            logits = _up(model(ids, lengths))
            right = logits.gather(1, targets.unsqueeze(1)).squeeze(1)
            loss = torch.mean(torch.logsumexp(logits, dim=1) - right)
            loss.backward()
        for w, entry in zip(weights, book):
            entry.grad = None if w.grad is None else _up(w.grad)
        adagrad.step()
        with torch.no_grad():
            for w, entry in zip(weights, book):
                w.copy_(entry)
        losses.append(loss.item())
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if len(words) < 1:
        raise ValueError(f"{len(words)} words are too few")
    device = next(model.parameters()).device
    ids = encode_words(words, vocabulary).to(device)
    modes = {module: module.training for module in model.modules()}
    try:
        with torch.no_grad():
            logits = model.eval()(ids.reshape(1, -1)).reshape(-1)
    finally:
        for module, mode in modes.items():
            module.training = mode
    known = sorted(vocabulary, key=vocabulary.__getitem__)
    places = torch.tensor([vocabulary[word] for word in known], device=logits.device)
    return known[int(logits.index_select(0, places).float().argmax())]
