import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from ex06_heads import MultiHeadAttention


def positional_encoding(n, d_model, device=None):
    flat = [
        (math.cos if f % 2 else math.sin)(p / 10000 ** ((f - f % 2) / d_model))
        for p in range(n)
        for f in range(d_model)
    ]
    return torch.tensor(flat, dtype=torch.get_default_dtype(), device=device).reshape(n, d_model)


def encode_words(words, vocabulary):
    ids = torch.zeros(len(words), dtype=torch.long, device="cpu")
    for i, w in enumerate(words):
        if vocabulary.get(w) is None:
            raise KeyError(w)
        ids[i] = vocabulary[w]
    return ids


def _misfit(**k):
    return ValueError(str({n: tuple(t.shape) for n, t in k.items()}))


def mean_pool(x, lengths=None):
    if x.dim() != 3:
        raise _misfit(x=x)
    if lengths is None:
        return torch.einsum("bnd->bd", x) / x.shape[1]
    if lengths.dim() != 1 or lengths.shape != x.shape[:1]:
        raise _misfit(lengths=lengths, x=x)
    return torch.stack([row[: int(m)].mean(0) for row, m in zip(x, lengths)])


class NextWordModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.uniform_(self.embedding.weight, -1, 1)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)
        self._places = positions

    def forward(self, ids, lengths=None):
        if ids.dim() != 2:
            raise _misfit(ids=ids)
        if lengths is not None and (lengths.dim() != 1 or lengths.shape != ids.shape[:1]):
            raise _misfit(lengths=lengths, ids=ids)
        rows = []
        for row, m in zip(ids, [ids.shape[1]] * len(ids) if lengths is None else lengths.tolist()):
            x = self.embedding(row[:m])  # no padding, no mask: each text alone
            if self._places:
                x = x + positional_encoding(m, x.shape[-1], x.device).to(x.dtype)
            rows.append(mean_pool(self.attention(x)[None])[0])
        return self.head(torch.stack(rows))


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    if targets.shape != ids.shape[:1]:
        raise _misfit(targets=targets, ids=ids)
    params = list(model.parameters())
    speed = [torch.zeros_like(p) for p in params]
    losses = []
    for _ in range(steps):
        with torch.enable_grad():
            loss = F.cross_entropy(model(ids, lengths), targets)
            grads = torch.autograd.grad(loss, params)
        losses.append(float(loss))
        with torch.no_grad():
            for p, v, g in zip(params, speed, grads):
                v.mul_(0.9).add_(g)
                p.sub_(v, alpha=lr)
    return losses


def predict(model, words, vocabulary):
    if len(words) == 0:
        raise ValueError("words: 0")
    twin = copy.deepcopy(model).cpu().eval()
    with torch.inference_mode():
        best = twin(encode_words(words, vocabulary)[None]).argmax().item()
    return next(w for w, i in vocabulary.items() if i == best)
