"""Torch's functions on the pretended machine: where each makes its tensors, and which may meet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import _device
from torch.utils._python_dispatch import TorchDispatchMode

from grader import nested
from grader.dry_run import kinds
from grader.dry_run.generators import Generator
from grader.dry_run.moves import destination, moved
from grader.dry_run.pretended import CPU, FIRST, pretended_device
from grader.dry_run.tensors import Elsewhere, where_is
from grader.dry_run.trip import Trip
from grader.dry_run.watch import Now, handed, is_given

T = torch.Tensor
# marks an error that does not come of the pretending: the call fails on the CPU as well
ON_THE_CPU = "kit_on_the_cpu"
Handler = Callable[["Machine", Any, Sequence[Any], dict[str, Any]], Any]


class Machine(TorchFunctionMode):
    """A machine with pretended GPUs, for as long as it is entered.

    Args:
        trip: takes note of what would go wrong there.
    """

    def __init__(self, trip: Trip) -> None:
        super().__init__()
        self.trip = trip

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Do what a machine with GPUs would."""
        kwargs = kwargs or {}
        try:
            return self._done(func, args, kwargs)
        except Exception as problem:
            if not hasattr(problem, ON_THE_CPU) and _fails_on_the_cpu(func, args, kwargs, problem):
                _mark(problem)
            raise

    def _done(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if func in LOOKS:
            return func(*args, **kwargs)
        if func in FROM_LISTS and args and type(args[0]) in (list, tuple):
            args = (self._read(args[0]), *args[1:])
        handler = SPECIAL.get(func)
        if handler is not None:
            return handler(self, func, args, kwargs)
        if "device" in kwargs or "generator" in kwargs or _device.CURRENT_DEVICE is not None:
            return self.made(func, args, kwargs)
        return self.plain(func, args, kwargs)

    def plain(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function that was not told where to make its tensors."""
        here: list[Tensor] = []
        there = False
        for value in _tensors(args, kwargs):
            if isinstance(value, Elsewhere):
                there = True
            else:
                here.append(value)
        if not there:
            return self.trip.made(self._on_the_cpu(func, args, kwargs), here)
        if not here:
            return self._wrapped(func(*args, **kwargs), args, func)
        return self.mixed(func, args, kwargs, here)

    def _on_the_cpu(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function that no pretended tensor has a part in; its errors are real ones."""
        try:
            return func(*args, **kwargs)
        except Exception as problem:
            _mark(problem)
            raise

    def _wrapped(self, out: Any, args: Sequence[Any], func: Any) -> Any:
        """Put on the GPU what torch has made by itself, which no operation had a part in."""
        if isinstance(out, Elsewhere) or not isinstance(out, Tensor) or out.requires_grad:
            return out
        if func in FROM_LISTS:
            return self.trip.made(out, [])
        like = next(_tensors(args, {}), None)
        return Elsewhere(out, like.place) if isinstance(like, Elsewhere) else out

    def _read(self, values: Any) -> Any:
        """Return a list with the numbers of a GPU in it as torch reads them, one by one."""
        if isinstance(values, Elsewhere):
            self.trip.waits()
            return values.inner.detach()
        if type(values) is list or type(values) is tuple:
            return type(values)(map(self._read, values))
        return values

    def mixed(
        self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], here: list[Tensor]
    ) -> Any:
        """Call a function with tensors of the CPU and of a GPU."""
        before, Now.given = Now.given, {id(one): (one, one) for one in here}
        try:
            if all(one.dim() == 0 for one in here):
                return func(*args, **kwargs)
            with _Inside():
                return func(*args, **kwargs)
        finally:
            Now.given = before

    def made(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function that may be told where to make its tensors."""
        said = kwargs.get("device")
        if said is None and func in _device._device_constructors():
            said = _device.CURRENT_DEVICE
        to = pretended_device(said)
        generator = kwargs.get("generator")
        tensors = list(_tensors(args, kwargs))
        if generator is not None:
            target = to or next((where_is(one) for one in tensors), CPU)
            self._drawn_with(generator, target)
        if to is None or (to == CPU and not any(isinstance(t, Elsewhere) for t in tensors)):
            return self.plain(func, args, kwargs)
        given = {**kwargs, "device": CPU}
        wants = given.pop("requires_grad", False)
        out = func(*args, **given)
        if not isinstance(out, Tensor):
            return out
        if to == CPU:
            return self.trip.made(moved(out, CPU), [])
        for one in tensors:
            self.trip.crosses(one)
        out = moved(out, to) if out is not None else out
        if to == FIRST:
            self.trip.made(out, [])
        return out.requires_grad_() if wants else out

    def _drawn_with(self, generator: Any, target: torch.device) -> None:
        own = generator.device if isinstance(generator, Generator) else CPU
        if own.type != target.type:
            if not self.trip.drawn_elsewhere(own, target):
                return
            raise RuntimeError(
                f"Expected a '{target.type}' device type for generator but found '{own.type}'"
            )


class _Inside(TorchDispatchMode):
    """Inside of a call that mixes devices: what is made of the answer's tensors is the answer's."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # True would import torch._dynamo, 800 modules
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        tensors = list(_tensors(args, kwargs))
        of = next((handed(one) for one in tensors if is_given(one)), None)
        if of is not None and Now.given is not None:
            for one in _tensors((out,), {}):
                if not isinstance(one, Elsewhere):
                    Now.given.setdefault(id(one), (one, of))
        return out


def _mark(problem: Exception) -> None:
    """Say of an error that it does not come of the pretending."""
    with contextlib.suppress(AttributeError, TypeError):
        setattr(problem, ON_THE_CPU, True)


def _fails_on_the_cpu(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], problem: Exception
) -> bool:
    """Tell whether a call gives the same kind of error with its numbers on the CPU."""
    try:
        given, named = nested.mapped(_brought_home, (tuple(args), dict(kwargs)))
        if "device" in named:
            named["device"] = CPU
        with torch._C.DisableTorchFunction(), torch.no_grad():
            func(*given, **named)
    except Exception as again:
        return type(again) is type(problem)
    return False


def _brought_home(value: Any) -> Any:
    """Return a copy of a tensor that says it is on a GPU, on the CPU; all else as it is."""
    if isinstance(value, Elsewhere):
        return value.inner.detach().clone()
    return value.detach().clone() if isinstance(value, Tensor) else value


def _tensors(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Tensor]:
    """Go through the tensors of a call, also those in lists and tuples of them."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, Tensor):
            yield value
        elif type(value) is list or type(value) is tuple:
            for one in value:
                if isinstance(one, Tensor):
                    yield one


def _to(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    to, rest, named = destination(args, kwargs)
    value = args[0] if to is None else machine.trip.move(args[0], to)
    return machine.plain(func, (value, *rest), named) if rest or named else value


def _cpu(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return machine.trip.move(args[0], CPU)


def _cuda(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    said = args[1] if len(args) > 1 else kwargs.get("device")
    return machine.trip.move(args[0], pretended_device(said) or FIRST)


def _type(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    kind = args[1] if len(args) > 1 else kwargs.get("dtype")
    if kind is None:
        return kinds.name_of(args[0]) if isinstance(args[0], Elsewhere) else func(*args)
    known = None if isinstance(kind, torch.dtype) else kinds.meant(kind)
    if known is None:
        return machine.plain(func, args, kwargs)
    to, dtype = known
    stays = where_is(args[0]).type == to.type
    return (args[0] if stays else machine.trip.move(args[0], to)).to(dtype)


def _storage(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    value = args[0]
    if not isinstance(value, Elsewhere):
        return func(*args, **kwargs)
    return kinds.Storage(func(value.inner), value.place)


def _type_as(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    other = args[1] if len(args) > 1 else kwargs["other"]
    return machine.trip.move(args[0], where_is(other)).to(other.dtype)


def _new_tensor(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    like = args[0]
    named = {"dtype": like.dtype, "device": where_is(like), **kwargs}
    return machine.made(torch.tensor, args[1:], named)


def _as_tensor(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    names = ("data", "dtype", "device")
    named = {**dict(zip(names, args, strict=False)), **kwargs}
    data = named.pop("data")
    if named.get("device") is None:
        return machine.trip.of_numpy(machine.made(func, (data,), named), data)
    if isinstance(data, Tensor):
        return machine.trip.move(
            func(data, dtype=named.get("dtype")), pretended_device(named["device"]) or CPU
        )
    return machine.made(func, (data,), named)


def _numpy(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    machine.trip.to_numpy(args[0])
    return func(*args, **kwargs)


def _from_numpy(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return machine.trip.of_numpy(machine.made(func, args, kwargs), args[0])


def _set_data(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Give a tensor other numbers: torch itself would pull the wrapper off its numbers."""
    mine, other = args
    if isinstance(mine, Elsewhere) and isinstance(other, Elsewhere) and mine.shape == other.shape:
        mine.inner = other.inner.detach()
        return None
    if isinstance(mine, Elsewhere) or isinstance(other, Elsewhere):
        raise NotFollowed("`.data =` with another shape or from another device")
    return func(*args, **kwargs)


def _device_of(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return where a tensor is, also from within torch.func."""
    value, functorch = args[0], torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(value):
        value = functorch.get_unwrapped(value)
    return where_is(value)


def _stays(machine: Machine, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return args[0]


class NotFollowed(RuntimeError):
    """The pretended machine cannot do this, and knows nothing of what a GPU would do."""


# from a list of numbers, which are read from wherever they are, to the CPU
FROM_LISTS = {torch.tensor, torch.as_tensor, torch.asarray, torch.scalar_tensor}
# looked at often, and the same on every device
LOOKS = {
    getattr(T, name).__get__
    for name in ("shape", "dtype", "ndim", "requires_grad", "is_leaf", "layout", "grad_fn")
} | {T.size, T.dim, T.numel, T.stride, T.is_floating_point, T.__len__, T.is_contiguous}
SPECIAL: dict[Any, Handler] = {
    T.to: _to,
    T.cpu: _cpu,
    T.cuda: _cuda,
    T.type: _type,
    T.storage: _storage,
    T.untyped_storage: _storage,
    T.type_as: _type_as,
    T.new_tensor: _new_tensor,
    T.numpy: _numpy,
    T.__array__: _numpy,
    torch.from_numpy: _from_numpy,
    torch.as_tensor: _as_tensor,
    torch.asarray: _as_tensor,
    T.data.__set__: _set_data,  # type: ignore[attr-defined]
    T.device.__get__: _device_of,
    T.pin_memory: _stays,
}
