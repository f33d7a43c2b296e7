"""The worker: runs one answer in a process of its own, and does what the judge asks for."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import random
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from grader import devices, nested
from grader.answers.again import call_again, call_changed, call_many
from grader.answers.door import called_by
from grader.answers.precision import be_exact
from grader.answers.switches import put_back_from, standing
from grader.remote import context, raised, trees
from grader.remote.channel import Channel, WireError
from grader.remote.end import End
from grader.remote.held import HeldWorld
from grader.remote.inputs_before import InputsBefore
from grader.remote.lent import lent_class, lent_function, lent_module
from grader.remote.lent_object import LentObject, lent_class_of_objects
from grader.remote.objects import Objects, as_told
from grader.remote.observer import Observer, WatchedParts, detached
from grader.remote.soft_limit import SoftLimit, alarm, ring
from grader.remote.wire import DTYPES, Opened, Parcel
from grader.trouble import BrokenFile, Hangs, TimeLimit

LENT: dict[str, Callable[[Worker, int, str], Any]] = {
    "function": lent_function,
    "class": lent_class,
    "class of objects": lent_class_of_objects,
}


class Worker(End):
    """The judged end of the pipe.

    Attributes:
        world: the answer.
        planted: what is called through the door in the place of an exercise, in a proof.
        objects: what the answer has made, and what it was lent, in this check.
        observer: what is noticed while the answer runs.
    """

    def __init__(
        self,
        channel: Channel,
        names: Mapping[str, Sequence[str]],
        home: str = "cpu",
    ) -> None:
        super().__init__(channel, trusted=True, home=home)
        devices.use(home)
        self.world = HeldWorld(names)
        self.planted: dict[str, Any] = {}
        self.observer = Observer(home, self.world.called)
        self._born = os.getpid()
        self._undo = contextlib.ExitStack()
        self._begin(0)

    def run(self) -> None:
        """Serve until the judge is gone."""
        self.observer.start()
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGPROF, ring)
        with self.world.active():
            while True:
                self.serve(self.next())

    def next(self) -> Opened:
        """Wait for a message, and put its tensors on this side's device."""
        message = super().next()
        # the bytes of a chapter are no tensor of an answer's
        if self.home != "cpu" and message.header.get("ask") != "chapter":
            message.tensors = [self._moved(value) for value in message.tensors]
        return message

    def _moved(self, value: Tensor) -> Tensor:
        if value.numel() and 0 not in value.stride():
            sizes, steps = value.shape, value.stride()
            moved = torch.empty_strided(sizes, steps, dtype=value.dtype, device=self.home)
            moved.copy_(value.detach())
        else:  # memory that lies over itself cannot be copied into
            moved = value.detach().to(self.home)
        return moved.requires_grad_(value.requires_grad)

    def arrived(self, value: Tensor) -> Tensor:
        """Put a gradient that has come on this side's device."""
        return value.to(self.home)

    def answer(self, kind: str, message: Opened) -> tuple[dict[str, Any], Parcel | None]:
        """Do what the judge asks for."""
        if os.getpid() != self._born:
            os._exit(0)  # a fork of the answer's making, come back into our loop
        does = getattr(self, f"on_{kind}", None)
        if does is None:
            raise WireError(f"nothing does {kind}")
        if "begin" in message.header:
            self._begin(message.header["begin"])
            if "stand_ins" in message.header:
                self._replace(message.header["stand_ins"])
        say, parcel = does(message)
        return say, parcel

    def ask(self, kind: str, say: dict[str, Any], parcel: Parcel | None = None) -> Opened:
        """Ask the judge; if time runs out meanwhile, that is said after the reply has come."""
        alarm.waits_for += 1
        try:
            return super().ask(kind, say, parcel)
        finally:
            alarm.waits_for -= 1
            if alarm.is_late and not alarm.waits_for:
                alarm.is_late = False
                raise TimeLimit

    def besides(self, token: int, parcel: Parcel) -> dict[str, Any]:
        """Say how a lent module stands when the backward pass begins."""
        module = self.objects.went_through.pop(token, None)
        return {} if module is None else module.kit_state(parcel)

    def tells(self, problem: BaseException) -> bool:  # noqa: ARG002
        """Tell the judge of every error, also of those that no answer should raise."""
        return True

    def raised(self, error: BaseException) -> dict[str, Any]:
        """Describe an error for the judge, and what it has left of this side's device."""
        said = raised.described(error, self.world)
        broken = devices.broken(self.home) if isinstance(error, RuntimeError) else ""
        return {**said, "device": broken} if broken else said

    def rebuilt(self, said: Any) -> BaseException:
        """Make the error that something lent has raised."""
        return raised.rebuilt(said, self.world.folder)

    # ---- what the judge asks for ----

    def on_lacks(self, _: Opened) -> tuple[dict[str, Any], None]:
        """Say what this side's device cannot do; nothing of an answer's is here yet."""
        return {"lacks": dict(devices.lacks(self.home))}, None

    def on_try_out(self, _: Opened) -> tuple[dict[str, Any], None]:
        """Do a little of all that checks ask for on this side's device; say what goes wrong."""
        try:
            wrong = devices.computes(self.home)
        except Exception as problem:
            wrong = f"{type(problem).__name__}: {problem}"
        return {"error": wrong, "free": context.free(self.home)}, None

    def on_chapter(self, message: Opened) -> tuple[dict[str, Any], None]:
        """Take a chapter's source."""
        self.world.hold(message.header["file"], message.tensors[0].numpy().tobytes())
        return {}, None

    def on_lend(self, message: Opened) -> tuple[dict[str, Any], None]:
        """Take what stands for exercises as long as this process lives."""
        for full, *how in message.header["lent"]:
            self.world.lend(full, self._stand_in(full, *how))
        return {}, None

    def on_load(self, message: Opened) -> tuple[dict[str, Any], None]:
        """Import a chapter; say what stands under each of its exercises' names."""
        stem = message.header["stem"]
        self._undo.close()  # a chapter that is imported now must not get hold of a stand-in
        with SoftLimit(message.header["ms"]):
            self.world.load(stem)
        found = {}
        for name in self.world.names.get(stem, ()):
            try:
                made = self.world.found(stem, name)
            except Exception as problem:
                raise BrokenFile(stem, problem, self.world.path(stem).name) from problem
            if callable(made):
                found[name] = "callable"
            elif made is not None:
                found[name] = type(made).__name__
        stubs = [name for name in found if self.world.is_stub(f"{stem}.{name}")]
        uses = {f"{stem}.{name}": self.world.uses(f"{stem}.{name}") for name in found}
        return {"found": found, "stubs": stubs, "uses": uses}, None

    def on_seed(self, message: Opened) -> tuple[dict[str, Any], None]:
        """Seed torch's own generators."""
        self.world.seed(message.header["seed"])
        return {}, None

    def on_random_states(self, _: Opened) -> tuple[dict[str, Any], Parcel]:
        """Return the states of torch's own generators."""
        parcel = self.parcel()
        return {"value": parcel.pack(self.world.random_states())}, parcel

    def on_backward(self, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Go backward through what an earlier call has made."""
        header, observer = message.header, self.observer
        way: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        if "crosses" in header:
            way = observer.crosses(header).backward_too()
        if "counts" in header:
            way = observer.counts(header).way_back()
        observer.before_a_call()
        try:
            with observer.noticing(header), way, SoftLimit(header["ms"]):
                say, parcel = self.pull(message)
                context.wait(self.home)
        except Exception as problem:
            say, parcel = {"raised": self.raised(problem)}, self.parcel()
        return {**say, **observer.told(header)}, parcel

    def on_call(self, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Call an exercise, or a module that an exercise has made, once or many times."""
        header, objects = message.header, self.objects
        args = [message.unpack(said) for said in header["args"]]
        kwargs = {name: message.unpack(said) for name, said in header["kwargs"].items()}
        made = self._callable(header)
        if "own" in header and isinstance(made, nn.Module):
            as_told(made, header["own"], message)
        given = (*args, *kwargs.values())
        modules = [v for v in (made, *nested.flat(*given)) if isinstance(v, nn.Module)]
        leaves = [value for value in message.tensors if value.requires_grad]
        if modules:
            own = [m for m in modules if objects.lent_number(m) is None]
            leaves += _unique(weight for module in own for weight in trees.leaves(module))
        inputs, parts = InputsBefore(message.tensors, given, self.home), WatchedParts()
        told: dict[str, Any] = {}
        try:
            with parts.watched(header.get("watch", ()), objects):
                value = self._inside(self._calls(made, message), args, kwargs, header, told)
        except BaseException as problem:
            parcel = self.parcel()
            told = {**told, **parts.told(parcel), **inputs.told(parcel)}
            return {"raised": self.raised(problem), **told}, parcel
        parcel = self.parcel()
        say = {"value": parcel.pack(value), **told, **parts.told(parcel)}
        outputs = [one for one in parcel.sent if one.requires_grad]
        if outputs:
            say["token"] = self.keep(outputs, leaves)
        return {**say, **inputs.told(parcel), **self._changes(modules, parcel)}, parcel

    def _calls(self, made: Callable[..., Any], message: Opened) -> Callable[..., Any]:
        """Return what is called: once on the pretended machine or counted, else maybe again."""
        header = message.header
        if "crosses" in header:
            return called_by(self.observer.crosses(header), made)
        if "counts" in header:
            return called_by(self.observer.counts(header), made)
        if "before" in header:
            before = [message.unpack(said) for said in header["before"]]
            return lambda *a, **k: call_changed(made, before, a, k)
        if "again" in header:
            same = header["again"] == "same"
            return lambda *a, **k: call_again(made, a, k, same)
        times = header.get("times", 1)
        return made if times == 1 else functools.partial(call_many, made, times)

    def on_to(self, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Move a module, buffers and all, to this side's device and to a dtype."""
        module = self.objects.moved(message.header["module"], message.header["dtype"])
        parcel = self.parcel()
        return {"tree": trees.described(module, parcel)}, parcel

    def on_load_state(self, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Let a module load weights in its own way; say what stands in it then."""
        header = message.header
        module = as_told(self.objects.module(header["module"]), header["own"], message)
        weights = message.unpack(header["weights"])
        with SoftLimit(header["ms"]):
            keys = module.get_submodule(header["path"]).load_state_dict(weights, header["strict"])
        parcel = self.parcel()
        said = {"missing": list(keys.missing_keys), "unexpected": list(keys.unexpected_keys)}
        return {**said, "tree": trees.weights(module, parcel)}, parcel

    def on_attribute(self, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Return an attribute of an object, or of a part of a module."""
        part, name = self.objects.meant(message.header), message.header["name"]
        if not hasattr(part, name):
            return {}, self.parcel()
        value = getattr(part, name)
        parcel = self.parcel()
        packed = parcel.pack(nested.mapped(detached, value))
        return {"value": packed, "method": inspect.ismethod(value)}, parcel

    # ---- how it is done ----

    def _begin(self, seed: int) -> None:
        """Begin a check: nothing of the one before is left."""
        self.number = 0
        self.objects = Objects(self.home)
        self.observer.begin()
        self._undo.close()
        self.forget_graphs()
        self.world.begin(seed)
        be_exact(self.home)
        # what an answer draws without torch is the same as well, whichever checks ran before
        random.seed(seed)
        np.random.seed(seed % 2**32)

    def there(self, value: Any, device: Any) -> Any:
        """Put what has come from the judge where the answer wants it."""
        if self.observer.crossing is not None:
            return self.observer.crossing.there(value, device)
        if self.home == "cpu" or torch.device(device or "cpu").type != "cpu":
            return value
        return nested.mapped(lambda one: one.cpu() if isinstance(one, Tensor) else one, value)

    def _replace(self, stand_ins: Sequence[Any]) -> None:
        """Put stand-ins in the place of exercises, for this check."""
        made = {full: self._stand_in(full, *how) for full, *how in stand_ins}
        self._undo.enter_context(self.world.replaced(made))

    def _stand_in(self, full: str, how: str, number: int, name: str) -> Any:
        if how == "hangs":
            return Hangs(full)
        return LENT[how](self, number, name)

    def _callable(self, header: dict[str, Any]) -> Callable[..., Any]:
        if "method" in header:
            method: Callable[..., Any] = getattr(self.objects.meant(header), header["method"])
            return method
        if "module" in header:
            part: nn.Module = self.objects.meant(header)
            return part
        full = f"{header['stem']}.{header['name']}"
        if full in self.planted:
            return self.planted[full]
        return getattr(self.world.load(header["stem"]), header["name"])

    def _inside(
        self,
        made: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        header: dict[str, Any],
        told: dict[str, Any],
    ) -> Any:
        """Call the answer with the judge's switches set, and tell what it left of them."""
        gradients, dtype = header["switches"]
        self.observer.before_a_call()
        around = self.observer.noticing(header)
        _switch(gradients, DTYPES[dtype])
        stood = standing()
        try:
            with around, SoftLimit(header["ms"]):
                value = made(*args, **kwargs)
                context.wait(self.home)
                return value
        finally:
            switched = put_back_from(stood)
            if switched:
                told["switched"] = switched
            _switch(True, torch.float32)
            told |= self.observer.told(header)

    def _changes(self, modules: Sequence[nn.Module], parcel: Parcel) -> dict[str, Any]:
        """Say how modules are now."""
        say: dict[str, Any] = {}
        noted = self.objects.noted(parcel)
        if noted:
            say["noted"] = noted
        if modules:
            say["modules"] = [self.objects.state(module, parcel) for module in modules]
        return say

    # ---- values that the wire does not know ----

    def asking(self) -> Parcel:
        """Return a parcel for what is lent: the judge's own objects go by their numbers."""
        return Parcel(self._asking_for, self.home, strided=False)

    def _asking_for(self, value: Any, parcel: Parcel) -> Any:
        if isinstance(value, LentObject):
            return {"b": value.kit_number}
        return self.special(value, parcel)

    def special(self, value: Any, parcel: Parcel) -> Any:
        """Turn an object of the answer's into JSON."""
        return self.objects.packed(value, parcel)

    def opened(self, key: str, inner: Any, message: Opened) -> Any:
        """Turn JSON of the judge's into an object."""
        if key == "m":
            return as_told(self.objects.module(inner["number"]), inner, message)
        if key == "b":
            return lent_module(self, inner, message)
        if key == "g":
            return self.objects.generator(inner[0], inner[1], message)
        if key == "e":
            return self.objects.other(inner)
        if key == "c":
            return torch.device(inner)
        raise WireError(f"nothing is {key}")


def _switch(gradients: bool, dtype: torch.dtype) -> None:
    """Turn torch's switches where they have to be."""
    if torch.is_grad_enabled() != gradients:
        torch.set_grad_enabled(gradients)
    if torch.get_default_dtype() != dtype:
        torch.set_default_dtype(dtype)


def _unique(tensors: Iterator[Tensor]) -> list[Tensor]:
    return list({id(one): one for one in tensors}.values())
