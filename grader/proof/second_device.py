"""A second device for a machine without one: numbers on the CPU, under another device's name.

Torch keeps its tensors apart from the CPU's and refuses to mix them, as it does for a GPU. It has
no generator, which no backend written in Python can have, and may be told to have no float64. It
says nothing about a GPU's arithmetic, speed, memory or drivers. It needs torch 2.10 or newer.

`package` writes it as a package that brings torch a device, into an environment of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

NAME = "second"
LIBRARIES: list[Any] = []
INNER: dict[int, tuple[Any, Any]] = {}
SWEPT_EVERY = 500


def is_possible() -> bool:
    """Tell whether this torch takes a backend that is written in Python."""
    import torch.utils.backend_registration as torchs

    return hasattr(torchs, "_setup_privateuseone_for_python_backend")


def use(without: tuple[str, ...] = ()) -> None:
    """Bring torch the device, in this process.

    Args:
        without: dtypes that it does not have.
    """
    import torch
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    _setup_privateuseone_for_python_backend(NAME)  # type: ignore[no-untyped-call]
    missing = {getattr(torch, name) for name in without}
    fallback = torch.library.Library("_", "IMPL")
    fallback.fallback(lambda op, *a, **k: _done(missing, op, a, k), "PrivateUse1")
    aten = torch.library.Library("aten", "IMPL")

    def copy_(self: Any, source: Any, non_blocking: bool = False) -> Any:  # noqa: ARG001
        inner(self).copy_(inner(source))
        return self

    def as_strided(self: Any, size: Any, stride: Any, offset: int | None = None) -> Any:
        found = inner(self)
        if not found.numel():
            return _wrapped(torch.empty(size, dtype=found.dtype), missing)
        # torch counts in the order of our numbers, which theirs need not be in
        steps = [_step(self, found, step) for step in stride]
        start = found.storage_offset() + _step(self, found, offset or 0)
        return _wrapped(found.as_strided(size, steps, start), missing)

    def as_strided_(self: Any, size: Any, stride: Any, offset: int | None = None) -> Any:
        self.data = as_strided(self, size, stride, offset)
        return self

    def view(self: Any, size: Any) -> Any:
        # torch takes our numbers to be in order; where theirs are not, this is a copy
        return _wrapped(inner(self).reshape(size), missing)

    aten.impl("copy_", copy_, "PrivateUse1")
    aten.impl("as_strided_", as_strided_, "PrivateUse1")
    aten.impl("view", view, "PrivateUse1")
    aten.impl("as_strided", as_strided, "PrivateUse1")
    LIBRARIES.extend([fallback, aten])


def inner(value: Any) -> Any:
    """Return the tensor on the CPU that has the numbers."""
    if value.device.type != NAME:
        return value
    # by its storage: torch makes copies and views of a tensor that know nothing of Python's notes
    found = INNER[value.untyped_storage()._cdata][0]
    return found if found.shape == value.shape else found.reshape(value.shape)


def _step(value: Any, found: Any, step: int) -> int:
    """Turn a step in the row of a tensor's numbers into one in the memory of the other."""
    each = zip(value.shape, value.stride(), found.stride(), strict=True)
    return sum((step // ours % size) * theirs for size, ours, theirs in each if ours)


def _done(missing: set[Any], op: Any, args: Any, kwargs: Any) -> Any:
    """Do an operation with the tensors on the CPU."""
    import torch
    from torch.utils import _pytree

    to = kwargs.get("device")
    leaves_us = to is not None and torch.device(to).type != NAME
    ours: dict[int, Any] = {}
    shapes: list[tuple[Any, Any, Any]] = []

    def inside(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.device.type == NAME:
            found = inner(value)
            ours[id(found)] = value
            shapes.append((value, found, found.shape))
            return found
        is_place = isinstance(value, torch.device) and value.type == NAME
        return torch.device("cpu") if is_place else value

    def outside(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or leaves_us:
            return value
        return ours[id(value)] if id(value) in ours else _wrapped(value, missing)

    # a number that stands for a tensor comes as a number
    pairs = zip(args, op._schema.arguments, strict=False)
    args = tuple(
        torch.tensor(value) if str(of.type) == "Tensor" and _is_number(value) else value
        for value, of in pairs
    )
    args, kwargs = _pytree.tree_map(inside, (args, kwargs))
    out = op(*args, **kwargs)
    for value, found, before in shapes:
        if found.shape != before:  # an output that was made empty and has grown
            value.data = _wrapped(found, missing)
    return _pytree.tree_map(outside, out)


def _is_number(value: Any) -> bool:
    return type(value) in (bool, int, float)


def _wrapped(value: Any, missing: set[Any]) -> Any:
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef

    if value.dtype in missing:
        raise TypeError(f"{NAME} has no {str(value.dtype).removeprefix('torch.')}")
    made = torch._C._acc.create_empty_tensor(tuple(value.shape), value.dtype)
    storage = made.untyped_storage()
    INNER[storage._cdata] = (value, StorageWeakRef(storage))
    if len(INNER) % SWEPT_EVERY == 0:
        for number in [key for key, (_, ref) in INNER.items() if ref.expired()]:
            del INNER[number]
    return made


def package(folder: Path, code: str | None = None, name: str = NAME) -> Path:
    """Make an environment with a package that brings torch a device; return its Python.

    Args:
        folder: for the environment, which has all of this one's packages besides.
        code: of the package's module, whose `load` torch calls; by default that of this device.
        name: of the package.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    here = f"python{sys.version_info.major}.{sys.version_info.minor}"
    lib = "Lib/site-packages" if os.name == "nt" else f"lib/{here}/site-packages"
    packages = folder / lib
    (packages / "this_environment.pth").write_text(sysconfig.get_path("purelib") + "\n")
    about = packages / f"torch_{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch-{name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[torch.backends]\n{name} = torch_{name}:load\n")
    own = Path(__file__).read_text(encoding="utf-8") + "\n\nload = use\n"
    (packages / f"torch_{name}.py").write_text(code or own, encoding="utf-8")
    return python
