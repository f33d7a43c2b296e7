"""What the solutions are asked in core checks, and what they say: an answer must say the same."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import torch
from torch import nn

from grader import places
from grader.chapters import Exercise, World, catalogue
from grader.judging.run import Setting, run

# one that no pack holds numbers of
SEED = 20_261


def right_calls() -> dict[str, list[dict[str, Any]]]:
    """Return calls for every exercise, of two core checks that are unlike."""
    known = catalogue()
    world = World(places.SOLUTIONS, known.names())
    return {exercise.full: _calls(exercise, world) for exercise in known.exercises()}


def save(path: Path) -> None:
    """Write them down for another process, which cannot import the classes of what goes in."""
    torch.save(right_calls(), path, pickle_module=cloudpickle)


def _calls(exercise: Exercise, world: World) -> list[dict[str, Any]]:
    found = []
    right = getattr(world.load(exercise.stem), exercise.name)
    for check in exercise.checks:
        if check.core:
            seen: list[dict[str, Any]] = []
            watched = _watched(right, seen)
            run(check, world, Setting("cpu", SEED), {exercise.name: watched})
            found += seen[:1]
    # anything gives 0
    telling = [one for one in found if type(one.get("result")) is not int or one["result"]]
    return [telling[0], telling[len(telling) // 2]]


def _watched(right: Callable[..., Any], seen: list[dict[str, Any]]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        before = copy.deepcopy((args, kwargs))
        result = right(*args, **kwargs)
        if isinstance(result, nn.Module):
            result.register_forward_hook(_hook(before, seen), with_kwargs=True)
        elif isinstance(right, type):
            _watch_methods(result, before, seen)
        else:
            seen.append({"given": before, "result": _plain(result)})
        return result

    return call


def _hook(made: Any, seen: list[dict[str, Any]]) -> Callable[..., None]:
    def hook(module: nn.Module, args: Any, kwargs: Any, result: Any) -> None:
        weights = copy.deepcopy(module.state_dict())
        given = copy.deepcopy((args, kwargs))
        seen.append({"made": made, "weights": weights, "given": given, "result": _plain(result)})

    return hook


def _watch_methods(made: Any, given: Any, seen: list[dict[str, Any]]) -> None:
    """Note what an object's own methods are asked, in order, once it has been asked."""
    asked: list[dict[str, Any]] = []

    def watched(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            before = copy.deepcopy((args, kwargs))
            result = method(*args, **kwargs)
            if not asked:
                seen.append({"object": given, "asked": asked})
            asked.append({"name": name, "given": before, "result": _plain(result)})
            return result

        return call

    for name, method in inspect.getmembers(made, inspect.ismethod):
        if not name.startswith("_"):
            setattr(made, name, watched(name, method))


def _plain(result: Any) -> Any:
    return result.detach().clone() if isinstance(result, torch.Tensor) else copy.deepcopy(result)
