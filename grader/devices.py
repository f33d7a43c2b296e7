"""Which devices there are: the CPU, and whatever PyTorch calls an accelerator.

Those of torch's own are there without more ado. One from elsewhere is a package that torch would
load by itself as it is imported; ours import torch without (`grader/__init__.py`), and load it when
it is asked for: one that fails, prints or ends its process breaks nothing for those who do not.
"""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

CPU = "cpu"
# with ROCm, too, it is called cuda
OF_TORCH = ("cuda", "mps", "xpu")
BACKENDS = "torch.backends"
# what tests of speech take for the name of a device
_NAMES = (CPU, *OF_TORCH)
# what to call instead
_CALLED = {"gpu": "cuda", "nvidia": "cuda", "hip": "cuda", "rocm": "cuda", "metal": "mps"}
_KEYS = {CPU: "CPU", "cuda": "CUDA", "mps": "MPS", "xpu": "XPU"}
_FLOATS = ("float64", "float16", "bfloat16")
_LONGEST = 200  # of an error, in one line
_said: dict[str, str] = {}
_in_use: list[str] = []


class _Absent:
    """Stands for the module of a device in a process that knows its name alone."""

    is_available = is_initialized = _is_in_bad_fork = staticmethod(lambda: False)
    device_count = staticmethod(lambda: 0)
    manual_seed_all = staticmethod(lambda _: None)


class NotHere(BaseException):
    """A check needs what its device does not have; that says nothing about the answer.

    Args:
        what: it needs, as in "float64".
        device: which has none.
    """

    def __init__(self, what: str, device: str) -> None:
        super().__init__(what, device)
        self.says = f"{kind(device)} has no {what}"


def kind(device: Any) -> str:
    """Return the name of a device without its number."""
    return str(device).partition(":")[0]


def indexed(name: str) -> str:
    """Return the name that tensors on a device give it: the first of its kind."""
    return name if name == CPU or ":" in name else f"{name}:0"


def accelerator() -> str | None:
    """Return the name of the accelerator that is here, if there is one."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if hasattr(torch, "accelerator"):  # since torch 2.6
        found = torch.accelerator.current_accelerator()
        return found.type if found is not None and _is_there(found.type) else None
    return next((name for name in OF_TORCH if _is_there(name)), None)


def there() -> tuple[str, ...]:
    """Return the devices that are here; packages that nobody has asked for are not loaded."""
    found = accelerator()
    return (CPU,) if found is None else (CPU, found)


def require(name: str) -> None:
    """Make sure that a device can be used here.

    Raises:
        ValueError: it cannot; the sentence says why.
    """
    if name == CPU or _is_there(name):
        return
    problems = [] if name in OF_TORCH else _load_packages(name)
    if _is_there(name):
        return
    here = f"here there is {' and '.join(there())}"
    if is_known(name):
        said = name.upper() if name in OF_TORCH else name
        why = f"{name} was asked for, but PyTorch sees no {said} device here"
        raise ValueError("; ".join([why, *problems]))
    known = f"cpu, cuda, cpu,cuda or auto, or another that PyTorch knows ({here})"
    if name in _CALLED:
        known = f"PyTorch calls it {_CALLED[name]}"
    raise ValueError("; ".join([f"there is no device `{name}`: {known}", *problems]))


def is_known(name: str) -> bool:
    """Tell whether torch has a word for it, and it may be an accelerator."""
    import torch

    if name in OF_TORCH:
        return True
    try:
        return name.isidentifier() and torch.device(name).type == _of_package()
    except RuntimeError:
        return False


def is_name(value: str) -> bool:
    """Tell whether a text names a device that an answer may mean."""
    word = value.partition(":")[0]
    return word in _NAMES or word == _of_package()


def name_only(device: str) -> None:
    """Let torch know the name of a device that comes from elsewhere; nothing is loaded."""
    import torch

    try:
        torch.device(device)
    except RuntimeError:
        torch.utils.rename_privateuse1_backend(kind(device))
        # torch asks the module behind a name, also where it has nothing to do with it
        torch._register_device_module(kind(device), _Absent())  # type: ignore[no-untyped-call]


def be_at_home(device: str) -> None:
    """Load in a worker what its device needs.

    Raises:
        RuntimeError: it cannot be had.
    """
    name = kind(device)
    if name == CPU or name in OF_TORCH or _is_there(name):
        return
    problems = _load_packages(name)
    if not _is_there(name):
        raise RuntimeError("; ".join([f"{name} is not there", *problems]))


def key(device: str) -> str:
    """Return what torch's dispatcher calls a device."""
    return _KEYS.get(kind(device), "PrivateUse1")


def use(device: str) -> None:
    """Take note that answers of this process work on a device: its generator counts as well."""
    _in_use[:] = [] if kind(device) in (CPU, "cuda") else [kind(device)]


def seed(number: int) -> None:
    """Seed torch's generators of the devices that are in use, besides the CPU's."""
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.manual_seed(number)
    for name in _in_use:
        module = torch.get_device_module(name)
        does = getattr(module, "manual_seed", None) or getattr(module, "manual_seed_all", None)
        if does is not None:
            does(number)


def random_states() -> list[Any]:
    """Return the states of torch's generators of devices in use, besides the CPU's."""
    import torch

    states = [torch.cuda.get_rng_state()] if torch.cuda.is_initialized() else []
    modules = (torch.get_device_module(name) for name in _in_use)
    return [*states, *(one.get_rng_state() for one in modules if hasattr(one, "get_rng_state"))]


@functools.cache
def lacks(device: str) -> Mapping[str, str]:
    """Say what a device cannot do, by trying: dtypes, and "generator"; with the error of each.

    Nothing is tried on the CPU, which lacks nothing.
    """
    import torch

    if kind(device) == CPU:
        return {}
    found: dict[str, str] = {}
    for name in _FLOATS:
        with _noting(found, name):
            one = torch.ones(2).to(getattr(torch, name)).to(device)
            (one * one).cpu().double()
    with _noting(found, "generator"):
        torch.Generator(device).manual_seed(0)
        torch.randn(2, generator=torch.Generator(device), device=device)
    return found


def computes(device: str) -> str:
    """Multiply, take a softmax, go backward, draw and copy back; say what is wrong, if anything."""
    import torch

    torch.manual_seed(0)
    want = torch.randn(8, 16, requires_grad=True)
    got = want.detach().to(device).requires_grad_()
    ends = []
    for x in (want, got):
        y = torch.softmax(x @ x.mT / 4, -1) @ x
        (y * y).sum().backward()
        ends += [y.detach().cpu(), x.grad.cpu() if x.grad is not None else None]
    if "generator" not in lacks(device):
        drawn = [
            torch.randn(9, generator=torch.Generator(device).manual_seed(3), device=device).cpu()
            for _ in range(2)
        ]
        if not torch.equal(*drawn):
            return "a generator with the same seed draws other numbers"
    for one, other, what in ((ends[0], ends[2], "values"), (ends[1], ends[3], "gradients")):
        if one is None or other is None or not torch.allclose(one, other, 1e-2, 1e-2):
            return f"its {what} are not the CPU's"
    return ""


def broken(device: str) -> str:
    """Say in one line why a device does nothing more in this process; nothing if it works.

    After an illegal access every call fails, and only a new process helps.
    """
    if device == CPU:
        return ""
    import torch

    try:
        (torch.zeros(1, device=device) + 1).cpu()
    except RuntimeError as problem:
        # what an answer holds may have used up the memory: then it goes on once that is let go
        used_up = type(problem).__name__ == "OutOfMemoryError"
        return "" if used_up else str(problem).strip().partition("\n")[0][:_LONGEST]
    return ""


@contextlib.contextmanager
def _noting(found: dict[str, str], what: str) -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        found[what] = f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0]}"


def _is_there(name: str) -> bool:
    import torch

    try:
        module = torch.get_device_module(name) if name.isidentifier() else None
        return module is not None and bool(module.is_available())
    except (RuntimeError, AttributeError):
        return False


def _of_package() -> str:
    """Return the one name that torch has for a device from elsewhere."""
    import torch

    return str(torch._C._get_privateuse1_backend_name())


def _load_packages(name: str) -> list[str]:
    """Load packages that bring devices until the wanted one is there; say what went wrong."""
    problems = []
    if not name.isidentifier():
        return []
    for entry in entry_points(group=BACKENDS):
        if entry.name in _said:
            problems.append(_said[entry.name])
            continue
        try:
            # what it prints would stand in reports
            with contextlib.redirect_stdout(io.StringIO()):
                entry.load()()
        except KeyboardInterrupt:
            raise
        except BaseException as problem:
            said = f"{type(problem).__name__}: {problem}".strip(": ")
            _said[entry.name] = f"the package behind `{entry.name}` cannot be loaded: {said}"
            problems.append(_said[entry.name])
        if _is_there(name):
            return []
    return problems
