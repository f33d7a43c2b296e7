"""Worlds: an answer finds its own chapters, and leaves Python's modules as it found them."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from grader.chapters import World, catalogue
from grader.trouble import TimeLimit

NEEDED = ("ex01_scores", "ex02_scaling", "ex03_masking", "ex04_softmax")


@pytest.fixture
def world(tmp_path: Path, solution) -> World:
    for stem in NEEDED:
        (tmp_path / f"{stem}.py").write_text(solution(stem))
    return World(tmp_path, catalogue().names())


def modules() -> dict[str, object]:
    return {name: made for name, made in sys.modules.items() if name.startswith(("ex0", "exer"))}


def test_what_another_world_has_left_is_not_imported_and_stays(world, monkeypatch):
    for name in ("ex02_scaling", "exercises.ex02_scaling"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    before = modules()
    assert world.function("ex04_softmax", "attention_weights")
    assert modules() == before


def test_a_time_limit_that_strikes_as_it_enters_leaves_nothing(world, monkeypatch):
    world.load("ex04_softmax")
    before, finders = modules(), list(sys.meta_path)
    cover = world._cover

    def struck(name, module):
        cover(name, module)
        if name == "ex03_masking":
            raise TimeLimit

    monkeypatch.setattr(world, "_cover", struck)
    with pytest.raises(TimeLimit), world.active():
        pass
    assert (modules(), sys.meta_path) == (before, finders)
    monkeypatch.setattr(world, "_cover", cover)
    with world.active():
        assert sys.modules["ex04_softmax"] is world.modules["ex04_softmax"]
    assert modules() == before
