"""The laws that hold for every function of the contract, stated once and applied to all cases.

A suite lists the cases of its functions, and `checks_by_law` makes a check of each law for each
function that it fits. Most checks go through several situations, one after the other; the first
that fails ends them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from grader.suite import devices
from grader.suite.case import Case
from grader.suite.check import check, vary
from grader.suite.compare import situation
from grader.suite.costs import Growth, grows
from grader.suite.draw import Draw
from grader.suite.laws.calls import arguments, called_again
from grader.suite.laws.gradients import (
    gradients,
    gradients_at_drawn_sizes,
    gradients_at_edges,
    gradients_in_float64,
    gradients_of_one_input,
)
from grader.suite.laws.inputs import inputs_unchanged
from grader.suite.laws.layouts import strides
from grader.suite.laws.outputs import (
    large_scores_in_dtypes,
    of_nothing,
    values,
    values_at_drawn_sizes,
    values_of_large_scores,
    values_of_many,
)
from grader.suite.laws.situations import (
    Subject,
    and_batched,
    apart,
    batches,
    called,
    documents,
    floating,
    has_a_place,
    has_floats,
    large,
    of_one_entry,
    ones,
    sized,
    squares,
    strided,
    subjects_of,
)
from grader.suite.promises import LEAVES, Citation, Rule
from grader.suite.refusals import Refusal, all_refused
from grader.suite.tolerance import OTHER_FLOATS

Law = Callable[[Any, Draw, Case], None]


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
    floats = [case for case in every if has_floats(case)]
    # by a way of its own a batch may go, and what has a single entry
    plain = [c for case in cases if has_floats(case) for c in and_batched(case)]
    seldom = [c for case in floats if case not in cases for c in and_batched(case)]
    seldom += of_one_entry(cases)
    ways = [*plain, *seldom]
    sloped, seldom_sloped = ([case for case in some if case.slopes] for some in (plain, seldom))
    kept = [*every, *(case.at(2) for case in floats if case.takes_batches)]
    made = {
        "values": _each(values, cases),
        "square": _law(values, squares(cases), Rule("sizes"), about="shapes"),
        "ones": _law(values, ones(cases), Rule("sizes"), about="edges"),
        "many": _law(values_of_many, sized(cases), Rule("sizes"), about="shapes"),
        "drawn": _law(values_at_drawn_sizes, subjects_of(cases), Rule("sizes"), about="shapes"),
        "documents": _law(values, documents(cases), Rule("calls"), about="shapes"),
        "batches": _law(values, batches(cases), Rule("batch"), about="shapes"),
        "special": _each(values, special),
        "large": _law(values_of_large_scores, large(cases), None, about="values"),
        "large_in_dtypes": _law(large_scores_in_dtypes, large(cases), None, about="dtypes"),
        "gradients": _law(gradients, subjects_of(sloped), Rule("gradients"), "gradients"),
        "gradients_in_float64": _law(
            gradients_in_float64, subjects_of(sloped), Rule("gradients"), "dtypes"
        ),
        "gradients_drawn": _law(
            gradients_at_drawn_sizes, subjects_of(floating(cases)), Rule("gradients"), "gradients"
        ),
        "gradients_alone": _law(
            gradients_of_one_input, subjects_of(apart(cases)), Rule("gradients"), "gradients"
        ),
        "gradients_at_edges": _law(
            gradients_at_edges, subjects_of(seldom_sloped), Rule("gradients"), "edges"
        ),
        "cost": _costs(costs),
        "dtypes": _dtypes(ways),
        "of_nothing": _law(of_nothing, subjects_of(empty), None, about="edges"),
        "device_ready": _devices([case for case in every if has_a_place(case)], empty),
        "strides": _law(strides, strided(cases), Rule("strides"), about="calls"),
        "inputs_unchanged": _law(inputs_unchanged, subjects_of(kept), LEAVES, about="calls"),
        "called_again": _law(called_again, subjects_of(every), Rule("calls"), about="calls"),
        "arguments": _law(arguments, subjects_of(called(cases)), Rule("arguments"), about="calls"),
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


def _dtypes(cases: Sequence[Case]) -> Callable[..., None] | None:
    """Make one check of each function and dtype."""
    subjects = [replace(s, note=str(dtype).removeprefix("torch.")) for s in subjects_of(cases)
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

    subjects = subjects_of([*cases, *empty])
    marked = check(about="devices", cites=Rule("device"))(body)
    return vary("case", subjects)(marked) if subjects else None


def _refuses(refusals: Sequence[Refusal]) -> Callable[..., None] | None:
    def body(answer: Any, draw: Draw, case: Refusal) -> None:
        all_refused(answer, draw, case)

    return vary("case", refusals)(check(about="edges")(body)) if refusals else None
