"""The one door for comparing: type, shape, dtype, device, values, in that order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch import Tensor

from grader.answers.pretended import Mistake
from grader.suite import tolerance
from grader.suite.promises import Citation
from grader.suite.tolerance import Tolerance

Kind = Literal[
    "type", "shape", "dtype", "device", "value", "no gradient", "changed", "not refused",
    "refused badly", "forbidden", "plain",
]  # fmt: skip
# what is compared, if nothing else is said
OUTPUT = "the output"


class Finding(AssertionError):
    """What a check found wrong: the kind of difference, what came, and what was expected.

    Attributes:
        mistake: of a difference of devices, what has led to it.
        at: which of the situations that the check goes through it was.
        cites: what is enforced, if that is not what the check as a whole cites.
    """

    mistake: Mistake | None = None
    at: str = ""
    cites: Citation | None = None

    def __init__(
        self,
        kind: Kind,
        label: str,
        actual: Any = None,
        expected: Any = None,
        detail: str = "",
        wrong: Tensor | None = None,
    ) -> None:
        super().__init__(f"{label}: {kind} {detail}".strip())
        self.kind, self.label, self.detail = kind, label, detail
        self.actual, self.expected, self.wrong = actual, expected, wrong


class _Noted:
    cited: set[Citation] | None = None


@contextlib.contextmanager
def citations_noted() -> Iterator[set[Citation]]:
    """Collect what the situations inside enforce."""
    _Noted.cited = set()
    try:
        yield _Noted.cited
    finally:
        _Noted.cited = None


@contextlib.contextmanager
def situation(name: str, cites: Citation | None = None) -> Iterator[None]:
    """Note in what is found inside which situation it was, and what it enforces."""
    if _Noted.cited is not None and cites is not None:
        _Noted.cited.add(cites)
    try:
        yield
    except Finding as found:
        found.at = f"{name}, {found.at}" if found.at else name
        if found.cites is None:
            found.cites = cites
        raise


def same(
    actual: Any,
    expected: Tensor,
    *,
    like: Tensor | None = None,
    label: str = OUTPUT,
    within: Tolerance | None = None,
    place: str | None = None,
) -> None:
    """Compare a tensor with the expected one.

    Args:
        actual: what came, of whatever type.
        expected: the right values, usually in float64.
        like: the tensor whose dtype and device `actual` must have; `expected` itself if None.
        label: what is compared, as the message names it.
        within: a tolerance other than the dtype's own, as for printed digits.
        place: the device that `actual` must be on, if not that of `like`.

    Raises:
        Finding: with the first of type, shape, dtype, device, values that differs.
    """
    like = expected if like is None else like
    if not isinstance(actual, Tensor):
        raise Finding("type", label, actual, expected.to(like.dtype))
    if actual.shape != expected.shape:
        raise Finding("shape", label, actual.detach(), expected)
    if actual.dtype != like.dtype:
        raise Finding("dtype", label, actual.detach(), expected.to(like.dtype))
    at_place(actual, like, label, place)
    close(actual, expected, label, within or tolerance.of(like.dtype))


def at_place(actual: Tensor, like: Tensor, label: str, place: str | None = None) -> None:
    """Demand that a tensor is on the device of `like`, or at `place`.

    What comes from a process of its own is compared on the CPU; where it was there, and where it
    had to be, comes with it.
    """
    came, home = getattr(actual, "kit_place", (str(actual.device), str(like.device)))
    wanted = home if place is None else place
    if came != wanted:
        raise Finding("device", label, came, wanted)


def close(actual: Tensor, expected: Tensor, label: str, within: Tolerance) -> None:
    """Compare the values alone, in float64 on the CPU."""
    got, want = plain(actual), plain(expected)
    wrong = ~torch.isclose(got, want, rtol=within.relative, atol=within.absolute)
    if wrong.any():
        shown = want if actual.is_floating_point() else want.to(actual.dtype)
        raise Finding("value", label, got.to(actual.dtype), shown, wrong=wrong)


def plain(values: Tensor) -> Tensor:
    """Return the values in float64 on the CPU, cut from any graph."""
    return values.detach().to("cpu", torch.float64)


def equal(actual: Any, expected: Any, label: str = "the result") -> None:
    """Compare plain Python values; the type counts, too."""
    if type(actual) is not type(expected):
        raise Finding("type", label, actual, expected)
    if actual != expected:
        raise Finding("plain", label, actual, expected)


def holds(truth: bool, label: str, detail: str, actual: Any = None) -> None:
    """Demand a property, said in `detail` as one sentence for the student."""
    if not truth:
        raise Finding("plain", label, actual, None, detail=detail)


def unchanged(now: Tensor, before: Tensor, name: str) -> None:
    """Demand that an input still holds the values, shape and dtype that it was given with."""
    intact = now.shape == before.shape and now.dtype == before.dtype
    if not intact or not torch.equal(plain(now).nan_to_num(), plain(before).nan_to_num()):
        raise Finding("changed", f"the input `{name}`", now.detach(), before)
