"""Chapter 7 for people who think in arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Callable, Optional, Union

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


@lru_cache(maxsize=4)
def _waves(n: int, d_model: int) -> Tensor:
    """In double, on the CPU, never handed out but as a copy."""
    with torch.inference_mode(False):
        feature = torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu")
        place = torch.arange(n, dtype=torch.float64, device="cpu")
        angle = torch.outer(place, torch.pow(10000.0, -feature / d_model))
        return torch.dstack([angle.sin(), angle.cos()]).reshape(n, 2 * feature.numel())[:, :d_model]


def positional_encoding(n: int, d_model: int, device: Union[torch.device, str, None] = None) -> Tensor:
    """Sines and cosines, interleaved."""
    where = torch.get_default_device() if device is None else device
    return _waves(n, d_model).to(torch.get_default_dtype(), copy=True).to(where)


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    """np.vectorize"""
    unknown = [word for word in words if word not in vocabulary]
    if unknown:
        raise KeyError(*unknown)
    return torch.as_tensor([vocabulary[word] for word in words], dtype=torch.long, device="cpu")


def mean_pool(x: Tensor, lengths: Optional[Tensor] = None) -> Tensor:
    """Running sums, read off at the last real token. One dtype up: they run far."""
    if x.ndim != 3:
        raise ValueError(f"x.ndim is {x.ndim} and not 3; x.shape is {tuple(x.shape)}")
    if lengths is not None and tuple(lengths.shape) != (len(x),):
        raise ValueError(f"lengths.shape is {tuple(lengths.shape)}; x.shape is {tuple(x.shape)}")
    up = {torch.float16: torch.float32, torch.bfloat16: torch.float32}.get(x.dtype, torch.float64)
    sums = x.to(up).cumsum(dim=1)
    if lengths is None:
        return (sums[:, -1] / x.shape[1]).to(x.dtype)
    count = lengths.to(torch.int64)[:, None]
    last = torch.take_along_dim(sums, (count - 1)[:, :, None], dim=1)[:, 0]
    return (last / count).to(x.dtype)


@dataclass
class Settings:
    vocab_size: int
    d_model: int
    n_heads: int
    positions: bool


class NextWordModel(nn.Module):
    """Take rows of the table, attend, average, score."""

    def __init__(self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False) -> None:
        super().__init__()
        self.settings = Settings(vocab_size, d_model, n_heads, positions)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads, True)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids: Tensor, lengths: Optional[Tensor] = None) -> Tensor:
        if ids.ndim != 2:
            raise ValueError(f"ids.ndim is {ids.ndim} and not 2; ids.shape is {tuple(ids.shape)}")
        if lengths is not None and (lengths.ndim != 1 or len(lengths) != len(ids)):
            raise ValueError(f"lengths.shape is {tuple(lengths.shape)}; ids.shape is {tuple(ids.shape)}")
        n = ids.shape[1]
        x = self.embedding.weight[ids]
        if self.settings.positions:
            x = x + _waves(n, self.settings.d_model).to(x.dtype, copy=True).to(x.device)
        mask = None if lengths is None else padding_mask(lengths, n)[:, None, :]
        return self.head(mean_pool(self.attention(x, x, mask), lengths))


def _stepper(lr: float, decay: float = 0.9) -> Callable[[dict[str, Tensor], tuple[Tensor, ...]], dict[str, Tensor]]:
    """Nesterov's momentum, as a closure over its speeds."""
    speeds: dict[str, Tensor] = {}

    def step(numbers: dict[str, Tensor], slopes: tuple[Tensor, ...]) -> dict[str, Tensor]:
        out = {}
        for (name, number), slope in zip(numbers.items(), slopes):
            speeds[name] = decay * speeds[name] + slope if name in speeds else slope
            out[name] = (number - lr * (slope + decay * speeds[name])).detach().requires_grad_()
        return out

    return step


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Optional[Tensor] = None,
) -> list[float]:
    """The weights as a dictionary of arrays that a pure function takes; written back after each step."""
    if targets.ndim != 1 or len(targets) != len(ids):
        raise ValueError(f"targets.shape is {tuple(targets.shape)}; ids.shape is {tuple(ids.shape)}")
    own = dict(model.named_parameters())
    wide = {name: torch.promote_types(weight.dtype, torch.float32) for name, weight in own.items()}
    numbers = {name: weight.detach().to(wide[name], copy=True).requires_grad_() for name, weight in own.items()}
    step, losses = _stepper(lr), []
    for _ in range(steps):
        logits = functional_call(model, {name: numbers[name].to(own[name].dtype) for name in own}, (ids, lengths))
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        right = torch.take_along_dim(logits, targets[:, None], dim=1)[:, 0]
        loss = (torch.logsumexp(logits, dim=1) - right).mean()
        losses.append(loss.item())
        numbers = step(numbers, torch.autograd.grad(loss, list(numbers.values())))
        with torch.no_grad():
            for name, weight in own.items():
                weight.copy_(numbers[name])
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    """np.argmax, and the vocabulary read backwards."""
    ids = encode_words(words, vocabulary)
    if ids.numel() == 0:
        raise ValueError(f"words is empty: {ids.numel()} words")
    backwards = {number: word for word, number in vocabulary.items()}
    with torch.no_grad():
        logits = model(ids.to(model.head.weight.device)[None, :])
    return backwards[int(torch.argmax(logits[0]))]
