"""A case of a module whose class is made with a size that matters."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from torch import nn

from grader.suite import Draw, Finding, ModuleCase, reference
from grader.suite.laws.calls import arguments, module_called_again
from grader.suite.laws.gradients import gradients
from grader.suite.laws.outputs import values_at_drawn_sizes


class Cut(nn.Module):
    """The first m numbers of what a layer makes of each token."""

    def __init__(self, d, m):
        super().__init__()
        self.own, self.m = nn.Linear(d, d, bias=False), m

    def forward(self, x):
        """Cut every token."""
        return self.own(x)[..., : self.m]


class CutAtTwo(Cut):
    """Right with the m of 2 alone."""

    def forward(self, x):
        """Cut every token at 2."""
        return self.own(x)[..., :2]


@reference
def cut(weights, x, *, made):
    _, m = made
    return x @ weights["own.weight"][:m].T


def a_cut(draw, *batch, n=5, d=4, m=2):
    m = min(m, d)
    return (d, m), {"own.weight": draw(d, d)}, (draw(*batch, n, d),)


def changing(draw, *batch, n=5, d=4):
    return a_cut(draw, *batch, n=n, d=d, m=draw.one_of((1, 2, 3)))


def answer(kind):
    return SimpleNamespace(Cut=kind, moved=lambda layer: layer)


CASE = ModuleCase("Cut", a_cut, cut)


def test_what_the_class_is_made_with_is_no_argument_of_the_call():
    assert CASE.names() == ["x"]


@pytest.mark.parametrize("law", [values_at_drawn_sizes, arguments, gradients, module_called_again])
def test_what_is_expected_follows_what_the_class_is_made_with(law):
    law(answer(Cut), Draw(), CASE)


def test_a_module_that_does_not_follow_is_found():
    with pytest.raises(Finding):
        values_at_drawn_sizes(answer(CutAtTwo), Draw(), CASE)


@pytest.mark.parametrize("seed", range(5))
def test_a_module_that_is_called_again_stays_as_it_was_made(seed):
    module_called_again(answer(Cut), Draw(seed=seed), ModuleCase("Cut", changing, cut))
