from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


class Nu(ValueError):
    pass


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    out = torch.empty(n, d_model, device=device)
    place = torch.arange(n, device=device, dtype=torch.float64)
    for feature in range(d_model):
        angle = place / 10000.0 ** ((feature - feature % 2) / d_model)
        out[:, feature] = angle.cos() if feature % 2 else angle.sin()
    return out


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    known = dict(vocabulary)
    return torch.tensor([*map(known.__getitem__, words)], dtype=torch.long, device="cpu")


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    if x.ndim != 3:
        raise Nu("x: " + ";".join(f"{size}" for size in x.shape))
    if lengths is None:
        lengths = torch.full((len(x),), x.shape[1], device=x.device)
    if lengths.ndim != 1 or len(lengths) != len(x):
        raise Nu("lengths: " + ";".join(f"{size}" for size in lengths.shape))
    keep = padding_mask(lengths, x.shape[1])
    rows = x[keep].double()  # the real rows of all texts, one below the other
    owner = torch.repeat_interleave(torch.arange(len(x), device=x.device), lengths.long())
    sums = rows.new_zeros(len(x), x.shape[2]).index_add(0, owner, rows)
    return (sums / lengths.double()[:, None]).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.add_module("attention", MultiHeadAttention(n_heads=n_heads, d_model=d_model))
        self.add_module("head", nn.Linear(d_model, vocab_size))
        self.add_module("embedding", nn.Embedding(vocab_size, d_model))
        self.__dict__["_places"] = positional_encoding if positions else None

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        if ids.ndim != 2:
            raise Nu(f"{ids.shape}")
        if lengths is None:
            lengths = ids.new_full(ids.shape[:1], ids.shape[1])
        if lengths.shape != ids.shape[:1]:
            raise Nu(f"{lengths.shape}")
        mask = padding_mask(lengths, ids.shape[1])[:, None, :]
        x = F.one_hot(ids, self.embedding.num_embeddings).to(self.head.weight.dtype)
        x = x @ self.embedding.weight
        if self._places is not None:
            x = x + self._places(*x.shape[1:], x.device).to(x.dtype)
        return self.head(mean_pool(self.attention(x, None, mask), lengths))


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    if targets.shape != ids.shape[:1]:
        raise Nu(f"{targets.shape}")
    weights = [*model.parameters()]
    exact = [w.detach().double() for w in weights]
    reach = [torch.full_like(e, lr / 4) for e in exact]
    before = [torch.zeros_like(e) for e in exact]
    losses = []
    for _ in range(steps):  # Rprop: only signs
        with torch.enable_grad():
            logits = model(ids, lengths).double()
            chosen = logits.gather(1, targets[:, None])[:, 0]
            loss = (logits.logsumexp(1) - chosen).mean()
            grads = torch.autograd.grad(loss, weights)
        losses.append(loss.item())
        with torch.no_grad():
            for i, (w, grad) in enumerate(zip(weights, grads)):
                sign = grad.double().sign()
                agree = sign * before[i]
                reach[i] *= torch.where(agree > 0, 1.2, torch.where(agree < 0, 0.5, 1.0))
                reach[i].clamp_(max=5 * lr)
                exact[i] *= 1 - 1e-3 * lr
                exact[i] -= torch.where(agree < 0, 0.0, sign) * reach[i]
                before[i] = torch.where(agree < 0, 0.0, sign)
                w.copy_(exact[i])
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if not words:
        raise Nu("0 cuvinte")
    ids = encode_words(words, vocabulary)[None].to(next(model.parameters()).device)
    names = {number: word for word, number in vocabulary.items()}
    logits = model(ids).detach()[0]
    order = logits.argsort(descending=True).tolist()
    return names[order[0]]
