from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex01_scores import refuse, require_floats, require_tensors, whole
from ex03_masking import padding_mask, require_lengths
from ex06_heads import MultiHeadAttention, head_width


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    n, d_model = whole(n, "n", 0), whole(d_model, "d_model", 0)
    position = torch.arange(n, dtype=torch.float64, device=device).unsqueeze(1)
    encoding = position.new_zeros((n, d_model))
    for feature in range(d_model):
        angle = position[:, 0] / math.pow(10000.0, (feature - feature % 2) / d_model)
        encoding[:, feature] = torch.cos(angle) if feature % 2 else torch.sin(angle)
    return encoding.to(dtype=torch.get_default_dtype())


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    if isinstance(words, str):
        raise TypeError("`words` must be a list of words, not a single string")
    missing = sorted({word for word in words if word not in vocabulary})
    if missing:
        raise KeyError(f"not in the vocabulary of {len(vocabulary)} words: {', '.join(missing)}")
    ids = [whole(vocabulary[word], f"id of {word}", 0) for word in words]
    return torch.tensor(ids, dtype=torch.long, device=torch.device("cpu"))


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    require_floats(x)
    if x.ndim != 3:
        refuse("`x` must have 3 dimensions, [batch, n, d]", x=x, lengths=lengths)
    batch, n, _ = x.shape
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    if lengths is None:
        return (wide.sum(dim=-2) / n).to(x.dtype)
    require_tensors(lengths)
    if tuple(lengths.shape) != (batch,):
        refuse(f"`lengths` must hold {batch} lengths, one per sequence", x=x, lengths=lengths)
    counts = require_lengths(lengths, n)
    real = padding_mask(counts, n).unsqueeze(-1)
    total = wide.masked_fill(torch.logical_not(real), 0.0).sum(dim=-2)
    return (total / counts.unsqueeze(-1).to(wide.dtype)).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        head_width(d_model, n_heads)
        super().__init__()
        self.vocab_size = whole(vocab_size, "vocab_size", 1)
        self.d_model = whole(d_model, "d_model", 1)
        self.positions = bool(positions)
        self.embedding = nn.Embedding(self.vocab_size, self.d_model)
        self.attention = MultiHeadAttention(self.d_model, n_heads, bias=True)
        self.head = nn.Linear(self.d_model, self.vocab_size)

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        require_tensors(ids)
        if ids.ndim != 2:
            refuse("`ids` must have 2 dimensions, [batch, n]", ids=ids, lengths=lengths)
        batch, n = ids.shape
        mask: Tensor | None = None
        if lengths is not None:
            require_tensors(lengths)
            if tuple(lengths.shape) != (batch,):
                refuse(f"`lengths` must hold {batch} lengths", ids=ids, lengths=lengths)
            mask = padding_mask(lengths, n).unsqueeze(-2)
        x = self.embedding(ids)
        if self.positions:
            encoding = positional_encoding(n, self.d_model, device=x.device)
            x = x + encoding.to(dtype=x.dtype).unsqueeze(0)
        context = self.attention(x, mask=mask)
        return self.head(mean_pool(context, lengths))


@contextlib.contextmanager
def _flags_kept(model: nn.Module, training: bool) -> Iterator[None]:
    flags = [(module, module.training) for module in model.modules()]
    try:
        model.train(training)
        yield
    finally:
        for module, flag in flags:
            module.training = flag


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    require_tensors(ids, targets)
    steps = whole(steps, "steps", 0)
    if targets.ndim != 1 or ids.ndim < 1 or targets.shape[0] != ids.shape[0]:
        refuse(
            "`targets` must hold one target per sequence", ids=ids, targets=targets, lengths=lengths
        )
    parameters = [p for p in model.parameters() if p.requires_grad]
    shadows = [
        p.detach().clone().to(torch.promote_types(p.dtype, torch.float32)) for p in parameters
    ]
    optimizer = torch.optim.NAdam(shadows, lr=lr / 5, eps=1e-6)
    losses: list[float] = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(_flags_kept(model, True))
        stack.enter_context(torch.enable_grad())
        for _ in range(steps):
            for p in parameters:
                p.grad = None
            logits = model(ids, lengths)
            logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
            loss = F.cross_entropy(logits, targets, reduction="mean")
            loss.backward()
            losses.append(float(loss.detach().cpu()))
            for shadow, p in zip(shadows, parameters, strict=True):
                shadow.grad = None if p.grad is None else p.grad.detach().to(shadow.dtype)
            optimizer.step()
            with torch.no_grad():
                for shadow, p in zip(shadows, parameters, strict=True):
                    p.copy_(shadow)
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if not isinstance(vocabulary, Mapping):
        raise TypeError(f"`vocabulary` must be a mapping, got {type(vocabulary).__name__}")
    if not isinstance(words, Sequence) or isinstance(words, str):
        raise TypeError(f"`words` must be a list of words, got {type(words).__name__}")
    if len(words) == 0:
        raise ValueError(f"`words` must hold at least 1 word, got {len(words)}: {words!r}")
    ids = encode_words(list(words), cast("dict[str, int]", vocabulary))
    # Nothing can happen to the model: a copy is asked.
    twin = copy.deepcopy(model).eval()
    with torch.inference_mode():
        logits = twin(ids.to(device=next(twin.parameters()).device).unsqueeze(0)).squeeze(0)
        numbers = logits.to(device="cpu", dtype=torch.float64).tolist()
    best = max(vocabulary.items(), key=lambda item: numbers[item[1]])
    return best[0]
