"""What a wrong tensor has to do with the right one, when no known slip explains it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

from grader.suite import tolerance
from grader.suite.compare import plain

# an output of another shape may be as large as it likes
MOST_NUMBERS = 100_000


def relation(actual: Tensor, expected: Tensor, inputs: Iterable[Tensor] = ()) -> str | None:
    """Say in a sentence how `actual` relates to `expected`; None if nothing simple does.

    Args:
        actual: what came.
        expected: the right values.
        inputs: the tensors that the answer was called with.
    """
    if actual.numel() > MOST_NUMBERS:
        return None
    got, want = plain(actual), plain(expected)
    within = tolerance.of(actual.dtype)

    def near(a: Tensor, b: Tensor) -> bool:
        return a.shape == b.shape and torch.allclose(a, b, within.relative, within.absolute)

    if got.shape != want.shape:
        return _of_shapes(got, want, near)
    for sentence, holds in _of_values(got, want, near):
        if holds():
            return sentence
    for given in inputs:
        if given.is_floating_point() and near(got, plain(given)):
            return "Your output equals one of the inputs."
    return _of_places(got, want, within, actual.is_floating_point()) or _of_factor(got, want, near)


def _of_shapes(got: Tensor, want: Tensor, near: Callable[[Tensor, Tensor], bool]) -> str | None:
    if got.dim() == want.dim() >= 2 and near(got.transpose(-1, -2), want):
        return "Your values are right, but transposed: the last two dimensions are swapped."
    if got.numel() == want.numel() > 0 and near(got.reshape(want.shape), want):
        return "Your values are right and in order, only the shape differs."
    if sorted(got.shape) == sorted(want.shape):
        return "The sizes are the right ones in another order: a transpose is missing or too many."
    return None


def _of_values(
    got: Tensor, want: Tensor, near: Callable[[Tensor, Tensor], bool]
) -> Iterator[tuple[str, Callable[[], bool]]]:
    yield "Your output is NaN everywhere.", lambda: bool(got.isnan().all())
    yield "Your output is all zeros.", lambda: bool((got == 0).all())
    yield (
        "Your values are right, but transposed.",
        lambda: got.dim() >= 2 and near(got.transpose(-1, -2), want),
    )
    yield "Your values are right, but with the sign turned.", lambda: near(-got, want)
    yield (
        "Your values are right, but stand in reverse order.",
        lambda: got.dim() >= 1 and (near(got.flip(-1), want) or near(got.flip(0), want)),
    )
    yield (
        "True and False are swapped.",
        lambda: bool(((got + want) == 1).all()) and bool(((got == 0) | (got == 1)).all()),
    )


def _of_factor(got: Tensor, want: Tensor, near: Callable[[Tensor, Tensor], bool]) -> str | None:
    finite = torch.isfinite(got) & torch.isfinite(want) & (want.abs() > 1e-3)
    if int(finite.sum()) < 2:
        return None
    factor = float((got[finite] / want[finite]).median())
    if factor and math.isfinite(factor) and near(got, want * factor):
        return f"Every value is {factor:.4g} times the right one{_known(factor)}."
    rows = got.dim() >= 2 and got.shape[-2] > 1
    if rows and near(got - got[..., :1, :], want - want[..., :1, :]):
        return "Every row is off by the same numbers, as if another bias were added."
    shift = float((got[finite] - want[finite]).median())
    if near(got, want + shift):
        return f"Every value is the right one plus {shift:.4g}."
    return None


def _known(factor: float) -> str:
    sizes = range(1, 17)
    forms = [(a**0.5, f"sqrt({a})") for a in range(2, 65)]
    forms += [(a**-0.5, f"1 / sqrt({a})") for a in range(2, 65)]
    forms += [(1.0 / a, f"1 / {a}") for a in range(2, 65)]
    forms += [((a / b) ** 0.5, f"sqrt({a} / {b})") for a in sizes for b in sizes]
    near = (text for value, text in forms if abs(factor / value - 1) < 1e-4)
    whole = abs(factor - round(factor)) < 1e-4
    return "" if whole else next((f", that is {text}" for text in near), "")


def _of_places(
    got: Tensor, want: Tensor, within: tolerance.Tolerance, actual_is_float: bool
) -> str | None:
    wrong = ~torch.isclose(got, want, rtol=within.relative, atol=within.absolute)
    if bool(wrong.all()) or wrong.dim() == 0:
        return None
    if bool((want[wrong] == 0).all()) and actual_is_float:
        return "Only places that must be exactly 0 are wrong."
    if bool(torch.isneginf(want)[wrong].all()):
        return "Only places that must be minus infinity are wrong."
    if bool(got[wrong].isnan().all()):
        return "Wherever it is wrong, it is NaN."
    if wrong.dim() >= 2:
        rows = wrong.flatten(0, -2).any(-1)
        if not bool(rows.all()) and bool(wrong.flatten(0, -2)[rows].all()):
            names = ", ".join(str(int(i)) for i in rows.nonzero().flatten()[:5])
            return f"Whole rows are wrong ({names}), the others are right."
    return None
