"""The objects of one check in the worker, by the numbers that the judge knows them by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from grader.remote import trees
from grader.remote.lent import LentModule, extras
from grader.remote.wire import DTYPES, MOST_DIMENSIONS, NAMES, Opened, Parcel
from grader.trouble import printable, said_by

LONGEST_REPR = 100


class Objects:
    """What the answer has made in one check, and what it was lent: modules, generators and others.

    Args:
        home: the device on this side.

    Attributes:
        lent: the judge's modules that are here.
        first: the weights that they came with.
        went_through: which of them a graph that the judge keeps goes through, by its token.
    """

    def __init__(self, home: str) -> None:
        self.home = home
        self.lent: dict[int, nn.Module] = {}
        self.first: dict[int, dict[str, Any]] = {}
        self.went_through: dict[int, LentModule] = {}
        self._modules: dict[int, nn.Module] = {}
        self._numbers: dict[int, int] = {}
        self._weights: dict[int, dict[str, Tensor]] = {}
        self._others: list[Any] = []
        self._places: dict[int, int] = {}
        self._generators: dict[int, torch.Generator] = {}
        self._notes_told: dict[int, int] = {}

    # ---- what the judge means ----

    def module(self, number: int) -> nn.Module:
        """Return a module that the answer has made."""
        return self._modules[number]

    def other(self, number: int) -> Any:
        """Return another object that the answer has made."""
        return self._others[number]

    def meant(self, header: Mapping[str, Any]) -> Any:
        """Return the object, or the part of a module, that a message is about."""
        if "object" in header:
            return self._others[header["object"]]
        return self._modules[header["module"]].get_submodule(header["path"])

    def generator(self, number: int, state: Any, message: Opened) -> torch.Generator:
        """Return the twin of a generator of the judge's; it is made when it is first asked for."""
        if number not in self._generators:
            made = torch.Generator(self.home)
            if self.home == "cpu":
                made.set_state(message.tensor(state).cpu())
            else:
                made.manual_seed(int(message.tensor(state)[:8].cpu().view(torch.int64).item()))
            self._generators[number] = made
        return self._generators[number]

    def moved(self, number: int, dtype: str) -> nn.Module:
        """Move a module, buffers and all, to this side's device and to a dtype."""
        module = self._modules[number].to(self.home, DTYPES[dtype])
        # where torch cannot put a weight on a device in place, another object stands for it now
        self._weights[number] = dict(trees.parameters(module))
        return module

    # ---- what the judge is told ----

    def packed(self, value: Any, parcel: Parcel) -> dict[str, Any]:
        """Turn an object into JSON, with a number under which the judge may ask for it again."""
        if isinstance(value, nn.Module):
            lent = self.lent_number(value)
            return self._own(value, parcel) if lent is None else {"b": lent}
        if isinstance(value, Tensor):
            return _strange(value)
        if id(value) not in self._places:
            self._places[id(value)] = len(self._others)
            self._others.append(value)
        return {"o": [type(value).__name__, _repr(value), self._places[id(value)]]}

    def lent_number(self, module: nn.Module) -> int | None:
        """Return the number under which a module was lent, if it was."""
        if isinstance(module, LentModule):
            return module.kit_number
        return next((number for number, one in self.lent.items() if one is module), None)

    def state(self, module: nn.Module, parcel: Parcel) -> list[Any]:
        """Say how a module stands, and which of its weights are other objects than before."""
        training = [[path, part.training] for path, part in trees.paths(module)]
        weights = trees.weights(module, parcel)
        lent = self.lent_number(module)
        if lent is not None:
            first = self.first.get(lent) or module.__dict__.get("kit_first", {})
            return ["lent", lent, weights, training, extras(module, first, parcel)]
        number = self._numbers.get(id(module), 0)
        before, now = self._weights.get(number, {}), dict(trees.parameters(module))
        self._weights[number] = now
        others = [path for path in now if path in before and now[path] is not before[path]]
        return ["own", number, weights, training, others]

    def noted(self, parcel: Parcel) -> list[Any]:
        """Say what models of the suite's have noted since that was last said."""
        said = []
        for number, module in self.lent.items():
            noted = module.__dict__.get("noted", ())
            news = noted[self._notes_told.get(number, 0) :]
            self._notes_told[number] = len(noted)
            if news:
                said.append([number, [
                    [[name, None if v is None else parcel.tensor(v)] for name, v in one.items()]
                    for one in news
                ]])  # fmt: skip
        return said

    def _own(self, module: nn.Module, parcel: Parcel) -> dict[str, Any]:
        number = self._numbers.setdefault(id(module), len(self._modules) + 1)
        if number not in self._modules:
            self._modules[number] = module
            self._weights[number] = dict(trees.parameters(module))
        return {"m": [number, trees.described(module, parcel)]}


def as_told(module: nn.Module, state: Any, message: Opened) -> nn.Module:
    """Do to a module what was done to its mirror."""
    for path, number, wants in state["weights"]:
        trees.set_values(trees.at(module, path), message.tensor(number), wants)
    for path, training in state["training"]:
        module.get_submodule(path).training = training
    return module


def _strange(value: Tensor) -> dict[str, Any]:
    """Describe a tensor that is not sent: it is too large, or none that a right answer returns."""
    name = NAMES.get(value.dtype)
    strided = value.layout is torch.strided
    if strided and name and value.device.type != "meta" and value.dim() <= MOST_DIMENSIONS:
        return {"z": [name, list(value.shape)]}
    layout = str(value.layout).removeprefix("torch.")
    what = f"tensor on {value.device}" if strided else f"{layout} tensor"
    return {"o": ["Tensor", printable(f"a {what} of {value.dtype}")]}


def _repr(value: Any) -> str:
    try:
        return printable(said_by(value)[: 4 * LONGEST_REPR])[:LONGEST_REPR]
    except Exception:
        return "?"
