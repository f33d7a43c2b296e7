"""Which tensors of two devices CUDA lets meet in one operation, and which it refuses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten
# these copy from device to device, or look at nothing but shapes
CROSSES = {
    aten.copy_, aten.copy, aten._to_copy, aten._foreach_copy_, aten.is_same_size, aten.detach,
    aten.result_type, aten.set_, aten.fill_, aten.fill,
}  # fmt: skip
INDEXES = {aten.index, aten._unsafe_index}
INDEXED_PUTS = {
    aten.index_put, aten.index_put_, aten._index_put_impl_, aten._unsafe_index_put,
}  # fmt: skip
FILLS = {aten.masked_fill, aten.masked_fill_}
# built on the same iterator as those with the tag, and without it
ALSO_POINTWISE = {
    aten.floor_divide, aten.floor_divide_, aten.complex, aten.polar, aten.mse_loss,
    aten.smooth_l1_loss, aten.huber_loss, aten.linspace, aten.logspace, aten.lerp, aten.lerp_,
    aten.isclose, aten.rsub,
}  # fmt: skip
# tagged as if built on that iterator, or built without its allowance
TAKES_NO_SCALARS = {aten.equal, aten.clamp, aten.clamp_}
# the iterator takes one of them; these move theirs to the GPU beforehand
TAKES_ANY_NUMBER = {aten.where}


def refused(func: Any, args: Sequence[Any], here: Sequence[Tensor]) -> Tensor | None:
    """Return the tensor of the CPU that CUDA refuses in this operation; None if it takes all.

    Args:
        func: the operation, one argument at least being on a GPU.
        args: its arguments.
        here: those tensors among them that are on the CPU.
    """
    op = func.overloadpacket
    if op in CROSSES:
        return None
    if op in INDEXES or op in INDEXED_PUTS:
        return _refused_index(op in INDEXED_PUTS, args, here)
    if op in FILLS:
        mask_or_self = [one for one in args[:2] if any(one is other for other in here)]
        return mask_or_self[0] if mask_or_self else None
    allowed = _scalars(func, op)
    changed = args[0] if func._schema.is_mutable and args else None
    for count, one in enumerate(here, 1):
        if one.dim() or count > allowed or one is changed:
            return one
    return None


def _refused_index(puts: bool, args: Sequence[Any], here: Sequence[Tensor]) -> Tensor | None:
    """An index may be on the CPU whatever it picks from; the other way round is refused."""

    def on_cpu(value: Any) -> bool:
        return any(value is one for one in here)

    value = args[2] if puts and len(args) > 2 else None
    large = isinstance(value, Tensor) and value.dim() > 0
    if not on_cpu(args[0]):
        return value if large and on_cpu(value) else None
    elsewhere = [one for one in args[1] if one is not None and not on_cpu(one)]
    return args[0] if elsewhere or (large and not on_cpu(value)) else None


def _scalars(func: Any, op: Any) -> float:
    """Return how many tensors of the CPU an operation takes, if they have no dimensions."""
    if op in TAKES_NO_SCALARS:
        return 0
    if op in TAKES_ANY_NUMBER or op.__name__.startswith(("_foreach_", "_fused_")):
        return math.inf
    return 1 if torch.Tag.pointwise in func.tags or op in ALSO_POINTWISE else 0
