"""Telling ready-made calls, where a chapter asks to do without: by name, and by their rounding.

A row of weights sums to 1 but for the rounding, and that depends on the order in which the powers
were added up. Over many rows a kernel is known by it, also where its results were changed in their
last bits, by a factor or by a little noise: that moves all rows alike, or cancels out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.reading.families import Family
from grader.suite.case import Case, leaf
from grader.suite.compare import Finding, same, situation
from grader.suite.devices import goes_back
from grader.suite.draw import Draw
from grader.suite.promises import Rule

Ask = Callable[..., Tensor]
Kernels = Callable[..., list[Tensor]]
_OF_ATTENTION = (
    "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
    "_native_multi_head_attention", "_transformer_encoder_layer_fwd", "_safe_softmax",
)  # fmt: skip
_OF_SOFTMAX = (
    "_softmax", "_log_softmax", "_masked_softmax", "_softmax.out", "_log_softmax.out",
    "_softmax_backward_data", "_log_softmax_backward_data", "_masked_softmax_backward",
)  # fmt: skip
READY_ATTENTION = Family(
    "attention",
    r"attention(?!_mask)|transformer_encoder_layer|fused_sdp_choice|_flash_|_efficient_attn",
    tuple((name, "") for name in _OF_ATTENTION),
)
READY_SOFTMAX = Family(
    "softmax",
    rf"softmax|softmin|{READY_ATTENTION.pattern}",
    (
        *((name, "") for name in _OF_SOFTMAX),
        *READY_ATTENTION.kernels,
        *((name, "Sparse") for name in ("_sparse_softmax", "_sparse_log_softmax")),
        *((name, "Mkldnn") for name in ("_softmax", "_log_softmax")),
    ),
)
# many rows make a correlation sure, many keys give each order of adding up errors of its own
ROWS, KEYS, PIECE = 128, 256, 64
# the sizes that are drawn, and how many dimensions a batch has
DRAWN = [(range(2, 9), 0), (range(2, 4), 3)]
# whoever is right on its own in both needs nothing that is ready-made in any other call
TURNS = [(torch.float32, False), (torch.float64, True)]
# Measured with torch 2.13 on x86-64, as 1 minus the correlation, over a few seeds: the solutions,
# all variants and some other right ways 0.42 and more with AVX-512, a choice of them 0.5 and more
# with AVX2 or no vectors; kernels as they are 0, with a factor of 1 + eps, with 1e-9 added, or to
# the next number 0.01 at most, to the next one, up or down by chance, 0.12. Not told: noise of more
# than some last bits, and weights that are divided by their sum once more. PyTorch's softmax of a
# matrix's columns is not looked for: a plain loop adds up in the same order.
UNLIKE = 0.2


def your_own(answer: Any, draw: Draw, family: Family, cases: Sequence[Case]) -> None:
    """No ready-made call of a family is made, there and back, and values hold."""
    cases = [*cases, *(_drawn(draw, cases[0], *ranges) for ranges in DRAWN)]
    given = [case.given(draw) for case in cases]
    wanted = [case.want(inputs) for case, inputs in zip(cases, given, strict=True)]
    with answer.noticing(family) as seen:
        try:
            for case, inputs, want in zip(cases, given, wanted, strict=True):
                with situation(case.label, Rule("batch") if case.batch else None):
                    same(case.call(answer, inputs), want, like=case.like(inputs, want))
                case.call(answer, case.twins(inputs))
            output, leaves = cases[0].ask(answer, cases[0].twins(given[0]))
            goes_back(output, [one for _, one in leaves])
        finally:
            if seen:
                raise Finding("forbidden", cases[0].exercise, seen[0], detail=family.name)


def _drawn(draw: Draw, case: Case, sizes: range, dimensions: int) -> Case:
    """Draw the sizes of a case: a ready-made call may wait for some."""
    batch = [draw.one_of((1, 2, 3)) for _ in range(dimensions)] if case.takes_batches else []
    return case.at(*batch, **{name: draw.one_of(sizes) for name in case.dimensions})


def no_ready_softmax(
    draw: Draw, label: str, ask: Ask, inputs: Callable[[Draw], Sequence[Tensor]], right: Ask
) -> None:
    """Tell a ready-made softmax in what comes out, whatever hides that it was called.

    Args:
        draw: what the inputs are drawn with.
        label: what is asked.
        ask: calls the answer.
        inputs: draws scores, or a query and a key whose scores are exact.
        right: the weights in float64.
    """
    told_by_rounding(draw, (label, READY_SOFTMAX.name), ask, inputs, right, _softmaxes)


def no_ready_attention(
    draw: Draw, label: str, ask: Ask, right: Ask, heads: int = 1, rows: int = ROWS
) -> None:
    """Tell a ready-made attention in what comes out, whatever hides that it was called.

    Args:
        draw: what the inputs are drawn with.
        label: what is asked.
        ask: calls the answer with query, key and value, whose heads lie side by side.
        right: the output in float64.
        heads: how many there are.
        rows: how many queries.
    """

    def inputs(draw: Draw) -> list[Tensor]:
        query, key = eighths(draw, rows, PIECE * heads), eighths(draw, KEYS, PIECE).repeat(1, heads)
        return [query, key, one_each(draw, KEYS).repeat(1, heads)]

    def split(x: Tensor) -> Tensor:
        return x.unflatten(-1, (heads, PIECE)).transpose(-2, -3)

    told_by_rounding(
        draw, (label, READY_ATTENTION.name), lambda *given: split(ask(*given)), inputs,
        lambda *given: split(right(*given)),
        lambda *given: attentions(*map(split, given)),
        lambda *given: with_softmax(*map(split, given)),
    )  # fmt: skip


def attentions(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """Work out attention with each of PyTorch's kernels."""
    q, k, v = (x.reshape(-1, *x.shape[-3:]) for x in (query, key, value))
    fused = F.scaled_dot_product_attention(q, k, v).reshape(query.shape)
    return [fused, torch.ops.aten._scaled_dot_product_attention_math(query, key, value)[0]]


def with_softmax(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """Work out attention with PyTorch's softmax, which is allowed where attention is asked for."""
    return [torch.softmax(query @ key.mT / PIECE**0.5, -1) @ value]


def one_each(draw: Draw, rows: int) -> Tensor:
    """Make values that share out the weights, so that a row of the output sums to 1."""
    return torch.eye(PIECE, dtype=draw.dtype, device=draw.device).repeat(rows // PIECE, 1)


def eighths(draw: Draw, *shape: int) -> Tensor:
    """Draw whole numbers over 8: with a width of 64 scores are exact, however they are made."""
    return draw.integers(-20, 21, *shape).to(draw.dtype) / 8


def _softmaxes(*given: Tensor) -> list[Tensor]:
    """Work out weights with each of PyTorch's kernels."""
    scores = given[0] if len(given) == 1 else given[0] @ given[1].mT / PIECE**0.5
    each = torch.eye(KEYS, dtype=scores.dtype, device=scores.device)
    one = each[None, None]
    fused = F.scaled_dot_product_attention(scores[None, None], one, one, scale=1)
    made = [torch.softmax(scores, -1), torch.log_softmax(scores, -1).exp(), fused[0, 0]]
    if len(given) == 2:
        made.append(F.scaled_dot_product_attention(given[0], given[1], each))
    return made


def told_by_rounding(
    draw: Draw,
    named: tuple[str, str],
    ask: Ask,
    inputs: Callable[[Draw], Sequence[Tensor]],
    right: Ask,
    kernels: Kernels,
    allowed: Kernels = lambda *_: [],
) -> None:
    """Refuse what is off 1, row by row, as one of PyTorch's kernels is, and no allowed way.

    Args:
        draw: what the inputs are drawn with.
        named: what is asked, and the family of what is ready-made.
        ask: calls the answer.
        inputs: draws what it is asked with.
        right: what must come out, in float64: rows that sum to 1.
        kernels: works it out with each of PyTorch's kernels.
        allowed: works it out in ways that are allowed, and near to a kernel.
    """
    label, family = named
    for turn, (dtype, wanting) in enumerate(TURNS):
        given = inputs(draw.apart(f"turn {turn}").using(dtype))
        try:
            with torch.set_grad_enabled(wanting):
                got = ask(*(map(leaf, given) if wanting else given))
        except RuntimeError:
            if dtype == torch.float32:
                raise
            continue  # other checks are about dtypes
        asked = given
        if isinstance(got, Tensor) and got.is_floating_point():
            given = [x.to(got.dtype) for x in asked]
        same(got, right(*(x.double() for x in given)), like=given[0])
        bound = min([UNLIKE, *(_unlike(got, way) / 2 for way in allowed(*given))])
        ready_made = kernels(*given)
        if got.dtype != dtype:  # worked out in the dtype that was asked for, and turned
            ready_made += [one.to(got.dtype) for one in kernels(*asked)]
        if any(_unlike(got, one) < bound for one in ready_made):
            raise Finding("forbidden", label, family, detail=family)


def _off_one(weights: Tensor) -> Tensor:
    """Return how far the sum of each row is off 1, with no rounding of its own."""
    exact = weights.detach().cpu().double()
    coarse = (exact * 2.0**40).round() / 2.0**40
    return ((coarse.sum(-1) - 1) + (exact - coarse).sum(-1)).flatten()


def _unlike(one: Tensor, other: Tensor) -> float:
    """Return 0 for the same rounding in all rows, and about 1 for independent arithmetic."""
    alike = float(torch.corrcoef(torch.stack([_off_one(one), _off_one(other)]))[0, 1])
    # where all rows are off alike, as with a kernel that does not work here, nothing can be told
    return 1.0 if math.isnan(alike) else max(0.0, 1 - alike)
