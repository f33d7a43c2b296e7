from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    out = torch.empty(n, d_model, dtype=torch.float64, device=device)
    pairs = (d_model + 1) // 2
    angle = torch.arange(pairs, dtype=torch.float64, device=out.device)
    angle.mul_(2).div_(d_model)
    angle = torch.pow(10000.0, angle).reciprocal_()
    angle = torch.outer(torch.arange(n, dtype=torch.float64, device=out.device), angle)
    out[:, 0::2] = angle.sin()
    out[:, 1::2] = angle[:, : d_model // 2].cos_()
    return out.to(torch.get_default_dtype())


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    ids = torch.empty(len(words), dtype=torch.long, device="cpu")
    for place, word in enumerate(words):
        if word not in vocabulary:
            raise KeyError(f"{word!r} is not one of {len(vocabulary)} known words")
        ids[place] = vocabulary[word]
    return ids


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    if x.ndim != 3:
        raise ValueError(f"x must be 3-d, got {x.ndim}-d {list(x.shape)}")
    batch, n, _ = x.shape
    half = x.dtype in (torch.float16, torch.bfloat16)
    work = x.to(torch.float32 if half else x.dtype, copy=True)
    share = work.new_ones(batch, 1, n)
    if lengths is None:
        share.div_(n)
    else:
        if list(lengths.shape) != [batch]:
            raise ValueError(f"lengths must be [{batch}], got {list(lengths.shape)}")
        padding = padding_mask(lengths, n).logical_not_()
        work.masked_fill_(padding.unsqueeze(2), 0.0)
        share.masked_fill_(padding.unsqueeze(1), 0.0).div_(lengths.reshape(batch, 1, 1).to(share))
    return torch.bmm(share, work).squeeze(1).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads, bias=True)
        self.head = nn.Linear(d_model, vocab_size)
        self.positions = positions

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        if ids.ndim != 2:
            raise ValueError(f"ids must be 2-d, got {ids.ndim}-d {list(ids.shape)}")
        batch, n = ids.shape
        mask = None
        if lengths is not None:
            if list(lengths.shape) != [batch]:
                raise ValueError(f"lengths must be [{batch}], got {list(lengths.shape)}")
            mask = padding_mask(lengths, n).unsqueeze(1)
        x = self.embedding(ids)
        if self.positions:
            x += positional_encoding(n, x.shape[-1], x.device)
        return self.head(mean_pool(self.attention(x, mask=mask), lengths))


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    if targets.ndim != 1 or targets.numel() != ids.shape[0]:
        raise ValueError(f"targets must be [{ids.shape[0]}], got {list(targets.shape)}")
    params = list(model.parameters())
    # 16 bits are too few to add small steps up: the optimiser moves float copies of those.
    copies = [
        p.detach().float() if p.dtype in (torch.float16, torch.bfloat16) else p for p in params
    ]
    optimizer = torch.optim.SGD(copies, lr=lr, momentum=0.9, nesterov=True)
    losses = [0.0] * steps
    for step in range(steps):
        for p in params:
            p.grad = None
        loss = F.cross_entropy(model(ids, lengths).to(copies[0].dtype), targets)
        loss.backward()
        losses[step] = loss.item()
        with torch.no_grad():
            for p, copy in zip(params, copies):
                if copy is not p and p.grad is not None:
                    copy.grad = p.grad.float()
            optimizer.step()
            for p, copy in zip(params, copies):
                if copy is not p:
                    p.copy_(copy)
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if len(words) == 0:
        raise ValueError("words must hold at least 1 word, got 0")
    ids = encode_words(words, vocabulary).to(model.head.weight.device)
    names = list(vocabulary)
    candidates = encode_words(names, vocabulary).to(ids.device)
    with torch.no_grad():
        logits = model(ids.unsqueeze(0)).squeeze(0)
    return names[int(logits.index_select(0, candidates).argmax())]
