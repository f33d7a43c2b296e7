"""Misfits that an earlier function had to refuse, too: which sentences speak of the same one."""

from __future__ import annotations

import re
from typing import Any, NoReturn

import torch

from grader import nested
from grader.judging.outcome import Outcome
from grader.suite.check import Check

NOT_REFUSED = ("not refused", "refused badly")
# `query` and `key` differ in width: what is said of names is the same of other names
NAMES = re.compile(r"`[^`]*`(?:,| and| or)?|\[[^]]*\]")
# what tells one misfit from another: is not a matrix with, does not broadcast to
WORDS = 4


def not_refused(outcome: Outcome) -> bool:
    """Tell whether a check failed because a misfit was not refused, or not as it has to be."""
    return outcome.finding is not None and outcome.finding.kind in NOT_REFUSED


def demands_refusal(check: Check) -> bool:
    """Tell whether a check is about what has to be refused."""
    return bool(_said(check))


def same_misfit(one: Check, other: Check) -> bool:
    """Tell whether two checks demand that the same is refused, under whatever names."""
    return bool(_said(one) & _said(other))


def refuses(*args: Any, **kwargs: Any) -> NoReturn:
    """Stand in for a function that refuses: whatever is handed over, it names all sizes."""
    given = nested.flat(*args, *kwargs.values())
    sizes = [tuple(one.shape) if isinstance(one, torch.Tensor) else one for one in given]
    raise ValueError(f"the sizes do not fit: {sizes}")


def _said(check: Check) -> set[tuple[str, ...]]:
    return {
        (error, *NAMES.sub(" ", says).strip(". ").split()[:WORDS])
        for error, found, says in (str(one).partition("Error: ") for one in check.cites)
        if found
    }
