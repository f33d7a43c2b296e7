"""Chapter 7: parts by name, and an optimiser of our own."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from ex01_scores import ShapeMismatch, fits
from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention

_WAVE = {0: torch.sin, 1: torch.cos}


def positional_encoding(n, d_model, device=None):
    """Column by column: the parity of the feature says which wave."""
    place = torch.arange(n, dtype=torch.double, device="cpu")
    columns = [_WAVE[f % 2](place / 10000 ** ((f - f % 2) / d_model)) for f in range(d_model)]
    target = torch.empty((), device=device)
    return torch.stack(columns, dim=1).to(target.dtype).to(target.device)


class _Words(dict):
    """A copy of a vocabulary whose errors say how large it is."""

    def __missing__(self, word):
        raise KeyError(f"{word!r} is none of the {len(self)} words")


def encode_words(words, vocabulary):
    """Look up, one by one."""
    known = _Words(vocabulary)
    return torch.tensor(list(map(known.__getitem__, words)), dtype=torch.long, device="cpu")


@fits(x="batch n d", lengths="batch")
def mean_pool(x, lengths=None):
    """Take the real rows out, add each one to its sequence's heap."""
    wide = torch.promote_types(x.dtype, torch.float32)
    if lengths is None:
        return x.to(wide).mean(dim=1).to(x.dtype)
    real = padding_mask(lengths, x.shape[1])
    owner = real.nonzero()[:, 0]
    heaps = x.new_zeros(x.shape[0], x.shape[2], dtype=wide).index_add(0, owner, x[real].to(wide))
    return heaps.div(lengths.to(torch.long).unsqueeze(1)).to(x.dtype)


class NextWordModel(nn.Module):
    """head(mean_pool(attention(embedding)))"""

    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__()
        parts = {
            "head": lambda: nn.Linear(d_model, vocab_size),
            "attention": lambda: MultiHeadAttention(n_heads=n_heads, d_model=d_model),
            "embedding": lambda: nn.Embedding(vocab_size, d_model),
        }
        for name, make in parts.items():
            setattr(self, name, make())
        self.positions = positions

    @fits(ids="batch n", lengths="batch")
    def forward(self, ids, lengths=None):
        mask = {} if lengths is None else {"mask": padding_mask(lengths, ids.size(1)).unsqueeze(1)}
        x = F.embedding(ids, self.embedding.weight)
        for _ in range(bool(self.positions)):
            x = x + positional_encoding(*x.shape[1:], device=x.device).type_as(x)
        return self.head(mean_pool(self.attention(x, **mask), lengths))


class _Adam:
    """Adam's rule with a few lines, in float32 or better, whatever the weights are."""

    def __init__(self, weights, lr, fast=0.9, slow=0.99, tiny=1e-8):
        self.weights, self.lr, self.fast, self.slow, self.tiny, self.time = weights, lr, fast, slow, tiny, 0
        self.exact = [w.detach().to(torch.promote_types(w.dtype, torch.float32), copy=True) for w in weights]
        self.means = [torch.zeros_like(e) for e in self.exact]
        self.squares = [torch.zeros_like(e) for e in self.exact]

    @torch.no_grad()
    def step(self, slopes):
        self.time += 1
        for w, e, m, s, g in zip(self.weights, self.exact, self.means, self.squares, slopes):
            g = g.to(e.dtype)
            m.lerp_(g, 1 - self.fast)
            s.lerp_(g * g, 1 - self.slow)
            size = (s / (1 - self.slow**self.time)).sqrt() + self.tiny
            e -= self.lr * m / (1 - self.fast**self.time) / size
            w.copy_(e)


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Slopes from torch.autograd.grad: no .grad is ever filled."""
    fits(ids="batch n", targets="batch", lengths="batch")(lambda ids, targets, lengths: None)(ids, targets, lengths)
    weights = list(model.parameters())
    rule, losses = _Adam(weights, lr), []
    while len(losses) < steps:
        logits = model(ids) if lengths is None else model(ids, lengths=lengths)
        logs = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
        loss = F.nll_loss(logs, targets)
        rule.step(torch.autograd.grad(loss, weights))
        losses.append(loss.item())
    return losses


@torch.no_grad()
def predict(model, words, vocabulary):
    """Ask, take the top, find its word."""
    if not len(words):
        raise ShapeMismatch(f"words has length {len(words)}; 1 is the least")
    device = next(iter(model.state_dict().values())).device
    number = model(encode_words(words, vocabulary).to(device).unsqueeze(0)).topk(1).indices.item()
    return next(word for word, own in vocabulary.items() if own == number)
