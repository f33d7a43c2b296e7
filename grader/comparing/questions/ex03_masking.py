"""Chapter 3: masks."""

from __future__ import annotations

import torch

LENGTHS = torch.tensor([3, 1, 5, 2])
SCORES = torch.tensor([[3.0, -1.0, 4.0, 1.0], [5.0, -9.0, 2.0, 6.0]])
MASKS = (
    torch.tensor([[True, False, True, True], [False, False, False, False]]),
    torch.tensor([False, True, True, False]),
)

QUESTIONS = {
    "causal_mask": lambda f: [f(n) for n in (1, 2, 5)],
    "padding_mask": lambda f: f(LENGTHS, 5),
    "decoder_mask": lambda f: f(LENGTHS, 5),
    "apply_mask": lambda f: [f(SCORES, mask) for mask in MASKS],
}
