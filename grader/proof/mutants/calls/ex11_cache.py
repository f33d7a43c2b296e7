"""Calls of chapter 11 that its cases do not draw."""

from __future__ import annotations

import random
from typing import Any

from torch import Tensor

from grader.answers.world import World
from grader.proof.mutants.called import DTYPES, Call, Drawing, Result, of_module
from grader.suite.draw import Draw

STEM = "ex11_cache"


def _pieces(dice: random.Random, draw: Draw, count: int) -> list[list[Tensor]]:
    """Draw pieces of `count` tensors each; one of them may not fit the others."""
    batch = [dice.randint(1, 2) for _ in range(dice.randint(0, 2))]
    widths = [dice.randint(1, 3)] * (count - 1) + [dice.randint(1, 3)]
    pieces = []
    for _ in range(dice.randint(1, 4)):
        m = dice.choice((0, 1, 1, 1, 2, 3)) if count == 2 else dice.choice((1, 1, 2, 3))
        shapes = [[*batch, m, width] for width in widths]
        if dice.random() < 0.15:
            shape = dice.choice(shapes)
            shape[dice.randrange(len(shape))] += 1
        if dice.random() < 0.05:
            shapes = [shape[1:] for shape in shapes]
        pieces.append([draw(*shape) for shape in shapes])
    return pieces


def _shapes(pieces: list[list[Tensor]]) -> list[list[list[int]]]:
    return [[list(one.shape) for one in piece] for piece in pieces]


def _played(cache: Any, does: Any, pieces: list[list[Tensor]]) -> list[Any]:
    """Make calls one after the other; of one that is refused it says that it was."""
    said: list[Any] = []
    for piece in pieces:
        try:
            said += [does(*piece), cache.length]
        except ValueError:
            said += ["refused", cache.length]
    return said


def key_value_cache(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw the updates of a `KeyValueCache`, with a reset in between."""
    capacity = dice.choice((-1, 0, 1, 2, 4, 5, 6, 9))
    draw = Draw(at, "search", dtype=dice.choice(DTYPES))
    first, second = _pieces(dice, draw, 2), _pieces(dice, draw, 2)
    if dice.random() < 0.2:
        first[-1] = [one.float() for one in first[-1]]

    def call(world: World) -> Result:
        cache = world.load(STEM).KeyValueCache(capacity)
        value = _played(cache, cache.update, first)
        cache.reset()
        return Result([*value, cache.length, *_played(cache, cache.update, second)])

    return f"KeyValueCache({capacity}), {_shapes(first)}, {_shapes(second)}", call


def attend_with_cache(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw the pieces that `attend_with_cache` is called with."""
    capacity = dice.choice((3, 5, 9))
    draw = Draw(at, "search", dtype=dice.choice(DTYPES))
    pieces = _pieces(dice, draw, 3)

    def call(world: World) -> Result:
        module = world.load(STEM)
        cache = module.KeyValueCache(capacity)
        return Result(_played(cache, lambda *x: module.attend_with_cache(*x, cache), pieces))

    return f"attend_with_cache of {capacity}, {_shapes(pieces)}", call


def cached_attention(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of `CachedAttention`, with a cache or without."""
    n_kv_heads = dice.choice((None, -1, 0, 1, 2, 2, 3, 4))
    n_heads, d_model = dice.choice((-2, 0, 1, 2, 3, 6, 6)), dice.choice((1, 6, 12, 12, 24, 36))
    window = dice.choice((None, None, -1, 0, 1, 2, 3, 20))
    draw = Draw(at, "search", dtype=dice.choice(DTYPES))
    batch = [dice.randint(1, 3) for _ in range(dice.randint(0, 2))]
    sizes, capacity = [dice.randint(1, 4) for _ in range(dice.randint(1, 3))], dice.choice((5, 12))
    wide = d_model + (dice.random() < 0.1)
    pieces = [draw(*batch, m, wide) for m in sizes]

    def call(world: World) -> Result:
        module = world.load(STEM)
        layer = module.CachedAttention(d_model, n_heads, n_kv_heads, window)
        alone = of_module(layer, draw.dtype, at, (pieces[0],))
        if at % 2:
            return alone
        cache = module.KeyValueCache(capacity)
        return Result(_played(cache, lambda x: layer(x, cache), [[x] for x in pieces]), alone.value)

    said = [list(one.shape) for one in pieces]
    return f"CachedAttention({d_model}, {n_heads}, {n_kv_heads}, {window}), {said}", call


CALLS: dict[str, Drawing] = {
    "KeyValueCache": key_value_cache,
    "attend_with_cache": attend_with_cache,
    "CachedAttention": cached_attention,
}
