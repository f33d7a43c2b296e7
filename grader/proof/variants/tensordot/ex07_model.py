from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex01_scores import check, shapes
from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    p = torch.arange(n, dtype=torch.float64, device=device)[:, None]
    f = torch.arange(d_model, device=device)[None, :]
    angle = p / torch.float_power(10000.0, (f - f % 2).to(p.dtype) / d_model)
    wave = torch.where(torch.eq(f % 2, 0), torch.sin(angle), torch.cos(angle))
    return wave.to(torch.get_default_dtype())


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    unknown = [word for word in words if word not in vocabulary]
    if unknown:
        raise KeyError(*unknown)
    return torch.as_tensor([vocabulary[w] for w in words], dtype=torch.int64, device="cpu")


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    check(x.ndim == 3, f"need 3-d: {shapes(x=x)}")
    wide = torch.promote_types(x.dtype, torch.float32)
    if lengths is None:
        return torch.mean(x, 1, dtype=wide).to(x.dtype)
    check(
        lengths.shape == x.shape[:1],
        f"need one length per sequence: {shapes(lengths=lengths, x=x)}",
    )
    real = padding_mask(lengths, x.shape[1])[..., None]
    total = torch.sum(torch.where(real, x, torch.zeros_like(x)), 1, dtype=wide)
    return torch.true_divide(total, lengths[:, None].to(wide)).to(x.dtype)


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
        check(ids.ndim == 2, f"need 2-d: {shapes(ids=ids)}")
        real = None
        if lengths is not None:
            check(
                lengths.shape == ids.shape[:1],
                f"need one length per sequence: {shapes(lengths=lengths, ids=ids)}",
            )
            real = padding_mask(lengths, ids.shape[1])[:, None, :]
        x = self.embedding(ids)
        if self.positions:
            wave = positional_encoding(x.shape[-2], x.shape[-1], device=x.device)
            x = torch.add(x, wave.to(x.dtype))
        return self.head(mean_pool(self.attention(x, None, real), lengths))


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    check(
        targets.ndim == 1 and targets.shape[0] == ids.shape[0],
        f"need one target per sequence: {shapes(targets=targets, ids=ids)}",
    )
    # RMSprop, with the bias of its young average taken out. Averages and weights are kept in at
    # least 32 bits; the model gets them rounded to its own dtype.
    alpha, eps = 0.95, 1e-3
    params = [p for p in model.parameters()]
    exact = [p.detach().to(torch.promote_types(p.dtype, torch.float32)).clone() for p in params]
    average = [torch.zeros_like(w) for w in exact]
    losses: list[float] = []
    for step in range(1, steps + 1):
        loss = F.cross_entropy(model(ids, lengths).to(exact[0].dtype), targets)
        grads = torch.autograd.grad(loss, params)
        losses.append(float(loss.detach()))
        with torch.no_grad():
            for p, w, a, g in zip(params, exact, average, grads):
                g = g.to(w.dtype)
                a.copy_(torch.lerp(torch.square(g), a, alpha))
                rms = torch.sqrt(a / (1 - alpha**step))
                w -= lr / 6 * g / (rms + eps)
                p.copy_(w)
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    check(len(words) >= 1, f"need at least 1 word: len(words) = {len(words)}")
    device = next(iter(model.parameters())).device
    ids = encode_words(words, vocabulary).to(device)
    names, places = zip(*vocabulary.items())
    with torch.no_grad():
        logits = model(ids[None, :])[0]
    mine = torch.take_along_dim(logits, torch.as_tensor(places, device=device), 0)
    return names[torch.argmax(mine).item()]
