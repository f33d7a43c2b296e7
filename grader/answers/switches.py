"""What is set for a whole process: put back when a chapter has been imported.

A chapter that sets such a switch at its top would set it for the suites as well, if it runs beside
them, and only for itself in a process of its own. Put back, it gets the same verdict both ways.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _device

from grader.written.cells import place

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Switch:
    """Something that is set for a whole process.

    Attributes:
        name: what it is, for a sentence.
        words: a pattern of the calls that set it.
        read: says how it stands.
        write: sets it.
    """

    name: str
    words: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]


@dataclass(frozen=True)
class PutBack:
    """A switch that a chapter had set at its top.

    Attributes:
        where: the chapter's file or notebook, and the line of the call.
        name: what the switch is.
    """

    where: str
    name: str

    @property
    def says(self) -> str:
        """A sentence for the student."""
        what = f"{self.where}, sets {self.name}"
        return f"{what}: it is put back after the import, here and in `grade`: leave it out"


# what ends torch's inference mode may not be let go: it would come back
_ended: list[torch.inference_mode] = []


def _end_inference_mode(_: bool) -> None:
    _ended.append(torch.inference_mode(False))
    _ended[-1].__enter__()


def _default_device() -> torch.device:
    # torch.get_default_device takes 9 us, and this is asked before and after each call
    return _device.CURRENT_DEVICE or CPU


def _set_default_device(device: torch.device) -> None:
    # a device that is set costs each call of torch a little, also if it is the CPU
    torch.set_default_device(None if device.type == "cpu" else device)


def _deterministic() -> tuple[bool, bool]:
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.are_deterministic_algorithms_enabled(), warn_only


def _matmul_precision() -> str:
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:  # so it says where old and new words for it were mixed
        return "mixed"


# inference mode first: it turns gradients off, and its end turns them on
SWITCHES = (
    Switch("torch's inference mode", r"inference_mode",
           torch.is_inference_mode_enabled, _end_inference_mode),
    Switch("whether torch tracks gradients", r"set_grad_enabled|no_grad|enable_grad",
           torch.is_grad_enabled, torch.set_grad_enabled),
    Switch("torch's default dtype", r"set_default_(dtype|tensor_type)",
           torch.get_default_dtype, torch.set_default_dtype),
    Switch("torch's default device", r"set_default_(device|tensor_type)",
           _default_device, _set_default_device),
    Switch("how many threads torch uses", r"set_num_threads",
           torch.get_num_threads, torch.set_num_threads),
    Switch("torch's deterministic algorithms", r"deterministic",
           _deterministic, lambda v: torch.use_deterministic_algorithms(v[0], warn_only=v[1])),
    Switch("how exactly torch multiplies float32", r"matmul_precision|allow_tf32|fp32_precision",
           _matmul_precision, torch.set_float32_matmul_precision),
    Switch("torch's anomaly detection", r"detect_anomaly",
           lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
           lambda v: torch.autograd.set_detect_anomaly(*v)),
    Switch("what numpy does about errors", r"seterr|errstate",
           np.geterr, lambda v: np.seterr(**v)),
    # its state is put back, and the seed with it, as `fork_rng` ends
    Switch("torch's seed", r"manual_seed|torch\.seed", torch.initial_seed, lambda _: None),
)  # fmt: skip


# whoever makes a model may seed torch
OF_CALLS = SWITCHES[:-1]


def standing() -> list[Any]:
    """Return how the switches stand that a call has to leave alone."""
    return [switch.read() for switch in OF_CALLS]


def put_back_from(before: list[Any]) -> list[str]:
    """Put back what a call has set since; return what that was."""
    found = []
    for switch, was in zip(OF_CALLS, before, strict=True):
        if switch.read() != was:
            switch.write(was)
            found.append(switch.name)
    return found


@contextlib.contextmanager
def put_back(file: str, source: bytes) -> Iterator[list[PutBack]]:
    """Put back what a chapter sets while it is imported; collect what that was.

    Args:
        file: the name of the chapter's file or notebook.
        source: what is imported.
    """
    found: list[PutBack] = []
    before = [switch.read() for switch in SWITCHES]
    devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    with warnings.catch_warnings(), torch.random.fork_rng(devices):
        try:
            yield found
        finally:
            for switch, was in zip(SWITCHES, before, strict=True):
                if switch.read() != was:
                    switch.write(was)
                    # without its words in the file a library that it imports has set it
                    line = _line(source, switch.words)
                    if line:
                        found.append(PutBack(place(source, line).of(file), switch.name))


def _line(source: bytes, words: str) -> int:
    """Return the line on which words stand, at the top of the file if they can; 0 for none."""
    text = source.decode("utf-8", "replace").replace("\r\n", "\n")
    found = re.search(rf"(?m)^\S.*({words})", text) or re.search(words, text)
    return 1 + text.count("\n", 0, found.start()) if found else 0
