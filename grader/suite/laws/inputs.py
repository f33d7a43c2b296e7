"""The law that a call leaves its inputs as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from grader import nested
from grader.suite import devices
from grader.suite.case import Case, copied
from grader.suite.compare import Finding, same, situation, unchanged
from grader.suite.draw import Draw


def inputs_unchanged(answer: Any, draw: Draw, case: Case) -> None:
    """The call leaves its inputs as they were, and so does the way back."""
    given = case.given(draw)
    before, want = copied(given), case.want(given)
    output, _ = case.ask(answer, given)
    _refuse_changes(answer, case, given, before)
    same(output, want, like=case.like(before, want))
    # who switches gradients on at the end may be called with them off
    with torch.no_grad(), situation("gradients off"):
        output, _ = case.ask(answer, copied(before))
        same(output, want, like=case.like(before, want))
    given = case.twins(case.given(draw.using(torch.float64)))
    if case.tensors(given):
        before = copied(given)
        output, leaves = case.ask(answer, given)
        _refuse_changes(answer, case, given, before)
        if devices.goes_back(output, [value for _, value in leaves]):
            _refuse_changes(answer, case, given, before)


@contextmanager
def blaming_changed_inputs(
    answer: Any, case: Case, given: tuple[Any, ...], before: tuple[Any, ...]
) -> Iterator[None]:
    """Say of what goes wrong on the way back that an input was changed in place, if it was.

    PyTorch's own words say nothing of it.
    """
    try:
        yield
    except Exception:
        _refuse_changes(answer, case, given, before)
        raise


def _refuse_changes(
    answer: Any, case: Case, given: tuple[Any, ...], before: tuple[Any, ...]
) -> None:
    for (name, now), (_, then) in zip(case.named(given), case.named(before), strict=True):
        for path, held in nested.holders(now):
            became = answer.became(held)
            if became is not held:
                named = f"the input `{name}{nested.written(path)}`"
                raise Finding("changed", named, became, nested.at(then, path))
        for path, was in nested.leaves(then):
            unchanged(answer.became(nested.at(now, path)), was, name + nested.written(path))
