"""What checks of modules share, where a chapter makes and calls its module in a way of its own.

`ModuleCase` is for modules whose weights and inputs a case can draw.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.suite.case import floating, leaf
from grader.suite.compare import OUTPUT, same, situation
from grader.suite.devices import goes_backward

# PyTorch's layers that hold an attention
WITH_ATTENTION = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


def in_every_mode(module: nn.Module, hold: Callable[[nn.Module], None]) -> None:
    """Hold a module to something in training or not, with gradients or without."""
    for training, wanting in itertools.product((True, False), (True, False)):
        said = f"{'train' if training else 'eval'} mode, gradients {'on' if wanting else 'off'}"
        with torch.set_grad_enabled(wanting), situation(said):
            hold(module.train(training))


def stepped(layer: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Change a module's weights where they lie, as an optimizer does it."""
    with torch.no_grad():
        for name, weight in weights.items():
            layer.get_parameter(name).copy_(weight)


def attention_layers(module: object) -> list[str]:
    """Name PyTorch's attention layers in a module."""
    parts = module.modules() if isinstance(module, nn.Module) else ()
    kinds = [kind for part in parts for kind in WITH_ATTENTION if isinstance(part, kind)]
    return [f"nn.{kind.__name__}" for kind in kinds]


def runs_on(
    answer: Any,
    module: nn.Module,
    inputs: Sequence[Any],
    want: Tensor,
    on: torch.device,
    *,
    ask: Callable[..., Any] = lambda module, *inputs: module(*inputs),
    like: Tensor | None = None,
    label: str = OUTPUT,
) -> None:
    """Call a module where the checks run, and go back to its weights and inputs.

    Args:
        answer: the door.
        module: the module.
        inputs: what it is called with.
        want: what has to come out.
        on: the device.
        ask: calls it.
        like: the tensor whose dtype the output has; the first input, if it is not said.
        label: what comes out, as the message names it.
    """
    like = inputs[0] if like is None else like
    given = [leaf(value) for value in inputs]
    got = ask(answer.moved(module), *given)
    same(got, want, like=like, label=label)
    leaves = [*filter(floating, given), *module.parameters()]
    goes_backward(answer, got, leaves, on)
    with torch.no_grad():
        same(ask(answer.moved(module), *inputs), want, like=like, label=label)
