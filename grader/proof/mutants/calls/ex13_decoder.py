"""Calls of chapter 13 that its cases do not draw."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.answers.world import World
from grader.proof.mutants.called import DTYPES, Call, Drawing, Result, of_module
from grader.suite.draw import Draw

STEM = "ex13_decoder"


def _sizes(dice: random.Random) -> tuple[int, int, int | None]:
    n_kv_heads = dice.choice((None, 0, 1, 2, 2, 3))
    return dice.choice((6, 12, 12, 24)), dice.choice((0, 1, 2, 3, 6, 6)), n_kv_heads


def _played(module: Any, kind: Any, number: int, pieces: list[Any], capacity: int) -> list[Any]:
    """Ask with one piece after the other; of one that is refused it says that it was."""
    caches, said = [module.KeyValueCache(capacity) for _ in range(number)], list[Any]()
    for piece in pieces:
        try:
            said.append(kind(piece, caches[0] if piece.is_floating_point() else caches))
        except ValueError:
            said.append("refused")
        said += [cache.length for cache in caches]
    return said


def decoder_block(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of `DecoderBlock`, with a cache or without."""
    (d_model, *heads), d_hidden = _sizes(dice), dice.choice((1, 5, 7))
    draw = Draw(at, "search", dtype=dice.choice(DTYPES))
    batch = [dice.randint(1, 3) for _ in range(dice.randint(0, 2))]
    wide = dice.choice((d_model, d_model, d_model, 1, 7))
    pieces = [draw(*batch, dice.randint(1, 4), wide) for _ in range(dice.randint(1, 3))]
    capacity = dice.choice((4, 12))

    def call(world: World) -> Result:
        module = world.load(STEM)
        block = module.DecoderBlock(d_model, *heads, d_hidden)
        alone = of_module(block, draw.dtype, at, (pieces[0],))
        if at % 2:
            return alone
        return Result(_played(module, block, 1, pieces, capacity), alone.value)

    said = [list(one.shape) for one in pieces]
    return f"DecoderBlock({d_model}, {heads}, {d_hidden}), {said}", call


def decoder(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of `Decoder`, with caches or without."""
    (d_model, *heads), n_layers = _sizes(dice), dice.choice((1, 2, 3))
    draw = Draw(at, "search", dtype=dice.choice(DTYPES))
    batch = [dice.randint(1, 3)] * dice.choice((1, 1, 1, 0))
    pieces = [draw.integers(0, 7, *batch, dice.randint(1, 4)) for _ in range(dice.randint(1, 3))]
    capacity, number = dice.choice((4, 12)), n_layers + dice.choice((0, 0, 0, 1))

    def call(world: World) -> Result:
        module = world.load(STEM)
        model = module.Decoder(7, d_model, n_layers, *heads)
        alone = of_module(model, draw.dtype, at, (pieces[0],))
        if at % 2:
            return alone
        return Result(_played(module, model, number, pieces, capacity), alone.value)

    said = [list(one.shape) for one in pieces]
    return f"Decoder(7, {d_model}, {n_layers}, {heads}), {said}", call


def generate(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of `generate`: the text, what the model was fed, and how it is left."""
    draw, steps = Draw(at, "search"), dice.choice((-1, 0, 1, 2, 5))
    shape = [dice.randint(1, 3), dice.choice((0, 1, 2, 4, 4))][: dice.choice((1, 2, 2, 2, 2))]
    ids, temperature = draw.integers(0, 5, *shape), dice.choice((-1.0, 0.0, 0.0, 0.5, 1.0, 2.0))
    with_generator, wanting = dice.random() < 0.7, dice.random() < 0.7

    def call(world: World) -> Result:
        module = world.load(STEM)
        torch.manual_seed(at)
        model, fed = module.Decoder(5, 8, 2, 2), list[Any]()

        def note(_: Any, given: Any, __: Any) -> None:
            fed.append([list(given[0].shape), torch.is_grad_enabled()])

        model.register_forward_hook(note)
        drawn = torch.Generator().manual_seed(at) if with_generator else None
        with torch.set_grad_enabled(wanting):
            text = module.generate(model, ids, steps, temperature, drawn)
        return Result(text, [fed, model.training])

    return f"generate of {shape}, {steps}, {temperature}, {with_generator}", call


CALLS: dict[str, Drawing] = {
    "DecoderBlock": decoder_block,
    "Decoder": decoder,
    "generate": generate,
}
