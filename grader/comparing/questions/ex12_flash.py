"""Chapter 12: parts with weights of a quarter, and logarithms whose powers are whole."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

# a query of log 3 gives a key of 1 three times the weight of a key of 0; there are four keys, so
# that sums of powers are 4, 8, 10 and 12
QUERY = torch.tensor([[[1.0], [1.0], [0.0]], [[1.0], [0.0], [1.0]]]) * math.log(3)
KEY = torch.tensor([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]])[..., None]
VALUE = torch.stack((
    torch.tensor([[8.0, 0.0], [16.0, -4.0], [40.0, 12.0], [4.0, 8.0]]),
    torch.tensor([[-8.0, 4.0], [12.0, 20.0], [0.0, 28.0], [24.0, -16.0]]),
))  # fmt: skip
MASK = torch.tensor(
    [[True, True, False, False], [False, False, False, False], [False, True, True, True]]
)
CLOSED = torch.zeros(1, 2), torch.tensor([-torch.inf])
A = torch.tensor([[12.0, -4.0]]), torch.tensor([math.log(4)])
B = torch.tensor([[8.0, 20.0]]), torch.tensor([math.log(12)])


def _whole(part: tuple[Tensor, Tensor], times: int) -> list[Tensor]:
    """Take a part in whole numbers: its output so many times, and the sum itself."""
    out, log_sum = part
    return [times * out, log_sum.exp()]


def _parts(ask: Any) -> list[Tensor]:
    return [*_whole(ask(QUERY, KEY, VALUE), 8), *_whole(ask(QUERY, KEY, VALUE, MASK), 60)]


def _merged(ask: Any) -> list[Tensor]:
    pairs = ((A, B), (B, A), (A, CLOSED), (CLOSED, B), (CLOSED, CLOSED))
    return [one for a, b in pairs for one in _whole(ask(*a, *b), 4)]


def _flash(ask: Any) -> list[Tensor]:
    last = QUERY[:, 1:]
    return [
        *(8 * ask(QUERY, KEY, VALUE, block=block) for block in (1, 3, 9)),
        *(120 * ask(last, KEY, VALUE, causal=True, block=block) for block in (1, 2)),
    ]


QUESTIONS = {
    "partial_attention": _parts,
    "merge_partials": _merged,
    "flash_attention": _flash,
}
