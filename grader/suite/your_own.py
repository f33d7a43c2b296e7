"""Telling ready-made calls, where a chapter asks to do without: by name, and by the last bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.suite.case import Case, first_float, leaf
from grader.suite.compare import Finding, same, situation
from grader.suite.draw import Draw
from grader.suite.promises import Rule


def your_own(answer: Any, draw: Draw, family: str, cases: Sequence[Case]) -> None:
    """No ready-made call of a family is made, with gradients wanted or not, and values hold."""
    given = [case.given(draw) for case in cases]
    wanted = [case.want(inputs) for case, inputs in zip(cases, given, strict=True)]
    with answer.noticing(family) as seen:
        try:
            for case, inputs, want in zip(cases, given, wanted, strict=True):
                with situation(case.label, Rule("batch") if case.batch else None):
                    same(case.call(answer, inputs), want, like=first_float(inputs))
                case.call(answer, tuple(map(leaf, inputs)))
        finally:
            if seen:
                raise Finding("forbidden", cases[0].exercise, seen[0], detail=family)


def no_ready_softmax(got: Tensor, scores: Tensor, label: str) -> None:
    """Refuse what is to the bit what PyTorch's softmax gives, over rows, or columns that lie so."""
    _not_to_the_bit(got, [torch.softmax(scores, -1), torch.softmax(scores.mT.contiguous(), -2).mT],
                    label, "softmax")  # fmt: skip


def no_ready_attention(
    got: Tensor,
    given: Sequence[Tensor],
    label: str,
    merged: Callable[[Tensor], Tensor] = torch.clone,
) -> None:
    """Refuse what is to the bit what one of PyTorch's kernels for attention gives.

    Args:
        got: what came.
        given: query, key and value.
        label: what is compared.
        merged: puts heads together again.
    """
    query, key, value = given
    kernels = [
        F.scaled_dot_product_attention(query, key, value),
        torch.ops.aten._scaled_dot_product_attention_math(query, key, value)[0],
    ]
    _not_to_the_bit(got, list(map(merged, kernels)), label, "attention")


def _not_to_the_bit(got: Tensor, ready_made: Sequence[Tensor], label: str, name: str) -> None:
    """Tell PyTorch's own kernel by its last bits, whatever hides that it was called.

    Of some thousand numbers an own way to work them out agrees with it in a half at most.
    """
    if any(torch.equal(got, one) for one in ready_made):
        raise Finding("forbidden", label, name, detail=name)
