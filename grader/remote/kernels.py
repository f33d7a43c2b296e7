"""The last net for ready-made calls: their kernels, whoever calls them and from where.

A mode of torch's does not see other threads and can be switched off. A kernel that has been put in
the place of torch's own is reached all the same. It works for the whole process, so it is for
workers only.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader import devices
from grader.reading.families import Family


@contextlib.contextmanager
def replaced(family: Family, note: Callable[[str], None], device: str) -> Iterator[None]:
    """Put kernels that note their name in the place of a family's own.

    Args:
        family: says which.
        note: is told the name of each that is called.
        device: the name of one.
    """
    library = torch.library.Library("aten", "IMPL")
    key = devices.key(device)
    keys = {"": key, "Sparse": f"Sparse{key}", "Mkldnn": "MkldnnCPU"}
    places = [(name, keys[kind]) for name, kind in family.kernels]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, where in places:
            # not every version of torch has all of them
            with contextlib.suppress(RuntimeError):
                library.impl(name, _noting(name, note, where == key), where)
    try:
        yield
    finally:
        library._destroy()


def _noting(name: str, note: Callable[[str], None], plain: bool) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        note(name)
        if plain and name in INSTEAD:
            return INSTEAD[name](*args, **kwargs)
        raise RuntimeError(f"the ready-made {name} is not there")

    return kernel


def overheard(note: Callable[[str], None]) -> None:
    """Note, from now on, calls of what is ready-made and has no kernel of its own.

    It is its first step that is replaced: whoever takes the wrapper apart finds that step alone.
    """
    step = F._mha_shape_check  # type: ignore[attr-defined]

    def _mha_shape_check(*args: Any, **kwargs: Any) -> Any:
        note("multi_head_attention_forward")
        return step(*args, **kwargs)

    F._mha_shape_check = _mha_shape_check  # type: ignore[attr-defined]


def _softmax(values: Tensor, dim: int, half_to_float: bool) -> Tensor:
    values = values.float() if half_to_float else values
    powers = torch.exp(values - values.amax(dim, keepdim=True)) if values.numel() else values
    return powers / powers.sum(dim, keepdim=True)


def _log_softmax(values: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return torch.log(_softmax(values, dim, half_to_float))


# with these a call goes on, so that what it was called with is the same as without this net
INSTEAD = {"_softmax": _softmax, "_log_softmax": _log_softmax}
