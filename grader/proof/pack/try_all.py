"""Run by its path, with a pack in `PYTHONPATH`: call all that is there as each exercise.

    python try_all.py CALLS [MODULE]

Prints a line for every function of the pack that answers a call of `CALLS` rightly, however it is
called, and at last how many it has tried. Nothing but the pack's own code is imported.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import importlib
import inspect
import io
import os
import pkgutil
import resource
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

# seconds for a call, and bytes for all
LIMIT = 2
MEMORY = 6 << 30
CONTAINERS = (list, tuple, dict, set, frozenset)


class TooLong(BaseException):
    """A call has not come back."""


def main() -> None:
    """Try everything."""
    gc.disable()  # millions of small things are made and let go
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    listed = [one for one in modules(Path.cwd()) if one.__name__.startswith(only)]
    callables = dict(found_in(listed))
    calls = torch.load(sys.argv[1], weights_only=False)
    leave = os._exit
    disarm()
    tried, found = 0, []
    with open(os.devnull, "w") as quiet, redirect_stdout(quiet), redirect_stderr(quiet):
        for full, of_one in calls.items():
            for path, function in callables.items():
                for adapter in ADAPTERS:
                    tried += 1
                    if any(answers(adapter, function, call) for call in of_one):
                        found.append(f"{full}: {path} by {adapter.__name__}")
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(callables)} callables, {tried} tried as one of {len(calls)} exercises")
    sys.stdout.flush()
    leave(0)  # what was called may have left threads


def modules(folder: Path) -> Iterator[Any]:
    """Import everything but what runs a command when it is imported."""
    import grader
    from grader.suite.check import load_suite

    for found in pkgutil.walk_packages(grader.__path__, "grader."):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                yield importlib.import_module(found.name)
    for path in sorted((folder / "tests").glob("*.py")):
        yield load_suite(path)


def found_in(listed: list[Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Go through what can be called in modules, classes, lists, and the things in them."""
    seen: set[int] = set()
    for module in listed:
        for name, value in list(vars(module).items()):
            yield from within(f"{module.__name__}.{name}", value, 3, seen)


def within(
    path: str, value: Any, depth: int, seen: set[int]
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Go through a value and what it holds."""
    home = getattr(value, "__module__", None) or type(value).__module__
    of_pack = str(home).split(".")[0] == "grader" or str(home).startswith("test_ex")
    if id(value) in seen or inspect.ismodule(value) or not depth:
        return
    if isinstance(value, CONTAINERS):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in list(items):
            yield from within(f"{path}[{key!r}]", one, depth - 1, seen)
    elif of_pack:
        seen.add(id(value))
        KEPT.append(value)
        if callable(value):
            yield path, value
        for name in dir(value):
            if not name.startswith("__"):
                with contextlib.suppress(Exception):
                    yield from within(f"{path}.{name}", getattr(value, name), depth - 1, seen)


# what was seen must not be put away, or another takes its identity
KEPT: list[Any] = []


def disarm() -> None:
    """Take away what a function could do harm with when it is called at random."""

    def refused(*_: Any, **__: Any) -> Any:
        raise PermissionError("not while everything is tried")

    for name in ("kill", "killpg", "_exit", "fork", "forkpty", "execv", "execve", "unlink", "rmdir",
                 "remove", "rename", "replace", "truncate", "chmod", "mkdir", "makedirs", "symlink",
                 "link", "posix_spawn", "close", "dup2", "waitpid"):  # fmt: skip
        setattr(os, name, refused)
    for owner, name in (
        (shutil, "rmtree"),
        (subprocess, "Popen"),
        (sys, "exit"),
        (threading.Thread, "start"),
    ):
        setattr(owner, name, refused)
    with contextlib.suppress(Exception):  # a user has a few watchers only, and others need them
        from watchdog.observers import inotify_c

        inotify_c.inotify_init = refused
    sys.stdin = io.StringIO()
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None

    def stop(*_: Any) -> None:
        raise TooLong

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, stop)
    for name in ("__repr__", "__format__"):
        # names of cases are made of what they are given, and printing took a third of the time
        setattr(Tensor, name, lambda *_: "a tensor")


# ---- the plain adapters that a student would write ----


def as_it_is(function: Any, args: Any, kwargs: Any) -> Any:
    """Call it with the same arguments."""
    return function(*args, **kwargs)


def without_names(function: Any, args: Any, kwargs: Any) -> Any:
    """Leave out what is given by name."""
    return function(*args) if kwargs else NotImplemented


def as_a_method(function: Any, args: Any, kwargs: Any) -> Any:
    """Put nothing, or a `draw`, in the first place."""
    return function(None, *args, **kwargs)


def as_a_check(function: Any, args: Any, kwargs: Any) -> Any:
    """Put a `draw` in the first place."""
    from grader.suite.draw import Draw

    return function(Draw(), *args, **kwargs)


def turned_round(function: Any, args: Any, kwargs: Any) -> Any:
    """Give the arguments the other way round."""
    return function(*reversed(args), **kwargs) if len(args) > 1 else NotImplemented


def in_float64(function: Any, args: Any, kwargs: Any) -> Any:
    """Make all numbers double."""
    return function(*map(doubled, args), **{name: doubled(v) for name, v in kwargs.items()})


def all_in_one(function: Any, args: Any, _: Any) -> Any:
    """Give the arguments as one."""
    return function(args)


def first_only(function: Any, args: Any, _: Any) -> Any:
    """Give the first argument alone."""
    return function(args[0]) if len(args) > 1 else NotImplemented


ADAPTERS = [as_it_is, without_names, as_a_method, as_a_check, turned_round, in_float64, all_in_one,
            first_only]  # fmt: skip


def doubled(value: Any) -> Any:
    """Make a float tensor double."""
    return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value


def takes(function: Any, adapter: Any, args: Any, kwargs: Any) -> bool:
    """Tell whether so many arguments go in, which is far quicker than a call with copies."""
    key = id(function), adapter, len(args), tuple(kwargs)
    if key not in TAKES:
        TAKES[key] = _takes(function, adapter, args, kwargs)
    return TAKES[key]


# by identity: everything that is tried is in `KEPT`
TAKES: dict[tuple[object, ...], bool] = {}
SIGNATURES: dict[int, inspect.Signature | None] = {}


def _takes(function: Any, adapter: Any, args: Any, kwargs: Any) -> bool:
    signature = signature_of(function)

    def bound(*given: Any, **named: Any) -> None:
        signature.bind(*given, **named)

    try:
        if signature:
            adapter(bound, args, kwargs)
    except TypeError:
        return False
    return True


def signature_of(function: Any) -> Any:
    """Return what arguments go in, or None where that cannot be known."""
    if id(function) not in SIGNATURES:
        SIGNATURES[id(function)] = None
        with contextlib.suppress(TypeError, ValueError):
            SIGNATURES[id(function)] = inspect.signature(function)
    return SIGNATURES[id(function)]


def answers(adapter: Any, function: Any, call: dict[str, Any]) -> bool:
    """Tell whether a function answers a call rightly."""
    made = adapter
    first = next(call[key] for key in ("made", "object", "given") if key in call)
    if not takes(function, adapter, *first):
        return False
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        if "made" in call:
            args, kwargs = copied(call["made"])
            module = made(function, args, kwargs)
            if not isinstance(module, nn.Module):
                return False
            module.load_state_dict(call["weights"])
            function, made = module, as_it_is
        if "object" in call:
            thing = adapter(function, *copied(call["object"]))
            return all(says(thing, asked) for asked in call["asked"])
        args, kwargs = copied(call["given"])
        got = made(function, args, kwargs)
        return any(equal(one, call["result"]) for one in (got, *parts(got)))
    except BaseException:  # such as those of pytest
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def says(thing: Any, asked: dict[str, Any]) -> bool:
    """Tell whether an object answers rightly when it is asked for what came next."""
    args, kwargs = copied(asked["given"])
    return equal(getattr(thing, asked["name"])(*args, **kwargs), asked["result"])


def copied(given: Any) -> Any:
    """Return a copy of arguments: the last one, unless a call may have written into it."""
    copy_of, state = COPIES.get(id(given), (None, None))
    if copy_of is None or state is None or state_of(copy_of) != state:
        copy_of = copy.deepcopy(given)
        COPIES[id(given)] = copy_of, state_of(copy_of)
    return copy_of


COPIES: dict[int, tuple[Any, Any]] = {}


def state_of(given: Any) -> Any:
    """Return what differs as soon as something was written into arguments; None if unknown."""
    values = (*given[0], *given[1].values())
    if any(hasattr(one, "__dict__") and not isinstance(one, Tensor | nn.Module) for one in values):
        return None
    tensors = [one._version for one in values if isinstance(one, Tensor)]
    return tensors, [state_of_module(one) for one in values if isinstance(one, nn.Module)]


def state_of_module(module: nn.Module) -> Any:
    """Return what differs as soon as a module has another weight, hook or attribute."""
    held = [(name, id(value), len(value) if isinstance(value, dict) else 0)
            for part in module.modules() for name, value in vars(part).items()]  # fmt: skip
    tensors = (*module.parameters(), *module.buffers())
    return held, [(id(one), one._version, one.grad is None) for one in tensors]


def parts(got: Any) -> list[Any]:
    """List what a result is made of."""
    return list(got) if isinstance(got, tuple | list) and len(got) < 9 else []


def equal(got: Any, right: Any) -> bool:
    """Compare as a student would be forgiven for: any dtype will do."""
    if isinstance(right, Tensor):
        if not isinstance(got, Tensor) or got.shape != right.shape:
            return False
        return torch.allclose(got.double(), right.double(), 1e-3, 1e-5, equal_nan=True)
    if isinstance(right, tuple):
        alike = isinstance(got, tuple | list) and len(got) == len(right)
        return alike and all(map(equal, got, right))
    if isinstance(right, list) and isinstance(got, list) and right and isinstance(right[0], float):
        return len(got) == len(right) and torch.allclose(torch.tensor(got), torch.tensor(right))
    return type(got) is type(right) and bool(got == right)


if __name__ == "__main__":
    main()
