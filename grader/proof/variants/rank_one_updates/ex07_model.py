"""Chapter 7. The model, look-ups and sums by subscript, and Adam by hand."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ex01_scores import project_linear
from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def _work(dtype):
    return torch.promote_types(dtype, torch.float32)


def positional_encoding(
    n: int, d_model: int, device: torch.device | str | None = None
) -> Float[Tensor, "n d_model"]:
    feature = torch.arange(d_model, device="cpu")
    odd = feature % 2
    # the cosine is the sine of a quarter turn more, but less exact: choose by index instead
    exponent = (feature - odd).to(torch.float64) / d_model
    position = torch.arange(n, device="cpu").to(torch.float64)
    angle = position[:, None] / torch.pow(10000.0, exponent)[None, :]
    both = torch.stack((torch.sin(angle), torch.cos(angle)))
    table = both.gather(0, odd[None, None, :].expand(1, n, d_model))[0]
    out = torch.zeros(n, d_model, dtype=torch.get_default_dtype(), device=device)
    return out.copy_(table)


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Int[Tensor, " n"]:
    ids = torch.zeros(len(words), dtype=torch.long, device="cpu")
    for place in range(len(words)):
        word = words[place]
        if word not in vocabulary:
            raise KeyError(f"unknown word: {word}")
        ids[place] = vocabulary[word]
    return ids


def _check_lengths(lengths, batch):
    if lengths is not None and (lengths.dim() != 1 or lengths.shape[0] != batch):
        raise ValueError(
            f"lengths must have the one extent {batch}, but is lengths{tuple(lengths.shape)}"
        )


def mean_pool(
    x: Float[Tensor, "batch n d"], lengths: Int[Tensor, " batch"] | None = None
) -> Float[Tensor, "batch d"]:
    if x.dim() != 3:
        raise ValueError(f"x must have three subscripts, but is x{tuple(x.shape)}")
    batch, n, d = x.shape
    _check_lengths(lengths, batch)
    work = _work(x.dtype)
    flat = x.reshape(batch * n, d).to(work)
    # row l of the flat table belongs to sequence l div n
    sequence = torch.div(torch.arange(batch * n, device=x.device), n, rounding_mode="floor")
    if lengths is None:
        count = torch.full((batch, 1), n, dtype=work, device=x.device)
    else:
        count = lengths.to(work)[:, None]
        real = padding_mask(lengths, n).reshape(batch * n, 1)
        flat = torch.where(real, flat, torch.zeros((), dtype=work, device=x.device))
    total = torch.zeros(batch, d, dtype=work, device=x.device).index_add(0, sequence, flat)
    return (total / count).to(x.dtype)


class NextWordModel(nn.Module):
    """Look up, attend, average, score."""

    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        if n_heads < 1 or d_model % n_heads != 0:
            raise ValueError(
                f"n_heads = {n_heads} must be 1 or more and divide d_model = {d_model}"
            )
        super().__init__()
        self.d_model = d_model
        self.positions = positions
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(
        self, ids: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch vocab_size"]:
        if ids.dim() != 2:
            raise ValueError(
                f"ids must have two subscripts, but is ids{tuple(ids.shape)} with {ids.dim()}"
            )
        batch, n = ids.shape
        _check_lengths(lengths, batch)
        table = self.embedding.weight
        x = table.index_select(0, ids.reshape(batch * n)).reshape(batch, n, self.d_model)
        if self.positions:
            x = x + positional_encoding(n, self.d_model, x.device).to(x.dtype)[None]
        mask = None
        if lengths is not None:
            mask = padding_mask(lengths, n)[:, None, :]
        z = mean_pool(self.attention(x, None, mask), lengths)
        return project_linear(z, self.head.weight, self.head.bias)


def train(
    model: NextWordModel,
    ids: Int[Tensor, "batch n"],
    targets: Int[Tensor, " batch"],
    steps: int = 200,
    lr: float = 0.05,
    lengths: Int[Tensor, " batch"] | None = None,
) -> list[float]:
    if targets.dim() != 1 or targets.shape[0] != ids.shape[0]:
        raise ValueError(
            f"targets must have one entry per sequence, but is targets{tuple(targets.shape)} "
            f"for ids{tuple(ids.shape)}"
        )
    beta1, beta2, tiny = 0.9, 0.999, 1e-8
    weights = [w for w in model.parameters() if w.requires_grad]
    with torch.no_grad():
        # Everything is kept in single precision or better, so that small steps are not lost.
        fine = [w.detach().to(dtype=_work(w.dtype), copy=True) for w in weights]
        first = [torch.zeros_like(f) for f in fine]
        second = [torch.zeros_like(f) for f in fine]
        width = [float(f.shape[-1]) ** 0.5 for f in fine]
    losses = []
    for step in range(1, steps + 1):
        with torch.enable_grad():
            logits = model(ids, lengths)
            loss = F.cross_entropy(logits.to(_work(logits.dtype)), targets)
            slopes = torch.autograd.grad(loss, weights, allow_unused=True)
        losses.append(float(loss.detach()))
        with torch.no_grad():
            for i in range(len(weights)):
                if slopes[i] is None:
                    continue
                g = slopes[i].to(fine[i].dtype)
                first[i].mul_(beta1).add_(g, alpha=1.0 - beta1)
                second[i].mul_(beta2).addcmul_(g, g, value=1.0 - beta2)
                # the wider the rows, the more entries move together: take smaller steps
                rate = lr / width[i] / (1.0 - beta1**step)
                root = torch.sqrt(second[i] / (1.0 - beta2**step)) + tiny
                fine[i].addcdiv_(first[i], root, value=-rate)
                weights[i].copy_(fine[i])
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if len(words) == 0:
        raise ValueError("at least one word is needed, words has 0")
    ids = encode_words(words, vocabulary)
    device = model.embedding.weight.device
    with torch.no_grad():
        logits = model(ids.to(device)[None, :])[0]
        best = None
        # argmax by hand: the word whose logit no other word's exceeds
        for word, number in vocabulary.items():
            logit = float(logits[number])
            if best is None or logit > best[0]:
                best = (logit, word)
    return best[1]
