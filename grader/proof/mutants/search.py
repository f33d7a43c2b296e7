"""Looking for a call that a mutant answers differently from what it was made of.

No check has told the mutant. Either it does the same as the right answer in all that is promised,
or the suites lack an input: then this finds it.
"""

from __future__ import annotations

import copy
import random
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from grader.answers.world import World
from grader.chapters.catalogue import suite_path
from grader.suite import tolerance
from grader.suite.case import Case, floating
from grader.suite.check import load_suite
from grader.suite.draw import Draw
from grader.suite.laws import MANY, spaced, swapped, turned
from grader.suite.refusals import numbers_in

# as many calls as this, or as so many seconds of the processor allow
CALLS = 400
SECONDS = 15
DTYPES = (torch.float64, torch.float64, torch.float32, torch.float16, torch.bfloat16)
WORDS = ("only the words of a refusal differ", "no difference in {count} calls that were drawn")


@dataclass
class Result:
    """What a call gave: a value and what it did besides, a refusal, or an error."""

    value: Any = None
    besides: Any = None
    refused: str | None = None
    error: str = ""


Call = Callable[[World], Result]


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
    words, count, end = False, 0, time.process_time() + SECONDS
    while count < CALLS and time.process_time() < end:
        at, count = count, count + 1
        dice = random.Random(at)
        label, call = _a_call(stem, dice.choice(names), dice, at)
        limit()
        one = _tried(call, right, at)
        limit()
        other = _tried(call, mutant, at)
        if one.error:
            continue  # nobody has promised anything about this
        if _differ(one, other):
            return f"!{label}"
        words |= one.refused != other.refused
    return WORDS[0] if words else WORDS[1].format(count=count)


def _tried(call: Call, world: World, seed: int) -> Result:
    torch.manual_seed(seed)
    try:
        with world.active():
            return call(world)
    except (ValueError, KeyError) as problem:
        kind = "KeyError" if isinstance(problem, KeyError) else "ValueError"
        return Result(refused=f"{kind}: {problem}")
    except Exception as problem:
        return Result(error=type(problem).__name__)
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)


def _differ(one: Result, other: Result) -> bool:
    if (one.refused is None) != (other.refused is None) or other.error:
        return True
    if one.refused is not None:
        names_sizes = bool(numbers_in(one.refused)) and not numbers_in(other.refused or "")
        return names_sizes or one.refused[:8] != (other.refused or "")[:8]
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
    special = SPECIAL.get(name)
    if special is not None:
        return special(stem, dice, at)
    suite = load_suite(suite_path(stem))
    cases = [c for c in (*suite.CASES, *getattr(suite, "SPECIAL", ())) if c.exercise == name]
    case = dice.choice(cases)
    draw = Draw(at, "search", dtype=dice.choice(DTYPES))
    given = list(_resized(case, dice).given(draw))
    if dice.random() < 0.5:
        _bend(given, case, dice, draw)
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
        sizes[dice.choice(list(sizes))] = MANY
    batch = [dice.randint(1, 3) for _ in range(dice.randint(0, 3))] if case.takes_batches else ()
    return replace(case, sizes=sizes, batch=tuple(batch))


def _bend(given: list[Any], case: Case, dice: random.Random, draw: Draw) -> None:
    """Give one argument another shape, or another number of heads."""
    at = dice.randrange(len(given))
    name = case.names()[at]
    if name == "n_heads":
        given[at] = dice.choice((-2, -1, 0, 1, 2, 3, 4, 5, 7, 9))
    if not isinstance(given[at], Tensor) or name in ("scores",):
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


def _of_causal(stem: str, dice: random.Random, at: int) -> tuple[str, Call]:  # noqa: ARG001
    n, device = dice.randint(0, 9), dice.choice((None, "cpu", torch.device("cpu")))
    return f"causal_mask({n})", lambda w: Result(w.load(stem).causal_mask(n, device))


def _of_waves(stem: str, dice: random.Random, at: int) -> tuple[str, Call]:  # noqa: ARG001
    n, d, dtype = dice.randint(0, 40), dice.randint(1, 12), dice.choice(DTYPES[:3])

    def call(world: World) -> Result:
        torch.set_default_dtype(dtype)
        return Result(world.load(stem).positional_encoding(n, d).to(torch.float32))

    return f"positional_encoding({n}, {d})", call


def _of_spread(stem: str, dice: random.Random, at: int) -> tuple[str, Call]:
    d_k, pairs = dice.randint(1, 20), dice.randint(2, 50)

    def call(world: World) -> Result:
        generator = torch.Generator().manual_seed(at) if at % 3 else None
        value = world.load(stem).score_spread(d_k, pairs, generator)
        return Result(value.float(), torch.get_rng_state().float().sum())

    return f"score_spread({d_k}, {pairs})", call


def _of_words(stem: str, dice: random.Random, at: int) -> tuple[str, Call]:
    known = {word: dice.randint(0, 20) for word in "abcdef"}
    words = [dice.choice("abcdefg" if dice.random() < 0.2 else "abcdef") for _ in range(at % 7)]
    return f"encode_words({words})", lambda w: Result(w.load(stem).encode_words(words, known))


def _of_layer(stem: str, dice: random.Random, at: int) -> tuple[str, Call]:
    n_heads = dice.choice((-1, 0, 1, 2, 3, 3, 4, 5))
    d_model = dice.choice((1, 2, 3, 6, 6, 12))
    bias = dice.random() < 0.7
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
        layer = world.load(stem).MultiHeadAttention(d_model, n_heads, bias)
        return _of_module(layer, draw.dtype, at, (given[0], given[1], mask))

    said = [None if v is None else list(v.shape) for v in (*given, mask)]
    return f"MultiHeadAttention({d_model}, {n_heads}, {bias})({said})", call


def _of_module(layer: nn.Module, dtype: torch.dtype, at: int, given: Sequence[Any]) -> Result:
    """Call a module with drawn weights."""
    layer.to(dtype)
    draw = Draw(at, "weights", dtype=dtype)
    named = sorted(layer.named_parameters())
    with torch.no_grad():
        for _, weight in named:
            weight.copy_(draw(*weight.shape, scale=0.5))
    value = layer(*given)
    slopes: Any = ()
    if value.requires_grad and dtype == torch.float64:
        slopes = torch.autograd.grad(value.sum(), [w for _, w in named], allow_unused=True)
    return Result(value, [[name for name, _ in named], slopes, layer.training])


def _of_model(stem: str, dice: random.Random, at: int) -> tuple[str, Call]:
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
        model = world.load(stem).NextWordModel(words, d_model, n_heads, positions)
        return _of_module(model, draw.dtype, at, (ids, lengths))

    said = [None if v is None else list(v.shape) for v in (ids, lengths)]
    return f"NextWordModel({words}, {d_model}, {n_heads}, {positions})({said})", call


def _of_train(stem: str, dice: random.Random, at: int) -> tuple[str, Call]:
    draw = Draw(at, "search", dtype=dice.choice(DTYPES[:3]))
    batch, n, steps = dice.randint(1, 4), dice.randint(1, 4), dice.randint(1, 5)
    ids, targets = draw.integers(0, 5, batch, n), draw.integers(0, 5, batch)
    lengths = draw.integers(1, n + 1, batch) if dice.random() < 0.5 else None
    if dice.random() < 0.2:
        targets = dice.choice((targets[:-1], targets[:, None], torch.cat([targets, targets])))
    lr = dice.choice((0.0, 0.01, 0.05, 0.3))
    suite = load_suite(suite_path(stem))

    def call(world: World) -> Result:
        model = suite.small_model(Draw(at, "model", dtype=draw.dtype), 5, 3)
        losses = world.load(stem).train(model, ids, targets, steps, lr, lengths)
        return Result(losses, dict(model.named_parameters()))

    return f"train({list(ids.shape)}, {list(targets.shape)}, {steps}, {lr})", call


def _of_predict(stem: str, dice: random.Random, at: int) -> tuple[str, Call]:
    words = list("abcdef")
    dice.shuffle(words)
    known = {word: index for index, word in enumerate(words)}
    known = dict(sorted(known.items(), key=lambda _: dice.random()))
    asked = [dice.choice("abcdefg" if dice.random() < 0.1 else "abcdef") for _ in range(at % 5)]
    suite = load_suite(suite_path(stem))

    def call(world: World) -> Result:
        model = suite.small_model(Draw(at, "model"), 6, 3)
        model.train(at % 2 == 0)
        model.embedding.train(at % 3 == 0)
        model.head.weight.grad = torch.ones(6, 3)
        word = world.load(stem).predict(model, list(asked), copy.copy(known))
        flags = [part.training for part in model.modules()]
        slopes = [None if w.grad is None else w.grad.clone() for w in model.parameters()]
        wanting = [w.requires_grad for w in model.parameters()]
        grad = torch.is_grad_enabled()
        return Result(word, [flags, slopes, wanting, dict(model.named_parameters()), grad])

    return f"predict({asked})", call


SPECIAL: dict[str, Callable[[str, random.Random, int], tuple[str, Call]]] = {
    "causal_mask": _of_causal,
    "positional_encoding": _of_waves,
    "score_spread": _of_spread,
    "encode_words": _of_words,
    "MultiHeadAttention": _of_layer,
    "NextWordModel": _of_model,
    "train": _of_train,
    "predict": _of_predict,
}
