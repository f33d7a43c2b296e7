"""Taking an answer's call to the pretended machine: inputs there, the call, outputs back."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction

from grader import nested
from grader.dry_run import cuda, imports, words
from grader.dry_run.generators import Generator, elsewhere
from grader.dry_run.lightly import prepare
from grader.dry_run.mistakes import CodeLine, Mistake
from grader.dry_run.mode import ON_THE_CPU, Machine
from grader.dry_run.moves import Move, moved
from grader.dry_run.pretended import CPU, HOME, pretended_device
from grader.dry_run.tensors import Elsewhere, where_is
from grader.dry_run.trip import Trip
from grader.dry_run.watch import Now

# an error that has come through there may come of the pretending, or of a GPU that is not here
PRETENDING = (str(Path(__file__).parents[1]), str(Path(torch.cuda.__file__).parent))


class Crossing:
    """Calls an answer on the pretended machine.

    Args:
        called: what a student calls a file with code of theirs; "" for others.
        forgiven: files and lines whose mistakes are known, and are made no more.

    Attributes:
        trip: what would go wrong there, of all calls so far.
    """

    def __init__(self, called: Callable[[str], str], forgiven: Collection[CodeLine] = ()) -> None:
        prepare()
        Backward.prepare()
        self._called = called
        self._also: set[str] = set()
        self._known: dict[str, bool] = {}
        self.trip = Trip(self._is_mine, Crossing.call.__code__, called, forgiven)
        self._machine = Machine(self.trip)
        self._generators: dict[int, tuple[torch.Generator, Generator]] = {}
        self._inside = 0

    def call(self, made: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call with inputs on the pretended GPU; what comes back says where it was."""
        twins: list[tuple[nn.Module, nn.Module]] = []
        known = len(self.trip.mistakes)
        self._also.add(_file_of(made))
        if isinstance(made, nn.Module):
            made = _module_there(made)
        given = [self._there(value, twins) for value in args]
        named = {name: self._there(value, twins) for name, value in kwargs.items()}
        self.trip.given = _names(made, given, named)
        ours, theirs = nested.flat(*args, *kwargs.values()), nested.flat(*given, *named.values())
        handed = list(zip(ours, theirs, strict=True))
        with self.active():
            try:
                out = made(*given, **named)
            except Exception as problem:
                self._explain(problem)
                raise
        self.trip.mended(known)
        for mine, twin in twins:
            self._settle(mine, twin)
        for mine, there in handed:
            if isinstance(mine, Tensor) and isinstance(there, Elsewhere):
                _bring_home(mine, there)
        return self._back(out)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Be on the machine: torch's functions, and what torch.cuda says, are those of there."""
        if self._inside:
            yield
            return
        before, Now.watcher = Now.watcher, self.trip
        self._inside += 1
        try:
            with (
                cuda.pretended(self.trip.default_changes),
                imports.aside(cuda.as_it_is),
                self._machine,
            ):
                yield
        finally:
            self._inside -= 1
            Now.watcher = before

    @contextlib.contextmanager
    def backward_too(self) -> Iterator[None]:
        """Let functions that the answer goes backward with be on the machine as well."""
        before, Backward.crossing = Backward.crossing, self
        try:
            yield
        finally:
            Backward.crossing = before

    def there(self, value: Any, device: Any) -> Any:
        """Put what has been worked out elsewhere where a device says, if a call runs there."""
        at = pretended_device(device) or CPU
        if not self._inside or at == CPU:
            return value
        return nested.mapped(lambda one: moved(one, at) if isinstance(one, Tensor) else one, value)

    def _there(self, value: Any, twins: list[tuple[nn.Module, nn.Module]]) -> Any:
        """Put an input on the pretended GPU."""
        return nested.mapped(lambda one: self._one_there(one, twins), value)

    def _one_there(self, value: Any, twins: list[tuple[nn.Module, nn.Module]]) -> Any:
        if isinstance(value, Tensor):
            return moved(value, HOME)
        if isinstance(value, nn.Module) and any(True for _ in value.parameters()):
            twin = _module_there(value)
            twins.append((value, twin))
            return twin
        if isinstance(value, torch.Generator):
            if id(value) not in self._generators:
                self._generators[id(value)] = (value, elsewhere(value))
            return self._generators[id(value)][1]
        return value

    def _back(self, value: Any) -> Any:
        """Bring an output to the CPU; it says where it was."""
        return nested.mapped(self._one_back, value)

    def _one_back(self, value: Any) -> Any:
        if isinstance(value, Tensor) and value.layout is torch.strided:
            place = where_is(value)
            if place != HOME:
                self.trip.left(value)
            out = moved(value, CPU) if place != CPU else value.view_as(value)
            out.kit_place = (str(place), str(HOME))  # type: ignore[attr-defined]
            return out
        return value

    def _settle(self, mine: nn.Module, twin: nn.Module) -> None:
        """Bring home what a call has made of a model that it was handed."""
        theirs = dict(twin.named_parameters())
        with torch.no_grad():
            for name, weight in mine.named_parameters():
                now = theirs.get(name)
                if now is None or now.shape != weight.shape:
                    continue
                if where_is(now) != HOME:
                    self.trip.add(words.model(where_is(now), self.trip.given))
                    break
                weight.copy_(moved(now.detach(), CPU))
        for part, other in zip(mine.modules(), twin.modules(), strict=False):
            part.training = other.training

    def _explain(self, problem: Exception) -> None:
        """Take note of an error of the answer's own: it was called on the CPU before, without one.

        What has come through here may come of the pretending, unless the CPU refuses it as well.
        """
        own, pretended = None, False
        step = problem.__traceback__
        while step is not None:
            file = step.tb_frame.f_code.co_filename
            if self._is_mine(file):
                own, pretended = step, False
            elif file.startswith(PRETENDING):
                pretended = True
            step = step.tb_next
        if own is not None and (not pretended or hasattr(problem, ON_THE_CPU)):
            self.trip.add(words.refuses(problem, own))

    def _is_mine(self, file: str) -> bool:
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = bool(self._called(file)) or file in self._also
        return known


class Backward:
    """Which way functions of an answer's go backward at this moment, if one is gone."""

    crossing: Crossing | None = None

    @staticmethod
    @functools.cache
    def prepare() -> None:
        """Let torch ask that, each time that it calls such a function."""
        apply = BackwardCFunction.apply

        def there(ctx: Any, *gradients: Any) -> Any:
            crossing = Backward.crossing
            if crossing is None or ctx._forward_cls is Move:
                return apply(ctx, *gradients)
            with crossing.active():
                try:
                    return apply(ctx, *gradients)
                except Exception as problem:
                    crossing._explain(problem)
                    raise

        BackwardCFunction.apply = there  # type: ignore[method-assign]


def _bring_home(mine: Tensor, there: Elsewhere) -> None:
    """Do to an input what a call has done to it on the pretended GPU."""
    now, before = there.inner.detach(), mine.detach()
    alike = now.shape == before.shape and now.dtype == before.dtype
    if alike and not torch.equal(now, before):
        before.copy_(now)


def _module_there(module: nn.Module) -> nn.Module:
    """Return a copy of a module that was moved to the pretended GPU, as a student would move it."""
    try:
        twin = copy.deepcopy(module)
    except Exception:
        # what keeps its last output cannot be copied
        twin = module
    with cuda.swapping(), Machine(Trip(lambda _: False, _module_there.__code__)):
        return twin.to(HOME)


def _file_of(made: Any) -> str:
    made = getattr(made, "__wrapped__", made)
    code = getattr(made, "__code__", None)
    if code is not None:
        return str(code.co_filename)
    init = getattr(made, "__init__", None)
    return str(getattr(getattr(init, "__code__", None), "co_filename", "?"))


def _names(made: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    target = made.forward if isinstance(made, nn.Module) else made
    code = getattr(target, "__code__", None)
    code = code or getattr(getattr(target, "__func__", None), "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    if isinstance(made, nn.Module) or inspect.ismethod(target):
        names = names[1:]
    return [*zip(names, args, strict=False), *kwargs.items()]


__all__ = ["Crossing", "Elsewhere", "Mistake"]
