"""Chapter 8: rates of a half and a tenth, turns that take whole numbers to whole numbers."""

from __future__ import annotations

import math

import torch

PLACES = torch.tensor([30, 0, -70, 20])
BETWEEN = torch.tensor([12.0, -5.0])
QUARTER, FIFTH = math.pi / 2, math.atan2(4, 3)
X = torch.tensor([[5.0, 10.0, -15.0, 25.0, 5.0, 20.0], [10.0, 5.0, 20.0, -5.0, 15.0, 30.0]])
ANGLES = torch.tensor([[FIFTH, QUARTER, 0.0], [-QUARTER, FIFTH, 2 * QUARTER]])
WEIGHT = torch.arange(24.0).reshape(12, 2)
# pair 1 turns half as fast as pair 0
QUERY = torch.tensor([[2.0, 4.0, 6.0, 8.0], [10.0, -2.0, 4.0, 0.0]])
KEY = torch.tensor([[4.0, 0.0, -2.0, 6.0], [2.0, 2.0, 8.0, 4.0], [-6.0, 4.0, 2.0, 2.0]])
QUERIES_AT, KEYS_AT = math.pi * torch.tensor([3.0, 1.0]), math.pi * torch.tensor([0.0, 1.0, 4.0])

QUESTIONS = {
    "rotary_angles": lambda f: [f(PLACES, 4, 100.0), 10 * f(PLACES, 4), f(BETWEEN, 2)],
    "rotate_pairs": lambda f: [f(X, ANGLES), f(X[None, :, :2], ANGLES[:, :1])],
    "rotate_halves": lambda f: [f(X, ANGLES), f(X[None, :, :2], ANGLES[:, :1])],
    "pairs_to_halves": lambda f: [f(WEIGHT, n_heads) for n_heads in (1, 2, 3)],
    "rotary_scores": lambda f: f(QUERY, KEY, QUERIES_AT, KEYS_AT, 4.0),
}
