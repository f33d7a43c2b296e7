"""Chapter 2: widths whose roots are whole, and one drawing of many pairs, to the nearest number."""

from __future__ import annotations

import torch

SCORES = torch.tensor([[12.0, -36.0, 60.0], [84.0, 24.0, -48.0]])
QUERY = torch.tensor([[2.0, 0.0, -4.0, 6.0], [8.0, 2.0, 4.0, -2.0]])
KEY = torch.tensor([[1.0, 5.0, 2.0, 3.0], [0.0, -7.0, 4.0, 6.0], [9.0, 2.0, -1.0, 1.0]])

QUESTIONS = {
    "scale_scores": lambda f: [f(SCORES, d_k) for d_k in (4, 9, 16, 36)],
    "scaled_scores": lambda f: f(QUERY, KEY),
    "score_spread": lambda f: [
        f(d_k, 2000, torch.Generator().manual_seed(d_k)) for d_k in (1, 16, 49, 81)
    ],
}
