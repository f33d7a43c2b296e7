"""Style library: torch.polar for the waves, nested means, torch.optim.NAdam."""

from __future__ import annotations

import operator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex01_scores import misfit
from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    dtype = torch.get_default_dtype()
    speeds = torch.logspace(0, -4, d_model + 1, dtype=torch.float64, device=device)[:-1:2]
    angles = torch.outer(torch.arange(n, dtype=torch.float64, device=device), speeds)
    # real part: cosine; imaginary part: sine
    waves = torch.view_as_real(torch.polar(torch.ones_like(angles), angles))
    return waves.flip(-1).flatten(1)[:, :d_model].to(dtype)


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    if not words:
        return torch.empty(0, dtype=torch.long)
    ids = operator.itemgetter(*words)(vocabulary)
    return torch.tensor(ids, dtype=torch.long).reshape(-1)


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    if x.ndim != 3:
        misfit("the mean over tokens", x)
    if lengths is None:
        return F.adaptive_avg_pool1d(x.mT, 1).squeeze(-1)
    if lengths.shape != x.shape[:1]:
        misfit("the mean over real tokens", x, lengths)
    real = padding_mask(lengths, x.shape[1]).unsqueeze(-1)
    return torch.where(real, x, torch.nan).nanmean(dim=1)


class NextWordModel(nn.Module):
    """The model of document 004."""

    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        layers = {
            "head": nn.Linear(d_model, vocab_size),
            "embedding": nn.Embedding(vocab_size, d_model),
            "attention": MultiHeadAttention(d_model, n_heads),
        }
        for name, layer in layers.items():
            self.register_module(name, layer)
        nn.init.orthogonal_(self.embedding.weight)
        self.positions = positions

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        if ids.ndim != 2:
            misfit("a batch of sequences", ids)
        if lengths is not None and lengths.shape != ids.shape[:1]:
            misfit("a batch of sequences", ids, lengths)
        x = F.embedding(ids, self.embedding.weight)
        if self.positions:
            x = x.add(positional_encoding(*x.shape[1:], x.device).to(x.dtype))
        mask = None
        if lengths is not None:
            mask = padding_mask(lengths, ids.shape[1]).unsqueeze(-2)
        return self.head(mean_pool(self.attention(x, mask=mask), lengths))


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    if targets.shape != ids.shape[:1]:
        misfit("cross-entropy", ids, targets)
    optimiser = torch.optim.NAdam(model.parameters(), lr=lr / 2, eps=1e-4)

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = F.nll_loss(F.log_softmax(model(ids, lengths), dim=-1), targets)
        loss.backward()
        return loss

    return [optimiser.step(closure).item() for _ in range(steps)]


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if not words:
        raise ValueError("0 words have no successor")
    device = model.embedding.weight.device
    ids = encode_words(words, vocabulary).to(device).unsqueeze(0)
    known = torch.tensor(list(vocabulary.values()), device=device)
    with torch.inference_mode():
        best = model(ids).index_select(1, known).argmax(1)
    return list(vocabulary)[best.item()]
