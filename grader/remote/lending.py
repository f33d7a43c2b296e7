"""Lending: models and functions of the suites that an answer may call from the other process."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from grader import nested
from grader.answers.handed import MOST_NOTED, Handed, source_of
from grader.remote import trees
from grader.remote.budget import MOST_NUMBERS, Budget, extent, reckoned, refuse_large_sizes
from grader.remote.channel import WireError
from grader.remote.lifted import are_levels, lifted, within
from grader.remote.wire import Opened, Parcel

if TYPE_CHECKING:
    from grader.remote.world import RemoteWorld


class Lending:
    """What has been lent to one worker."""

    def __init__(self, world: RemoteWorld) -> None:
        self.world = world
        self._lent: dict[int, Any] = {}
        self._copies: dict[int, nn.Module] = {}
        self._objects: dict[int, Any] = {}
        self._next = 1
        self.budget = Budget(world.patience)

    def forget(self, keep: dict[str, Any]) -> None:
        """Take back what was lent for one check, but for stand-ins that are in place."""
        kept = list(keep.values())
        self._lent = {n: one for n, one in self._lent.items() if any(one is k for k in kept)}
        self._next = max(self._lent, default=1)
        self._copies.clear()
        self._objects.clear()
        self.budget = Budget(self.world.patience)

    def number_of(self, value: Any) -> int:
        """Return the number under which something is lent."""
        for number, one in self._lent.items():
            if one is value:
                return number
        self._next += 1
        self._lent[self._next] = value
        return self._next

    def lend(self, module: nn.Module, parcel: Parcel) -> dict[str, Any]:
        """Describe a module that an answer is handed, with all of its state."""
        gradients = [
            [path, None if w.grad is None else parcel.tensor(w.grad.detach())]
            for path, w in module.named_parameters()
        ]
        return {
            "number": self.number_of(module),
            "tree": trees.described(module, parcel),
            "gradients": gradients,
            "source": source_of(type(module)) if isinstance(module, Handed) else None,
            "training": [[path, part.training] for path, part in module.named_modules()],
        }

    def module(self, number: Any) -> nn.Module:
        """Return a module that was lent."""
        found = self._lent.get(number) if type(number) is int else None
        if not isinstance(found, nn.Module):
            raise WireError("nothing was lent under that number")
        return found

    def thing(self, number: Any) -> Any:
        """Return a module that was lent, or an object that was made for the answer."""
        made = self._objects.get(number) if type(number) is int else None
        return self.module(number) if made is None else made

    def serve(self, kind: str, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Work out a call of something lent."""
        header = message.header
        number = header.get("lent")
        if kind in ("attribute", "method", "copy"):
            return self._of_object(kind, number, message)
        lent = self._lent.get(number) if type(number) is int else None
        if lent is None:
            raise WireError("nothing was lent under that number")
        given = called_with(message)
        if kind == "construct" and isinstance(lent, type):
            return self._constructed(lent, header.get("seed"), *given)
        if kind == "forward" and isinstance(lent, nn.Module):
            return self._forward(given, message)
        if kind == "function" and not isinstance(lent, type | nn.Module):
            levels = header.get("levels", [])
            known = nested.flat(*given[0], *given[1].values())
            tensors = [one for one in known if isinstance(one, Tensor)]
            if not are_levels(levels, len(tensors)):
                raise WireError("a call is malformed")
            shapes, times = within([one.shape for one in tensors], levels)
            work = self.budget.works_out(shapes, known, times)
            wanting = header.get("gradients") is True
            wanting &= any(value.requires_grad for value in tensors)
            self.budget.keeps(work if wanting else 0)
            made = functools.partial(lifted, lent, levels) if levels else lent
            return self._called(made, [], given, message)
        raise WireError("what is lent is something else")

    def _constructed(
        self, lent: type, seed: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], Parcel]:
        refuse_large_sizes((*args, *kwargs.values()))
        self.budget.makes()
        if type(seed) is not int or not 0 <= seed < 2**31:
            raise WireError("a seed is malformed")
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            made = lent(*args, **kwargs)
        parcel = self.world.parcel()
        if not isinstance(made, nn.Module):
            return self._keep(made), parcel
        self.budget.weighs(made)
        return {"module": self.lend(made, parcel)}, parcel

    def _keep(self, made: Any) -> dict[str, Any]:
        self._next += 1
        self._objects[self._next] = made
        return {"object": self._next}

    def _of_object(self, kind: str, number: Any, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Use an object that was made for the answer, by what it shows to everybody."""
        made, name = self.thing(number), message.header.get("name", "")
        if isinstance(made, nn.Module) or type(name) is not str or name.startswith("_"):
            raise WireError("what is lent is something else")
        if kind == "copy":
            self.budget.makes()
            return self._keep(copy.deepcopy(made)), self.world.parcel()
        found = getattr(made, name)
        if kind == "method" and callable(found):
            try:
                return self._called(found, [], called_with(message), message)
            finally:
                self.budget.holds(self._objects.values())
        parcel = self.world.parcel()
        if callable(found):
            return {"method": True}, parcel
        return {"value": parcel.pack(found)}, parcel

    def _forward(self, given: Any, message: Opened) -> tuple[dict[str, Any], Parcel]:
        module = self.stands(message)
        assert module is not None
        leaves: list[Tensor] = [w for w in module.parameters() if w.requires_grad]
        return self._called(module, leaves, given, message)

    def stands(self, message: Opened) -> nn.Module | None:
        """Bring a module that was lent, or a copy of it, to where the answer has brought it."""
        header = message.header
        if "lent" not in header:
            return None
        module = self.module(header["lent"])
        if header.get("copy") is True:
            module = self._copies.setdefault(header["lent"], copy.deepcopy(module))
        self._set(module, header.get("weights"), header.get("training"), message)
        self._set_gradients(module, header.get("extras"), message)
        return module

    def _called(
        self, made: Callable[..., Any], weights: list[Tensor], given: Any, message: Opened
    ) -> tuple[dict[str, Any], Parcel]:
        leaves = [value for value in message.tensors if value.requires_grad] + weights
        wanting = message.header.get("gradients") is True
        with torch.set_grad_enabled(wanting):
            value = made(*given[0], **given[1])
        if wanting and isinstance(made, nn.Module):
            self.budget.keeps(sum(reckoned([one.shape], ()) for one in message.tensors))
        parcel = self.world.parcel()
        say: dict[str, Any] = {"value": parcel.pack(value)}
        outputs = [one for one in parcel.sent if one.requires_grad]
        if outputs:
            say["token"] = self.world.keep(outputs, leaves)
        return say, parcel

    def take(self, number: Any, weights: Any, training: Any, extras: Any, reply: Opened) -> None:
        """Take over what an answer did to a module that was lent."""
        module = self.module(number)
        replaced = {
            one[0]
            for one in _extras(extras)
            if one[1] is False and trees.at(module, one[0]) is not None
        }
        for path in replaced:
            old = trees.at(module, path)
            trees.put(module, path, nn.Parameter(old.detach().clone()))
        _add_and_take_away(module, weights, reply)
        self._set(module, weights, training, reply)
        self._set_gradients(module, extras, reply)

    def take_noted(self, said: Any, message: Opened) -> None:
        """Take over what models of the suite's have noted while the answer had them."""
        for number, stands in said if type(said) is list else []:
            module = self.module(number)
            if not isinstance(module, Handed) or len(module.noted) + len(stands) > MOST_NOTED:
                raise WireError("more was noted than there is room for")
            for one in stands:
                module.noted.append(
                    {str(name): None if at is None else message.tensor(at) for name, at in one}
                )

    def _set(self, module: nn.Module, weights: Any, training: Any, message: Opened) -> None:
        for paths, values, wants in trees.weights_of(weights, message):
            weight = trees.at(module, paths[0])
            if weight is None:
                continue
            if extent(values) > MOST_NUMBERS:
                raise WireError("a weight of what is lent is too large")
            same = weight.shape == values.shape and weight.dtype == values.dtype
            if not same:
                weight.data = values.clone()
            elif not torch.equal(weight.detach(), values):
                # past the version counter: a graph that is kept was made with these very weights
                weight.data.copy_(values)
            if weight.requires_grad != wants:
                weight.requires_grad_(wants)
        parts = dict(module.named_modules())
        for one in training if type(training) is list else []:
            if type(one) is list and len(one) == 2 and type(one[0]) is str and one[0] in parts:
                parts[one[0]].training = one[1] is True

    def _set_gradients(self, module: nn.Module, extras: Any, message: Opened) -> None:
        for path, _, number in _extras(extras):
            weight = trees.at(module, path)
            if weight is None:
                continue
            gradient = None if number is None else message.tensor(number)
            if gradient is not None and gradient.shape != weight.shape:
                raise WireError("a gradient of another shape")
            if gradient is None or weight.grad is None:
                weight.grad = None if gradient is None else gradient.clone().to(weight.dtype)
            elif not torch.equal(weight.grad, gradient):
                weight.grad.copy_(gradient)


def how_lent(made: Any) -> str:
    """Say what is lent: a function, a class of modules, or one of other objects."""
    if not isinstance(made, type):
        return "function"
    return "class" if issubclass(made, nn.Module) else "class of objects"


def called_with(message: Opened) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call."""
    given = message.unpack(message.header.get("value"))
    if type(given) is not tuple or len(given) != 2 or type(given[1]) is not dict:
        raise WireError("a call is malformed")
    return given


def _add_and_take_away(module: nn.Module, weights: Any, message: Opened) -> None:
    """Let a module have the weights that it has on the other side, and no others."""
    told = trees.weights_of(weights, message)
    there = {path: (values, wants) for paths, values, wants in told for path in paths}
    for path in [path for path, _ in trees.parameters(module) if path not in there]:
        trees.put(module, path, None)
    for path, (values, wants) in there.items():
        if trees.at(module, path) is None:
            made = nn.Parameter(values.clone(), wants and values.is_floating_point())
            trees.attach_bare(module, path.rpartition(".")[0])
            trees.put(module, path, made)


def _extras(said: Any) -> list[list[Any]]:
    listed = said[: trees.MOST_PARTS] if type(said) is list else []
    for one in listed:
        if type(one) is not list or len(one) != 3 or type(one[0]) is not str:
            raise WireError("a module's state is malformed")
    return listed
