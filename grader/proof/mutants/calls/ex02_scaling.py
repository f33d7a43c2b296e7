"""Calls of chapter 2 that its cases do not draw."""

from __future__ import annotations

import random

import torch

from grader.answers.world import World
from grader.proof.mutants.called import Call, Drawing, Result

STEM = "ex02_scaling"


def score_spread(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of `score_spread`."""
    d_k, pairs = dice.randint(1, 20), dice.randint(2, 50)

    def call(world: World) -> Result:
        generator = torch.Generator().manual_seed(at) if at % 3 else None
        value = world.load(STEM).score_spread(d_k, pairs, generator)
        return Result(value.float(), torch.get_rng_state().float().sum())

    return f"score_spread({d_k}, {pairs})", call


CALLS: dict[str, Drawing] = {
    "score_spread": score_spread,
}
OTHERS: dict[str, tuple[object, ...]] = {"scores": ()}
