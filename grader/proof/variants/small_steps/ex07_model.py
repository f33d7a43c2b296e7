from __future__ import annotations

import copy
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(n: int, d_model: int, device: torch.device | str | None = None) -> Tensor:
    table = []
    for position in range(n):
        row = []
        for feature in range(d_model):
            i = feature // 2
            angle = position / 10000 ** (2 * i / d_model)
            if feature % 2 == 0:
                row.append(math.sin(angle))
            else:
                row.append(math.cos(angle))
        table.append(row)
    encoding = torch.tensor(table, dtype=torch.get_default_dtype(), device=device)
    encoding = encoding.reshape(n, d_model)  # with n = 0 it was [0]
    return encoding


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Tensor:
    ids = []
    for word in words:
        if word not in vocabulary:
            raise KeyError(f"unknown word: {word}")
        ids.append(vocabulary[word])
    return torch.tensor(ids, dtype=torch.long, device="cpu")


def mean_pool(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    if x.dim() != 3:
        raise ValueError(f"x should have 3 dimensions but has {x.dim()}, shape is {x.shape}")
    batch, n, d = x.size()
    if lengths is None:
        real_lengths = [n] * batch
    else:
        if lengths.dim() != 1 or lengths.size(0) != batch:
            raise ValueError(f"lengths should be [{batch}], shape is {lengths.shape}")
        real_lengths = lengths.tolist()
    means = []
    for b in range(batch):
        real_tokens = x[b, : real_lengths[b]]
        if x.dtype == torch.float64:
            mean = real_tokens.mean(dim=0)
        else:
            mean = real_tokens.float().mean(dim=0)  # float16 overflows in sums
        means.append(mean.to(x.dtype))
    return torch.stack(means)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.positions = positions
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        if ids.dim() != 2:
            raise ValueError(f"ids should have 2 dimensions but has {ids.dim()}, {ids.shape}")
        batch, n = ids.size()
        if lengths is None:
            mask = None
        else:
            if lengths.dim() != 1 or lengths.size(0) != batch:
                raise ValueError(f"lengths should be [{batch}], shape is {lengths.shape}")
            mask = padding_mask(lengths, n)
            mask = mask[:, None, :]
        words = self.embedding(ids)
        if self.positions:
            encoding = positional_encoding(n, self.d_model, device=words.device)
            encoding = encoding.to(words.dtype)
            words = words + encoding
        words_in_context = self.attention(words, mask=mask)
        sequence_vectors = mean_pool(words_in_context, lengths)
        logits = self.head(sequence_vectors)
        return logits


def get_flags(model: nn.Module) -> dict[str, bool]:
    flags = {}
    for name, module in model.named_modules():
        flags[name] = module.training
    return flags


def set_flags(model: nn.Module, flags: dict[str, bool]) -> None:
    for name, module in model.named_modules():
        module.training = flags[name]


def train(
    model: NextWordModel,
    ids: Tensor,
    targets: Tensor,
    steps: int = 200,
    lr: float = 0.05,
    lengths: Tensor | None = None,
) -> list[float]:
    if targets.dim() != 1 or targets.size(0) != ids.size(0):
        raise ValueError(f"targets should be [{ids.size(0)}], shape is {targets.shape}")

    # Adam's epsilon of 1e-8 is 0 in float16, so a half-precision model gets a float32 twin to
    # do its exercises.
    dtype = next(model.parameters()).dtype
    is_half = dtype == torch.float16 or dtype == torch.bfloat16
    if is_half:
        learner = copy.deepcopy(model).float()
    else:
        learner = model

    # Adam moves every weight by about its rate, however small the gradient is, and 0.05 is a lot
    # where its default is 0.001
    adam_lr = lr / 5
    optimizer = torch.optim.Adam(learner.parameters(), lr=adam_lr)
    flags = get_flags(learner)
    learner.train()
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        logits = learner(ids, lengths)
        loss = F.cross_entropy(logits, targets)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    set_flags(learner, flags)

    if is_half:
        with torch.no_grad():
            for weight, learned in zip(model.parameters(), learner.parameters()):
                weight.copy_(learned)
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if len(words) == 0:
        raise ValueError("words should hold 1 word or more but holds 0")
    ids = encode_words(words, vocabulary)
    device = next(model.parameters()).device
    batch_of_one = ids.unsqueeze(0).to(device)

    flags = get_flags(model)
    model.eval()
    try:
        with torch.no_grad():
            logits = model(batch_of_one)
    finally:
        set_flags(model, flags)

    best_word = None
    best_logit = None
    for word, word_id in vocabulary.items():
        logit = logits[0, word_id].item()
        if best_logit is None or logit > best_logit:
            best_word = word
            best_logit = logit
    return best_word
