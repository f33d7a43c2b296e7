"""Style views: sines and cosines side by side; one flat vector of weights is trained."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from ex01_scores import ShapeError
from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(n, d_model, device=None):
    pairs = (d_model + 1) // 2
    exponents = torch.arange(pairs, device=device) * (2 / d_model)
    angles = torch.arange(n, device=device).view(n, 1) / torch.pow(10_000.0, exponents)
    table = torch.empty(n, 2 * pairs, device=device)
    table.view(n, pairs, 2)[..., 0] = torch.sin(angles)
    table.view(n, pairs, 2)[..., 1] = torch.cos(angles)
    return table.narrow(1, 0, d_model)


def encode_words(words, vocabulary):
    return torch.LongTensor([vocabulary[word] for word in words])


def mean_pool(x, lengths=None):
    if x.ndim != 3:
        raise ShapeError("not [batch, n, d]", x=x)
    if lengths is None:
        return torch.mean(x, dim=-2)
    if lengths.shape != (x.shape[0],):
        raise ShapeError("not one length per sequence", x=x, lengths=lengths)
    real = padding_mask(lengths, x.shape[1])
    total = x.new_zeros(x.shape[0], x.shape[2])
    rows, _ = real.nonzero(as_tuple=True)
    return total.index_add(0, rows, x[real]) / lengths.unsqueeze(-1)


class NextWordModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__()
        self.head = nn.Linear(d_model, vocab_size)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.positions = positions
        nn.init.kaiming_uniform_(self.embedding.weight, a=1)

    def forward(self, ids, lengths=None):
        if ids.ndim != 2:
            raise ShapeError("not [batch, n]", ids=ids)
        batch, n = ids.shape
        if lengths is not None and lengths.shape != (batch,):
            raise ShapeError("not one length per sequence", ids=ids, lengths=lengths)
        x = self.embedding(ids.reshape(-1)).unflatten(0, (batch, n))
        if self.positions:
            x = x + positional_encoding(n, x.shape[2], device=x.device).to(x)
        mask = None if lengths is None else padding_mask(lengths, n)[:, None].expand(-1, n, -1)
        return self.head(mean_pool(self.attention(x, mask=mask), lengths))


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    if ids.ndim != 2 or targets.shape != ids.shape[:1]:
        raise ShapeError("not one target per sequence", ids=ids, targets=targets)
    weights = list(model.parameters())
    sizes = [weight.numel() for weight in weights]
    speed = torch.zeros(sum(sizes), device=ids.device)
    square = torch.zeros_like(speed)
    losses = []
    for step in range(1, steps + 1):
        loss = F.nll_loss(model(ids, lengths).log_softmax(-1), targets)
        flat = torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, weights)]).float()
        # Adam, on one long vector
        speed = speed.lerp(flat, 0.1)
        square = square.lerp(flat * flat, 0.01)
        change = speed / (1 - 0.9**step) / ((square / (1 - 0.99**step)).sqrt() + 1e-8)
        for weight, part in zip(weights, (lr * change).split(sizes)):
            weight.data -= part.view(weight.shape).to(weight.dtype)
        losses.append(loss.item())
    return losses


def predict(model, words, vocabulary):
    if not len(words):
        raise ValueError("words is empty: its length is 0")
    ids = encode_words(words, vocabulary)
    twin = copy.deepcopy(model).eval()
    with torch.no_grad():
        logits = twin(ids.to(twin.head.weight.device).view(1, -1)).view(-1)
    known = torch.tensor(list(vocabulary.values()), device=logits.device)
    place = logits.take(known).argmax().item()
    return list(vocabulary)[place]
