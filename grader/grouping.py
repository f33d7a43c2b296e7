"""Checks grouped by the function that they belong to: `tests/test_ex04_softmax.py::softmax::...`.

An editor's list of tests then has a node for each function. To pytest, and to editors that look for
classes, each is a class whose static methods are the checks.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import pytest

SEEN = pytest.StashKey[bool]()


def grouped(collector: pytest.Module) -> list[pytest.Class]:
    """Make a node for each function that a suite has checks of; of a second time, nothing."""
    if collector.stash.get(SEEN, False):
        return []
    collector.stash[SEEN] = True
    methods: dict[str, dict[str, Any]] = {}
    for name, body in vars(collector.obj).items():
        if is_check(name, body):
            for exercise, own in _shared_out(body):
                methods.setdefault(exercise, {})[name] = staticmethod(own)
    return [_node(collector, exercise, own) for exercise, own in methods.items()]


def is_check(name: str, value: Any) -> bool:
    """Tell whether something in a suite is a check."""
    return name.startswith("test_") and hasattr(value, "kit")


def _node(collector: pytest.Module, exercise: str, methods: dict[str, Any]) -> pytest.Class:
    node: pytest.Class = pytest.Class.from_parent(collector, name=exercise)
    node.obj = type(exercise, (), {"__module__": collector.obj.__name__, **methods})
    return node


def _shared_out(body: types.FunctionType) -> Iterator[tuple[str, types.FunctionType]]:
    """Give each exercise the check; one for the cases of several becomes one for each of them."""
    exercise = body.kit.exercise  # type: ignore[attr-defined]
    if exercise is not None:
        yield exercise, body
        return
    marks = body.pytestmark  # type: ignore[attr-defined]
    cases = next(mark for mark in marks if mark.args[0] == "case")
    for exercise in dict.fromkeys(case.exercise for case in cases.args[1]):
        own = types.FunctionType(
            body.__code__, body.__globals__, body.__name__, body.__defaults__, body.__closure__
        )
        changed = [_of(exercise, mark) if mark is cases else mark for mark in marks]
        own.__dict__.update(body.__dict__, pytestmark=changed)
        yield exercise, own


def _of(exercise: str, cases: pytest.Mark) -> pytest.Mark:
    """Leave the other exercises' cases out."""
    kept = [
        (case, identity)
        for case, identity in zip(cases.args[1], cases.kwargs["ids"], strict=True)
        if case.exercise == exercise
    ]
    return pytest.mark.parametrize(
        "case", [case for case, _ in kept], ids=[identity for _, identity in kept]
    ).mark
