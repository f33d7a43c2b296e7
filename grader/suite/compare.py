"""The one door for comparing: build, type, shape, dtype, device, values, in that order."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import torch
from torch import Tensor, nn

from grader import nested
from grader.dry_run import Mistake
from grader.suite import tolerance
from grader.suite.promises import Citation
from grader.suite.tolerance import Tolerance

Kind = Literal[
    "built", "type", "shape", "dtype", "device", "value", "no gradient", "changed", "switched",
    "not refused", "refused badly", "forbidden", "plain", "cost",
]  # fmt: skip
# what is compared, if nothing else is said
OUTPUT = "the output"


class Finding(AssertionError):
    """What a check found wrong: the kind of difference, what came, and what was expected.

    Attributes:
        what: what was compared: the output, if nothing else is said.
        path: which part of it differs; nothing for the whole.
        label: both, as the message names it.
        mistake: of a difference of devices, what has led to it.
        also: what else would go wrong on a GPU, on other lines.
        at: which of the situations that the check goes through it was.
        cites: what is enforced, if that is not what the check as a whole cites.
        of: the exercise that it is the fault of, in full, if that is known.
        is_later: whether it is of a call after others, which were right.
        is_gradient: whether it is of gradients, and not of what was computed.
    """

    mistake: Mistake | None = None
    also: tuple[Mistake, ...] = ()
    at: str = ""
    cites: Citation | None = None
    of: str = ""
    is_later: bool = False
    is_gradient: bool = False

    def __init__(
        self,
        kind: Kind,
        label: str,
        actual: Any = None,
        expected: Any = None,
        detail: str = "",
        wrong: Tensor | None = None,
        path: nested.Path = (),
    ) -> None:
        self.what, self.path, self.label = label, path, _named(label, path)
        super().__init__(f"{self.label}: {kind} {detail}".strip())
        self.kind, self.detail = kind, detail
        self.actual, self.expected, self.wrong = actual, expected, wrong


def _named(label: str, path: nested.Path) -> str:
    if not path:
        return label
    return nested.spoken(path) if label == OUTPUT else f"{label} (`{nested.written(path)}`)"


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


@contextlib.contextmanager
def later_call(calls_before: int = 1) -> Iterator[None]:
    """Note in what is found or raised inside that it is of a call after others, if there were."""
    try:
        yield
    except Finding as found:
        found.is_later = calls_before > 0
        raise
    except Exception as error:
        error.kit_later = calls_before > 0  # type: ignore[attr-defined]
        raise


@contextlib.contextmanager
def of_gradients() -> Iterator[None]:
    """Note in what is found inside that it is of gradients."""
    try:
        yield
    except Finding as found:
        found.is_gradient = True
        raise


def same(
    actual: Any,
    expected: Any,
    *,
    like: Tensor | None = None,
    label: str = OUTPUT,
    within: Tolerance | None = None,
    place: str | None = None,
) -> None:
    """Compare what came with what was expected: a tensor, or any nesting of values.

    Args:
        actual: what came, of whatever type.
        expected: the right values, usually in float64.
        like: the tensor whose dtype and device `actual` must have; `expected` itself if None. Of
            several outputs those of floats must have them.
        label: what is compared, as the message names it.
        within: a tolerance other than the dtype's own, as for printed digits.
        place: the device that `actual` must be on, if not that of `like`.

    Raises:
        Finding: with the first of how it is built, type, shape, dtype, device, values that differs.
    """
    if isinstance(expected, Tensor):
        _same_tensor(actual, expected, like, label, within, place, ())
        return
    _built_alike(actual, expected, label, ())
    for path, want in nested.leaves(expected):
        got = nested.at(actual, path)
        floats = isinstance(want, Tensor) and want.is_floating_point()
        if isinstance(want, Tensor):
            _same_tensor(got, want, like if floats else None, label, within, place, path)
        elif isinstance(want, nn.Module):
            _same_weights(got, want, label, within, path)
        else:
            _same_plain(got, want, like, label, within, path)


def _built_alike(actual: Any, expected: Any, label: str, path: nested.Path) -> None:
    """Demand containers of the same kind, with as many values or the same keys, at any depth."""
    kind = nested.container(expected)
    if kind is None:
        return
    if nested.container(actual) is not kind:
        raise Finding("built", label, actual, expected, path=path)
    came, wanted = dict(nested.entries(actual)), dict(nested.entries(expected))
    if set(came) != set(wanted):
        raise Finding("built", label, actual, expected, path=path)
    for key, want in wanted.items():
        _built_alike(came[key], want, label, (*path, key))


def _same_tensor(
    actual: Any,
    expected: Tensor,
    like: Tensor | None,
    label: str,
    within: Tolerance | None,
    place: str | None,
    path: nested.Path,
) -> None:
    like = expected if like is None else like
    if not isinstance(actual, Tensor):
        raise Finding("type", label, actual, expected.to(like.dtype), path=path)
    if actual.shape != expected.shape:
        raise Finding("shape", label, actual.detach(), expected, path=path)
    if actual.dtype != like.dtype:
        raise Finding("dtype", label, actual.detach(), expected.to(like.dtype), path=path)
    at_place(actual, like, label, place, path)
    close(actual, expected, label, within or tolerance.of(like.dtype), path)


def _same_weights(
    actual: Any, expected: nn.Module, label: str, within: Tolerance | None, path: nested.Path
) -> None:
    """Compare the weights of a module that came, by their names."""
    if not isinstance(actual, nn.Module):
        raise Finding("type", label, actual, expected, path=path)
    came, wanted = dict(actual.named_parameters()), dict(expected.named_parameters())
    if set(came) != set(wanted):
        detail = f"its weights are {_listed(came)}, and have to be {_listed(wanted)}"
        raise Finding("plain", label, sorted(came), sorted(wanted), detail, path=path)
    for name, weight in wanted.items():
        where = (*path, nested.Attribute(name))
        _same_tensor(came[name], weight.detach(), None, label, within, None, where)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _same_plain(
    actual: Any,
    expected: Any,
    like: Tensor | None,
    label: str,
    within: Tolerance | None,
    path: nested.Path,
) -> None:
    """Compare what is neither a tensor nor a module; floats are the same within a tolerance."""
    if type(actual) is not type(expected):
        raise Finding("type", label, actual, expected, path=path)
    if isinstance(expected, float):
        allowed = within or tolerance.of(torch.float32 if like is None else like.dtype)
        if math.isclose(actual, expected, rel_tol=allowed.relative, abs_tol=allowed.absolute):
            return
    if actual != expected:
        raise Finding("plain", label, actual, expected, path=path)


def at_place(
    actual: Tensor, like: Tensor, label: str, place: str | None = None, path: nested.Path = ()
) -> None:
    """Demand that a tensor is on the device of `like`, or at `place`.

    What comes from a process of its own is compared on the CPU; where it was there, and where it
    had to be, comes with it.
    """
    came, home = getattr(actual, "kit_place", (str(actual.device), str(like.device)))
    wanted = home if place is None else place
    if came != wanted:
        raise Finding("device", label, came, wanted, path=path)


def close(
    actual: Tensor, expected: Tensor, label: str, within: Tolerance, path: nested.Path = ()
) -> None:
    """Compare the values alone, in float64 on the CPU."""
    got, want = plain(actual), plain(expected)
    wrong = ~torch.isclose(got, want, rtol=within.relative, atol=within.absolute)
    if wrong.any():
        shown = want if actual.is_floating_point() else want.to(actual.dtype)
        raise Finding("value", label, got.to(actual.dtype), shown, wrong=wrong, path=path)


def plain(values: Tensor) -> Tensor:
    """Return the values in float64 on the CPU, cut from any graph."""
    return values.detach().cpu().double()


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


def unchanged(now: Any, before: Any, name: str) -> None:
    """Demand that an input still holds what it was given with.

    Args:
        now: the tensor, the module, or the list or dictionary that was handed over.
        before: a copy of it, made before.
        name: the input's name, with the path to this part of it.
    """
    if isinstance(before, nn.Module):
        weights = dict(now.named_parameters())
        for weight, was in before.named_parameters():
            unchanged(weights[weight].detach(), was.detach(), f"{name}.{weight}")
    elif isinstance(before, Tensor):
        intact = now.shape == before.shape and now.dtype == before.dtype
        if not intact or not torch.equal(plain(now).nan_to_num(), plain(before).nan_to_num()):
            raise Finding("changed", f"the input `{name}`", now.detach(), before)
