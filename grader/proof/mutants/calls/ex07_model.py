"""Calls of chapter 7 that its cases do not draw."""

from __future__ import annotations

import copy
import random

import torch

from grader.answers.world import World
from grader.chapters.catalogue import suite_path
from grader.proof.mutants.called import DTYPES, Call, Drawing, Result, of_module
from grader.suite.check import load_suite
from grader.suite.draw import Draw

STEM = "ex07_model"


def positional_encoding(dice: random.Random, at: int) -> tuple[str, Call]:  # noqa: ARG001
    """Draw a call of `positional_encoding`."""
    n, d, dtype = dice.randint(0, 40), dice.randint(1, 12), dice.choice(DTYPES[:3])

    def call(world: World) -> Result:
        torch.set_default_dtype(dtype)
        return Result(world.load(STEM).positional_encoding(n, d).to(torch.float32))

    return f"positional_encoding({n}, {d})", call


def encode_words(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of `encode_words`."""
    known = {word: dice.randint(0, 20) for word in "abcdef"}
    words = [dice.choice("abcdefg" if dice.random() < 0.2 else "abcdef") for _ in range(at % 7)]
    return f"encode_words({words})", lambda w: Result(w.load(STEM).encode_words(words, known))


def next_word_model(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of `NextWordModel`."""
    words, d_model = dice.randint(2, 6), dice.choice((2, 4, 6, 6))
    n_heads, positions = dice.choice((0, 1, 2, 3, 4)), dice.random() < 0.5
    draw = Draw(at, "search", dtype=dice.choice(DTYPES))
    batch, n = dice.randint(1, 4), dice.randint(1, 13)
    ids = draw.integers(0, words, batch, n)
    lengths = draw.integers(1, n + 1, batch) if dice.random() < 0.6 else None
    fault = dice.randrange(5)
    if fault == 0:
        ids = ids[0]
    elif fault == 1 and lengths is not None:
        lengths = dice.choice((lengths[:1], lengths[:, None], torch.cat([lengths, lengths])))

    def call(world: World) -> Result:
        model = world.load(STEM).NextWordModel(words, d_model, n_heads, positions)
        return of_module(model, draw.dtype, at, (ids, lengths))

    said = [None if v is None else list(v.shape) for v in (ids, lengths)]
    return f"NextWordModel({words}, {d_model}, {n_heads}, {positions})({said})", call


def train(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of `train`."""
    draw = Draw(at, "search", dtype=dice.choice(DTYPES[:3]))
    batch, n, steps = dice.randint(1, 4), dice.randint(1, 4), dice.randint(1, 5)
    ids, targets = draw.integers(0, 5, batch, n), draw.integers(0, 5, batch)
    lengths = draw.integers(1, n + 1, batch) if dice.random() < 0.5 else None
    if dice.random() < 0.2:
        targets = dice.choice((targets[:-1], targets[:, None], torch.cat([targets, targets])))
    lr = dice.choice((0.0, 0.01, 0.05, 0.3))
    suite = load_suite(suite_path(STEM))

    def call(world: World) -> Result:
        model = suite.small_model(Draw(at, "model", dtype=draw.dtype), 5, 3)
        losses = world.load(STEM).train(model, ids, targets, steps, lr, lengths)
        return Result(losses, dict(model.named_parameters()))

    return f"train({list(ids.shape)}, {list(targets.shape)}, {steps}, {lr})", call


def predict(dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of `predict`."""
    words = list("abcdef")
    dice.shuffle(words)
    known = {word: index for index, word in enumerate(words)}
    known = dict(sorted(known.items(), key=lambda _: dice.random()))
    asked = [dice.choice("abcdefg" if dice.random() < 0.1 else "abcdef") for _ in range(at % 5)]
    suite = load_suite(suite_path(STEM))

    def call(world: World) -> Result:
        model = suite.small_model(Draw(at, "model"), 6, 3)
        model.train(at % 2 == 0)
        model.embedding.train(at % 3 == 0)
        model.head.weight.grad = torch.ones(6, 3)
        word = world.load(STEM).predict(model, list(asked), copy.copy(known))
        flags = [part.training for part in model.modules()]
        slopes = [None if w.grad is None else w.grad.clone() for w in model.parameters()]
        wanting = [w.requires_grad for w in model.parameters()]
        grad = torch.is_grad_enabled()
        return Result(word, [flags, slopes, wanting, dict(model.named_parameters()), grad])

    return f"predict({asked})", call


CALLS: dict[str, Drawing] = {
    "positional_encoding": positional_encoding,
    "encode_words": encode_words,
    "NextWordModel": next_word_model,
    "train": train,
    "predict": predict,
}
