"""Chapter 11: weights of a quarter and of three quarters, so that 4 times an answer is whole."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from grader.coach.rows_so_far import RowsSoFar

ROWS = torch.arange(12.0).reshape(2, 3, 2)
# a query of log 3 gives a key of 1 three times the weight of a key of 0; one piece of two words
QUERY = torch.tensor([[0.0], [1.0]]) * math.log(3)
KEY = torch.tensor([[0.0], [1.0]])
VALUE = torch.tensor([[8.0, 0.0], [16.0, -4.0]])


def _updates(kind: Any) -> list[Any]:
    cache = kind(4)
    said = [*cache.update(ROWS[:, :2], ROWS[:, :2, :1]), cache.length]
    said += [*cache.update(ROWS[:, 2:], ROWS[:, 2:, :1]), cache.length]
    cache.reset()
    return [*said, cache.length, *cache.update(ROWS[0], ROWS[0])]


def _attends(attend: Any) -> list[Tensor]:
    cache = RowsSoFar()
    pieces = [slice(0, 1), slice(1, 2)]
    return [
        4 * attend(QUERY, KEY, VALUE, RowsSoFar()),
        *(4 * attend(QUERY[one], KEY[one], VALUE[one], cache) for one in pieces),
    ]


def _layer(kind: Any) -> list[Any]:
    """Let all keys be zeros, so that a word gets the mean of what it sees: 12 times it is whole."""
    layer, cache = kind(4, 2, 1, window=3), RowsSoFar()
    weights = {
        "w_q": torch.eye(4), "w_k": torch.zeros(2, 4), "w_v": torch.eye(4)[1:3],
        "w_o": torch.eye(4).roll(1, 0) + torch.eye(4),
    }  # fmt: skip
    tokens = torch.tensor([[1.0, 2, 4, 8], [0, 6, -2, 0], [5, 1, 10, 0], [0, 3, 7, 2]])
    with torch.no_grad():
        for name, weight in weights.items():
            getattr(layer, name).weight.copy_(weight)
        whole = layer(tokens)
        return [12 * one for one in (whole, layer(tokens[:3], cache), layer(tokens[3:], cache))]


QUESTIONS = {
    "KeyValueCache": _updates,
    "attend_with_cache": _attends,
    "CachedAttention": _layer,
}
