"""Chapter 6: one head's weights are shares of 60, the other's are all alike."""

from __future__ import annotations

from typing import Any

import torch

from grader.comparing.questions.ex04_softmax import KEY, MASK, QUERY

X = torch.arange(24.0).reshape(2, 3, 4)
# the same for both heads but for their sign; four features each
QUERIES, KEYS = torch.cat((QUERY, 0 * QUERY), 1), torch.cat((KEY, KEY), 1)
VALUES = torch.tensor([[3.0, -1.0, 4.0, 1.0], [-5.0, 9.0, 2.0, 6.0], [5.0, 3.0, -5.0, 8.0]])
VALUES = torch.cat((VALUES, VALUES - 7), 1)


# features 0 and 4 of what is looked at make the keys, the others the values
MEMORY = torch.cat((KEY[:, :1], VALUES[:, 1:4], KEY[:, :1], VALUES[:, 4:7]), 1)
FIRST = torch.eye(8) * torch.tensor([1.0, 0.0, 0.0, 0.0] * 2)
WEIGHTS = {
    "w_q": torch.eye(8) + torch.eye(8).roll(3, 0),
    "w_k": FIRST,
    "w_v": (torch.eye(8) - FIRST).roll(1, 0) + (torch.eye(8) - FIRST).roll(2, 0),
    "w_o": torch.eye(8).roll(3, 0) - 2 * torch.eye(8),
}
LOOKING = torch.tensor([[2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])


def _layer(kind: Any) -> list[Any]:
    layer = kind(8, 2)
    with torch.no_grad():
        for name, weight in WEIGHTS.items():
            getattr(layer, name).weight.copy_(weight)
            getattr(layer, name).bias.fill_(3.0 if name in ("w_v", "w_o") else 0.0)
        return [60 * layer(LOOKING, MEMORY), 60 * layer(LOOKING, MEMORY, MASK[1:])]


QUESTIONS = {
    "split_heads": lambda f: [f(X, n_heads) for n_heads in (1, 2, 4)],
    "merge_heads": lambda f: [f(X), f(X[None] + X[:, None])],
    "multi_head": lambda f: [
        60 * f(QUERIES, KEYS, VALUES, 2),
        60 * f(QUERIES, KEYS, VALUES, 2, MASK),
    ],
    "MultiHeadAttention": _layer,
}
