"""Mirrors: modules on the judge's side that stand for an answer's own in the other process.

A mirror has the parts, the names and the weights of the module that it stands for. Calling it
calls that one; what is done to the mirror's weights is told there before the next call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _IncompatibleKeys

from grader.remote import trees
from grader.remote.channel import WireError
from grader.remote.claims import words
from grader.remote.wire import NAMES, Opened, Parcel

if TYPE_CHECKING:
    from grader.remote.world import RemoteWorld


class Mirror(nn.Module):
    """A part of a mirrored module; the root stands for the whole."""

    kit_twin: Twin
    kit_path: str

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module that this one stands for."""
        twin = self.kit_twin
        if not self.kit_path:
            for note in twin.noting:
                note(self, args, kwargs)
        where = {"twin": twin, "module": twin.number, "path": self.kit_path}
        return twin.world.call(where, args, kwargs)

    def note_calls(self, note: Callable[..., Any]) -> None:
        """Let `note` know of each call of the module."""
        self.kit_twin.noting.append(note)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Move the module to a dtype; its device is where the answer runs."""
        dtypes = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.dtype)]
        self.kit_twin.to(dtypes[0] if dtypes else None)
        return self

    def register_forward_pre_hook(self, hook: Callable[..., Any], **_: Any) -> Any:  # type: ignore[override]
        """Let `hook` know what this part is handed in the other process."""
        self.kit_twin.watched[self.kit_path] = hook
        return _Hook(self.kit_twin, self.kit_path)

    def load_state_dict(  # type: ignore[override]
        self, state_dict: Mapping[str, Any], strict: bool = True, **_: Any
    ) -> Any:
        """Let the module load weights in its own way, and read back what stands in it then."""
        return self.kit_twin.load(self.kit_path, dict(state_dict), strict)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_") or "kit_twin" not in self.__dict__:
                raise
            return self.kit_twin.attribute(self, name)


class _Hook:
    def __init__(self, twin: Twin, path: str) -> None:
        self.twin, self.path = twin, path

    def remove(self) -> None:
        """Stop watching."""
        self.twin.watched.pop(self.path, None)


class Twin:
    """What a mirror knows of the module that it stands for.

    Attributes:
        world: where that one is.
        number: its number there.
        root: the mirror.
        exercise: which one has made it.
        watched: the parts whose calls a suite wants to hear of.
    """

    def __init__(self, world: RemoteWorld, number: int) -> None:
        self.world, self.number = world, number
        self.root: nn.Module = nn.Module()
        self.exercise = ""
        self.watched: dict[str, Callable[..., Any]] = {}
        self.noting: list[Callable[..., Any]] = []
        self._known: dict[str, tuple[int, int, bool]] = {}
        self._training: dict[str, bool] = {}

    def weights(self) -> list[Tensor]:
        """List the weights, each once, in the order that both sides know."""
        return list(self.root.parameters())

    def state(self, parcel: Parcel) -> dict[str, Any]:
        """Say what has been changed on this side since it was last told."""
        changed = []
        for path, weight in self.root.named_parameters():
            now = _mark(weight)
            if self._known.get(path) != now:
                changed.append([path, parcel.tensor(weight.detach()), weight.requires_grad])
                self._known[path] = now
        training = []
        for path, part in self.root.named_modules():
            if self._training.get(path) != part.training:
                training.append([path, part.training])
                self._training[path] = part.training
        return {"weights": changed, "training": training}

    def to(self, dtype: torch.dtype | None) -> None:
        """Move to a dtype, and to the other side's device; not where nothing would change."""
        floats = [weight for weight in self.weights() if weight.is_floating_point()]
        wanted = dtype or (floats[0].dtype if floats else torch.float32)
        if self.world.workers_device == "cpu" and all(weight.dtype == wanted for weight in floats):
            return
        say = {"module": self.number, "dtype": NAMES[wanted]}
        reply = self.world.ask("to", say)
        with self.world.makes_sense():
            self.take(reply.header.get("tree", {}).get("weights"), [], reply)

    def load(self, path: str, weights: dict[str, Any], strict: bool) -> Any:
        """Load weights over there; return the names that were missing, and those too many."""
        parcel = self.world.parcel(strided=True)
        own = self.state(parcel)
        say = {"module": self.number, "path": path, "own": own, "strict": strict,
               "weights": parcel.pack(weights)}  # fmt: skip
        reply = self.world.ask("load_state", say, parcel)
        with self.world.makes_sense():
            self.take(reply.header.get("tree"), [], reply)
            missing, unexpected = (words(reply.header.get(n)) for n in ("missing", "unexpected"))
        return _IncompatibleKeys(missing, unexpected)

    def attribute(self, mirror: Mirror, name: str) -> Any:
        """Ask for an attribute that is no part and no weight."""
        say = {"module": self.number, "path": mirror.kit_path, "name": name}
        reply = self.world.ask("attribute", say)
        if "value" not in reply.header:
            raise AttributeError(f"'{type(mirror).__name__}' object has no attribute '{name}'")
        with self.world.makes_sense():
            return reply.unpack(reply.header["value"])

    def take(
        self, weights: Any, training: Any, message: Opened, others: Sequence[str] = ()
    ) -> None:
        """Take over what has been changed on the other side.

        Args:
            weights: how they are now; some may be new, or gone.
            training: which parts are in training.
            message: tells it.
            others: under which paths there is another object now.
        """
        said = trees.weights_of(weights, message)
        there = {path for paths, _, _ in said for path in paths} - set(others)
        for path in [path for path, _ in trees.parameters(self.root) if path not in there]:
            trees.put(self.root, path, None)
            self._known.pop(path, None)
        for paths, values, wants in said:
            weight = trees.at(self.root, paths[0])
            if weight is None:
                weight = nn.Parameter(values.clone(), wants and values.is_floating_point())
            if weight.dtype != values.dtype or not torch.equal(weight, values):
                trees.set_values(weight, values, wants)
            elif weight.requires_grad != wants:
                weight.requires_grad_(wants)
            for path in paths:
                if trees.at(self.root, path) is not weight:
                    self._hold(path, weight)
            self._known[paths[0]] = _mark(weight)
        parts = dict(self.root.named_modules())
        for path, on in _flags(training):
            if path in parts:
                parts[path].training = self._training[path] = on

    def _hold(self, path: str, weight: nn.Parameter) -> None:
        """Put a weight under its path, in parts that are made where there are none."""
        *parts, _ = path.split(".")
        for depth in range(1, len(parts) + 1):
            trees.attach_bare(self.root, ".".join(parts[:depth]))
        trees.put(self.root, path, weight)

    def was_handed(self, path: Any, args: Any, kwargs: Any) -> None:
        """Tell a suite what a part was handed."""
        hook = self.watched.get(path) if type(path) is str else None
        if hook is not None and type(args) is tuple and type(kwargs) is dict:
            hook(self.root, args, kwargs)


def mirrored(world: RemoteWorld, number: int, said: Any, message: Opened) -> Twin:
    """Make the mirror of a module that the worker describes."""
    twin = Twin(world, number)
    said = said if type(said) is dict else {}
    parts = trees.parts_of(said.get("parts"))
    made: dict[str, nn.Module] = {}
    for part in parts:
        if part.same_as is not None and part.same_as in made:
            made[part.path] = made[part.same_as]
        else:
            made[part.path] = _bare(part)
        if part.path:
            trees.attach(made[""], part.path, made[part.path])
    twin.root = made[""]
    if sum(1 for _ in itertools.islice(trees.paths(twin.root), trees.MOST_PARTS + 1)) > len(parts):
        raise WireError("a module's parts hold each other")
    for paths, values, wants in trees.weights_of(said.get("weights"), message):
        weight = nn.Parameter(values.clone(), requires_grad=wants and values.is_floating_point())
        for path in paths:
            trees.put(twin.root, path, weight)
    for part in parts:
        for name in part.without:
            trees.put(twin.root, f"{part.path}.{name}".lstrip("."), None)
    for path, module in made.items():
        module.__dict__.update(kit_twin=twin, kit_path=path)
    twin._known = {path: _mark(weight) for path, weight in twin.root.named_parameters()}
    twin._training = {path: part.training for path, part in twin.root.named_modules()}
    return twin


def _bare(part: trees.Submodule) -> nn.Module:
    bases = (Mirror,) if part.kind is nn.Module else (Mirror, part.kind)
    kind = type(part.name, bases, {"__module__": "answer"})
    made: nn.Module = nn.Module.__new__(kind)
    nn.Module.__init__(made)
    made.training = part.training
    return made


def _mark(weight: Tensor) -> tuple[int, int, bool]:
    return id(weight), weight._version, weight.requires_grad


def _flags(said: Any) -> list[tuple[str, bool]]:
    listed = said[: trees.MOST_PARTS] if type(said) is list else []
    return [
        (one[0], one[1])
        for one in listed
        if type(one) is list and len(one) == 2 and type(one[0]) is str and type(one[1]) is bool
    ]
