"""Every tolerance of the kit, by dtype."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Tolerance(NamedTuple):
    """How far a value may lie from the expected one: absolute + relative * |expected|."""

    relative: float
    absolute: float

    def beside(self, expected: Tensor) -> Tolerance:
        """Return what is allowed where large terms add up to small entries, as in a gradient."""
        largest = expected.abs().max().item() if expected.numel() else 0.0
        return self._replace(absolute=self.absolute * max(1.0, largest))


# float64 leaves room for a constant that was rounded to float32 on the way, such as
# torch.sqrt(torch.tensor(d_k)); the half types for every step being rounded on its own.
BY_DTYPE = {
    torch.float64: Tolerance(1e-6, 1e-7),
    torch.float32: Tolerance(1e-4, 2e-5),
    torch.float16: Tolerance(2e-2, 2e-2),
    torch.bfloat16: Tolerance(8e-2, 1e-1),
}
# They hold on every device: what a GPU does less exactly by default is switched off in a check
# (grader/answers/precision.py), and what is left is another order of sums. `python -m
# grader.proof.cuda` says how much of them a GPU uses up: at most 0.18 of bfloat16's on an H100.
# those that checks use besides float32, which all of them use where nothing else is said
OTHER_FLOATS = tuple(dtype for dtype in BY_DTYPE if dtype != torch.float32)
EXACT = Tolerance(0.0, 0.0)


def of(dtype: torch.dtype) -> Tolerance:
    """Return the tolerance of `dtype`; integers and booleans must be equal."""
    return BY_DTYPE.get(dtype, EXACT)


def printed(digits: int) -> Tolerance:
    """Return the tolerance of a number printed with `digits` decimals: half a unit of the last."""
    return Tolerance(1e-6, 0.51 * 10.0**-digits)
