"""The model, in Einstein's notation, and a quasi-Newton teacher."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def _shape(t: Tensor) -> str:
    return "x".join(map(str, t.shape)) or "one number, 0 dimensions"


def positional_encoding(
    n: int, d_model: int, device: torch.device | str | None = None
) -> Float[Tensor, "n d_model"]:
    place = torch.arange(n, dtype=torch.float64, device=device)
    pair = torch.arange(0, d_model, 2, dtype=torch.float64, device=device)
    angle = torch.einsum("p,i->pi", place, 10000.0 ** (-pair / d_model))
    waves = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)
    return waves[:, :d_model].to(torch.get_default_dtype())


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Int[Tensor, " n"]:
    for word in words:
        if word not in vocabulary:
            raise KeyError(f"{word!r} is not in the vocabulary")
    return torch.tensor([vocabulary[w] for w in words], dtype=torch.long, device="cpu")


def mean_pool(
    x: Float[Tensor, "batch n d"], lengths: Int[Tensor, " batch"] | None = None
) -> Float[Tensor, "batch d"]:
    if x.ndim != 3:
        raise ValueError(f"x must have three dimensions, but x is {_shape(x)}")
    if lengths is None:
        lengths = torch.full((x.size(0),), x.size(1), device=x.device)
    elif lengths.shape != x.shape[:1]:
        raise ValueError(f"lengths is {_shape(lengths)} and x is {_shape(x)}")
    real = padding_mask(lengths, x.size(1))
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    share = real.to(wide.dtype) / lengths.to(wide.dtype)[:, None]
    kept = wide.masked_fill(~real[:, :, None], 0.0)
    return torch.einsum("bn,bnd->bd", share, kept).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)
        self.positions = positions

    def forward(
        self, ids: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch vocab_size"]:
        if ids.ndim != 2:
            raise ValueError(f"ids must have two dimensions, but ids is {_shape(ids)}")
        if lengths is not None and lengths.shape != ids.shape[:1]:
            raise ValueError(f"lengths is {_shape(lengths)} and ids is {_shape(ids)}")
        x = self.embedding(ids)
        if self.positions:
            x = x + positional_encoding(x.size(1), x.size(2), x.device).to(x.dtype)
        mask = None if lengths is None else padding_mask(lengths, ids.size(1))[:, None, :]
        pooled = mean_pool(self.attention(x, mask=mask), lengths)
        return torch.einsum("vd,bd->bv", self.head.weight, pooled) + self.head.bias


def train(
    model: NextWordModel,
    ids: Int[Tensor, "batch n"],
    targets: Int[Tensor, " batch"],
    steps: int = 200,
    lr: float = 0.05,
    lengths: Int[Tensor, " batch"] | None = None,
) -> list[float]:
    if targets.ndim != 1 or targets.shape != ids.shape[:1]:
        raise ValueError(f"targets is {_shape(targets)} and ids is {_shape(ids)}")
    weights = list(model.parameters())
    # The optimiser works on copies, at least float32 wide; half precision is too coarse for it.
    copies = [
        w.detach().to(torch.promote_types(w.dtype, torch.float32), copy=True).requires_grad_()
        for w in weights
    ]
    # One inner iteration per step, else `steps` would not count the changes.
    optimiser = torch.optim.LBFGS(
        copies, lr=lr, max_iter=1, history_size=20, tolerance_grad=0.0, tolerance_change=0.0
    )

    def closure() -> Tensor:
        with torch.enable_grad():
            logits = model(ids, lengths)
            wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
            loss = F.cross_entropy(wide, targets)
            slopes = torch.autograd.grad(loss, weights)
        for copy, slope in zip(copies, slopes, strict=True):
            copy.grad = slope.to(copy.dtype).contiguous()
        return loss.detach()

    losses: list[float] = []
    for _ in range(steps):
        before = [copy.detach().clone() for copy in copies]
        losses.append(float(optimiser.step(closure)))
        with torch.no_grad():
            _rescale(optimiser, before, copies, lr, first=len(losses) == 1)
            for weight, copy in zip(weights, copies, strict=True):
                weight.copy_(copy)
    return losses


def _rescale(
    optimiser: torch.optim.LBFGS, before: list[Tensor], after: list[Tensor], lr: float, first: bool
) -> None:
    """A trust region, for LBFGS without a line search now and then leaps; and a firm first step."""
    moves = [a - b for a, b in zip(after, before, strict=True)]
    length = float(sum(torch.einsum("...,...->", m, m) for m in moves)) ** 0.5
    if length == 0.0:
        return
    factor = 4 * lr / length if first else min(1.0, 10 * lr / length)
    for a, b, move in zip(after, before, moves, strict=True):
        a.copy_(b + move * factor)
    optimiser.state[after[0]]["t"] *= factor  # the step that it remembers


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if len(words) == 0:
        raise ValueError("words has 0 words, and the model needs 1 at least")
    ids = encode_words(words, vocabulary).to(model.head.weight.device)
    with torch.no_grad():
        logits = model(torch.einsum("n->n", ids)[None, :])[0].tolist()
    return max(vocabulary, key=lambda word: logits[vocabulary[word]])
