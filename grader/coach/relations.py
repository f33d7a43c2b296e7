"""What a wrong tensor has to do with the right one, when no known slip explains it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

from grader.suite import tolerance
from grader.suite.compare import plain

# an output of another shape may be as large as it likes
MOST_NUMBERS = 100_000
# of so many dimensions every order is tried
MOST_DIMENSIONS = 4
# so many times the tolerance is still near
NEARLY = 10.0
NEARLY_RIGHT = (
    "All of it is nearly right, so the formula is probably right: look for a constant with too few "
    "digits, a small number that is added, or a step in another dtype."
)


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
    if got.shape == want.shape and _nearly(got, want, within):
        return NEARLY_RIGHT

    def near(a: Tensor, b: Tensor) -> bool:
        return a.shape == b.shape and torch.allclose(a, b, within.relative, within.absolute)

    if any(given.is_floating_point() and near(got, plain(given)) for given in inputs):
        return "Your output equals one of the inputs."
    if got.shape != want.shape:
        return _of_shapes(got, want, near)
    return (
        _first(_of_values(got, want, near))
        or _turned(got, want, near)
        or _of_factor(got, want, near)
        or _first(_of_rows(got, want, near))
        or _of_places(got, want, within, actual.is_floating_point())
        or _of_shift(got, want, near)
    )


def _emptied(got: Tensor, want: Tensor) -> bool:
    zero = (got == 0).all(-1) & (want != 0).any(-1)
    return bool(zero.any()) and torch.allclose(got[~zero], want[~zero], 1e-4, 1e-5)


def _first(told: Iterable[tuple[str, Callable[[], bool]]]) -> str | None:
    return next((sentence for sentence, holds in told if holds()), None)


def _nearly(got: Tensor, want: Tensor, within: tolerance.Tolerance) -> bool:
    """Tell whether values are so near the right ones that rounding is enough to explain it."""
    room = NEARLY * (within.absolute + within.relative * want.abs())
    finite = torch.isfinite(want)
    same = torch.equal(got[~finite].nan_to_num(), want[~finite].nan_to_num())
    return same and bool((got - want)[finite].abs().le(room[finite]).all())


SQUEEZED = (
    "Your values are right, but dimensions of size 1 are gone, as after `squeeze()`: say which "
    "one, `squeeze(-1)`, or keep it."
)


def _of_shapes(got: Tensor, want: Tensor, near: Callable[[Tensor, Tensor], bool]) -> str | None:
    turned = _turned(got, want, near)
    if turned is not None:
        return turned
    if got.numel() == want.numel() > 0 and near(got.reshape(want.shape), want):
        if got.dim() < want.dim() and _large(got) == _large(want):
            return SQUEEZED
        return "Your values are right and in order, only the shape differs."
    cut = _cut(got, want, near)
    if cut is not None:
        return cut
    if sorted(got.shape) == sorted(want.shape):
        return (
            "The sizes are right, but in another order: there is a transpose missing, or one "
            "too many."
        )
    return None


def _large(values: Tensor) -> list[int]:
    """List the sizes that `squeeze` leaves."""
    return [size for size in values.shape if size > 1]


def _cut(got: Tensor, want: Tensor, near: Callable[[Tensor, Tensor], bool]) -> str | None:
    """Tell an output that ends too early, or goes on after the right one."""
    if got.dim() != want.dim() or 0 in (got.numel(), want.numel()):
        return None
    shared = tuple(slice(min(a, b)) for a, b in zip(got.shape, want.shape, strict=True))
    if not near(got[shared], want[shared]):
        return None
    if got.numel() < want.numel():
        return "Your output is right as far as it goes, but it ends too early."
    return "The right values are there, and after them come more than there should be."


def _turned(got: Tensor, want: Tensor, near: Callable[[Tensor, Tensor], bool]) -> str | None:
    """Tell dimensions that stand in another order."""
    if not 2 <= got.dim() == want.dim() <= MOST_DIMENSIONS or got.numel() != want.numel():
        return None
    if near(got.transpose(-1, -2), want):
        return "Your values are right, but transposed: the last two dimensions are swapped."
    for order in itertools.permutations(range(got.dim())):
        if near(got.permute(order), want):
            return (
                "Your values are right, but the dimensions are in another order: yours, rearranged "
                f"by permute{order}, are right."
            )
    numbers, right = got.flatten().sort().values, want.flatten().sort().values
    if len(right.unique()) > len(right) // 2 and near(numbers, right):
        return (
            "All the right numbers are there, in other places: `view` and `reshape` do not "
            "transpose, and what joins (`cat`, `stack`, `hstack`) has to be told along which "
            "dimension."
        )
    return None


def _of_values(
    got: Tensor, want: Tensor, near: Callable[[Tensor, Tensor], bool]
) -> Iterator[tuple[str, Callable[[], bool]]]:
    yield "Your output is NaN everywhere.", lambda: bool(got.isnan().all())
    yield "Your output is all zeros.", lambda: bool((got == 0).all())
    yield "Your values are right, but with the opposite sign.", lambda: near(-got, want)
    yield (
        "Your values are right, but in reverse order.",
        lambda: got.dim() >= 1 and (near(got.flip(-1), want) or near(got.flip(0), want)),
    )
    yield (
        "True and False are swapped.",
        lambda: bool(((got + want) == 1).all()) and bool(((got == 0) | (got == 1)).all()),
    )


def _of_rows(
    got: Tensor, want: Tensor, near: Callable[[Tensor, Tensor], bool]
) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Look at rows, columns and sequences: what they have in common, and what they should not."""
    yield (
        "Your values are right, but rounded.",
        lambda: any(
            bool(torch.equal(got, torch.round(want, decimals=digits))) for digits in range(5)
        ),
    )
    if want.dim() < 2 or min(want.shape[-2:]) < 2:
        return
    yield (
        "All your rows are the same and should not be.",
        lambda: near(got, got[..., :1, :].expand_as(got)) and not _alike(want, -2),
    )
    yield (
        "All your columns are the same and should not be.",
        lambda: near(got, got[..., :1].expand_as(got)) and not _alike(want, -1),
    )
    yield (
        "Each row is the mean of the right rows down to it: a running mean.",
        # of evenly spaced rows it is also what rows half as far apart look like
        lambda: near(got, want.cumsum(-2) / _counted(want)) and not _alike(want.diff(dim=-2), -2),
    )
    yield "Each row is the sum of the right rows down to it.", lambda: near(got, want.cumsum(-2))
    yield "Whole rows are 0 and should not be; the others are right.", lambda: _emptied(got, want)
    yield (
        "Only the first sequence of the batch is right.",
        lambda: got.dim() > 2 and near(got[0], want[0]) and not any(map(near, got[1:], want[1:])),
    )
    yield (
        "Each row is the right one times a factor of its own.",
        lambda: near(got, want * _factors(got, want, -1)),
    )
    yield (
        "Each column is the right one times a factor of its own.",
        lambda: near(got, want * _factors(got, want, -2)),
    )
    yield (
        "The rows should sum to 1, and yours sum to a little less.",
        lambda: (
            near(want.sum(-1), torch.ones(want.shape[:-1], dtype=want.dtype))
            and bool(((got.sum(-1) < 1 - 1e-6) & (got.sum(-1) > 0.9)).all())
        ),
    )
    if want.dim() >= 3 and len(want) > 1:
        yield (
            "Every sequence of the batch got the result of the first one.",
            lambda: near(got, want[:1].expand_as(want)),
        )


def _alike(values: Tensor, dim: int) -> bool:
    return torch.allclose(values, values.narrow(dim, 0, 1).expand_as(values))


def _counted(values: Tensor) -> Tensor:
    return torch.arange(1, values.shape[-2] + 1, dtype=values.dtype)[:, None]


def _factors(got: Tensor, want: Tensor, dim: int) -> Tensor:
    """Return for each row, or column, the factor of its largest entry."""
    place = want.abs().argmax(dim, keepdim=True)
    return got.gather(dim, place) / want.gather(dim, place)


def _of_factor(got: Tensor, want: Tensor, near: Callable[[Tensor, Tensor], bool]) -> str | None:
    finite = _comparable(got, want)
    if int(finite.sum()) < 2:
        return None
    factor = float((got[finite] / want[finite]).median())
    if factor and math.isfinite(factor) and near(got, want * factor):
        return f"Every value is {factor:.4g} times the right one{_known(factor)}."
    return None


def _of_shift(got: Tensor, want: Tensor, near: Callable[[Tensor, Tensor], bool]) -> str | None:
    finite = _comparable(got, want)
    if int(finite.sum()) < 2:
        return None
    rows = got.dim() >= 2 and got.shape[-2] > 1
    if rows and near(got - got[..., :1, :], want - want[..., :1, :]):
        return "Every row is off by the same numbers, as if another bias were added."
    shift = float((got[finite] - want[finite]).median())
    if near(got, want + shift):
        return f"Every value is the right one plus {shift:.4g}."
    return None


def _comparable(got: Tensor, want: Tensor) -> Tensor:
    return torch.isfinite(got) & torch.isfinite(want) & (want.abs() > 1e-3)


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
    part = _part(wrong)
    if part is not None:
        return f"Only {part} is wrong{_by(got, want, wrong, within)}."
    if wrong.dim() >= 2:
        rows = wrong.flatten(0, -2).any(-1)
        if not bool(rows.all()) and bool(wrong.flatten(0, -2)[rows].all()):
            names = ", ".join(str(int(i)) for i in rows.nonzero().flatten()[:5])
            return f"Whole rows are wrong ({names}), the others are right."
    return None


def _part(wrong: Tensor) -> str | None:
    """Name the part of each matrix that is wrong, throughout or nearly."""
    if wrong.dim() < 2 or min(wrong.shape[-2:]) < 3:
        return None
    rows, columns = (torch.arange(size) for size in wrong.shape[-2:])
    below = rows[:, None] - columns
    parts = {
        "the diagonal": below == 0,
        "the first row": (rows == 0)[:, None] & (columns >= 0),
        "the last row": (rows == len(rows) - 1)[:, None] & (columns >= 0),
        "the first column": (rows >= 0)[:, None] & (columns == 0),
        "the last column": (rows >= 0)[:, None] & (columns == len(columns) - 1),
        "what lies above the diagonal": below < 0,
        "what lies below the diagonal": below > 0,
    }
    for name, place in parts.items():
        if torch.equal(wrong, place.expand_as(wrong)):
            return name
    return None


def _by(got: Tensor, want: Tensor, wrong: Tensor, within: tolerance.Tolerance) -> str:
    """Say by how much it is wrong there, if by the same everywhere."""
    factors = got[wrong] / want[wrong]
    factor = float(factors.median())
    right = want[wrong] * factor
    if not math.isfinite(factor) or not torch.allclose(
        got[wrong], right, within.relative, within.absolute
    ):
        return ""
    return f": it is {factor:.4g} times the right one{_known(factor)}" if factor else ": it is 0"
