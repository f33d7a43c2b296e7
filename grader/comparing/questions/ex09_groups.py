"""Chapter 9: weights of a quarter and of three quarters, so that 4 times an answer is whole."""

from __future__ import annotations

import math
from typing import Any

import torch

X = torch.arange(12.0).reshape(3, 2, 2)
# a query of log 3 gives a key of 1 three times the weight of a key of 0
ASKS = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0]) * math.log(3)
QUERY = torch.stack((ASKS, ASKS.roll(1), ASKS.roll(3)), -1)[..., None]
KEY = torch.tensor([[[0.0], [1.0]], [[1.0], [0.0]]])
VALUE = torch.tensor([[[4.0, 12.0], [-8.0, 20.0]], [[16.0, 0.0], [28.0, -4.0]]])
MASK = torch.tensor([[True, True], [False, True], [False, False]])

# two tokens of width 6: 3 heads of queries, 1 of keys, each 2 wide
TOKENS = torch.tensor([[1.0, 0.0, 4.0, 8.0, 0.0, 2.0], [0.0, 1.0, 12.0, -4.0, 3.0, 0.0]])
TIMES = math.sqrt(2) * math.log(3)


def _layer(kind: Any) -> list[Any]:
    layer = kind(6, 3, 1)
    weights = {
        "w_q": torch.zeros(6, 6), "w_k": torch.zeros(2, 6),
        "w_v": torch.eye(6)[2:4], "w_o": torch.eye(6).roll(1, 0) + torch.eye(6),
    }  # fmt: skip
    weights["w_q"][0, 0] = weights["w_q"][2, 1] = weights["w_q"][4, :2] = TIMES
    weights["w_k"][0, 1] = 1.0
    with torch.no_grad():
        for name, weight in weights.items():
            getattr(layer, name).weight.copy_(weight)
    return [4 * layer(TOKENS), 4 * layer(TOKENS, TOKENS.flip(0), MASK[:2])]


QUESTIONS = {
    "repeat_heads": lambda f: [f(X, times) for times in (1, 2, 3)],
    "grouped_attention": lambda f: [4 * f(QUERY, KEY, VALUE), 4 * f(QUERY, KEY, VALUE, MASK)],
    "cache_bytes": lambda f: [f(3, 2, 5, 7), f(1, 4, 8, 16, batch=3, dtype=torch.float64)],
    "GroupedQueryAttention": _layer,
}
