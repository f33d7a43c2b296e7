"""Chapter 4: logarithms of whole numbers that sum to 60, so that 60 times a weight is whole."""

from __future__ import annotations

import torch

SHARES = torch.tensor([[7.0, 13.0, 40.0], [21.0, 0.0, 39.0], [32.0, 28.0, 0.0], [0.0, 0.0, 0.0]])
SCORES = SHARES.log()
QUERY = torch.tensor([[2.0, 0.0, 0.0, 5.0], [2.0, 0.0, 0.0, -3.0]])
KEY = torch.stack((torch.tensor([7.0, 13.0, 40.0]).log(), *torch.zeros(3, 3)), -1)
MASK = torch.tensor([[True, True, True], [True, True, False]])

QUESTIONS = {
    "softmax": lambda f: [60 * f(SCORES), 60 * f(SCORES.T, 0)],
    "attention_weights": lambda f: [60 * f(QUERY, KEY), 20 * f(QUERY, KEY, MASK)],
}
