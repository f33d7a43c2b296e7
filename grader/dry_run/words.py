"""Naming a mistake with the names that the student gave: the call, the line, and what to take."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from grader.dry_run import sites
from grader.dry_run.mistakes import LONGEST, SOMETHING, Mistake
from grader.dry_run.pretended import FIRST, HOME, pretended_device
from grader.dry_run.sites import Running, RunningLine, Site
from grader.dry_run.tensors import where_is
from grader.trouble import words_of

if TYPE_CHECKING:
    from grader.dry_run.trip import Past

REGISTERED = ("_parameters", "_buffers", "_modules")
Named = Sequence[tuple[str, Any]]
# such calls take a `device`
OF_TORCH = re.compile(r"(torch|nn|np|numpy)\.")


def at(kind: str, now: Running, cure: str = "", more: str = "") -> Mistake:
    """Return a mistake of the innermost line that runs."""
    step = now.site[-1] if now.site else None
    return Mistake(kind, _text(step), cure=cure, more=more, **_place(step))


def numpy(now: Running) -> Mistake:
    """Return the mistake of NumPy that asks a GPU."""
    return at("numpy", now, "stay in torch, or read numbers with `.item()` or `.tolist()`")


def drawn(now: Running, own: torch.device, target: torch.device) -> Mistake:
    """Return the mistake of a generator of another device."""
    name = {"cpu": "CPU", "cuda": "GPU"}
    more = f"{name[target.type]} {name[own.type]}"
    return at("generator", now, "give it `device=generator.device` where there is one", more)


def there_and_back(moved: Site, now: Running) -> Mistake:
    """Return the mistake of work that is done on the CPU."""
    back = _text(now.site[-1] if now.site else None)
    step = moved[-1] if moved else None
    return Mistake("round", _text(step), more=back, **_place(step))


def refused(culprit: Tensor, past: Past | None, now: Running, given: Named) -> Mistake:
    """Return the mistake of a tensor that meets others on another device."""
    made = () if past is None else past.moved or past.made
    common = max(sites.shared(made, now.site), 1)
    frame = now.frames[common - 1] if now.frames else None
    step = made[common - 1] if made else now.site[-1] if now.site else None
    if past is None or (past.root is not None and past.moved is None):
        found = _standing(culprit if past is None else past.root, now)
        if found is not None:
            return _of_name(found, given)
    names = _named(frame, given)
    what = _text(step) if made else _variable(culprit, names)
    away = where_is(culprit) == FIRST or (past is not None and past.moved is not None)
    other, device = there(names, given, what if away else "")
    takes = _takes_device(what, made[common:])
    if where_is(culprit) == FIRST:
        kind, cure = "written", f"take `{device}`"
    elif past is not None and past.moved is not None:
        kind, cure = "moved", "leave it where it is"
    elif past is not None and takes:
        kind, cure = "made", _make(what, device, takes)
    else:
        kind, cure = "brought", f"move it with `.to({device})`"
    return Mistake(kind, what, other, cure, **_place(step))


def left(past: Past | None, first: bool, given: Named) -> Mistake:
    """Return the mistake of an output that is on another device than the inputs."""
    _, device = there(given, given)
    site = () if past is None else past.moved or past.made
    step = site[0] if site else None
    what = _text(step) if step else "the output"
    if first and not any(is_there(value) for _, value in given):
        return Mistake("unasked", what, **_place(step))
    if first:
        return Mistake("left written", what, cure=f"take `{device}`", **_place(step))
    if past is not None and past.moved is not None:
        return Mistake("left moved", what, **_place(step))
    cure = _make(what, device, _takes_device(what, site[1:]))
    return Mistake("left", what, cure=cure, **_place(step))


def _takes_device(what: str, inside: Site) -> bool:
    """Tell whether a call takes a `device`: torch's, or that of a function of the student's.

    Args:
        what: the call.
        inside: the steps that it went on to in the student's files.
    """
    if not inside:
        return OF_TORCH.match(what) is not None
    called = inside[0].owner
    return "device" in called.co_varnames[: called.co_argcount + called.co_kwonlyargcount]


def _make(what: str, device: str, takes_device: bool) -> str:
    lacks = takes_device and "device" not in what
    return f"give it `device={device}`" if lacks else f"make it on `{device}`"


def model(where: torch.device, given: Named) -> Mistake:
    """Return the mistake of a model that was moved away from its caller."""
    name = next((name for name, one in given if isinstance(one, nn.Module)), "model")
    if where == FIRST:
        return Mistake("model written", name, cure=f"take `next({name}.parameters()).device`")
    return Mistake("model", name)


def refuses(problem: Exception, step: TracebackType) -> Mistake:
    """Return the mistake of an error that is raised on a GPU alone."""
    code = step.tb_frame.f_code
    what = f"{type(problem).__name__}: {words_of(problem)}".rstrip(": ")
    what = textwrap.shorten(what, LONGEST, placeholder=" ...")
    return Mistake(
        "refuses", what, **_place(RunningLine(0, code, code, step.tb_lasti, step.tb_lineno))
    )


# ---- names ----


def there(names: Named, given: Named, besides: str = "") -> tuple[str, str]:
    """Say what is on the GPU, with its verb, and where its device can be read.

    Args:
        names: the variables to choose from.
        given: what the function was called with.
        besides: an expression; what stands in it is not named again.
    """
    device = next(
        (name for name, value in names if name == "device" and value is not None and _home(value)),
        None,
    )
    found = [
        name
        for name, value in (*names, *given)
        if is_there(value) and isinstance(value, Tensor | torch.Generator)
    ]
    others = [name for name in found if not re.search(rf"\b{name}\b", besides)]
    models = [n for n, value in (*names, *given) if isinstance(value, nn.Module) and n != "self"]
    reads = device or (f"{found[0]}.device" if found else None)
    if reads is None and models:
        reads = f"next({models[0]}.parameters()).device"
    said = others or models
    if not said and any(name == "self" for name, _ in names):
        return "the module is", reads or "the device of an input"
    if not said and device:
        return "`device` is", device
    return f"`{said[0]}` is" if said else "the inputs are", reads or "the device of an input"


class _Found(NamedTuple):
    """A tensor that outlives the call: how it is kept, under which name, and who uses it."""

    kind: str
    name: str
    at: int
    now: Running


def _of_name(found: _Found, given: Named) -> Mistake:
    names = _named(found.now.frames[found.at], given)
    other, device = there(names, given, found.name)
    if found.kind == "attribute":
        plain = found.name.rpartition(".")[2]
        cure = f'make it with `self.register_buffer("{plain}", ...)`'
    elif found.kind == "constant":
        cure = f"make it where it is used, with `device={device}`"
    else:
        cure = f"move it with `.to({device})`"
    return Mistake(found.kind, found.name, other, cure, **_place(found.now.site[found.at]))


def _standing(value: Tensor | None, now: Running) -> _Found | None:
    """Look for a tensor among what outlives the call: in modules, and in the file."""
    inwards = list(reversed(range(len(now.frames))))
    for index in inwards:
        for name, one in sites.names(now.frames[index]):
            if isinstance(one, nn.Module):
                path = _attribute(value, name, one)
                if path:
                    return _Found("attribute", path, index, now)
                if any(weight is value for weight in one.parameters()):
                    return _Found("brought", name, index, now)
    for index in inwards:
        frame = now.frames[index]
        for name in frame.f_code.co_names:
            if _holds(frame.f_globals.get(name), value):
                return _Found("constant", name, index, now)
    return None


def _attribute(value: Tensor | None, name: str, module: nn.Module) -> str | None:
    for path, part in module.named_modules():
        for key, one in vars(part).items():
            if key not in REGISTERED and _holds(one, value):
                return ".".join(filter(None, (name, path, key)))
    return None


def _holds(one: Any, value: Tensor | None) -> bool:
    if type(one) is dict:
        one = list(one.values())
    return one is not None and (
        one is value
        or (isinstance(one, list | tuple) and any(other is value for other in one[:100]))
    )


def _named(frame: FrameType | None, given: Named) -> list[tuple[str, Any]]:
    return list(sites.names(frame)) if frame is not None else list(given)


def _variable(value: Tensor, names: Named) -> str:
    return next((name for name, one in names if one is value), SOMETHING)


def is_there(value: Any) -> bool:
    """Tell whether something is on the GPU that the inputs are on, or says that one should be."""
    if isinstance(value, Tensor):
        return where_is(value) == HOME
    if isinstance(value, torch.Generator):
        return value.device == HOME
    return isinstance(value, nn.Module) or _home(value)


def _home(value: Any) -> bool:
    try:
        return pretended_device(value) == HOME
    except RuntimeError:
        return False


def _text(step: RunningLine | None) -> str:
    return sites.text(step) if step is not None else "a call"


def _place(step: RunningLine | None) -> dict[str, Any]:
    if step is None:
        return {}
    return {
        "file": step.code.co_filename, "line": step.line,
        "function": step.owner.co_name, "text": sites.line_of(step),
    }  # fmt: skip
