"""Style loops: sequences go through the model one after the other; Adagrad by hand."""

import math

import torch
from torch import nn

from ex01_scores import complain, stacked
from ex06_heads import MultiHeadAttention


def positional_encoding(n, d_model, device=None):
    table = []
    for position in range(n):
        row = []
        for feature in range(d_model):
            angle = position / 10000 ** ((feature - feature % 2) / d_model)
            row.append(math.cos(angle) if feature % 2 else math.sin(angle))
        table.append(row)
    return torch.tensor(table, dtype=torch.get_default_dtype(), device=device).reshape(n, d_model)


def encode_words(words, vocabulary):
    ids = torch.zeros(len(words), dtype=torch.long)
    for place, word in enumerate(words):
        ids[place] = vocabulary[word]
    return ids


def mean_pool(x, lengths=None):
    if x.dim() != 3:
        complain("x should be one matrix per sequence", x)
    if lengths is not None and (lengths.dim() != 1 or len(lengths) != len(x)):
        complain("there should be one length per sequence", lengths, x)
    means = []
    for i, tokens in enumerate(x):
        real = tokens if lengths is None else tokens[: int(lengths[i])]
        means.append(real.sum(dim=0) / len(real))
    return stacked(means, [x], 0, x.size(-1))


class NextWordModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.head = nn.Linear(d_model, vocab_size)
        self.positions = positions
        nn.init.uniform_(self.embedding.weight, -1, 1)

    def forward(self, ids, lengths=None):
        if ids.dim() != 2:
            complain("ids should be one row per sequence", ids)
        if lengths is not None and (lengths.dim() != 1 or len(lengths) != len(ids)):
            complain("there should be one length per sequence", lengths, ids)
        logits = []
        for i, sequence in enumerate(ids):
            # the padding is cut off, so that nobody can look at it
            real = sequence if lengths is None else sequence[: int(lengths[i])]
            tokens = self.embedding(real)
            if self.positions:
                waves = positional_encoding(*tokens.shape, device=tokens.device)
                tokens = tokens + waves.to(tokens.dtype)
            pooled = mean_pool(self.attention(tokens)[None])
            logits.append(self.head(pooled)[0])
        return stacked(logits, [self.head.weight], 0, self.head.out_features)


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    if targets.dim() != 1 or len(targets) != len(ids):
        complain("there should be one target per sequence", targets, ids)
    parameters = list(model.parameters())
    squares = [torch.zeros_like(parameter, dtype=torch.float32) for parameter in parameters]
    losses = []
    for _ in range(steps):
        loss = 0
        for logits, target in zip(model(ids, lengths), targets):
            loss = loss + (logits.logsumexp(0) - logits[target])
        loss = loss / len(targets)
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient, square in zip(parameters, gradients, squares):
                gradient = gradient.float()
                square += gradient**2
                parameter -= (lr * gradient / (square.sqrt() + 1e-6)).to(parameter.dtype)
    return losses


def predict(model, words, vocabulary):
    if len(words) < 1:
        raise ValueError("0 words say nothing")
    ids = encode_words(words, vocabulary).to(model.head.weight.device)
    with torch.no_grad():
        logits = model(ids[None])[0]
    best, best_logit = None, -math.inf
    for word in vocabulary:
        logit = logits[vocabulary[word]].item()
        if best is None or logit > best_logit:
            best, best_logit = word, logit
    return best
