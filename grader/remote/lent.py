"""What the judge has lent the answer: models of a suite's, and stand-ins for exercises.

A model that a suite hands over is made here from its class's source: a module like any other. What
stands in for an exercise is a solution, and none of that comes here: an answer holds the weights of
such a module, can train and move them, and each call of it is asked of the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from grader import devices, nested
from grader.answers.handed import Handed, Noted
from grader.remote import trees
from grader.remote.channel import WireError
from grader.remote.lifted import Dims, through_vmap, transformed
from grader.remote.wire import Opened, Parcel

if TYPE_CHECKING:
    from grader.remote.worker import Worker


class LentModule(nn.Module):
    """A module whose weights are here and whose arithmetic is the judge's."""

    kit_worker: Worker
    kit_number: int

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the judge for what comes out."""
        worker, device = self.kit_worker, wanted((*args, *self.parameters()), kwargs)
        say, parcel, leaves = call_of(worker, (args, kwargs))
        leaves += [w for w in self.parameters() if w.requires_grad]
        reply = worker.ask("forward", {**say, **self.kit_state(parcel)}, parcel)
        if "token" in reply.header:
            worker.objects.went_through[reply.header["token"]] = self
        return joined(worker, reply, leaves, device)

    def kit_state(self, parcel: Parcel) -> dict[str, Any]:
        """Say how the module stands now; with weights that are not its own it counts as a copy."""
        first = self.__dict__["kit_first"]
        own = all(first.get(path) is weight for path, weight in trees.parameters(self))
        return {
            "lent": self.kit_number,
            "copy": not own or self.kit_worker.objects.lent.get(self.kit_number) is not self,
            "weights": trees.weights(self, parcel),
            "extras": extras(self, first, parcel),
            "training": [[path, part.training] for path, part in trees.paths(self)],
        }

    def __deepcopy__(self, memo: dict[int, Any]) -> LentModule:
        """Copy the weights; the copy is lent as well."""
        import copy

        twin = type(self).__new__(type(self))
        nn.Module.__init__(twin)
        memo[id(self)] = twin
        for path, weight in self._parameters.items():
            twin.register_parameter(path, copy.deepcopy(weight, memo))
        for path, part in self._modules.items():
            twin.add_module(path, copy.deepcopy(part, memo))
        ours = [name for name in self.__dict__ if name in vars(twin)]
        others = {k: v for k, v in self.__dict__.items() if k not in ours}
        twin.__dict__.update(copy.deepcopy({**others, "kit_first": {}}, memo))
        twin.training = self.training
        return twin


def extras(module: nn.Module, first: dict[str, Any], parcel: Parcel) -> list[Any]:
    """List, for every weight, whether it is still the one that was lent, and its gradient."""
    return [
        [path, first.get(path) is weight,
         None if weight.grad is None else parcel.tensor(weight.grad.detach())]
        for path, weight in trees.parameters(module)
    ]  # fmt: skip


def wanted(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the device that a call asks for: the one named, or the tensors'; None for neither.

    Tensors of several devices meet here as they would meet in what is lent.
    """
    known = nested.flat(*args, *kwargs.values())
    tensors = [one for one in known if isinstance(one, Tensor)]
    if len({one.device for one in tensors if one.dim()}) > 1:
        with torch.no_grad():
            torch.cat([one.reshape(-1)[:1] for one in tensors if one.dim()])
    if kwargs.get("device") is not None:
        return kwargs["device"]
    named = [one for one in args if isinstance(one, torch.device) or _names_a_device(one)]
    return (*named, *(one.device for one in tensors), None)[0]


def _made_here(value: Any, device: Any) -> Any:
    """Make a tensor that comes of no other one, so that it is seen who has made it, and where."""
    if not isinstance(value, Tensor):
        return value
    return torch.empty(value.shape, dtype=value.dtype, device=device).copy_(value)


def _names_a_device(value: Any) -> bool:
    return isinstance(value, str) and devices.is_name(value)


def call_of(worker: Worker, given: Any) -> tuple[dict[str, Any], Parcel, list[Tensor]]:
    """Pack a call of something lent; return what to say, and the tensors that want gradients."""
    parcel = worker.asking()
    say = {"gradients": torch.is_grad_enabled(), "value": parcel.pack(given)}
    return say, parcel, [one for one in parcel.sent if one.requires_grad]


def joined(worker: Worker, reply: Opened, leaves: list[Tensor], device: Any) -> Any:
    """Return what has come, joined to the graph where it wants gradients."""
    wanting = [at for at, meta in enumerate(reply.metas) if meta[3]]
    if wanting and torch.is_grad_enabled():
        values = [reply.tensors[at] for at in wanting]
        for at, value in zip(
            wanting, worker.across(reply.header["token"], values, leaves), strict=True
        ):
            reply.tensors[at] = value
    return worker.there(reply.unpack(reply.header["value"]), device)


def lent_function(worker: Worker, number: int, name: str) -> Callable[..., Any]:
    """Make a function that the judge works out."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = (args, kwargs)
        return through_vmap(ask, given, []) if transformed() else ask(given, [])

    def ask(given: Any, levels: list[Dims]) -> Any:
        device = wanted(*given)
        say, parcel, leaves = call_of(worker, given)
        say |= {"lent": number, **({"levels": levels} if levels else {})}
        reply = worker.ask("function", say, parcel)
        if parcel.sent:
            return joined(worker, reply, leaves, device)
        return nested.mapped(lambda one: _made_here(one, device), joined(worker, reply, [], "cpu"))

    call.__name__ = call.__qualname__ = name
    return call


def lent_class(worker: Worker, number: int, name: str) -> type[nn.Module]:
    """Make a class of modules that the judge works out."""

    def make(self: LentModule, *args: Any, **kwargs: Any) -> None:
        nn.Module.__init__(self)
        parcel = worker.asking()
        # weights are drawn over there, by the state of chance here
        seed = torch.empty((), dtype=torch.int64).random_(2**31).tolist()
        say = {"lent": number, "seed": seed, "value": parcel.pack((args, kwargs))}
        reply = worker.ask("construct", say, parcel)
        self.kit_number = reply.header["module"]["number"]
        self.__dict__["kit_first"] = furnish(worker, self, reply.header["module"], reply)

    return type(name, (LentModule,), {"__init__": make, "kit_worker": worker})


def lent_module(worker: Worker, inner: Any, message: Opened) -> nn.Module:
    """Return a module that the judge lends; one that is known already gets its state anew."""
    number = inner["number"]
    known = worker.objects.lent.get(number)
    if known is None:
        known = handed(inner["source"], inner["tree"]["parts"][0][1])
        worker.objects.first[number] = furnish(worker, known, inner, message)
    first = worker.objects.first.get(number) or known.__dict__["kit_first"]
    for paths, values, wants in trees.weights_of(inner["tree"]["weights"], message):
        for path in paths[:1]:
            first.setdefault(path, trees.at(known, path))
            if trees.at(known, path) is not first[path]:
                trees.put(known, path, first[path])
            trees.set_values(first[path], values.detach(), wants)
    for path, gradient in inner["gradients"]:
        first[path].grad = None if gradient is None else message.tensor(gradient).clone()
    for path, training in inner["training"]:
        known.get_submodule(path).training = training
    return known


def handed(source: str, name: str) -> nn.Module:
    """Make a model of a suite's, without its parts."""
    space: dict[str, Any] = {"torch": torch, "nn": nn, "Handed": Handed, "__name__": "models"}
    exec(source, space)
    made: nn.Module = space[name].__new__(space[name])
    nn.Module.__init__(made)
    made.noted = Noted()  # type: ignore[assignment]
    return made


def furnish(worker: Worker, module: nn.Module, inner: Any, message: Opened) -> dict[str, Any]:
    """Give a lent module its parts and its weights; return these."""
    parts = trees.parts_of(inner["tree"]["parts"])
    for part in parts[1:]:
        if part.kind is nn.MultiheadAttention:
            raise WireError("no such module is lent")
        kind = part.kind if part.kind in (nn.Linear, nn.Embedding, nn.ModuleList) else nn.Module
        trees.attach(module, part.path, _bare(kind))
    for paths, values, wants in trees.weights_of(inner["tree"]["weights"], message):
        weight = nn.Parameter(values.detach().clone(), requires_grad=wants)
        for path in paths:
            trees.put(module, path, weight)
    for part in parts:
        for name in part.without:
            trees.put(module, f"{part.path}.{name}".lstrip("."), None)
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            layer.out_features, layer.in_features = layer.weight.shape
        if isinstance(layer, nn.Embedding):
            layer.num_embeddings, layer.embedding_dim = layer.weight.shape
            layer.padding_idx = layer.max_norm = None
            layer.norm_type, layer.scale_grad_by_freq, layer.sparse = 2.0, False, False
    worker.objects.lent[inner["number"]] = module
    return dict(trees.parameters(module))


def _bare(kind: type[nn.Module]) -> nn.Module:
    part: nn.Module = nn.Module.__new__(kind)
    nn.Module.__init__(part)
    return part
