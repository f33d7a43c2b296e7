"""How exactly a GPU reckons: the same in every check, whatever torch or an answer has set.

By default cuDNN rounds float32 to TF32, with 10 bits for 23, and sums of half types may be rounded
at every step. Within a tolerance for float32 no answer would be right.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from grader import devices


def _of(holder: Any, name: str) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    return lambda: getattr(holder, name), lambda value: setattr(holder, name, value)


_MATMUL, _CUDNN = torch.backends.cuda.matmul, torch.backends.cudnn
# how each is read and set, and how it has to stand; the first also says whether matmul rounds to
# TF32, and sets what torch has newer words for
_EXACT: tuple[tuple[Callable[[], Any], Callable[[Any], None], Any], ...] = (
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"),
    (*_of(_CUDNN, "allow_tf32"), False),
    (*_of(_MATMUL, "allow_fp16_reduced_precision_reduction"), False),
    (*_of(_MATMUL, "allow_bf16_reduced_precision_reduction"), False),
)


def be_exact(device: str) -> None:
    """Let a device reckon as exactly as it can, from now on."""
    if devices.kind(device) == devices.CPU:
        return
    for _, write, exact in _EXACT:
        write(exact)


def _standing() -> Iterator[tuple[Callable[[Any], None], Any]]:
    for read, write, _ in _EXACT:
        # torch does not say how it stands where old and new words for it were mixed
        with contextlib.suppress(RuntimeError):
            yield write, read()


@contextlib.contextmanager
def exact(device: str) -> Iterator[None]:
    """Let a device reckon as exactly as it can inside, and put back how it was."""
    if devices.kind(device) == devices.CPU:
        yield
        return
    before = list(_standing())
    try:
        be_exact(device)
        yield
    finally:
        for write, was in before:
            write(was)
