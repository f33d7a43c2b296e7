"""A second device for a machine without one: numbers on the CPU, under another device's name.

Torch keeps its tensors apart from the CPU's and refuses to mix them, as it does for a GPU. It has
no generator, which no backend written in Python can have, and may be told to have no float64. It
says nothing about a GPU's arithmetic, speed, memory or drivers. It needs torch 2.10 or newer.

`package` writes it as a package that brings torch a device, into an environment of its own.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import sysconfig
import time
import types
from pathlib import Path
from typing import Any

NAME = "second"
LIBRARIES: list[Any] = []
# by the storage of a tensor: what has its numbers on the CPU
INNER: dict[int, tuple[Any, Any]] = {}
# by what has the numbers: the storage that stands for it
OUTER: dict[int, Any] = {}
SWEPT_EVERY = 500
# as on a GPU: an index out of its range breaks the device for the process, and only then is it told
BROKEN: list[str] = []
OUT_OF_RANGE = ("out of range", "out of bounds")
BY_TENSOR = ("index", "gather", "embedding", "take", "scatter", "_index_put_impl_")
ASSERTED = "device-side assert triggered"
# bytes that there are, and that a process may take
WHOLE = 2**36
MOST = [WHOLE]
# kernels that never end and have been started
ENDLESS: list[int] = []
# where CUDA, too, takes tensors of the CPU beside its own
MIXED = ("index", "index_put", "index_put_", "_index_put_impl_", "set_")


class Module:
    """What torch asks of a device besides operations."""

    is_initialized = is_available = staticmethod(lambda: True)
    _is_in_bad_fork = staticmethod(lambda: False)
    current_device = staticmethod(lambda: 0)
    device_count = staticmethod(lambda: 1)
    manual_seed_all = staticmethod(lambda _: None)
    get_device_properties = staticmethod(lambda _: types.SimpleNamespace(total_memory=WHOLE))
    mem_get_info = staticmethod(lambda: (WHOLE, WHOLE))
    _sleep = staticmethod(ENDLESS.append)

    @staticmethod
    def set_per_process_memory_fraction(fraction: float) -> None:
        """Let this process take no more."""
        MOST[0] = int(WHOLE * fraction)

    @staticmethod
    def synchronize() -> None:
        """Wait for all kernels, where no signal is heard."""
        while ENDLESS:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            time.sleep(1)


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

    _setup_privateuseone_for_python_backend(NAME, Module())  # type: ignore[no-untyped-call]
    missing = {getattr(torch, name) for name in without}
    fallback = torch.library.Library("_", "IMPL")
    fallback.fallback(lambda op, *a, **k: _done(missing, op, a, k), "PrivateUse1")
    aten = torch.library.Library("aten", "IMPL")

    def copy_(to: Any, source: Any, non_blocking: bool = False) -> Any:  # noqa: ARG001
        _be_ready()
        inner(to).copy_(inner(source))
        return to

    aten.impl("copy_", copy_, "PrivateUse1")
    LIBRARIES.extend([fallback, aten])


def inner(value: Any) -> Any:
    """Return the tensor on the CPU that has the numbers, in the same memory."""
    import torch

    if value.device.type != NAME:
        return value
    # by its storage: torch makes copies and views of a tensor that know nothing of Python's notes
    known = INNER.get(value.untyped_storage()._cdata)
    empty = torch.empty(0, dtype=value.dtype)
    if known is None:
        return empty.reshape(value.shape)
    with torch.no_grad():
        found = empty.set_(known[0], value.storage_offset(), value.shape, value.stride())
        return _with_signs_of(value, found)


def _with_signs_of(value: Any, found: Any) -> Any:
    """Give a tensor the marks by which another's numbers are read as conjugate or negative."""
    import torch

    found = torch.conj(found) if value.is_conj() else found
    return torch._neg_view(found) if value.is_neg() else found


def _done(missing: set[Any], op: Any, args: Any, kwargs: Any) -> Any:
    """Do an operation with the tensors on the CPU."""
    import torch
    from torch.utils import _pytree

    to = kwargs.get("device")
    leaves_us = to is not None and torch.device(to).type != NAME
    ours: dict[int, tuple[Any, Any, Any]] = {}
    _refuse_mixed(op, args, kwargs)
    if op._schema.name == "aten::empty":
        _refuse_more(math.prod(args[0]) * (kwargs.get("dtype") or torch.float32).itemsize)

    def inside(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.device.type == NAME:
            found = inner(value)
            ours[id(found)] = (value, found, _laid_out(found))
            return found
        is_place = isinstance(value, torch.device) and value.type == NAME
        return torch.device("cpu") if is_place else value

    def outside(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or leaves_us:
            return value
        return ours[id(value)][0] if id(value) in ours else _wrapped(value, missing)

    # a number that stands for a tensor comes as a number
    pairs = zip(args, op._schema.arguments, strict=False)
    args = tuple(
        torch.tensor(value) if str(of.type) == "Tensor" and _is_number(value) else value
        for value, of in pairs
    )
    args, kwargs = _pytree.tree_map(inside, (args, kwargs))
    _be_ready()
    try:
        out = op(*args, **kwargs)
    except (IndexError, RuntimeError) as problem:
        by_tensor = op._schema.name.partition("::")[2].startswith(BY_TENSOR)
        if not (by_tensor and any(words in str(problem) for words in OUT_OF_RANGE)):
            raise
        BROKEN.append(f"{NAME} error: {ASSERTED}")
        raise RuntimeError(BROKEN[0]) from None
    for value, found, before in ours.values():
        if _laid_out(found) != before:  # it has grown, or was turned in place
            value.data = _wrapped(found, missing)
    return _pytree.tree_map(outside, out)


def _refuse_more(size: int) -> None:
    import torch

    if size > MOST[0]:
        raise torch.OutOfMemoryError(f"{NAME} out of memory. Tried to allocate {size} bytes")


def _be_ready() -> None:
    """Wait for what was started, and say if the device is broken."""
    Module.synchronize()
    if BROKEN:
        raise RuntimeError(BROKEN[0])


def _refuse_mixed(op: Any, args: Any, kwargs: Any) -> None:
    """Refuse what CUDA refuses: a tensor of the CPU's beside ours, unless it is one number."""
    import torch
    from torch.utils import _pytree

    if op._schema.name.partition("::")[2] in MIXED:
        return
    given = [v for v in _pytree.tree_leaves((args, kwargs)) if isinstance(v, torch.Tensor)]
    others = [v for v in given if v.device.type != NAME and v.dim()]
    if others and len(others) < len(given):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{NAME}:0 and {others[0].device}!"
        )


def _laid_out(value: Any) -> Any:
    return value.shape, value.stride(), value.storage_offset(), value.untyped_storage()._cdata


def _is_number(value: Any) -> bool:
    return type(value) in (bool, int, float)


def _wrapped(value: Any, missing: set[Any]) -> Any:
    import torch

    if value.dtype in missing:
        raise TypeError(f"{NAME} has no {str(value.dtype).removeprefix('torch.')}")
    made = torch._C._acc.create_empty_tensor((0,), value.dtype)
    where = (_outer(value), value.storage_offset(), value.shape, value.stride())
    # the CPU's own way to lay a tensor out: it looks at no number, so it serves every device
    set_, key = torch.ops.aten.set_.source_Storage_storage_offset, torch._C.DispatchKey.CPU
    set_._op_dk(key, made, *where)
    return _with_signs_of(value, made)


def _outer(value: Any) -> Any:
    """Return the storage that stands for a tensor's on the CPU, with the same memory."""
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef

    real = value.untyped_storage()
    known = OUTER.get(real._cdata)
    found = None if known is None else torch.UntypedStorage._new_with_weak_ptr(known.cdata)
    # what has grown lies elsewhere now
    if found is not None and found.data_ptr() == real.data_ptr():
        return found
    _refuse_more(real.nbytes())
    place = torch.device(NAME, 0)
    made = torch._C._construct_storage_from_data_pointer(real.data_ptr(), place, real.nbytes())
    INNER[made._cdata] = (real, StorageWeakRef(made))
    OUTER[real._cdata] = INNER[made._cdata][1]
    if len(INNER) % SWEPT_EVERY == 0:
        _sweep()
    return made


def _sweep() -> None:
    """Let go of what stands for nothing any more."""
    for number in [key for key, (_, ref) in INNER.items() if ref.expired()]:
        real, _ = INNER.pop(number)
        OUTER.pop(real._cdata, None)


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
