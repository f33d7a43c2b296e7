"""Modules on the wire: their parts, what kind each is, and the weights in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.remote.channel import LARGEST_BODY, WireError
from grader.remote.wire import Opened, Parcel

# what a suite may ask of a part: is it one of these?
KINDS: dict[str, type[nn.Module]] = {
    kind.__name__: kind
    for kind in (
        nn.Linear, nn.Embedding, nn.MultiheadAttention, nn.TransformerEncoderLayer,
        nn.TransformerDecoderLayer, nn.TransformerEncoder, nn.TransformerDecoder, nn.Transformer,
        nn.ModuleList, nn.Module,
    )
}  # fmt: skip
MOST_PARTS = 512
# bytes of all weights that one message may describe; several may be views of one tensor
MOST_WEIGHED = 2 * LARGEST_BODY


@dataclass(frozen=True)
class Submodule:
    """A module inside a module: its path, its class's name, and the nearest of KINDS."""

    path: str
    name: str
    kind: type[nn.Module]
    training: bool
    same_as: str | None
    without: tuple[str, ...]


def described(module: nn.Module, parcel: Parcel) -> dict[str, Any]:
    """Describe a module; its weights are put into the parcel."""
    told: list[list[Any]] = []
    first: dict[int, str] = {}
    for path, part in paths(module):
        kind = next(k.__name__ for k in type(part).__mro__ if KINDS.get(k.__name__) is k)
        same = first.setdefault(id(part), path)
        without = [name for name, weight in part._parameters.items() if weight is None]
        told.append([path, type(part).__name__, kind, part.training,
                     None if same == path else same, without])  # fmt: skip
    return {"parts": told, "weights": weights(module, parcel)}


def weights(module: nn.Module, parcel: Parcel) -> list[Any]:
    """List the weights of a module, each once, with the paths under which it stands."""
    listed: dict[int, list[Any]] = {}
    for path, weight in parameters(module):
        if id(weight) in listed:
            listed[id(weight)][0].append(path)
        else:
            number = parcel.tensor(weight.detach())
            listed[id(weight)] = [[path], number, weight.requires_grad]
    return list(listed.values())


def paths(module: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Go through a module and its parts under every path: in torch's order, and faster."""
    yield prefix, module
    for name, part in module._modules.items():
        if part is not None:
            yield from paths(part, f"{prefix}.{name}" if prefix else name)


def parameters(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Go through every weight under every path."""
    for path, part in paths(module):
        for name, weight in part._parameters.items():
            if weight is not None:
                yield (f"{path}.{name}" if path else name), weight


def parts(module: nn.Module) -> Iterator[nn.Module]:
    """Go through a module and all of its parts, each once: in torch's order, and faster."""
    waiting: list[nn.Module | None] = [module]
    known = set()
    while waiting:
        part = waiting.pop()
        if part is not None and id(part) not in known:
            known.add(id(part))
            yield part
            waiting += reversed(part._modules.values())


def leaves(module: nn.Module) -> Iterator[Tensor]:
    """Go through the weights that want gradients, in the order of `parameters`."""
    for part in parts(module):
        for weight in part._parameters.values():
            if weight is not None and weight.requires_grad:
                yield weight


def parts_of(said: Any) -> list[Submodule]:
    """Read the parts of a description; the first is the module itself."""
    if type(said) is not list or not 0 < len(said) <= MOST_PARTS:
        raise WireError("a module's parts are malformed")
    parts = [_part(one) for one in said]
    if parts[0].path or any(not part.path for part in parts[1:]):
        raise WireError("a module's parts are malformed")
    return parts


def _part(said: Any) -> Submodule:
    if type(said) is not list or len(said) != 6:
        raise WireError("a module's part is malformed")
    path, name, kind, training, same, without = said
    good = _is_path(path) and type(name) is str and type(kind) is str and kind in KINDS
    good = good and type(training) is bool and (same is None or _is_path(same))
    if not good or type(without) is not list or not all(map(_is_name, without)):
        raise WireError("a module's part is malformed")
    word = name[:60] if name.isidentifier() else "Module"
    return Submodule(path, word, KINDS[kind], training, same, tuple(without))


def weights_of(said: Any, message: Opened) -> list[tuple[list[str], Tensor, bool]]:
    """Read weights: the paths of each, its values, and whether it wants gradients."""
    if type(said) is not list or len(said) > MOST_PARTS:
        raise WireError("a module's weights are malformed")
    made = []
    for one in said:
        if type(one) is not list or len(one) != 3 or type(one[2]) is not bool:
            raise WireError("a module's weight is malformed")
        if type(one[0]) is not list or not one[0] or not all(map(_is_path, one[0])):
            raise WireError("a module's weight has no path")
        made.append((one[0], message.tensor(one[1]), one[2]))
    # each is copied: of few tensors a message could make as many weights as it likes
    message.weighs += sum(values.nbytes for _, values, _ in made)
    if message.weighs > MOST_WEIGHED:
        raise WireError("a message has more weights than any module of an answer")
    return made


def put(module: nn.Module, path: str, weight: nn.Parameter | None) -> None:
    """Put a weight under its path."""
    owner, _, name = path.rpartition(".")
    part = _under(module, owner)
    if part is None or (name not in part._parameters and _is_taken(part, name)):
        raise WireError("a weight would take the place of something else")
    part._parameters[name] = weight


def attach(root: nn.Module, path: str, part: nn.Module) -> None:
    """Put a part under its path."""
    owner, _, name = path.rpartition(".")
    holder = _under(root, owner)
    if holder is None or (name not in holder._modules and _is_taken(holder, name)):
        raise WireError("a part would take the place of something else")
    holder._modules[name] = part


def attach_bare(root: nn.Module, path: str) -> None:
    """Put an empty part under a path where there is none."""
    if _under(root, path) is None:
        attach(root, path, nn.Module())


def at(root: nn.Module, path: str) -> Any:
    """Return the weight that stands under a path, or None."""
    owner, _, name = path.rpartition(".")
    part = _under(root, owner)
    return None if part is None else part._parameters.get(name)


def _under(root: nn.Module, path: str) -> nn.Module | None:
    """Return the part under a path; a module that makes up its attributes is not asked."""
    part: nn.Module | None = root
    for name in path.split(".") if path else ():
        part = None if part is None else part._modules.get(name)
    return part


def _is_taken(part: nn.Module, name: str) -> bool:
    held = (part.__dict__, part._parameters, part._modules, part._buffers)
    return hasattr(type(part), name) or any(name in names for names in held)


def set_values(weight: Tensor, values: Tensor, wants: bool) -> None:
    """Give a weight other values, in place wherever they fit."""
    with torch.no_grad():
        if weight.shape == values.shape and weight.dtype == values.dtype:
            weight.copy_(values)
        else:
            weight.data = values.clone()
    if weight.requires_grad != wants and weight.is_leaf:
        weight.requires_grad_(wants)


def _is_path(said: Any) -> bool:
    return (type(said) is str and len(said) <= 200 and all(map(_is_name, said.split(".")))) or (
        said == ""
    )


def _is_name(said: Any) -> bool:
    # names of containers' parts are numbers
    return type(said) is str and (said.isidentifier() or said.isdigit()) and len(said) <= 60
