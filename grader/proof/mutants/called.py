"""What a call of a mutant is, and what it gave: for the calls that a chapter draws by itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from grader.answers.world import World
from grader.suite.draw import Draw

DTYPES = (torch.float64, torch.float64, torch.float32, torch.float16, torch.bfloat16)


@dataclass
class Result:
    """What a call gave: a value and what it did besides, a refusal, or an error.

    Attributes:
        value: what came back.
        besides: what it did besides.
        kind: of a refusal, ValueError or KeyError; None if there was none.
        refused: the words of the refusal.
        error: the name of another error.
    """

    value: Any = None
    besides: Any = None
    kind: type[Exception] | None = None
    refused: str = ""
    error: str = ""


Call = Callable[[World], Result]
# draws a call of an exercise, by dice and the number of the call, and says which it is
Drawing = Callable[[random.Random, int], tuple[str, Call]]


def of_module(layer: nn.Module, dtype: torch.dtype, at: int, given: Sequence[Any]) -> Result:
    """Call a module with drawn weights."""
    layer.to(dtype)
    draw = Draw(at, "weights", dtype=dtype)
    named = sorted(layer.named_parameters())
    with torch.no_grad():
        for _, weight in named:
            weight.copy_(draw(*weight.shape, scale=0.5))
    value = layer(*given)
    slopes: Any = ()
    if value.requires_grad and dtype == torch.float64:
        slopes = torch.autograd.grad(value.sum(), [w for _, w in named], allow_unused=True)
    return Result(value, [[name for name, _ in named], slopes, layer.training])
