"""What `torch.cuda` says on the pretended machine: there are two GPUs, and the first is current."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from grader.dry_run.generators import Maker
from grader.dry_run.kinds import KINDS


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _state(*_: Any, **__: Any) -> torch.Tensor:
    return torch.default_generator.get_state()


SAYS: dict[str, Callable[..., Any]] = {
    "is_available": lambda: True,
    "device_count": lambda: 2,
    "current_device": lambda: 0,
    "get_device_name": lambda *_: "pretended",
    "get_device_capability": lambda *_: (9, 0),
    "is_bf16_supported": lambda *_, **__: True,
    "is_current_stream_capturing": lambda: False,
    "max_memory_allocated": lambda *_: 0,
    "memory_allocated": lambda *_: 0,
    "synchronize": _nothing,
    "manual_seed": _nothing,
    "manual_seed_all": _nothing,
    "empty_cache": _nothing,
    "set_device": _nothing,
    "get_rng_state": _state,
    "set_rng_state": _nothing,
    "_exchange_device": lambda *_: -1,
    "_maybe_exchange_device": lambda *_: -1,
}


class _Stream:
    """A stream that nothing waits for."""

    def is_capturing(self) -> bool:
        """Record no graph."""
        return False

    def synchronize(self) -> None:
        """Be done."""


SAYS_ACCELERATOR: dict[str, Callable[..., Any]] = {
    "is_available": lambda: True,
    "device_count": lambda: 2,
    "current_accelerator": lambda *_, **__: torch.device("cuda"),
    "current_device_index": lambda: 0,
    "current_stream": lambda *_: _Stream(),
    "synchronize": _nothing,
}
MODULES = ((torch.cuda, SAYS), (getattr(torch, "accelerator", None), SAYS_ACCELERATOR))
SAID = [
    (module, name, says)
    for module, named in MODULES
    for name, says in named.items()
    if hasattr(module, name)
]


@contextlib.contextmanager
def pretended(default_changes: Callable[[Any], Callable[[], None]]) -> Iterator[None]:
    """Let torch say that there are GPUs.

    Args:
        default_changes: is called where somebody changes the default device; what it returns is
            called at the end.
    """
    changes: list[Callable[[], None]] = []
    default = torch.set_default_device

    def set_default_device(device: Any) -> None:
        default(device)
        changes.append(default_changes(device))

    names: list[tuple[Any, str, Any]] = [
        *SAID, *KINDS, (torch, "Generator", Maker),
        (torch, "set_default_device", set_default_device),
    ]  # fmt: skip
    try:
        with _replaced(names), swapping():
            yield
    finally:
        if changes:
            default(None)
            changes[-1]()


@contextlib.contextmanager
def as_it_is() -> Iterator[None]:
    """Let torch say the truth again, in the midst of pretending."""
    with _replaced(list(_before)), torch._C.DisableTorchFunction():
        yield


# what the names that are replaced at the moment stood for
_before: list[tuple[Any, str, Any]] = []


@contextlib.contextmanager
def _replaced(names: list[tuple[Any, str, Any]]) -> Iterator[None]:
    known = list(_before)
    old = [(owner, name, getattr(owner, name)) for owner, name, _ in names]
    _before[:] = known or old
    for owner, name, value in names:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in old:
            setattr(owner, name, value)
        _before[:] = known


@contextlib.contextmanager
def swapping() -> Iterator[None]:
    """Let `Module.to` swap tensors: it would give a pretended one another's memory."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
