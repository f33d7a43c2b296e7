"""Right answers spoiled on purpose, one way at a time: the slips that every function knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader import nested, places
from grader.chapters import Catalogue, Exercise, World
from grader.suite.case import floating
from grader.suite.draw import Draw
from grader.suite.laws.situations import Subject
from grader.suite.module_case import ModuleCase

Answer = Callable[..., Any]


@dataclass(frozen=True)
class Spoil:
    """A way to spoil a right function, and the common slip that it must be named as."""

    slip: str
    spoil: Callable[[Answer], Answer]


def _output(change: Callable[[Any], Any]) -> Callable[[Answer], Answer]:
    return lambda right: lambda *args, **kwargs: change(right(*args, **kwargs))


def _tensors(change: Callable[[Tensor], Any]) -> Callable[[Answer], Answer]:
    """Spoil every tensor of floats that comes out."""
    return _output(
        lambda out: nested.mapped(lambda one: change(one) if floating(one) else one, out)
    )


def _inputs_first(touch: Callable[[Tensor], Any]) -> Callable[[Answer], Answer]:
    def spoil(right: Answer) -> Answer:
        def wrong(*args: Any, **kwargs: Any) -> Any:
            for value in nested.flat(*args):
                if floating(value):
                    touch(value)
            return right(*args, **kwargs)

        return wrong

    return spoil


def _changes_inputs(right: Answer) -> Answer:
    def wrong(*args: Any, **kwargs: Any) -> Any:
        output = right(*args, **kwargs)
        with torch.no_grad():
            for value in nested.flat(*args):
                if floating(value) and value.numel():
                    value.add_(1)
        return output

    return wrong


def _cut_second_input(right: Answer) -> Answer:
    def wrong(*args: Any, **kwargs: Any) -> Any:
        second = [one for one in nested.flat(*args) if floating(one)][1:2]
        cut = nested.mapped(lambda v: v.detach() if any(v is s for s in second) else v, args)
        return right(*cut, **kwargs)

    return wrong


def _one_less(out: Any) -> Any:
    """Return a container without the last of what it holds."""
    kept = nested.entries(out)[:-1]
    return dict(kept) if isinstance(out, dict) else tuple(one for _, one in kept)


def _alone(out: Any) -> Any:
    """Return the first of what a container holds."""
    return nested.flat(out)[0]


def _zeros(like: Tensor, device: str | None) -> Tensor:
    return torch.zeros(like.shape, dtype=like.dtype, device=device)


def _best() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


SPOILS = (
    Spoil("returns_nothing", _output(lambda _: None)),
    Spoil("returns_numpy", _tensors(lambda out: out.detach().float().cpu().numpy())),
    Spoil("returns_several", _output(lambda out: (out, None))),
    Spoil("returns_list", _output(lambda out: [out])),
    Spoil("returns_one_of_several", _output(_alone)),
    Spoil("built_otherwise", _output(_one_less)),
    Spoil("becomes_float32", _tensors(lambda out: out.float())),
    Spoil("becomes_float64", _tensors(lambda out: out.double())),
    Spoil("gradient_cut", _tensors(lambda out: out.detach())),
    Spoil("gradient_cut_for_one_input", _cut_second_input),
    Spoil("changes_its_input", _changes_inputs),
    Spoil("in_place_on_a_leaf", _inputs_first(lambda value: value.mul_(1))),
    Spoil("view_of_scattered_memory", _inputs_first(lambda value: value.view(-1))),
    Spoil("numpy_of_a_gradient", _inputs_first(lambda value: value[:0].float().numpy())),
    Spoil("mixed_dtypes", _inputs_first(lambda value: value.reshape(-1)[:1].dot(torch.ones(1)))),
    Spoil("sizes_do_not_line_up", _inputs_first(lambda value: value + torch.ones(13, 17, 19, 23))),
    Spoil("constant_made_on_the_cpu", _inputs_first(lambda value: value + _zeros(value, None))),
    Spoil("moved_to_the_cpu", _tensors(lambda out: out.cpu())),
    Spoil("hard_coded_cuda", _inputs_first(lambda value: value + _zeros(value, _best()))),
    Spoil("unknown_name", _inputs_first(lambda _: nonsense)),  # type: ignore[name-defined]
    Spoil("endless_recursion", lambda _: _recursion),
)


def spoils_for(exercise: Exercise, device: str = "cpu") -> list[Spoil]:
    """Spoil only where a law of gradients tells what inputs there are, and where it is wrong."""
    subjects = [c.params.get("case") for c in exercise.checks if c.about == "gradients"]
    cases = [case for one in subjects if isinstance(one, Subject) for case in one.cases]
    cases = [case for case in cases if not isinstance(case, ModuleCase)]
    floats = [[v for v in nested.flat(*case.given(Draw())) if floating(v)] for case in cases]
    several = any(len(given) > 1 for given in floats)
    scattered = any(value.dim() > 1 for given in floats for value in given)
    outputs = [case.want(case.given(Draw())) for case in cases[:1]]
    built = any(nested.container(one) for one in outputs)
    needs = {
        "returns_one_of_several": built and all(floating(nested.flat(v)[0]) for v in outputs),
        "built_otherwise": built,
        "returns_several": not built,
        "returns_list": not built,
        "becomes_float32": any(case.dtype != torch.float32 for case in cases),
        "gradient_cut_for_one_input": several,
        "view_of_scattered_memory": scattered,
        # right on the one GPU that the checks run on
        "hard_coded_cuda": device == "cpu",
    }
    return [spoil for spoil in SPOILS if cases and needs.get(spoil.slip, True)]


def slips_and_spoils(
    known: Catalogue, exercise: Exercise, device: str = "cpu"
) -> Iterator[tuple[str, Answer]]:
    """Yield all that is wrong with an exercise on purpose on a device, by its name."""
    for slip in exercise.task.slips:
        yield slip.name, slip.wrong
    right = getattr(World(places.SOLUTIONS, known.names()).load(exercise.stem), exercise.name)
    for spoil in spoils_for(exercise, device):
        yield spoil.slip, spoil.spoil(right)


def _recursion(*args: Any, **kwargs: Any) -> Any:
    return _recursion(*args, **kwargs)
