from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ex01_scores import SizeError
from ex03_masking import padding_mask, penalty
from ex04_softmax import softmax
from ex06_heads import MultiHeadAttention


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    positions = torch.arange(n, dtype=torch.float64, device=device)
    even = torch.arange(0, d_model, 2, dtype=torch.float64, device=device)
    rates = even.mul(-math.log(10000.0) / d_model).exp()
    angles = positions[:, None] * rates
    # cos + i sin, and the sine is to come first
    circle = torch.view_as_real(torch.polar(torch.ones_like(angles), angles)).flip(-1)
    return circle.flatten(1)[:, :d_model].to(torch.get_default_dtype())


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    known = dict(vocabulary)
    return torch.tensor(list(map(known.__getitem__, words)), dtype=torch.long, device="cpu")


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    if x.dim() != 3:
        raise SizeError("wanted 3 dimensions", x=x)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    shares = wide.new_zeros(x.shape[:2])
    if lengths is not None:
        if lengths.dim() != 1 or lengths.size(0) != x.size(0):
            raise SizeError("wanted one length per sequence", lengths=lengths, x=x)
        shares = penalty(padding_mask(lengths, x.size(1)), wide.dtype)
        # No weight is small enough for an infinite token: it goes altogether.
        wide = wide.masked_fill(shares.isneginf().unsqueeze(-1), 0.0)
    return softmax(shares, -1).unsqueeze(1).matmul(wide).squeeze(1).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)
        self.positions = positions

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        if ids.dim() != 2:
            raise SizeError("wanted ids [batch, n]", ids=ids)
        mask = None
        if lengths is not None:
            if lengths.dim() != 1 or lengths.size(0) != ids.size(0):
                raise SizeError("wanted one length per sequence", lengths=lengths, ids=ids)
            mask = padding_mask(lengths, ids.size(1))[:, None]
        words = self.embedding(ids)
        if self.positions:
            waves = positional_encoding(ids.size(1), words.size(-1), words.device)
            words = words + waves.type_as(words)
        return self.head(mean_pool(self.attention(words, mask=mask), lengths))


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    if targets.dim() != 1 or targets.size(0) != ids.size(0):
        raise SizeError("wanted one target per sequence", targets=targets, ids=ids)
    state = {name: weight.detach() for name, weight in model.named_parameters()}
    # A copy of the weights is trained, in at least float32; the model only lends its forward.
    copy = {
        name: weight.to(torch.promote_types(weight.dtype, torch.float32), copy=True)
        for name, weight in state.items()
    }
    for weight in copy.values():
        weight.requires_grad_()
    optimizer = torch.optim.AdamW(copy.values(), lr=0.2 * lr, betas=(0.8, 0.99), weight_decay=1e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        rounded = {name: weight.to(state[name].dtype) for name, weight in copy.items()}
        logits = functional_call(model, rounded, (ids, lengths))
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        hit = logits.gather(1, targets.unsqueeze(1)).squeeze(1)
        loss = (logits.logsumexp(1) - hit).mean()
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    if steps:
        model.load_state_dict(
            {name: weight.detach() for name, weight in copy.items()}, strict=False
        )
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if len(words) < 1:
        raise ValueError(f"wanted at least 1 word; got {len(words)}")
    ids = encode_words(words, vocabulary)
    with torch.no_grad():
        logits = model(ids[None].to(model.embedding.weight.device))[0].cpu()
    by_logit = sorted(vocabulary, key=lambda word: float(logits[vocabulary[word]]))
    return by_logit[-1]
