"""Calls of chapter 3 that its cases do not draw."""

from __future__ import annotations

import random

import torch

from grader.proof.mutants.called import Call, Drawing, Result

STEM = "ex03_masking"


def causal_mask(dice: random.Random, at: int) -> tuple[str, Call]:  # noqa: ARG001
    """Draw a call of `causal_mask`."""
    n, device = dice.randint(0, 9), dice.choice((None, "cpu", torch.device("cpu")))
    return f"causal_mask({n})", lambda w: Result(w.load(STEM).causal_mask(n, device))


CALLS: dict[str, Drawing] = {
    "causal_mask": causal_mask,
}
OTHERS: dict[str, tuple[object, ...]] = {"scores": ()}
