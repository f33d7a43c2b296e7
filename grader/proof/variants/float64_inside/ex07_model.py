"""Style float64 inside: AdamW works on double-precision masters of the weights."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from ex01_scores import check
from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(n, d_model, device=None):
    place = torch.arange(n, dtype=torch.float64, device=device)
    feature = torch.arange(d_model, dtype=torch.float64, device=device)
    odd = feature.remainder(2)
    angle = torch.outer(place, torch.float_power(10000, (odd - feature) / d_model))
    # the cosine is a sine, a quarter of a turn ahead
    return torch.sin(angle + odd * (torch.pi / 2)).to(torch.get_default_dtype())


def encode_words(words, vocabulary):
    ids = []
    for word in words:
        if word not in vocabulary:
            raise KeyError(word)
        ids.append(vocabulary[word])
    return torch.tensor(ids, dtype=torch.long)


def mean_pool(x, lengths=None):
    check(x.ndim == 3, f"x.shape is {tuple(x.shape)}, expected 3 dimensions")
    wide = x.double()
    if lengths is None:
        return wide.mean(dim=1).to(x.dtype)
    check(
        tuple(lengths.shape) == (x.shape[0],),
        f"lengths.shape is {tuple(lengths.shape)}, expected ({x.shape[0]},)",
    )
    real = padding_mask(lengths, x.shape[1])
    wide = wide.masked_fill(real.logical_not()[..., None], 0.0)
    return (wide.sum(dim=1) / real.sum(dim=1, keepdim=True)).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__()
        self.positions = positions
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.head = nn.Linear(d_model, vocab_size)
        self.attention = MultiHeadAttention(d_model, n_heads, bias=True)
        nn.init.normal_(self.embedding.weight, std=0.5)
        nn.init.normal_(self.head.bias, std=0.1)

    def forward(self, ids, lengths=None):
        check(ids.ndim == 2, f"ids.shape is {tuple(ids.shape)}, expected 2 dimensions")
        check(
            lengths is None or lengths.shape == ids.shape[:1],
            f"ids.shape is {tuple(ids.shape)}, lengths.shape is "
            f"{None if lengths is None else tuple(lengths.shape)}",
        )
        dtype = self.embedding.weight.dtype
        x = self.embedding(ids).double()
        if self.positions:
            x = x + positional_encoding(ids.shape[1], x.shape[2], x.device)
        mask = None
        if lengths is not None:
            mask = padding_mask(lengths, ids.shape[1])[:, None, :]
        pooled = mean_pool(self.attention(x.to(dtype), mask=mask), lengths).double()
        return F.linear(pooled, self.head.weight.double(), self.head.bias.double()).to(dtype)


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    check(
        ids.ndim == 2 and targets.shape == ids.shape[:1],
        f"ids.shape is {tuple(ids.shape)} and targets.shape is {tuple(targets.shape)}",
    )
    masters = {
        name: weight.detach().double().requires_grad_() for name, weight in model.named_parameters()
    }
    optimizer = torch.optim.AdamW(masters.values(), lr=lr)
    losses = []
    for _ in range(steps):
        logits = functional_call(model, masters, (ids, lengths))
        loss = F.cross_entropy(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        with torch.no_grad():
            for name, weight in model.named_parameters():
                weight.copy_(masters[name])
    return losses


def predict(model, words, vocabulary):
    check(len(words) > 0, f"len(words) is {len(words)}, expected 1 or more")
    ids = encode_words(words, vocabulary).to(next(model.parameters()).device)
    flags = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            logits = model(ids.unsqueeze(0)).double().squeeze(0)
    finally:
        for module, flag in flags.items():
            module.training = flag
    scores = {word: logits[number].item() for word, number in vocabulary.items()}
    return max(scores, key=scores.get)
