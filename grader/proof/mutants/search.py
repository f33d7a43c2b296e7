"""Looking for a call that a mutant answers differently from what it was made of.

No check has told the mutant. Either it does the same as the right answer in all that is promised,
or the suites lack an input: then this finds it.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.answers.world import World
from grader.chapters.catalogue import suite_path
from grader.proof.mutants.called import DTYPES, Call, Result
from grader.proof.mutants.calls import calls_of, others_of
from grader.suite import tolerance
from grader.suite.case import Case, floating
from grader.suite.check import load_suite
from grader.suite.draw import Draw
from grader.suite.laws.layouts import spaced, swapped, turned
from grader.suite.laws.outputs import MANY

# as many calls as this, or as so many seconds of the processor allow
CALLS = 400
SECONDS = 15
WORDS = ("only the words of a refusal differ", "no difference in {count} calls that were drawn")


def difference(
    right: World, mutant: World, stem: str, names: Sequence[str], limit: Callable[[], None]
) -> str:
    """Return a call that tells the mutant, with a `!` before it; or why there is none.

    Args:
        right: the answer that the mutant was made of.
        mutant: the mutant.
        stem: its chapter.
        names: the exercises that are called.
        limit: begins to count the time of a call anew.
    """
    warnings.simplefilter("ignore")
    words, tried, end = False, 0, time.process_time() + SECONDS
    while tried < CALLS and time.process_time() < end:
        dice = random.Random(tried)
        label, call = _a_call(stem, dice.choice(names), dice, tried)
        one, other = (_tried(call, world, tried, limit) for world in (right, mutant))
        tried += 1
        if one.error:
            continue  # nobody has promised anything about this
        if _differ(one, other):
            return f"!{label}"
        words |= one.refused != other.refused
    return WORDS[0] if words else WORDS[1].format(count=tried)


def _tried(call: Call, world: World, seed: int, limit: Callable[[], None]) -> Result:
    torch.manual_seed(seed)
    limit()
    try:
        with world.active():
            return call(world)
    except (ValueError, KeyError) as problem:
        kind = KeyError if isinstance(problem, KeyError) else ValueError
        return Result(kind=kind, refused=str(problem))
    except Exception as problem:
        return Result(error=type(problem).__name__)
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)


def _differ(one: Result, other: Result) -> bool:
    if one.kind is not other.kind or other.error:
        return True
    if one.kind is not None:
        return False  # what a refusal must name is a check's to say, and in chapter 1 it is nothing
    return not (_same(one.value, other.value) and _same(one.besides, other.besides))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        if not isinstance(other, Tensor) or (one.shape, one.dtype) != (other.shape, other.dtype):
            return False
        within = tolerance.of(one.dtype)
        a, b = one.detach().double(), other.detach().double()
        return torch.allclose(a, b, within.relative, within.absolute, equal_nan=True)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, float):
        return isinstance(other, float) and abs(one - other) <= 1e-4 * (1 + abs(one))
    return type(one) is type(other) and one == other


# ---- calls ----


def _a_call(stem: str, name: str, dice: random.Random, at: int) -> tuple[str, Call]:
    """Draw a call of an exercise."""
    own = calls_of(stem).get(name)
    if own is not None:
        return own(dice, at)
    suite = load_suite(suite_path(stem))
    cases = [c for c in (*suite.CASES, *getattr(suite, "SPECIAL", ())) if c.exercise == name]
    case = dice.choice(cases)
    draw = Draw(at, "search", dtype=dice.choice(DTYPES))
    given = list(_resized(case, dice).given(draw))
    if dice.random() < 0.5:
        _bend(given, case, others_of(stem), dice, draw)
    layout = dice.choice((None, swapped, turned, spaced))
    if layout is not None:
        given = [layout(v) if isinstance(v, Tensor) and v.dim() else v for v in given]
    said = ", ".join(str(list(v.shape)) if isinstance(v, Tensor) else str(v) for v in given)
    options = dict(case.options)
    return f"{name}({said}, {options})", lambda w: _of_function(w, stem, name, given, options)


def _resized(case: Case, dice: random.Random) -> Case:
    """Take a case at drawn sizes."""
    if dice.random() < 0.3 or not case.dimensions:
        return case
    same = dice.random() < 0.3
    size = dice.randint(1, 4)
    sizes = {name: size if same else dice.randint(1, 5) for name in case.dimensions}
    if dice.random() < 0.1:
        sizes[dice.choice(list(sizes))] = dice.choice(MANY)
    batch = [dice.randint(1, 3) for _ in range(dice.randint(0, 3))] if case.takes_batches else ()
    return replace(case, sizes=sizes, batch=tuple(batch))


def _bend(
    given: list[Any],
    case: Case,
    others: Mapping[str, tuple[Any, ...]],
    dice: random.Random,
    draw: Draw,
) -> None:
    """Give one argument another shape, or what else the chapter says."""
    at = dice.randrange(len(given))
    other = others.get(case.names()[at])
    if other:
        given[at] = dice.choice(other)
    if other is not None or not isinstance(given[at], Tensor):
        return
    shape = list(given[at].shape)
    way = dice.randrange(5)
    if way == 0 and shape:
        shape[dice.randrange(len(shape))] = dice.randint(1, 6)
    elif way == 1:
        shape.insert(0, dice.randint(1, 3))
    elif way == 2:
        shape = shape[1:]
    elif way == 3:
        shape = shape[-1:]
    elif len(shape) > 1:
        shape[-1], shape[-2] = shape[-2], shape[-1]
    given[at] = _like(given[at], shape, draw)


def _like(value: Tensor, shape: list[int], draw: Draw) -> Tensor:
    if value.dtype == torch.bool:
        return draw.mask(*shape) if shape else torch.tensor(True)
    if not value.is_floating_point():
        return torch.ones(shape, dtype=value.dtype)
    return draw(*shape)


def _of_function(
    world: World, stem: str, name: str, given: list[Any], options: dict[str, Any]
) -> Result:
    """Call a function; what it did to its inputs, and its gradients, are compared as well."""
    function = getattr(world.load(stem), name)
    wants = [v.dtype == torch.float64 if floating(v) else False for v in given]
    args = [
        _laid_out(v).requires_grad_(want) if isinstance(v, Tensor) and floating(v) else v
        for v, want in zip(given, wants, strict=True)
    ]
    before = [_laid_out(v) if isinstance(v, Tensor) else v for v in given]
    value = function(*args, **options)
    slopes: Any = ()
    if isinstance(value, Tensor) and any(wants):
        leaves = [v for v, want in zip(args, wants, strict=True) if want]
        pull = torch.linspace(-1, 1, max(1, value.numel()), dtype=torch.float64)[: value.numel()]
        pulled = value.double().nan_to_num(neginf=0.0).flatten() * pull
        slopes = (
            torch.autograd.grad(pulled.sum(), leaves, allow_unused=True)
            if value.requires_grad
            else "none"
        )
    intact = [_same(a, b) for a, b in zip(args, before, strict=True)]
    return Result(value, [intact, slopes])


def _laid_out(value: Tensor) -> Tensor:
    """Copy a tensor with its strides."""
    made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    with torch.no_grad():
        made.copy_(value)
    return made
