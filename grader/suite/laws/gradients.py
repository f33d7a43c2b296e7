"""The laws of gradients: each is right by value, whatever size, layout, or input wants it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader import nested
from grader.suite import tolerance
from grader.suite.case import Case, copied, exact, floating
from grader.suite.compare import Finding, of_gradients, same, situation
from grader.suite.draw import Draw
from grader.suite.expected import worked_out
from grader.suite.laws.inputs import blaming_changed_inputs
from grader.suite.laws.layouts import turned_round
from grader.suite.laws.outputs import FEW, SOME, drawn
from grader.suite.module_case import ModuleCase
from grader.suite.tolerance import Tolerance


def gradients(
    answer: Any, draw: Draw, case: Case, laid: Callable[[Tensor], Tensor] | None = None
) -> None:
    """Every float input gets the right gradient, by value.

    Args:
        answer: the chapter.
        draw: the inputs.
        case: how it is called.
        laid: how what goes in at the output lies in memory; in order, if nothing is said.
    """
    gradients_of(answer, draw, case, case.given(draw), laid)


def gradients_of(
    answer: Any,
    draw: Draw,
    case: Case,
    given: tuple[Any, ...],
    laid: Callable[[Tensor], Tensor] | None = None,
) -> None:
    """Each of these inputs that holds floats gets the right gradient."""
    given = case.twins(given)
    want, slopes, pull = expected_gradients(case, given, draw)
    before = copied(given)
    output, leaves = case.ask(answer, given)
    same(output, want, like=case.like(given, want))
    if laid is not None:
        pull = nested.mapped(lambda one: one if one is None else laid(one), pull)
    with blaming_changed_inputs(answer, case, given, before):
        gradients_match(output, leaves, slopes, pull)


def gradients_in_float64(answer: Any, draw: Draw, case: Case) -> None:
    """Gradients have all the digits of float64, and a module gives them in eval mode, too."""
    draw = draw.using(torch.float64)
    if not isinstance(case, ModuleCase):
        gradients(answer, draw, case)
        return
    with situation("eval mode"):
        gradients(answer, draw, replace(case, training=False))


def gradients_at_drawn_sizes(answer: Any, draw: Draw, case: Case) -> None:
    """Gradients are right at any sizes, in any batch, and whatever the order of what comes in."""
    batch = [draw.one_of(FEW), draw.one_of(FEW)]
    with situation("sizes that were drawn"):
        gradients(answer, draw, drawn(draw, case, SOME, batch), turned_round)


def gradients_at_edges(answer: Any, draw: Draw, case: Case) -> None:
    """Gradients are right where much is masked, or there is a single entry."""
    gradients(answer, draw, case)
    gradients_in_float64(answer, draw, case)


def gradients_of_one_input(answer: Any, draw: Draw, case: Case) -> None:
    """Each input gets its gradient where no other one wants any."""
    given = case.twins(case.given(draw))
    want, slopes, pull = expected_gradients(case, given, draw)
    if isinstance(case, ModuleCase):
        # its weights always want theirs
        alone = [(*given[:2], *nested.mapped(_cut, given[2:]))]
        places: list[range] = [range(len(given[1]))]
    else:
        alone = [_wanting(given, one) for _, one in case.tensors(given)]
        places = [range(place, place + 1) for place in range(len(alone))]
    for some, which in zip(alone, places, strict=True):
        right = [slopes[place] for place in which]
        before = copied(some)
        output, leaves = case.ask(answer, some)
        with situation("no other input wants a gradient"):
            same(output, want, like=case.like(given, want))
            if any(one is not None for one in right):
                own = [leaves[place] for place in which]
                with blaming_changed_inputs(answer, case, some, before):
                    gradients_match(output, own, right, _where_it_goes(output, pull))


def _where_it_goes(output: Any, pull: Any) -> Any:
    """Leave out outputs that have nothing to do with what wants a gradient, but never all of them.

    What is left out wrongly is missing in what arrives.
    """
    pairs = [(path, one) for path, one in nested.leaves(pull) if one is not None]
    goes = {id(one) for path, one in pairs if nested.at(output, path).requires_grad}
    return nested.mapped(lambda one: one if id(one) in goes else None, pull) if goes else pull


def _wanting(given: tuple[Any, ...], one: Tensor) -> tuple[Any, ...]:
    """Cut off all inputs but one."""
    cut: tuple[Any, ...] = nested.mapped(
        lambda value: value if value is one else _cut(value), given
    )
    return cut


def expected_gradients(
    case: Case, given: tuple[Any, ...], draw: Draw
) -> tuple[Any, list[Tensor | None], Any]:
    """Work out the right output, what arrives at each float input, and what is pulled with.

    What is pulled with is built like the output, and None where no gradient goes in.
    """

    def compute() -> tuple[Any, list[Tensor | None], Any]:
        twins = case.twins(given)
        exactly = exact(twins)
        want, pulls = case.worked_out(exactly), draw.apart("pull")

        def pulling(value: Any) -> Tensor | None:
            if not floating(value) or not value.requires_grad:
                return None
            # minus infinity has no slope
            return pulls(*value.shape).masked_fill(torch.isinf(value.detach()), 0)

        pairs = zip(case.tensors(twins), case.tensors(exactly), strict=True)
        # a model's weights are leaves of the copy that is worked with
        leaves = [(twin, copy if copy.is_leaf else twin) for (_, twin), (_, copy) in pairs]
        pull = nested.mapped(pulling, want)
        slopes = pulled(want, [one for _, one in leaves], pull)
        alike = [
            slope if slope is None else slope.to(twin.dtype)
            for slope, (twin, _) in zip(slopes, leaves, strict=True)
        ]
        return nested.mapped(_cut, want), alike, pull

    return worked_out(f"gradients of {case.exercise}", compute, given)


def _cut(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def gradients_match(
    output: Any,
    leaves: list[tuple[str, Tensor]],
    expected: Sequence[Tensor | None],
    pull: Any,
    within: Tolerance | None = None,
) -> None:
    """Pull the output with a gradient and compare what arrives at the leaves."""
    wanted = [path for path, one in nested.leaves(pull) if one is not None]
    cut = [path for path in wanted if not nested.at(output, path).requires_grad]
    if wanted and cut == wanted:
        raise _is_cut_off(leaves, cut[0])
    got = pulled(output, [value for _, value in leaves], _where_it_goes(output, pull))
    for (name, _), arrived, right in zip(leaves, got, expected, strict=True):
        if right is None:
            continue
        if arrived is None:
            raise Finding("no gradient", f"`{name}`", detail="one input")
        if cut:  # not before: an output may depend on this input alone
            continue
        allowed = (within or tolerance.of(right.dtype)).beside(right)
        with of_gradients():
            same(arrived, right, label=f"the gradient of `{name}`", within=allowed)
    if cut:
        raise _is_cut_off(leaves, cut[0])


def _is_cut_off(leaves: list[tuple[str, Tensor]], path: nested.Path) -> Finding:
    """Say from which output nothing goes back."""
    several = len(leaves) > 1 and path
    name = "the inputs" if several else f"`{leaves[0][0]}`"
    part = f" from {nested.spoken(path)}" if path else ""
    return Finding("no gradient", f"{name}{part}", detail="any input")


def pulled(output: Any, leaves: list[Tensor], pull: Any) -> list[Tensor | None]:
    """Return what arrives at `leaves` when the gradient `pull` goes in at `output`.

    Through a sum: torch.autograd.grad with a gradient of its own would import 500 modules.
    """
    pairs = [(nested.at(output, path), one) for path, one in nested.leaves(pull) if one is not None]
    sums = [(value * one.to(value.dtype)).sum() for value, one in pairs]
    if not sums:
        return [None] * len(leaves)
    return list(torch.autograd.grad(sums, leaves, allow_unused=True))
