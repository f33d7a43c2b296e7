"""The laws that hold for every function of the contract, stated once and applied to all cases.

A suite lists the cases of its functions, and `checks_by_law` makes a check of each law for each
function that it fits. Most checks go through several situations, one after the other; the first
that fails ends them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

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
    LARGE,
    drawn,
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
    has_a_place,
    has_floats,
    large,
    of_one_entry,
    ones,
    sized,
    sloped_at_any_size,
    squares,
    strided,
    subjects_of,
)
from grader.suite.promises import LEAVES, Citation, Rule
from grader.suite.refusals import Refusal, all_refused, require_sizes
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
    require_sizes(refusals)
    every = [*cases, *(case for case in special if case.everywhere)]
    floats = [case for case in every if has_floats(case)]
    # a batch, or a single entry, may take a path of its own through an answer
    plain = [c for case in cases if has_floats(case) for c in and_batched(case)]
    seldom = [c for case in floats if case not in cases for c in and_batched(case)]
    seldom += of_one_entry(cases)
    ways = [*plain, *seldom]
    sloped, seldom_sloped = ([case for case in some if case.slopes] for some in (plain, seldom))
    also_batched = [*every, *(case.at(2) for case in floats if case.takes_batches)]
    made = {
        "values": _made(values, cases),
        "square": _law(values, squares(cases), Rule("sizes"), about="shapes"),
        "ones": _law(values, ones(cases), Rule("sizes"), about="edges"),
        "many": _law(values_of_many, sized(cases), Rule("sizes"), about="shapes"),
        "drawn": _law(values_at_drawn_sizes, cases, Rule("sizes"), about="shapes"),
        "documents": _law(values, documents(cases), Rule("calls"), about="shapes"),
        "batches": _law(values, batches(cases), Rule("batch"), about="shapes"),
        "special": _made(values, special),
        "large": _law(values_of_large_scores, large(cases), None, about="values"),
        "large_in_dtypes": _law(large_scores_in_dtypes, large(cases), None, about="dtypes"),
        "gradients": _law(gradients, sloped, Rule("gradients"), "gradients"),
        "gradients_in_float64": _law(gradients_in_float64, sloped, Rule("gradients"), "dtypes"),
        "gradients_drawn": _law(
            gradients_at_drawn_sizes, sloped_at_any_size(cases), Rule("gradients"), "gradients"
        ),
        "gradients_alone": _law(
            gradients_of_one_input, apart(cases), Rule("gradients"), "gradients"
        ),
        "gradients_at_edges": _law(gradients_at_edges, seldom_sloped, Rule("gradients"), "edges"),
        "cost": _made(grows, costs, "costs"),
        "dtypes": _dtypes(ways),
        "of_nothing": _law(of_nothing, empty, None, about="edges"),
        "device_ready": _devices([case for case in every if has_a_place(case)], empty),
        "strides": _law(strides, strided(cases), Rule("strides"), about="calls"),
        "inputs_unchanged": _law(inputs_unchanged, also_batched, LEAVES, about="calls"),
        "called_again": _law(called_again, every, Rule("calls"), about="calls"),
        "arguments": _law(arguments, called(cases), Rule("arguments"), about="calls"),
        "refuses": _made(all_refused, refusals, "edges"),
    }
    return {f"test_{name}": made_check for name, made_check in made.items() if made_check}


def _made(
    law: Callable[[Any, Draw, Any], None],
    rows: Sequence[Any],
    about: str = "values",
    cites: Citation | tuple[Citation, ...] | None = None,
) -> Callable[..., None] | None:
    """Make one check of each row."""

    # a function of its own: a check's marks are written on it, and a law makes several checks
    def body(answer: Any, draw: Draw, case: Any) -> None:
        law(answer, draw, case)

    return vary("case", rows)(check(about=about, cites=cites)(body)) if rows else None


def _law(
    law: Law,
    cases: Sequence[Case],
    cites: Citation | tuple[Citation, ...] | None,
    about: str,
) -> Callable[..., None] | None:
    """Make one check of each function, that goes through all of its situations."""
    first = cites[0] if isinstance(cites, tuple) else cites

    def through_all(answer: Any, draw: Draw, subject: Subject) -> None:
        for one in subject.cases:
            with situation(one.label, _cited(one, first)):
                law(answer, draw, one)

    return _made(through_all, subjects_of(cases), about, cites)


def _cited(case: Case, cites: Citation | None) -> Citation:
    """Return what a case of a law enforces: several sequences are a matter of the batch first."""
    if cites == Rule("sizes") and case.takes_batches and any(size > 1 for size in case.batch):
        return Rule("batch")
    return case.cites if cites is None else cites


def _dtypes(cases: Sequence[Case]) -> Callable[..., None] | None:
    """Make one check of each function and dtype."""
    named = {str(dtype).removeprefix("torch."): dtype for dtype in OTHER_FLOATS}
    of_each = [replace(one, note=name) for one in subjects_of(cases) for name in named]

    def in_dtype(answer: Any, draw: Draw, subject: Subject) -> None:
        dtype = named[subject.note]
        for one in subject.cases:
            with situation(one.label, Rule("dtype")):
                values(answer, draw.using(dtype), one)
                # of many sums some are next to 0, and there digits are missing that were not had
                if dtype == torch.float64 and one.dimensions and not one.label:
                    values(answer, draw.using(dtype), drawn(draw, one, LARGE, one.batch))

    return _made(in_dtype, of_each, "dtypes", Rule("dtype"))


def _devices(cases: Sequence[Case], empty: Sequence[Case]) -> Callable[..., None] | None:
    """Make one check of each function; without an entry only who is right is asked."""

    def on_a_device(answer: Any, draw: Draw, subject: Subject) -> None:
        full = [one for one in subject.cases if one not in empty]
        devices.device_ready(answer, draw, full)
        devices.device_ready_if_right(answer, draw, [c for c in subject.cases if c in empty])

    return _made(on_a_device, subjects_of([*cases, *empty]), "devices", Rule("device"))
