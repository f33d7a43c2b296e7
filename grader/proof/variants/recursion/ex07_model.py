"""The model, spelled out, with an Adam of its own."""

from __future__ import annotations

import math

import torch
from torch import nn

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def _shape(t):
    return str(tuple(t.shape)) if t.dim() > 0 else "a single number (0 dimensions)"


def _wide(t):
    if t.dtype == torch.float16 or t.dtype == torch.bfloat16:
        return t.to(torch.float32)
    return t


def _add_up(terms):
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _add_up(terms[:middle]) + _add_up(terms[middle:])


def positional_encoding(n, d_model, device=None):
    table = []
    for p in range(n):
        for feature in range(d_model):
            i = feature // 2
            angle = p / 10000 ** (2 * i / d_model)
            if feature % 2 == 0:
                table.append(math.sin(angle))
            else:
                table.append(math.cos(angle))
    numbers = torch.tensor(table, dtype=torch.get_default_dtype(), device=device)
    return numbers.reshape(n, d_model)


def encode_words(words, vocabulary):
    ids = torch.zeros(len(words), dtype=torch.long, device="cpu")
    for place, word in enumerate(words):
        if word not in vocabulary:
            raise KeyError("no such word: " + str(word))
        ids[place] = vocabulary[word]
    return ids


def mean_pool(x, lengths=None):
    if x.dim() != 3:
        raise ValueError("x must have three dimensions: " + _shape(x))
    batch, n, _ = x.shape
    if lengths is None:
        return (_add_up([_wide(x[:, j]) for j in range(n)]) / n).to(x.dtype)
    if tuple(lengths.shape) != (batch,):
        raise ValueError("one length per sequence: " + _shape(lengths) + " for " + _shape(x))
    lengths = lengths.to(torch.int64).unsqueeze(1)
    terms = []
    for j in range(n):
        terms.append(torch.where(j < lengths, _wide(x[:, j]), 0.0))
    return (_add_up(terms) / lengths).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.head = nn.Linear(d_model, vocab_size)
        self.positions = positions

    def forward(self, ids, lengths=None):
        if ids.dim() != 2:
            raise ValueError("ids must have two dimensions: " + _shape(ids))
        batch, n = ids.shape
        if lengths is not None and tuple(lengths.shape) != (batch,):
            raise ValueError("one length per sequence: " + _shape(lengths) + " for " + _shape(ids))
        x = self.embedding(ids)
        if self.positions:
            waves = positional_encoding(n, x.shape[2], device=x.device).to(x.dtype)
            x = torch.stack([sequence + waves for sequence in x])
        mask = None
        if lengths is not None:
            mask = padding_mask(lengths, n).reshape(batch, 1, n)
        x = self.attention(x, mask=mask)
        return self.head(mean_pool(x, lengths))


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    if targets.dim() != 1 or ids.dim() < 1 or len(targets) != len(ids):
        raise ValueError("one target per sequence: " + _shape(targets) + " for " + _shape(ids))
    weights = list(model.parameters())
    exact = [_wide(w.detach()).clone() for w in weights]
    means = [torch.zeros_like(w) for w in exact]
    squares = [torch.zeros_like(w) for w in exact]
    losses = []
    for step in range(1, steps + 1):
        with torch.enable_grad():
            logits = _wide(model(ids, lengths))
            terms = []
            for row, target in zip(logits, targets):
                terms.append(torch.logsumexp(row, dim=0) - row[target])
            loss = _add_up(terms) / len(terms)
            slopes = torch.autograd.grad(loss, weights)
        losses.append(loss.item())
        with torch.no_grad():
            for i in range(len(weights)):
                slope = slopes[i].to(exact[i].dtype)
                means[i] = 0.9 * means[i] + 0.1 * slope
                squares[i] = 0.999 * squares[i] + 0.001 * slope * slope
                mean = means[i] / (1 - 0.9**step)
                square = squares[i] / (1 - 0.999**step)
                exact[i] = exact[i] - lr / 2 * mean / (square.sqrt() + 1e-8)
                weights[i].copy_(exact[i])
    return losses


def predict(model, words, vocabulary):
    if len(words) == 0:
        raise ValueError("cannot go on from 0 words")
    ids = encode_words(words, vocabulary)
    for weight in model.parameters():
        ids = ids.to(weight.device)
    with torch.no_grad():
        logits = model(torch.stack([ids]))[0]
    best = None
    for word in vocabulary:
        logit = float(logits[vocabulary[word]])
        if best is None or logit > highest:
            best, highest = word, logit
    return best
