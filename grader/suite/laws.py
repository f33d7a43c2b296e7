"""Laws that hold for every function of the contract, stated once over a case."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from grader.suite.compare import Finding, same, unchanged
from grader.suite.draw import Draw


@dataclass(frozen=True)
class Case:
    """Inputs for a function, and independent float64 arithmetic for what should come out.

    Attributes:
        exercise: the function's name.
        inputs: draws the positional arguments.
        expected: the same arguments, floats in float64, to the right output in float64.
        label: tells cases of one function apart.
        options: keyword arguments of the call.
    """

    exercise: str
    inputs: Callable[[Draw], tuple[Any, ...]]
    expected: Callable[..., Tensor]
    label: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The case as it stands in a test's name."""
        return f"{self.exercise}-{self.label}" if self.label else self.exercise

    def call(self, answer: Any, inputs: tuple[Any, ...]) -> Any:
        """Call the answer."""
        return getattr(answer, self.exercise)(*inputs, **self.options)

    def want(self, inputs: tuple[Any, ...]) -> Tensor:
        """Compute what should come out, from the inputs as they were rounded."""
        return self.expected(*(exact(value) for value in inputs), **self.options)

    def named(self, inputs: tuple[Any, ...]) -> list[tuple[str, Any]]:
        """Pair each input with its parameter's name."""
        return list(zip(inspect.signature(self.expected).parameters, inputs, strict=False))


def floating(value: Any) -> bool:
    """Tell whether `value` is a tensor of floats."""
    return isinstance(value, Tensor) and value.is_floating_point()


def exact(value: Any) -> Any:
    """Return a float tensor in float64; anything else as it is."""
    return value.double() if floating(value) else value


def first_float(inputs: tuple[Any, ...]) -> Tensor:
    """Return the input whose dtype and device the output must have."""
    return next(value for value in inputs if floating(value))


def values(answer: Any, draw: Draw, case: Case) -> None:
    """The output has the right shape, dtype, device and values; once more for other values."""
    # of one case each, so that what is remembered by its shape is not taken for an answer
    for _ in range(1 if case.label or draw.dtype != torch.float32 else 2):
        inputs = case.inputs(draw)
        want = case.want(inputs)
        same(case.call(answer, inputs), want, like=first_float(inputs))


def strides(answer: Any, draw: Draw, case: Case) -> None:
    """Inputs whose memory is not in order give the same output."""
    inputs = case.inputs(draw)
    want = case.want(inputs)
    scattered = tuple(scatter(v) if isinstance(v, Tensor) else v for v in inputs)
    same(case.call(answer, scattered), want, like=first_float(inputs))


def scatter(values: Tensor) -> Tensor:
    """Return equal values whose memory lies in another order."""
    if values.dim() >= 2:
        return values.transpose(-1, -2).contiguous().transpose(-1, -2)
    return torch.stack([values, values], -1)[..., 0]


def inputs_unchanged(answer: Any, draw: Draw, case: Case) -> None:
    """The call leaves its inputs as they were, and keeps nothing of them for the next one."""
    inputs = case.inputs(draw)
    before = [value.clone() if isinstance(value, Tensor) else value for value in inputs]
    want = case.want(inputs)
    output = case.call(answer, inputs)
    for (name, now), then in zip(case.named(inputs), before, strict=True):
        if isinstance(now, Tensor):
            unchanged(answer.became(now), then, name)
    same(output, want, like=first_float(inputs))
    again = (inputs[0], *case.inputs(draw)[1:])
    label = f"the output of a second call with the same `{case.named(inputs)[0][0]}`"
    same(case.call(answer, again), case.want(again), like=first_float(again), label=label)


def gradients(answer: Any, draw: Draw, case: Case) -> None:
    """Every float input gets the right gradient, by value, in float64."""
    draw = draw.using(torch.float64)
    inputs = tuple(leaf(value) for value in case.inputs(draw))
    twins = tuple(leaf(value) for value in inputs)
    output = case.call(answer, inputs)
    want = case.want(twins)
    same(output, want.detach(), like=first_float(inputs))
    pull = draw(*want.shape)
    backward_matches(output, want, case.named(inputs), twins, pull)


def backward_matches(
    output: Tensor,
    want: Tensor,
    inputs: list[tuple[str, Any]],
    twins: tuple[Any, ...],
    pull: Tensor,
) -> None:
    """Pull both graphs with the same gradient and compare what arrives at the float inputs."""
    leaves = [(name, value) for name, value in inputs if floating(value)]
    expected = pulled(want, [value for value in twins if floating(value)], pull)
    if not output.requires_grad:
        raise Finding("no gradient", f"`{leaves[0][0]}`", detail="any input")
    got = pulled(output, [value for _, value in leaves], pull.to(output.dtype))
    for (name, _), arrived, right in zip(leaves, got, expected, strict=True):
        if right is None:
            continue
        if arrived is None:
            raise Finding("no gradient", f"`{name}`", detail="one input")
        same(arrived, right, label=f"the gradient of `{name}`")


def pulled(output: Tensor, leaves: list[Tensor], pull: Tensor) -> tuple[Tensor | None, ...]:
    """Return what arrives at `leaves` when the gradient `pull` goes in at `output`.

    Through a sum: torch.autograd.grad with a gradient of its own would import 500 modules.
    """
    return torch.autograd.grad((output * pull).sum(), leaves, allow_unused=True)


def leaf(value: Any) -> Any:
    """Return a copy of a float tensor that collects gradients; anything else as it is."""
    return value.detach().clone().requires_grad_() if floating(value) else value


def not_to_the_bit(got: Any, ready_made: Sequence[Tensor], label: str, name: str) -> None:
    """Tell PyTorch's own kernel by its last bits, whatever hides that it was called.

    Of some thousand numbers an own way to work them out agrees with it in a half at most.

    Args:
        got: what came, right within the tolerance.
        ready_made: what PyTorch's kernels give for the same inputs.
        label: what is compared.
        name: the ready-made call, and its family.
    """
    if any(torch.equal(got, one) for one in ready_made):
        raise Finding("forbidden", label, name, detail=name)


def attention_kernels(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """Work out an attention with each of PyTorch's kernels."""
    math = torch.ops.aten._scaled_dot_product_attention_math(query, key, value)[0]
    return [torch.nn.functional.scaled_dot_product_attention(query, key, value), math]


def your_own(answer: Any, draw: Draw, family: str, cases: list[Case]) -> None:
    """No ready-made call of a family is made, with gradients wanted or not, and values hold."""
    given = [case.inputs(draw) for case in cases]
    wanted = [case.want(inputs) for case, inputs in zip(cases, given, strict=True)]
    outputs = []
    with answer.noticing(family) as seen:
        try:
            for case, inputs in zip(cases, given, strict=True):
                outputs.append(case.call(answer, inputs))
                case.call(answer, tuple(leaf(value) for value in inputs))
        finally:
            if seen:
                raise Finding("forbidden", cases[0].exercise, seen[0], detail=family)
    for output, want, inputs in zip(outputs, wanted, given, strict=True):
        same(output, want, like=first_float(inputs))
