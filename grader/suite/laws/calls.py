"""The laws of calling: again, and with arguments by place or by name."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from grader.suite.case import Case
from grader.suite.compare import later_call, same, situation
from grader.suite.draw import Draw
from grader.suite.laws.gradients import gradients_of
from grader.suite.laws.outputs import SOME, drawn
from grader.suite.module_case import ModuleCase
from grader.suite.modules import stepped
from grader.suite.played import Played
from grader.suite.promises import Rule


def called_again(answer: Any, draw: Draw, case: Case) -> None:
    """A call is right after one with the same tensors, the same first argument, and an equal one.

    The tensors have other numbers by then. What the equal one has returned is overwritten, before
    and after. In the end equal inputs want gradients, one after the other.
    """
    if isinstance(case, ModuleCase):
        module_called_again(answer, draw, case)
        return
    # of sizes that no check has seen before: what is kept may be kept by them
    case = drawn(draw, case, SOME, case.batch)
    given = case.given(draw)
    # where the first call is wrong already, nothing is kept by it
    want = case.want(given)
    same(case.call(answer, given), want, like=case.like(given, want))
    if not isinstance(case, Played):
        other = case.given(draw)
        label = "the output of a second call with the same tensors, which were changed in place"
        with later_call():
            got = answer.after_changing(given, case.exercise, *other, **case.options)
            same(got, case.want(other), like=case.like(other, want), label=label)
    other = (given[0], *case.given(draw)[1:])
    name, want = case.names()[0], case.want(other)
    label = f"the output of a second call with the same `{name}`"
    with later_call():
        same(case.call(answer, other), want, like=case.like(other, want), label=label)
    if isinstance(case, Played):
        return
    # what is kept may be kept from some size on
    larger = ({name: draw.one_of(range(14, 132))} for name in case.dimensions)
    for one in (case, *(case.at(*case.batch, **sizes) for sizes in larger)):
        _holds_after_overwriting(answer, draw, one)
    if case.slopes:
        given = case.given(draw)
        gradients_of(answer, draw, case, given)
        with later_call():  # other tensors want them, with the same numbers
            gradients_of(answer, draw, case, given)


def _holds_after_overwriting(answer: Any, draw: Draw, case: Case) -> None:
    given = case.given(draw)
    want = case.want(given)
    with situation("sizes that were drawn", Rule("sizes")):
        same(case.call(answer, given), want, like=case.like(given, want))
    label = "the output of a second, equal call, after what the first one gave was overwritten"
    with later_call():
        got = answer.after_overwriting(case.exercise, *given, **case.options)
        same(got, want, like=case.like(given, want), label=label)


def module_called_again(answer: Any, draw: Draw, case: ModuleCase) -> None:
    """A module is right after a call with other inputs, and after its weights were changed."""
    with situation("train mode"):
        _called_again_in_mode(answer, draw, case, True)
    # as in use: what is kept may be kept only while nobody wants gradients
    with torch.no_grad(), situation("eval mode, gradients off"):
        _called_again_in_mode(answer, draw, case, False)


def _called_again_in_mode(answer: Any, draw: Draw, case: ModuleCase, training: bool) -> None:
    given, other, last = case.given(draw), case.given(draw), case.given(draw)
    layer, want = case.make(answer, given).train(training), case.want(given)
    same(case.through(answer, layer, given), want, like=case.like(given, want))
    for said, inputs, put in (
        ("the output of a second call, with other inputs", (*given[:2], *other[2:]), None),
        (
            "the output of a third call, after the weights were changed",
            (given[0], *other[1:]),
            _load,
        ),
        (
            "the output of a fourth call, after the weights were changed as an optimizer does it",
            (given[0], *last[1:]),
            stepped,
        ),
    ):
        if put is not None:
            put(layer, inputs[1])
        want = case.want(inputs)
        with later_call():
            got = case.through(answer, layer, inputs)
            same(got, want, like=case.like(inputs, want), label=said)


def _load(layer: nn.Module, weights: dict[str, Tensor]) -> None:
    layer.load_state_dict(weights)


def arguments(answer: Any, draw: Draw, case: Case) -> None:
    """Arguments can be given by place or by name, and what has a default can be left out."""
    given = case.given(draw)
    want, called = case.want(given), case.arguments(given)
    function, known = case.callee(answer, given), case.parameters()
    by_name = {**dict(zip(known, called, strict=False)), **case.options}
    places = [by_name.get(name, default) for name, default in known.items()]
    for said, args, kwargs in (("by name", (), by_name), ("by place", places, {})):
        with situation(said):
            same(function(*args, **kwargs), want, like=case.like(given, want))
