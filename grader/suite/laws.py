"""The laws that hold for every function of the contract, stated once and applied to all cases.

A suite lists the cases of its functions, and `checks_by_law` makes a check of each law for each
function that it fits. Most checks go through several situations, one after the other; the first
that fails ends them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from grader.suite import devices
from grader.suite.case import Case, exact, first_float, floating, leaf
from grader.suite.check import check, vary
from grader.suite.compare import Finding, same, situation, unchanged
from grader.suite.draw import Draw
from grader.suite.expected import worked_out
from grader.suite.promises import Citation, Rule
from grader.suite.refusals import Refusal, refused
from grader.suite.tolerance import OTHER_FLOATS, Tolerance

Law = Callable[[Any, Draw, Case], None]
# blocks are 16, 32 or 64 wide
MANY = 67
# so many times is drawn anew until no two scores share the first place
TRIES = 60


@dataclass(frozen=True)
class Subject:
    """A function, and the situations in which a law is held against it."""

    exercise: str
    cases: tuple[Case, ...]
    note: str = ""

    @property
    def id(self) -> str:
        """The subject as it stands in a check's name."""
        return f"{self.exercise}-{self.note}" if self.note else self.exercise


def checks_by_law(
    cases: Sequence[Case],
    special: Sequence[Case] = (),
    refusals: Sequence[Refusal] = (),
    empty: Sequence[Case] = (),
) -> dict[str, Callable[..., None]]:
    """Make the checks of a suite that follow from laws, to be put among its own.

    Args:
        cases: how the functions are called; every law that fits is held against them.
        special: inputs that matter by themselves; their values are compared.
        refusals: what must be refused.
        empty: inputs without an entry, where a stub says what becomes of them.
    """
    every = [*cases, *(case for case in special if case.everywhere)]
    floats = [case for case in every if _floats(case)]
    # by a way of its own a batch may go, and what has a single entry
    ways = [*floats, *_of_one_entry(cases), *(c.at(2) for c in floats if c.takes_batches)]
    made = {
        "values": _each(values, cases),
        "square": _law(values, _squares(cases), Rule("sizes"), about="shapes"),
        "ones": _law(values, _ones(cases), Rule("sizes"), about="shapes"),
        "many": _law(values, _many(cases), Rule("sizes"), about="shapes"),
        "drawn": _law(values_at_drawn_sizes, _subjects(cases), Rule("sizes"), about="shapes"),
        "documents": _law(values, _documents(cases), Rule("calls"), about="shapes"),
        "batches": _law(values, _batches(cases), Rule("batch"), about="shapes"),
        "special": _each(values, special),
        "large": _law(values_of_large_scores, _large(cases), None, about="values"),
        "gradients": _law(gradients, _subjects(ways), Rule("gradients"), "gradients"),
        "dtypes": _dtypes(ways),
        "of_nothing": _law(of_nothing, _subjects(empty), None, about="edges"),
        "device_ready": _devices(every, empty),
        "strides": _law(strides, _strided(cases), Rule("strides"), about="calls"),
        "inputs_unchanged": _law(inputs_unchanged, _subjects(every), Rule("inputs"), about="calls"),
        "called_again": _law(called_again, _subjects(every), Rule("calls"), about="calls"),
        "arguments": _law(arguments, _subjects(cases), Rule("arguments"), about="calls"),
        "refuses": _refuses(refusals),
    }
    return {f"test_{name}": made_check for name, made_check in made.items() if made_check}


def _each(law: Law, cases: Sequence[Case]) -> Callable[..., None] | None:
    """Make one check of each case."""

    def body(answer: Any, draw: Draw, case: Case) -> None:
        law(answer, draw, case)

    return vary("case", cases)(check()(body)) if cases else None


def _law(
    law: Law, subjects: Sequence[Subject], cites: Citation | None, about: str
) -> Callable[..., None] | None:
    """Make one check of each function, that goes through all of its situations."""

    def body(answer: Any, draw: Draw, case: Subject) -> None:
        for one in case.cases:
            with situation(one.label, _cited(one, cites)):
                law(answer, draw, one)

    return vary("case", subjects)(check(about=about, cites=cites)(body)) if subjects else None


def _cited(case: Case, cites: Citation | None) -> Citation:
    """Return what a case of a law enforces: several sequences are a matter of the batch first."""
    if cites == Rule("sizes") and case.takes_batches and any(size > 1 for size in case.batch):
        return Rule("batch")
    return case.cites if cites is None else cites


def _subjects(cases: Iterable[Case], note: str = "") -> list[Subject]:
    """Put the cases of each function together."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.exercise, []).append(case)
    return [Subject(exercise, tuple(listed), note) for exercise, listed in found.items()]


def _floats(case: Case) -> bool:
    return any(floating(value) for value in case.given(Draw()))


# ---- the situations ----


def _squares(cases: Sequence[Case]) -> list[Subject]:
    """Let all sizes be the same: what is transposed or swapped fits, and differs by value."""
    found = []
    for case in cases:
        alike = dict.fromkeys(case.dimensions, 3)
        if len(alike) > 1:
            found.append(case.at(*case.batch, **alike))
        if alike and case.takes_batches:
            found.append(case.at(3, **alike))
    return _subjects(found)


def _ones(cases: Sequence[Case]) -> list[Subject]:
    """Let each size be 1, and then all of them: `squeeze` takes away more than meant."""
    found = []
    for case in cases:
        found += [case.at(*case.batch, **{name: 1}) for name in case.dimensions]
        if len(case.dimensions) > 1:
            found.append(_all_one(case, (1,) if case.takes_batches else case.batch))
    return _subjects(found)


def _many(cases: Sequence[Case]) -> list[Subject]:
    """Let each size be larger than a block: what is worked out in parts is put together."""
    return _subjects(
        case.at(*case.batch, **{name: MANY}) for case in cases for name in case.dimensions
    )


def _of_one_entry(cases: Sequence[Case]) -> list[Case]:
    """Let every size be 1: a slice of one entry has a gradient of its own."""
    return [_all_one(case, case.batch) for case in cases if case.dimensions and _floats(case)]


def _all_one(case: Case, batch: tuple[int, ...]) -> Case:
    return case.at(*batch, **dict.fromkeys(case.dimensions, 1))


def _documents(cases: Sequence[Case]) -> list[Subject]:
    """Take the sizes of the documents' examples, with other numbers than theirs."""
    return _subjects(case.at(**sizes) for case in cases for sizes in case.documents)


def _batches(cases: Sequence[Case]) -> list[Subject]:
    """Take no batch, one, one of a single sequence, and several; what was wide is narrow, too."""
    kinds = [(2,), (1,), (2, 3), (3, 1, 2)]
    batched = [case for case in cases if case.takes_batches]
    found = [case.at(*kind) for case in batched for kind in kinds]
    wide = [case for case in batched if len(case.dimensions) > 1]
    found += [case.at(*kind, **_mirrored(case)) for case in wide for kind in [(), (2,), (2, 3)]]
    return _subjects(found)


def _mirrored(case: Case) -> dict[str, int]:
    """Let the largest size change places with the smallest: a way of its own is gone by width."""
    ranked = sorted(case.dimensions, key=lambda name: case.dimensions[name])
    return {name: case.dimensions[other] for name, other in zip(ranked, ranked[::-1], strict=True)}


def _strided(cases: Sequence[Case]) -> list[Subject]:
    """Take each case as it is, and with one and two batch dimensions if it can have them."""
    batched = [case.at(*kind) for case in cases if case.takes_batches for kind in [(2,), (2, 3)]]
    return _subjects([*cases, *batched])


def _large(cases: Sequence[Case]) -> list[Subject]:
    return _subjects(case.at(**case.large) for case in cases if case.large is not None)


# ---- the laws ----


def values(answer: Any, draw: Draw, case: Case) -> None:
    """The output has the right shape, dtype, device and values; once more for other values."""
    # of one case each, so that what is remembered by its shape is not taken for an answer
    for _ in range(1 if case.label or draw.dtype != torch.float32 else 2):
        given = case.given(draw)
        want = case.want(given)
        same(case.call(answer, given), want, like=_like(given, want))


def values_at_drawn_sizes(answer: Any, draw: Draw, case: Case) -> None:
    """The values hold at sizes that no table can foresee."""
    for _ in range(2):
        sizes = {name: draw.one_of((2, 4, 6, 8, 9, 10, 11, 12, 13)) for name in case.dimensions}
        batch = [draw.one_of((1, 2, 3)) for _ in range(draw.one_of((0, 1, 2, 3)))]
        drawn = case.at(*(batch if case.takes_batches else case.batch), **sizes)
        with situation("sizes that were drawn"):
            values(answer, draw, drawn)


def values_of_large_scores(answer: Any, draw: Draw, case: Case) -> None:
    """Scores of nearly 1e4, which exp cannot take, are right in every dtype."""
    for dtype in (torch.float32, *OTHER_FLOATS):
        whole = draw.using(dtype, whole=64)
        given = next(filter(case_is_clear(case), (case.given(whole) for _ in range(TRIES))))
        with situation(str(dtype)):
            want = case.want(given)
            same(case.call(answer, given), want, like=_like(given, want))


def case_is_clear(case: Case) -> Callable[[tuple[Any, ...]], bool]:
    """Tell inputs whose largest scores stand alone: a tie is decided by the last bit."""

    def clear(given: tuple[Any, ...]) -> bool:
        exactly = tuple(map(exact, given))
        bent = tuple(v * (1 + 1e-3 * torch.sin(v)) if floating(v) else v for v in exactly)
        want = case.expected(*exactly, **case.options)
        other = case.expected(*bent, **case.options)
        return torch.allclose(want, other, rtol=0.05, atol=0.05)

    return clear


def of_nothing(answer: Any, draw: Draw, case: Case) -> None:
    """Inputs without an entry are taken, in every dtype."""
    for dtype in (torch.float32, *OTHER_FLOATS):
        with situation(str(dtype)):
            values(answer, draw.using(dtype), case)


def gradients(answer: Any, draw: Draw, case: Case) -> None:
    """Every float input gets the right gradient, by value, in float64."""
    draw = draw.using(torch.float64)
    given = tuple(map(leaf, case.given(draw)))
    want, slopes, pull = expected_gradients(case, given, draw)
    before = [v.detach().clone() if isinstance(v, Tensor) else v for v in given]
    output = case.call(answer, given)
    same(output, want, like=_like(given, want))
    leaves = [(name, value) for name, value in case.named(given) if floating(value)]
    try:
        gradients_match(output, leaves, slopes, pull)
    except Exception:
        # what was changed in place goes wrong on the way back, in words that say nothing of it
        _unchanged(answer, case, given, before)
        raise


def expected_gradients(
    case: Case, given: tuple[Any, ...], draw: Draw
) -> tuple[Tensor, list[Tensor | None], Tensor]:
    """Work out the right output, what arrives at each float input, and what is pulled with."""
    twins = tuple(map(leaf, given))

    def compute() -> tuple[Tensor, list[Tensor | None], Tensor]:
        want = case.want(twins)
        # minus infinity has no slope
        pull = draw.apart("pull")(*want.shape).masked_fill(torch.isinf(want.detach()), 0)
        slopes = pulled(want, [value for value in twins if floating(value)], pull)
        return want.detach(), slopes, pull

    return worked_out(f"gradients of {case.exercise}", compute)


def gradients_match(
    output: Tensor,
    leaves: list[tuple[str, Tensor]],
    expected: Sequence[Tensor | None],
    pull: Tensor,
    within: Tolerance | None = None,
) -> None:
    """Pull the output with a gradient and compare what arrives at the leaves."""
    if not output.requires_grad:
        raise Finding("no gradient", f"`{leaves[0][0]}`", detail="any input")
    got = pulled(output, [value for _, value in leaves], pull.to(output.dtype))
    for (name, _), arrived, right in zip(leaves, got, expected, strict=True):
        if right is None:
            continue
        if arrived is None:
            raise Finding("no gradient", f"`{name}`", detail="one input")
        same(arrived, right, label=f"the gradient of `{name}`", within=within)


def pulled(output: Tensor, leaves: list[Tensor], pull: Tensor) -> list[Tensor | None]:
    """Return what arrives at `leaves` when the gradient `pull` goes in at `output`.

    Through a sum: torch.autograd.grad with a gradient of its own would import 500 modules.
    """
    return list(torch.autograd.grad((output * pull).sum(), leaves, allow_unused=True))


def strides(answer: Any, draw: Draw, case: Case) -> None:
    """Inputs whose memory is not in order give the same output."""
    for name, scatter in SCATTERED.items() if case.batch else [("swapped", swapped)]:
        given = case.given(draw)
        want = case.want(given)
        scattered = tuple(scatter(v) if isinstance(v, Tensor) else v for v in given)
        with situation(name):
            same(case.call(answer, scattered), want, like=_like(given, want))


def swapped(values: Tensor) -> Tensor:
    """Return equal values, laid out with the last dimension varying slowest of the last two."""
    if values.dim() < 2:
        return spaced(values)
    return values.transpose(-1, -2).contiguous().transpose(-1, -2)


def turned(values: Tensor) -> Tensor:
    """Return equal values, laid out with the first dimension varying fastest."""
    if values.dim() < 2:
        return spaced(values)
    return values.movedim(0, -1).contiguous().movedim(-1, 0)


def spaced(values: Tensor) -> Tensor:
    """Return equal values with gaps between them."""
    return torch.stack([values, values], -1)[..., 0]


SCATTERED = {"swapped": swapped, "turned": turned}


def inputs_unchanged(answer: Any, draw: Draw, case: Case) -> None:
    """The call leaves its inputs as they were."""
    given = case.given(draw)
    before = [value.clone() if isinstance(value, Tensor) else value for value in given]
    want = case.want(given)
    output = case.call(answer, given)
    _unchanged(answer, case, given, before)
    same(output, want, like=_like(tuple(before), want))


def _unchanged(answer: Any, case: Case, given: tuple[Any, ...], before: Sequence[Any]) -> None:
    for (name, now), then in zip(case.named(given), before, strict=True):
        if isinstance(now, Tensor):
            unchanged(answer.became(now), then, name)


def called_again(answer: Any, draw: Draw, case: Case) -> None:
    """A call is right after another one with the same first argument, and after an equal one.

    What the equal one has returned is overwritten before.
    """
    given = case.given(draw)
    case.call(answer, given)
    other = (given[0], *case.given(draw)[1:])
    name, want = case.names()[0], case.want(other)
    label = f"the output of a second call with the same `{name}`"
    same(case.call(answer, other), want, like=_like(other, want), label=label)
    label = "the output of a second, equal call, after what the first one gave was overwritten"
    want = case.want(given)
    got = answer.after_overwriting(case.exercise, *given, **case.options)
    same(got, want, like=_like(given, want), label=label)


def arguments(answer: Any, draw: Draw, case: Case) -> None:
    """Arguments can be given by place or by name, and what has a default can be left out."""
    given = case.given(draw)
    want, names = case.want(given), case.names()
    function = getattr(answer, case.exercise)
    by_name = {**dict(zip(names, given, strict=False)), **case.options}
    places = [by_name.get(name, default) for name, default in defaults(case.expected)]
    for said, args, kwargs in (("by name", (), by_name), ("by place", places, {})):
        with situation(said):
            same(function(*args, **kwargs), want, like=_like(given, want))


def defaults(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Go through the parameters of a function, with their defaults."""
    import inspect

    for one in inspect.signature(function).parameters.values():
        yield one.name, one.default


def _like(given: tuple[Any, ...], want: Tensor) -> Tensor:
    """Return what the output must be like: the float input, or the output of a mask itself."""
    found = first_float(given) if floating(want) else None
    return want if found is None else found


def _dtypes(cases: Sequence[Case]) -> Callable[..., None] | None:
    """Make one check of each function and dtype."""
    subjects = [replace(s, note=str(dtype).removeprefix("torch.")) for s in _subjects(cases)
                for dtype in OTHER_FLOATS]  # fmt: skip
    by_note = {str(dtype).removeprefix("torch."): dtype for dtype in OTHER_FLOATS}

    def in_dtype(answer: Any, draw: Draw, case: Subject) -> None:
        for one in case.cases:
            with situation(one.label, Rule("dtype")):
                values(answer, draw.using(by_note[case.note]), one)

    cites = Rule("dtype")
    return (
        vary("case", subjects)(check(about="dtypes", cites=cites)(in_dtype)) if subjects else None
    )


def _devices(cases: Sequence[Case], empty: Sequence[Case]) -> Callable[..., None] | None:
    def body(answer: Any, draw: Draw, case: Subject) -> None:
        devices.device_ready(answer, draw, [one for one in case.cases if one not in empty])
        devices.device_ready_if_right(answer, draw, [one for one in case.cases if one in empty])

    subjects = _subjects([*cases, *empty])
    marked = check(about="devices", cites=Rule("device"))(body)
    return vary("case", subjects)(marked) if subjects else None


def _refuses(refusals: Sequence[Refusal]) -> Callable[..., None] | None:
    def body(answer: Any, draw: Draw, case: Refusal) -> None:
        refused(answer, draw, case)

    return vary("case", refusals)(check(about="edges")(body)) if refusals else None
