"""The worker: runs one answer in a process of its own, and does what the judge asks for."""

from __future__ import annotations

import contextlib
import inspect
import os
import random
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from grader import devices, nested
from grader.answers.door import call_again, called_by
from grader.answers.kept import flags, numbered, others
from grader.answers.precision import be_exact
from grader.answers.ready_made import noticing_names
from grader.answers.switches import put_back_from, standing
from grader.costs import Counting
from grader.dry_run import Crossing
from grader.reading.families import Family
from grader.remote import context, kernels, raised, trees
from grader.remote.channel import Channel, WireError
from grader.remote.end import End
from grader.remote.held import HeldWorld
from grader.remote.lent import LentModule, extras, lent_class, lent_function, lent_module
from grader.remote.lent_object import LentObject, lent_class_of_objects
from grader.remote.soft_limit import SoftLimit, alarm, ring
from grader.remote.wire import DTYPES, MOST_DIMENSIONS, NAMES, Opened, Parcel
from grader.trouble import BrokenFile, Hangs, TimeLimit, printable, said_by

LONGEST_REPR = 100
MOST_WARNINGS = 10
LENT: dict[str, Callable[[Worker, int, str], Any]] = {
    "function": lent_function,
    "class": lent_class,
    "class of objects": lent_class_of_objects,
}
NOTHING: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()


class Worker(End):
    """The judged end of the pipe.

    Attributes:
        world: the answer.
        stand_ins: what takes the place of an exercise when it is called through the door.
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
        self.stand_ins: dict[str, Any] = {}
        self._born = os.getpid()
        self._undo = contextlib.ExitStack()
        self._warned: list[str] = []
        self._net = contextlib.ExitStack()
        self._watched: Family | None = None
        self._seen: list[str] = []
        self._begin(0)

    def run(self) -> None:
        """Serve until the judge is gone."""
        warnings.showwarning = self._warn  # type: ignore[assignment]
        # the answer can reach what is handed here: a list's method, and not the worker
        kernels.overheard(self._seen.append)
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
        module = self.went_through.pop(token, None)
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

    def _warn(self, message: Any, *_: Any) -> None:
        if len(self._warned) < MOST_WARNINGS:
            self._warned.append(str(message)[:300])

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
        loaded = list(self.world.loaded)
        return {"found": found, "loaded": loaded, "stubs": stubs, "uses": uses}, None

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
        header = message.header
        crossing = self._crossing(header) if "crosses" in header else None
        counting = self._counting(header) if "counts" in header else None
        around = NOTHING if crossing is None else crossing.backward_too()
        around = around if counting is None else counting.way_back()
        del self._seen[:]
        try:
            with self._noticed(_family(header)), around, SoftLimit(header["ms"]):
                say, parcel = self.pull(message)
                context.wait(self.home)
        except Exception as problem:
            say, parcel = {"raised": self.raised(problem)}, self.parcel()
        if self._seen:
            say["seen"] = self._seen[:MOST_WARNINGS]
        if crossing is not None:
            say["mistakes"] = [one.said() for one in crossing.trip.mistakes]
        if counting is not None:
            say["costs"] = counting.said()
        return say, parcel

    def on_call(self, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Call an exercise, or a module that an exercise has made, once or many times."""
        header = message.header
        args = [message.unpack(said) for said in header["args"]]
        kwargs = {name: message.unpack(said) for name, said in header["kwargs"].items()}
        made = self._callable(header)
        if "own" in header and isinstance(made, nn.Module):
            self._told(made, header["own"], message)
        given = (*args, *kwargs.values())
        modules = [v for v in (made, *nested.flat(*given)) if isinstance(v, nn.Module)]
        leaves = [value for value in message.tensors if value.requires_grad]
        if modules:
            own = [m for m in modules if self._lent_number(m) is None]
            leaves += _unique(weight for module in own for weight in trees.leaves(module))
        before = [(_look(one), flags(one)) for one in message.tensors]
        holders = [one for value in given for _, one in nested.holders(value)]
        calls = self._calls(made, header)
        told: dict[str, Any] = {}
        handed: list[Any] = []
        try:
            value = self._inside(calls, args, kwargs, message, told, handed)
        except BaseException as problem:
            parcel = self.parcel()
            inputs = self._inputs(message, before, holders, parcel)
            told = {**told, **self._handed(handed, parcel), **inputs}
            return {"raised": self.raised(problem), **told}, parcel
        parcel = self.parcel()
        say = {"value": parcel.pack(value), **told, **self._handed(handed, parcel)}
        outputs = [one for one in parcel.sent if one.requires_grad]
        if outputs:
            say["token"] = self.keep(outputs, leaves)
        say.update(self._inputs(message, before, holders, parcel))
        say.update(self._changes(modules, parcel))
        return say, parcel

    def _calls(self, made: Callable[..., Any], header: dict[str, Any]) -> Callable[..., Any]:
        """Return what is called: many times, or on the pretended machine, if the judge says so."""
        if "crosses" in header:
            return called_by(self._crossing(header), made)
        if "counts" in header:
            return called_by(self._counting(header), made)
        if "again" in header:
            same = header["again"] == "same"
            return lambda *a, **k: call_again(made, a, k, same=same)
        times = header.get("times", 1)
        return made if times == 1 else (lambda *a, **k: [made(*a, **k) for _ in range(times)])

    def on_to(self, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Move a module, buffers and all, to this side's device and to a dtype."""
        module = self._object(message.header["module"])
        module.to(self.home, DTYPES[message.header["dtype"]])
        # where torch cannot put a weight on a device in place, another object stands for it now
        self._weights[message.header["module"]] = dict(trees.parameters(module))
        parcel = self.parcel()
        return {"tree": trees.described(module, parcel)}, parcel

    def on_load_state(self, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Let a module load weights in its own way; say what stands in it then."""
        header = message.header
        module = self._told(self._object(header["module"]), header["own"], message)
        weights = message.unpack(header["weights"])
        with SoftLimit(header["ms"]):
            keys = module.get_submodule(header["path"]).load_state_dict(weights, header["strict"])
        parcel = self.parcel()
        said = {"missing": list(keys.missing_keys), "unexpected": list(keys.unexpected_keys)}
        return {**said, "tree": trees.weights(module, parcel)}, parcel

    def on_attribute(self, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Return an attribute of an object, or of a part of a module."""
        part, name = self._asked(message.header), message.header["name"]
        if not hasattr(part, name):
            return {}, self.parcel()
        value = getattr(part, name)
        parcel = self.parcel()
        packed = parcel.pack(nested.mapped(_detached, value))
        return {"value": packed, "method": inspect.ismethod(value)}, parcel

    # ---- how it is done ----

    def _begin(self, seed: int) -> None:
        """Begin a check: nothing of the one before is left."""
        self.number = 0
        self.objects: dict[int, nn.Module] = {}
        self.others: list[Any] = []
        self._places: dict[int, int] = {}
        self.numbers: dict[int, int] = {}
        self.lent: dict[int, nn.Module] = {}
        self.first: dict[int, dict[str, Any]] = {}
        self._told_of: dict[int, int] = {}
        self._weights: dict[int, dict[str, Tensor]] = {}
        self.went_through: dict[int, LentModule] = {}
        self._generators: dict[int, torch.Generator] = {}
        self._undo.close()
        self.forget_graphs()
        self.crossing: Crossing | None = None
        self._crossed = 0
        self.counting: Counting | None = None
        self._counted = 0
        self.world.begin(seed)
        be_exact(self.home)
        # what an answer draws without torch is the same as well, whichever checks ran before
        random.seed(seed)
        np.random.seed(seed % 2**32)

    def _crossing(self, header: dict[str, Any]) -> Crossing:
        """Return the way to the pretended machine that the judge means."""
        number, forgiven = header["crosses"], map(tuple, header.get("forgiven", ()))
        if self.crossing is None or number != self._crossed:
            self.crossing, self._crossed = Crossing(self.world.called, list(forgiven)), number
        return self.crossing

    def _counting(self, header: dict[str, Any]) -> Counting:
        """Return what counts the costs that the judge means."""
        if self.counting is None or header["counts"] != self._counted:
            self.counting = Counting(self.world.called, after=self.counting)
            self._counted = header["counts"]
        return self.counting

    def there(self, value: Any, device: Any) -> Any:
        """Put what has come from the judge where the answer wants it."""
        if self.crossing is not None:
            return self.crossing.there(value, device)
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
            method: Callable[..., Any] = getattr(self._asked(header), header["method"])
            return method
        if "module" in header:
            return self._object(header["module"]).get_submodule(header["path"])
        full = f"{header['stem']}.{header['name']}"
        if full in self.stand_ins:
            return self.stand_ins[full]
        return getattr(self.world.load(header["stem"]), header["name"])

    def _asked(self, header: Mapping[str, Any]) -> Any:
        """Return the object, or the part of a module, that the judge means."""
        if "object" in header:
            return self.others[header["object"]]
        return self._object(header["module"]).get_submodule(header["path"])

    def _object(self, number: int) -> nn.Module:
        return self.objects[number]

    def _inside(
        self,
        made: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        message: Opened,
        told: dict[str, Any],
        handed: list[Any],
    ) -> Any:
        """Call the answer with the judge's switches set, and tell what it left of them."""
        header = message.header
        gradients, dtype = header["switches"]
        notices, watches = _family(header), header.get("watch")
        del self._warned[:], self._seen[:]
        around = self._noticed(notices)
        _switch(gradients, DTYPES[dtype])
        stood = standing()
        try:
            watching = self._watching(watches, handed) if watches else NOTHING
            with around, watching, SoftLimit(header["ms"]):
                made_of_it = made(*args, **kwargs)
                context.wait(self.home)
                return made_of_it
        finally:
            switched = put_back_from(stood)
            if switched:
                told["switched"] = switched
            _switch(True, torch.float32)
            if notices and self._seen:
                told["seen"] = self._seen[:MOST_WARNINGS]
            if self.crossing is not None and "crosses" in header:
                told["mistakes"] = [one.said() for one in self.crossing.trip.mistakes]
            if "counts" in header:
                told["costs"] = self._counting(header).said()
            if self._warned:
                told["warnings"] = self._warned[:]

    def _noticed(self, family: Family | None) -> contextlib.AbstractContextManager[Any]:
        """Notice the ready-made calls of a family, if there is one."""
        self._watch_kernels(family)
        return noticing_names(family, self._seen) if family else NOTHING

    def _watch_kernels(self, family: Family | None) -> None:
        """Put a net under the calls of a family, and take it away where nothing is looked for."""
        if family == self._watched:
            return
        self._net.close()
        self._watched = family
        if family:
            self._net.enter_context(kernels.replaced(family, self._seen.append, self.home))

    @contextlib.contextmanager
    def _watching(self, parts: Sequence[Any], handed: list[Any]) -> Iterator[None]:
        """Note what some parts of modules are handed when they are called."""
        hooks = []
        for number, path in parts:
            part = self._object(number).get_submodule(path)

            def note(_: Any, args: Any, kwargs: Any, where: Any = (number, path)) -> None:
                handed.append([*where, args, kwargs])

            hooks.append(part.register_forward_pre_hook(note, with_kwargs=True))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _handed(self, handed: list[Any], parcel: Parcel) -> dict[str, Any]:
        if not handed:
            return {}
        last = handed[-1]
        given = nested.mapped(_detached, (tuple(last[2]), dict(last[3])))
        return {"handed": [last[0], last[1], parcel.pack(given)]}

    def _inputs(
        self, message: Opened, before: list[Any], holders: Sequence[Any], parcel: Parcel
    ) -> dict[str, Any]:
        """Say how inputs are now; what became of numbers on the CPU the judge sees."""
        say: dict[str, Any] = {}
        looks, stood = zip(*before, strict=True) if before else ((), ())
        if self.home != "cpu" or list(looks) != [_look(one) for one in message.tensors]:
            now = [[i, parcel.tensor(v.detach())] for i, v in enumerate(message.tensors)]
            say["inputs"] = now
        pairs = enumerate(zip(stood, message.tensors, strict=True))
        parts = [[i, part] for i, (was, one) in pairs for part in others(was, flags(one))]
        if parts:
            say["flags"] = parts
        told = [numbered(one, message.tensors) for one in holders]
        if told:
            say["holders"] = [[at, parcel.pack(one)] for at, one in enumerate(told)]
        return say

    def _changes(self, modules: Sequence[nn.Module], parcel: Parcel) -> dict[str, Any]:
        """Say how modules are now."""
        say: dict[str, Any] = {}
        noted = self._noted(parcel) if self.lent else []
        if noted:
            say["noted"] = noted
        if modules:
            say["modules"] = [self._state(module, parcel) for module in modules]
        return say

    def _lent_number(self, module: nn.Module) -> int | None:
        """Return the number under which a module was lent, if it was."""
        if isinstance(module, LentModule):
            return module.kit_number
        return next((number for number, one in self.lent.items() if one is module), None)

    def _noted(self, parcel: Parcel) -> list[Any]:
        """Say what models of the suite's have noted since that was last said."""
        said = []
        for number, module in self.lent.items():
            noted = module.__dict__.get("noted", ())
            news = noted[self._told_of.get(number, 0) :]
            self._told_of[number] = len(noted)
            if news:
                said.append([number, [
                    [[name, None if v is None else parcel.tensor(v)] for name, v in one.items()]
                    for one in news
                ]])  # fmt: skip
        return said

    def _state(self, module: nn.Module, parcel: Parcel) -> list[Any]:
        training = [[path, part.training] for path, part in trees.paths(module)]
        weights = trees.weights(module, parcel)
        lent = self._lent_number(module)
        if lent is not None:
            first = self.first.get(lent) or module.__dict__.get("kit_first", {})
            return ["lent", lent, weights, training, extras(module, first, parcel)]
        number = self.numbers.get(id(module), 0)
        before, now = self._weights.get(number, {}), dict(trees.parameters(module))
        self._weights[number] = now
        others = [path for path in now if path in before and now[path] is not before[path]]
        return ["own", number, weights, training, others]

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
        if isinstance(value, nn.Module) and self._lent_number(value) is not None:
            return {"b": self._lent_number(value)}
        if isinstance(value, nn.Module):
            if id(value) not in self.numbers:
                self.numbers[id(value)] = len(self.objects) + 1
                self.objects[self.numbers[id(value)]] = value
                self._weights[self.numbers[id(value)]] = dict(trees.parameters(value))
            return {"m": [self.numbers[id(value)], trees.described(value, parcel)]}
        if isinstance(value, Tensor):
            return self._strange(value)
        return {"o": [type(value).__name__, _repr(value), self._number(value)]}

    def _number(self, value: Any) -> int:
        """Keep an object as long as the check lasts; the judge may ask for its methods."""
        if id(value) not in self._places:
            self._places[id(value)] = len(self.others)
            self.others.append(value)
        return self._places[id(value)]

    def _strange(self, value: Tensor) -> Any:
        name = NAMES.get(value.dtype)
        if (
            value.layout is torch.strided
            and name
            and value.device.type != "meta"
            and (value.dim() <= MOST_DIMENSIONS)
        ):
            return {"z": [name, list(value.shape)]}
        layout = str(value.layout).removeprefix("torch.")
        what = f"tensor on {value.device}" if layout == "strided" else f"{layout} tensor"
        return {"o": ["Tensor", printable(f"a {what} of {value.dtype}")]}

    def opened(self, key: str, inner: Any, message: Opened) -> Any:
        """Turn JSON of the judge's into an object."""
        if key == "m":
            return self._told(self._object(inner["number"]), inner, message)
        if key == "b":
            return lent_module(self, inner, message)
        if key == "g":
            return self._generator(inner, message)
        if key == "e":
            return self.others[inner]
        if key == "c":
            return torch.device(inner)
        raise WireError(f"nothing is {key}")

    def _told(self, module: nn.Module, state: Any, message: Opened) -> nn.Module:
        """Do to a module what was done to its mirror."""
        for path, number, wants in state["weights"]:
            trees.set_values(trees.at(module, path), message.tensor(number), wants)
        for path, training in state["training"]:
            module.get_submodule(path).training = training
        return module

    def _generator(self, inner: Any, message: Opened) -> torch.Generator:
        number, state = inner
        if number not in self._generators:
            made = torch.Generator(self.home)
            if self.home == "cpu":
                made.set_state(message.tensor(state).cpu())
            else:
                made.manual_seed(int(message.tensor(state)[:8].cpu().view(torch.int64).item()))
            self._generators[number] = made
        return self._generators[number]


def _switch(gradients: bool, dtype: torch.dtype) -> None:
    """Turn torch's switches where they have to be."""
    if torch.is_grad_enabled() != gradients:
        torch.set_grad_enabled(gradients)
    if torch.get_default_dtype() != dtype:
        torch.set_default_dtype(dtype)


def _look(value: Tensor) -> tuple[Any, ...]:
    """Return what tells whether a tensor shows other numbers than those that it was made for."""
    return value.shape, value.stride(), value.dtype, value.data_ptr(), value.is_neg()


def _family(header: Mapping[str, Any]) -> Family | None:
    """Return which ready-made calls a message asks to notice."""
    return Family.read(header["notice"]) if "notice" in header else None


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _unique(tensors: Iterator[Tensor]) -> list[Tensor]:
    return list({id(one): one for one in tensors}.values())


def _repr(value: Any) -> str:
    try:
        return printable(said_by(value)[: 4 * LONGEST_REPR])[:LONGEST_REPR]
    except Exception:
        return "?"
