"""A case of a module: it is made, gets drawn weights, and is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from grader.suite.case import Case, first_float, floats_in
from grader.suite.compare import holds


@dataclass(frozen=True)
class ModuleCase(Case):
    """What a class of modules is made with, its weights, and what it is called with.

    `inputs` draws three things: a tuple of what the class is made with, a dictionary of the weights
    by their names in the module, and a tuple of what the module is called with. `expected` takes
    the weights and what the module is called with, and what the class is made with, if it has a
    parameter `made` that is given by name alone.

    Attributes:
        training: whether the module is in train mode, or in eval mode.
    """

    training: bool = True

    def given(self, draw: Any) -> tuple[Any, ...]:
        """Draw what the class is made with, the weights, and the arguments of the call."""
        made_with, weights, inputs = super().given(draw)
        return (made_with, weights, *inputs)

    def arguments(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what the module is called with."""
        return given[2:]

    def parameters(self) -> dict[str, Any]:
        """Return the names of the parameters of `forward`, with their defaults."""
        known = list(super().parameters().items())[1:]
        return {name: default for name, default in known if name != "made" or not self.takes_made}

    def callee(self, answer: Any, given: tuple[Any, ...]) -> Callable[..., Any]:
        """Make the module, and put the weights into it."""
        called: Callable[..., Any] = answer.moved(self.make(answer, given))
        return called

    def through(self, answer: Any, layer: nn.Module, given: tuple[Any, ...]) -> Any:
        """Call a module that was made."""
        return answer.moved(layer)(*self.arguments(given), **self.options)

    def ask(self, answer: Any, given: tuple[Any, ...]) -> tuple[Any, list[tuple[str, Tensor]]]:
        """Make and call the module; return its own weights with what comes out."""
        layer = self.make(answer, given)
        own = [(name, layer.get_parameter(name)) for name in given[1]]
        return self.through(answer, layer, given), own + self._of_inputs(given)

    @functools.cached_property
    def takes_made(self) -> bool:
        """Whether what should come out depends on what the class is made with."""
        made = inspect.signature(self.expected).parameters.get("made")
        return made is not None and made.kind is made.KEYWORD_ONLY

    def worked_out(self, exactly: tuple[Any, ...]) -> Any:
        """Compute what should come out."""
        made_with, *given = exactly
        also = {"made": made_with} if self.takes_made else {}
        return self.expected(*given, **self.options, **also)

    def named(self, given: tuple[Any, ...]) -> list[tuple[str, Any]]:
        """Pair each weight and each argument with its name."""
        arguments = zip(self.parameters(), self.arguments(given), strict=False)
        return [*given[1].items(), *arguments]

    def _of_inputs(self, given: tuple[Any, ...]) -> list[tuple[str, Tensor]]:
        pairs = zip(self.parameters(), self.arguments(given), strict=False)
        return [found for name, value in pairs for found in floats_in(value, name)]

    def make(self, answer: Any, given: tuple[Any, ...]) -> nn.Module:
        """Make the module, look at its weights, and put the drawn ones in their places.

        Raises:
            Finding: it is no module, or its weights have other names or shapes.
        """
        made_with, weights = given[:2]
        layer = getattr(answer, self.exercise)(*made_with)
        said = f"{self.exercise}({', '.join(map(repr, made_with))})"
        holds(
            isinstance(layer, nn.Module), said,
            f"it must be an nn.Module: keep `class {self.exercise}(nn.Module)`", layer,
        )  # fmt: skip
        look_at_weights(layer, weights, said)
        like = first_float((weights,))
        if like is not None:
            layer.to(like.device, like.dtype)
        layer.train(self.training)
        layer.load_state_dict({name: one.detach() for name, one in weights.items()}, strict=False)
        return layer


def look_at_weights(layer: nn.Module, weights: dict[str, Tensor], said: str) -> None:
    """Demand that a module has these weights and no others, that they fit and can be trained."""
    known = dict(layer.named_parameters(remove_duplicate=False))
    lacking, more = ([n for n in one if n not in other] for one, other in
                     ((weights, known), (known, weights)))  # fmt: skip
    have = some_of(list(known)) or "none yet"
    holds(
        not lacking, said,
        f"it has no {some_of(lacking)}; its weights are {have}", [*known],
    )  # fmt: skip
    holds(
        not more, said,
        f"it has weights that the stub does not name: {some_of(more)}", more,
    )  # fmt: skip
    for name, weight in weights.items():
        own = known[name]
        holds(
            own.shape == weight.shape, said,
            f"its `{name}` is {list(own.shape)} and must be {list(weight.shape)}",
            [name, *own.shape],
        )  # fmt: skip
        holds(own.requires_grad, said, f"`{name}` cannot be trained: requires_grad is False", name)
    alone = len({id(weight) for weight in known.values()})
    holds(alone == len(known), said, "two of its weights are one and the same", alone)


def some_of(names: Sequence[str], most: int = 6) -> str:
    """Name the first of some weights, and say how many more there are."""
    named = [f"`{name}`" for name in names[:most]]
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return ", ".join(named + more)
