"""Telling ready-made calls, where a chapter asks to do without: by name, and by the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from grader.suite.case import Case, first_float, leaf
from grader.suite.compare import Finding, same
from grader.suite.draw import Draw


def your_own(answer: Any, draw: Draw, family: str, cases: Sequence[Case]) -> None:
    """No ready-made call of a family is made, with gradients wanted or not, and values hold."""
    given = [case.given(draw) for case in cases]
    wanted = [case.want(inputs) for case, inputs in zip(cases, given, strict=True)]
    outputs = []
    with answer.noticing(family) as seen:
        try:
            for case, inputs in zip(cases, given, strict=True):
                outputs.append(case.call(answer, inputs))
                case.call(answer, tuple(map(leaf, inputs)))
        finally:
            if seen:
                raise Finding("forbidden", cases[0].exercise, seen[0], detail=family)
    for output, want, inputs in zip(outputs, wanted, given, strict=True):
        same(output, want, like=first_float(inputs))


def not_to_the_bit(got: Any, ready_made: Sequence[Tensor], label: str, name: str) -> None:
    """Tell PyTorch's own kernel by its last bits, whatever hides that it was called.

    Of some thousand numbers an own way to work them out agrees with it in a half at most.

    Args:
        got: what came, right within the tolerance.
        ready_made: what PyTorch's kernels give for the same inputs.
        label: what is compared.
        name: the ready-made call, and its family.
    """
    if any(torch.equal(got, one) for one in ready_made):
        raise Finding("forbidden", label, name, detail=name)


def softmax_kernels(scores: Tensor) -> list[Tensor]:
    """Work out a softmax with PyTorch's own, over rows, and over columns that lie like rows."""
    return [torch.softmax(scores, -1), torch.softmax(scores.mT.contiguous(), -2).mT]


def attention_kernels(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """Work out an attention with each of PyTorch's kernels."""
    math = torch.ops.aten._scaled_dot_product_attention_math(query, key, value)[0]
    return [torch.nn.functional.scaled_dot_product_attention(query, key, value), math]
