"""Calls of chapter 9 that its cases do not draw."""

from __future__ import annotations

import random

from grader.answers.world import World
from grader.proof.mutants.called import DTYPES, Call, Drawing, Result, of_module
from grader.suite.draw import Draw

STEM = "ex09_groups"


def grouped_query_attention(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of `GroupedQueryAttention`."""
    n_kv_heads = dice.choice((-1, 0, 1, 2, 2, 3, 3, 4))
    n_heads = dice.choice((-2, 0, 1, 2, 3, 6, 6, 9))
    d_model = dice.choice((1, 3, 6, 12, 12, 18))
    bias = dice.random() < 0.5
    draw = Draw(at, "search", dtype=dice.choice(DTYPES))
    batch = [dice.randint(1, 3) for _ in range(dice.randint(0, 3))]
    q, k = dice.randint(1, 5), dice.randint(1, 5)
    x = draw(*batch, q, d_model)
    memory = draw(*batch, k, d_model) if dice.random() < 0.6 else None
    seen = q if memory is None else k
    shapes = [None, (q, seen), (*batch, q, seen), (*batch, 1, seen), (seen,), (1, *batch, q, seen),
              (*batch, 2, q, seen), (q, seen + 1), (2, q, seen)]  # fmt: skip
    shape = dice.choice(shapes)
    mask = None if shape is None else draw.mask(*shape)
    given = [x, memory]
    at_fault = dice.randrange(4)
    if at_fault < 2 and given[at_fault] is not None:
        sizes = list(given[at_fault].shape)  # type: ignore[union-attr]
        sizes[dice.randrange(len(sizes))] += 1
        given[at_fault] = draw(*(sizes if dice.random() < 0.7 else sizes[-1:]))

    def call(world: World) -> Result:
        layer = world.load(STEM).GroupedQueryAttention(d_model, n_heads, n_kv_heads, bias)
        return of_module(layer, draw.dtype, at, (given[0], given[1], mask))

    said = [None if v is None else list(v.shape) for v in (*given, mask)]
    return f"GroupedQueryAttention({d_model}, {n_heads}, {n_kv_heads}, {bias})({said})", call


CALLS: dict[str, Drawing] = {
    "GroupedQueryAttention": grouped_query_attention,
}
OTHERS = {"times": (-2, -1, 0, 1, 2, 3, 5), "n": (0, 1, 2, 7), "batch": (1, 2, 5)}
