"""The law that inputs may lie in memory in any order, and the orders that are tried."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader import nested
from grader.suite.case import Case
from grader.suite.compare import same, situation
from grader.suite.draw import Draw


def strides(answer: Any, draw: Draw, case: Case) -> None:
    """Inputs whose memory is not in order give the same output."""
    for name, scatter in SCATTERED.items():
        if name == "turned" and not case.batch:
            continue
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


def cut_out(values: Tensor) -> Tensor:
    """Return equal values, as a part of something wider: rows begin at odd places."""
    if not values.dim():
        return values
    width = values.shape[-1]
    wider = values.new_zeros(*values.shape[:-1], width + 1 + width % 2)
    wider[..., 1 : width + 1] = values
    return wider[..., 1 : width + 1]


SCATTERED = {"swapped": swapped, "turned": turned, "cut out of a wider tensor": cut_out}
