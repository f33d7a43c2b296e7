"""Chapter 10: windows of two with weights of a quarter, so that 4 times an answer is whole."""

from __future__ import annotations

import math

import torch

# a query of log 3 gives a key of 1 three times the weight of a key of 0
QUERY = torch.tensor([[1.0, 1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0, 1.0]])[..., None] * math.log(
    3
)
KEY = torch.tensor([[0.0, 1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0, 1.0]])[..., None]
VALUE = torch.stack((
    torch.tensor([[8.0, 0.0], [16.0, -4.0], [40.0, 12.0], [4.0, 8.0], [20.0, 16.0]]),
    torch.tensor([[-8.0, 4.0], [12.0, 20.0], [0.0, 28.0], [24.0, -16.0], [36.0, 32.0]]),
))  # fmt: skip

QUESTIONS = {
    "causal_mask_at": lambda f: [f(q, k) for q, k in ((1, 1), (1, 4), (3, 3), (2, 5))],
    "window_mask": lambda f: [f(3, 7, 2), f(4, 4, 9), f(5, 8, 2, sinks=2), f(6, 6, 1, 3)],
    "window_attention": lambda f: [4 * f(QUERY, KEY, VALUE, window) for window in (1, 2)],
}
