"""The laws that hold for every function of the contract, stated once and applied to all cases.

A suite lists the cases of its functions, and `checks_by_law` makes a check of each law for each
function that it fits. Most checks go through several situations, one after the other; the first
that fails ends them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from grader import nested
from grader.suite import devices, tolerance
from grader.suite.case import Case, copied, exact, floating
from grader.suite.check import check, vary
from grader.suite.compare import Finding, later_call, of_gradients, same, situation, unchanged
from grader.suite.costs import Growth, grows
from grader.suite.draw import Draw
from grader.suite.expected import worked_out
from grader.suite.module_case import ModuleCase
from grader.suite.modules import stepped
from grader.suite.played import Played
from grader.suite.promises import RETURNS, Citation, Rule
from grader.suite.refusals import Refusal, all_refused
from grader.suite.tolerance import OTHER_FLOATS, Tolerance

Law = Callable[[Any, Draw, Case], None]
# more than any block, and no more than may be asked for
MANY = range(116, 132)
FEW, SOME, LARGE, WIDE = range(2, 6), range(2, 14), range(14, 22), range(22, 45)
# between what is drawn for all sizes at once and more than any block
BETWEEN = range(45, 116)
# what a call has to leave as it is
LEAVES = (Rule("inputs"), Rule("switches"))
# so many times is drawn anew until no two scores share the first place
TRIES = 60


@dataclass(frozen=True)
class Subject:
    """A function, and the situations in which a law is held against it."""

    exercise: str
    cases: tuple[Case, ...]
    note: str = ""

    @property
    def cites(self) -> Citation:
        """What all of its situations enforce; what comes out, if each has a sentence of its own."""
        cited = {case.cites for case in self.cases}
        return cited.pop() if len(cited) == 1 else RETURNS

    @property
    def id(self) -> str:
        """The subject as it stands in a check's name."""
        return f"{self.exercise}-{self.note}" if self.note else self.exercise


def checks_by_law(
    cases: Sequence[Case],
    special: Sequence[Case] = (),
    refusals: Sequence[Refusal] = (),
    empty: Sequence[Case] = (),
    costs: Sequence[Growth] = (),
) -> dict[str, Callable[..., None]]:
    """Make the checks of a suite that follow from laws, to be put among its own.

    Args:
        cases: how the functions are called; every law that fits is held against them.
        special: inputs that matter by themselves; their values are compared.
        refusals: what must be refused.
        empty: inputs without an entry, where a stub says what becomes of them.
        costs: how what a call makes may grow.
    """
    every = [*cases, *(case for case in special if case.everywhere)]
    floats = [case for case in every if _floats(case)]
    # by a way of its own a batch may go, and what has a single entry
    plain = [c for case in cases if _floats(case) for c in _and_batched(case)]
    seldom = [c for case in floats if case not in cases for c in _and_batched(case)]
    seldom += _of_one_entry(cases)
    ways = [*plain, *seldom]
    sloped, seldom_sloped = ([case for case in some if case.slopes] for some in (plain, seldom))
    kept = [*every, *(case.at(2) for case in floats if case.takes_batches)]
    made = {
        "values": _each(values, cases),
        "square": _law(values, _squares(cases), Rule("sizes"), about="shapes"),
        "ones": _law(values, _ones(cases), Rule("sizes"), about="edges"),
        "many": _law(values_of_many, _sized(cases), Rule("sizes"), about="shapes"),
        "drawn": _law(values_at_drawn_sizes, _subjects(cases), Rule("sizes"), about="shapes"),
        "documents": _law(values, _documents(cases), Rule("calls"), about="shapes"),
        "batches": _law(values, _batches(cases), Rule("batch"), about="shapes"),
        "special": _each(values, special),
        "large": _law(values_of_large_scores, _large(cases), None, about="values"),
        "large_in_dtypes": _law(large_scores_in_dtypes, _large(cases), None, about="dtypes"),
        "gradients": _law(gradients, _subjects(sloped), Rule("gradients"), "gradients"),
        "gradients_in_float64": _law(
            gradients_in_float64, _subjects(sloped), Rule("gradients"), "dtypes"
        ),
        "gradients_drawn": _law(
            gradients_at_drawn_sizes, _subjects(_floating(cases)), Rule("gradients"), "gradients"
        ),
        "gradients_alone": _law(
            gradients_of_one_input, _subjects(_apart(cases)), Rule("gradients"), "gradients"
        ),
        "gradients_at_edges": _law(
            gradients_at_edges, _subjects(seldom_sloped), Rule("gradients"), "edges"
        ),
        "cost": _costs(costs),
        "dtypes": _dtypes(ways),
        "of_nothing": _law(of_nothing, _subjects(empty), None, about="edges"),
        "device_ready": _devices([case for case in every if _has_a_place(case)], empty),
        "strides": _law(strides, _strided(cases), Rule("strides"), about="calls"),
        "inputs_unchanged": _law(inputs_unchanged, _subjects(kept), LEAVES, about="calls"),
        "called_again": _law(called_again, _subjects(every), Rule("calls"), about="calls"),
        "arguments": _law(arguments, _subjects(_called(cases)), Rule("arguments"), about="calls"),
        "refuses": _refuses(refusals),
    }
    return {f"test_{name}": made_check for name, made_check in made.items() if made_check}


def _each(law: Law, cases: Sequence[Case]) -> Callable[..., None] | None:
    """Make one check of each case."""

    def body(answer: Any, draw: Draw, case: Case) -> None:
        law(answer, draw, case)

    return vary("case", cases)(check()(body)) if cases else None


def _costs(costs: Sequence[Growth]) -> Callable[..., None] | None:
    """Make one check of each promise of a cost."""

    def body(answer: Any, draw: Draw, case: Growth) -> None:
        grows(answer, draw, case)

    return vary("case", costs)(check(about="costs")(body)) if costs else None


def _law(
    law: Law,
    subjects: Sequence[Subject],
    cites: Citation | tuple[Citation, ...] | None,
    about: str,
) -> Callable[..., None] | None:
    """Make one check of each function, that goes through all of its situations."""
    first = cites[0] if isinstance(cites, tuple) else cites

    def body(answer: Any, draw: Draw, case: Subject) -> None:
        for one in case.cases:
            with situation(one.label, _cited(one, first)):
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
    return bool(case.tensors(case.given(Draw())))


def _has_a_place(case: Case) -> bool:
    """Tell whether inputs say where the output is; what is asked for a device, its suite asks."""
    return "device" not in case.parameters()


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


def _sized(cases: Sequence[Case]) -> list[Subject]:
    return _subjects(case for case in cases if case.dimensions)


def _and_batched(case: Case) -> list[Case]:
    return [case, case.at(2)] if case.takes_batches else [case]


def _called(cases: Sequence[Case]) -> list[Case]:
    """List those that are one call, whose arguments can be given by their names."""
    return [case for case in cases if not isinstance(case, Played)]


def _floating(cases: Sequence[Case]) -> list[Case]:
    sloped = [case for case in cases if case.slopes and _floats(case)]
    return [case for case in sloped if case.dimensions or case.takes_batches]


def _apart(cases: Sequence[Case]) -> list[Case]:
    """List those of which one input may want a gradient while another one does not."""
    return [case for case in cases if case.slopes and len(case.tensors(case.given(Draw()))) > 1]


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
    kinds = [(2,), (1,), (2, 3), (3, 1, 2), (3, 3)]
    batched = [case for case in cases if case.takes_batches]
    found = [case.at(*kind) for case in batched for kind in kinds]
    wide = [case for case in batched if len(case.dimensions) > 1]
    found += [case.at(*kind, **_mirrored(case)) for case in wide for kind in [(), (2,), (2, 3)]]
    return _subjects(found)


def _mirrored(case: Case) -> dict[str, int]:
    """Reverse the order of the sizes: some answers take a way of their own for what is wide."""
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
        same(case.call(answer, given), want, like=case.like(given, want))


def values_of_many(answer: Any, draw: Draw, case: Case) -> None:
    """Each size may be larger than a block: what is worked out in parts is put together."""
    for name in case.dimensions:
        for sizes in (BETWEEN, MANY):
            one = case.at(*case.batch, **{name: draw.one_of(sizes)})
            with situation(one.label):
                values(answer, draw, one)


def values_at_drawn_sizes(answer: Any, draw: Draw, case: Case) -> None:
    """The values hold at sizes that no table can foresee, all of them large at once, too."""
    for sizes, dimensions, most in (
        (SOME, (0, 1, 2, 3), 3), (LARGE, (2, 3), 2), (WIDE, (0,), 1),
    ):  # fmt: skip
        batch = [draw.one_of(range(1, most + 1)) for _ in range(draw.one_of(dimensions))]
        with situation("sizes that were drawn"):
            values(answer, draw, _drawn(draw, case, sizes, batch))
    if case.takes_batches:
        more = [draw.one_of((1, 2, 3)) for _ in range(4)]
        for batch in (more, [draw.one_of(range(41, 71))]):
            with situation("a batch that was drawn", Rule("batch")):
                values(answer, draw, _drawn(draw, case, FEW, batch))


def _drawn(draw: Draw, case: Case, sizes: Sequence[int], batch: Sequence[int]) -> Case:
    """Draw every size of a case."""
    drawn = {name: draw.one_of(sizes) for name in case.dimensions}
    return case.at(*(batch if case.takes_batches else case.batch), **drawn)


def values_of_large_scores(answer: Any, draw: Draw, case: Case) -> None:
    """Scores of nearly 1e4, which exp cannot take, are right."""
    whole = draw.using(draw.dtype, whole=64)
    given = next(filter(case_is_clear(case), (case.given(whole) for _ in range(TRIES))))
    with situation(str(draw.dtype)):
        want = case.want(given)
        same(case.call(answer, given), want, like=case.like(given, want))


def large_scores_in_dtypes(answer: Any, draw: Draw, case: Case) -> None:
    """Scores of nearly 1e4 are right in the other dtypes, too."""
    for dtype in OTHER_FLOATS:
        values_of_large_scores(answer, draw.using(dtype), case)


def case_is_clear(case: Case) -> Callable[[tuple[Any, ...]], bool]:
    """Tell inputs whose largest scores stand alone: a tie is decided by the last bit."""

    def clear(given: tuple[Any, ...]) -> bool:
        exactly = exact(given)
        want, other = case.worked_out(exactly), case.worked_out(nested.mapped(_bent, exactly))
        pairs = zip(nested.flat(want), nested.flat(other), strict=True)
        return all(
            torch.allclose(one, two, rtol=0.05, atol=0.05) for one, two in pairs if floating(one)
        )

    return clear


def _bent(value: Any) -> Any:
    return value * (1 + 1e-3 * torch.sin(value)) if floating(value) else value


def of_nothing(answer: Any, draw: Draw, case: Case) -> None:
    """Inputs without an entry are taken, in every dtype."""
    for dtype in (torch.float32, *OTHER_FLOATS):
        with situation(str(dtype)):
            values(answer, draw.using(dtype), case)


def gradients(
    answer: Any, draw: Draw, case: Case, laid: Callable[[Tensor], Tensor] | None = None
) -> None:
    """Every float input gets the right gradient, by value.

    Args:
        answer: the chapter.
        draw: the inputs.
        case: how it is called.
        laid: how what goes in at the output lies in memory; in order, if nothing is said.
    """
    given = case.twins(case.given(draw))
    want, slopes, pull = expected_gradients(case, given, draw)
    before = copied(given)
    output, leaves = case.ask(answer, given)
    same(output, want, like=case.like(given, want))
    if laid is not None:
        pull = nested.mapped(lambda one: one if one is None else laid(one), pull)
    with _unless_changed(answer, case, given, before):
        gradients_match(output, leaves, slopes, pull)


@contextmanager
def _unless_changed(
    answer: Any, case: Case, given: tuple[Any, ...], before: tuple[Any, ...]
) -> Iterator[None]:
    """Say of what goes wrong on the way back that an input was changed in place, if it was.

    PyTorch's own words say nothing of it.
    """
    try:
        yield
    except Exception:
        _unchanged(answer, case, given, before)
        raise


def gradients_in_float64(answer: Any, draw: Draw, case: Case) -> None:
    """Gradients have all the digits of float64."""
    gradients(answer, draw.using(torch.float64), case)


def gradients_at_drawn_sizes(answer: Any, draw: Draw, case: Case) -> None:
    """Gradients are right at any sizes, in any batch, and whatever the order of what comes in."""
    batch = [draw.one_of(FEW), draw.one_of(FEW)]
    with situation("sizes that were drawn"):
        gradients(answer, draw, _drawn(draw, case, SOME, batch), turned_round)


def gradients_of_one_input(answer: Any, draw: Draw, case: Case) -> None:
    """Each input gets its gradient where no other one wants any."""
    given = case.twins(case.given(draw))
    want, slopes, pull = expected_gradients(case, given, draw)
    if isinstance(case, ModuleCase):
        # its weights always want theirs
        alone = [(*given[:2], *nested.mapped(_cut, given[2:]))]
        places: list[range] = [range(len(given[1]))]
    else:
        alone = [_wanting(given, one) for _, one in case.tensors(given)]
        places = [range(place, place + 1) for place in range(len(alone))]
    for some, which in zip(alone, places, strict=True):
        right = [slopes[place] for place in which]
        before = copied(some)
        output, leaves = case.ask(answer, some)
        with situation("no other input wants a gradient"):
            same(output, want, like=case.like(given, want))
            if any(one is not None for one in right):
                own = [leaves[place] for place in which]
                with _unless_changed(answer, case, some, before):
                    gradients_match(output, own, right, _where_it_goes(output, pull))


def _where_it_goes(output: Any, pull: Any) -> Any:
    """Leave out outputs that have nothing to do with what wants a gradient, but never all of them.

    What is left out wrongly is missing in what arrives.
    """
    pairs = [(path, one) for path, one in nested.leaves(pull) if one is not None]
    goes = {id(one) for path, one in pairs if nested.at(output, path).requires_grad}
    return nested.mapped(lambda one: one if id(one) in goes else None, pull) if goes else pull


def _wanting(given: tuple[Any, ...], one: Tensor) -> tuple[Any, ...]:
    """Cut off all inputs but one."""
    cut: tuple[Any, ...] = nested.mapped(
        lambda value: value if value is one else _cut(value), given
    )
    return cut


def gradients_at_edges(answer: Any, draw: Draw, case: Case) -> None:
    """Gradients are right where much is masked, or there is a single entry."""
    gradients(answer, draw, case)
    gradients_in_float64(answer, draw, case)


def expected_gradients(
    case: Case, given: tuple[Any, ...], draw: Draw
) -> tuple[Any, list[Tensor | None], Any]:
    """Work out the right output, what arrives at each float input, and what is pulled with.

    What is pulled with is built like the output, and None where no gradient goes in.
    """

    def compute() -> tuple[Any, list[Tensor | None], Any]:
        twins = case.twins(given)
        exactly = exact(twins)
        want, drawn = case.worked_out(exactly), draw.apart("pull")

        def pulling(value: Any) -> Tensor | None:
            if not floating(value) or not value.requires_grad:
                return None
            # minus infinity has no slope
            return drawn(*value.shape).masked_fill(torch.isinf(value.detach()), 0)

        pairs = zip(case.tensors(twins), case.tensors(exactly), strict=True)
        # a model's weights are leaves of the copy that is worked with
        leaves = [(twin, copy if copy.is_leaf else twin) for (_, twin), (_, copy) in pairs]
        pull = nested.mapped(pulling, want)
        slopes = pulled(want, [one for _, one in leaves], pull)
        alike = [
            slope if slope is None else slope.to(twin.dtype)
            for slope, (twin, _) in zip(slopes, leaves, strict=True)
        ]
        return nested.mapped(_cut, want), alike, pull

    return worked_out(f"gradients of {case.exercise}", compute, given)


def _cut(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def gradients_match(
    output: Any,
    leaves: list[tuple[str, Tensor]],
    expected: Sequence[Tensor | None],
    pull: Any,
    within: Tolerance | None = None,
) -> None:
    """Pull the output with a gradient and compare what arrives at the leaves."""
    wanted = [path for path, one in nested.leaves(pull) if one is not None]
    cut = [path for path in wanted if not nested.at(output, path).requires_grad]
    if wanted and cut == wanted:
        raise _is_cut_off(leaves, cut[0])
    got = pulled(output, [value for _, value in leaves], _where_it_goes(output, pull))
    for (name, _), arrived, right in zip(leaves, got, expected, strict=True):
        if right is None:
            continue
        if arrived is None:
            raise Finding("no gradient", f"`{name}`", detail="one input")
        if cut:  # not before: an output may depend on this input alone
            continue
        allowed = (within or tolerance.of(right.dtype)).beside(right)
        with of_gradients():
            same(arrived, right, label=f"the gradient of `{name}`", within=allowed)
    if cut:
        raise _is_cut_off(leaves, cut[0])


def _is_cut_off(leaves: list[tuple[str, Tensor]], path: nested.Path) -> Finding:
    """Say from which output nothing goes back."""
    several = len(leaves) > 1 and path
    name = "the inputs" if several else f"`{leaves[0][0]}`"
    part = f" from {nested.spoken(path)}" if path else ""
    return Finding("no gradient", f"{name}{part}", detail="any input")


def pulled(output: Any, leaves: list[Tensor], pull: Any) -> list[Tensor | None]:
    """Return what arrives at `leaves` when the gradient `pull` goes in at `output`.

    Through a sum: torch.autograd.grad with a gradient of its own would import 500 modules.
    """
    pairs = [(nested.at(output, path), one) for path, one in nested.leaves(pull) if one is not None]
    sums = [(value * one.to(value.dtype)).sum() for value, one in pairs]
    if not sums:
        return [None] * len(leaves)
    return list(torch.autograd.grad(sums, leaves, allow_unused=True))


def strides(answer: Any, draw: Draw, case: Case) -> None:
    """Inputs whose memory is not in order give the same output."""
    for name, scatter in SCATTERED.items() if case.batch else [("swapped", swapped)]:
        given = case.given(draw)
        want = case.want(given)
        scattered = nested.mapped(functools.partial(_scattered, scatter), given)
        with situation(name):
            same(case.call(answer, scattered), want, like=case.like(given, want))


def _scattered(scatter: Callable[[Tensor], Tensor], value: Any) -> Any:
    return scatter(value) if isinstance(value, Tensor) else value


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


def turned_round(values: Tensor) -> Tensor:
    """Return equal values, laid out with all dimensions in the other order: none can be joined."""
    if values.dim() < 2:
        return spaced(values)
    other = tuple(reversed(range(values.dim())))
    return values.permute(other).contiguous().permute(other)


def spaced(values: Tensor) -> Tensor:
    """Return equal values with gaps between them."""
    return torch.stack([values, values], -1)[..., 0]


SCATTERED = {"swapped": swapped, "turned": turned}


def inputs_unchanged(answer: Any, draw: Draw, case: Case) -> None:
    """The call leaves its inputs as they were, and so does the way back."""
    given = case.given(draw)
    before, want = copied(given), case.want(given)
    output, _ = case.ask(answer, given)
    _unchanged(answer, case, given, before)
    same(output, want, like=case.like(before, want))
    # who switches gradients on at the end may be called with them off
    with torch.no_grad(), situation("gradients off"):
        output, _ = case.ask(answer, copied(before))
        same(output, want, like=case.like(before, want))
    given = case.twins(case.given(draw.using(torch.float64)))
    if case.tensors(given):
        before = copied(given)
        output, leaves = case.ask(answer, given)
        _unchanged(answer, case, given, before)
        if devices.goes_back(output, [value for _, value in leaves]):
            _unchanged(answer, case, given, before)


def _unchanged(answer: Any, case: Case, given: tuple[Any, ...], before: tuple[Any, ...]) -> None:
    for (name, now), (_, then) in zip(case.named(given), case.named(before), strict=True):
        for path, held in nested.holders(now):
            became = answer.became(held)
            if became is not held:
                named = f"the input `{name}{nested.written(path)}`"
                raise Finding("changed", named, became, nested.at(then, path))
        for path, was in nested.leaves(then):
            unchanged(answer.became(nested.at(now, path)), was, name + nested.written(path))


def called_again(answer: Any, draw: Draw, case: Case) -> None:
    """A call is right after another one with the same first argument, and after an equal one.

    What the equal one has returned is overwritten, before and after.
    """
    if isinstance(case, ModuleCase):
        module_called_again(answer, draw, case)
        return
    # of sizes that no check has seen before: what is kept may be kept by them
    case = _drawn(draw, case, SOME, case.batch)
    given = case.given(draw)
    # where the first call is wrong already, nothing is kept by it
    first = case.want(given)
    same(case.call(answer, given), first, like=case.like(given, first))
    other = (given[0], *case.given(draw)[1:])
    name, want = case.names()[0], case.want(other)
    label = f"the output of a second call with the same `{name}`"
    with later_call():
        same(case.call(answer, other), want, like=case.like(other, want), label=label)
    if isinstance(case, Played):
        return
    label = "the output of a second, equal call, after what the first one gave was overwritten"
    with later_call():
        got = answer.after_overwriting(case.exercise, *given, **case.options)
        same(got, first, like=case.like(given, first), label=label)


def module_called_again(answer: Any, draw: Draw, case: ModuleCase) -> None:
    """A module is right after a call with other inputs, and after its weights were changed."""
    for training in (True, False):
        with situation(f"{'train' if training else 'eval'} mode"):
            _called_again_in_mode(answer, draw, case, training)


def _called_again_in_mode(answer: Any, draw: Draw, case: ModuleCase, training: bool) -> None:
    given, other, last = case.given(draw), case.given(draw), case.given(draw)
    layer, want = case.make(answer, given).train(training), case.want(given)
    same(case.through(answer, layer, given), want, like=case.like(given, want))
    for said, inputs, put in (
        ("the output of a second call, with other inputs", (*given[:2], *other[2:]), None),
        (
            "the output of a third call, after the weights were changed",
            (given[0], *other[1:]),
            _load,
        ),
        (
            "the output of a fourth call, after the weights were changed as an optimizer does it",
            (given[0], *last[1:]),
            stepped,
        ),
    ):
        if put is not None:
            put(layer, inputs[1])
        want = case.want(inputs)
        with later_call():
            got = case.through(answer, layer, inputs)
            same(got, want, like=case.like(inputs, want), label=said)


def _load(layer: nn.Module, weights: dict[str, Tensor]) -> None:
    layer.load_state_dict(weights)


def arguments(answer: Any, draw: Draw, case: Case) -> None:
    """Arguments can be given by place or by name, and what has a default can be left out."""
    given = case.given(draw)
    want, called = case.want(given), case.arguments(given)
    function, known = case.callee(answer, given), case.parameters()
    by_name = {**dict(zip(known, called, strict=False)), **case.options}
    places = [by_name.get(name, default) for name, default in known.items()]
    for said, args, kwargs in (("by name", (), by_name), ("by place", places, {})):
        with situation(said):
            same(function(*args, **kwargs), want, like=case.like(given, want))


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
        all_refused(answer, draw, case)

    return vary("case", refusals)(check(about="edges")(body)) if refusals else None
