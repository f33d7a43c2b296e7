"""What every folder of answers can do, whether it runs in this process or across a pipe."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from grader.answers.kept import Became
from grader.costs import Counting
from grader.dry_run import Crossing
from grader.reading.families import Family


class Answers(Protocol):
    """A folder of answers, wherever it runs."""

    folder: Path
    names: Mapping[str, Sequence[str]]
    asked: int
    became: list[Became]
    switches_left: list[tuple[str, str]]
    crossing: Crossing | None
    counting: Counting | None

    def load(self, stem: str) -> object:
        """Import a chapter, with those that it imports."""

    def function(self, stem: str, name: str) -> Callable[..., Any]:
        """Return an exercise, ready to be called."""

    def method(self, made: Any, name: str) -> Callable[..., Any]:
        """Return a method of an object that an exercise has made, ready to be called."""

    def attribute(self, made: Any, name: str) -> Any:
        """Return an attribute of an object that an exercise has made."""

    def noticing(self, family: Family) -> contextlib.AbstractContextManager[list[str]]:
        """Collect the ready-made calls of a family."""

    def goes_back_its_own_way(self) -> bool:
        """Tell whether code of the answer may have a part in a backward pass."""

    def within(self, seconds: float) -> contextlib.AbstractContextManager[None]:
        """Give up on the answer if all that is asked of it inside takes longer."""

    def runs_here(self, module: nn.Module) -> bool:
        """Tell whether a call of a module runs it in this process."""

    def begins_to_count(self) -> Counting:
        """Count from now on what calls cost, wherever they run, until `counting` is None."""

    def renew(self) -> None:
        """Go on where nothing has been called yet, if calls run in another process."""

    def begin(self, seed: int) -> None:
        """Begin a check, with torch's own generators at `seed`."""

    def active(self) -> contextlib.AbstractContextManager[None]:
        """Let imports of chapters find those of this folder."""

    def replaced(self, stand_ins: Mapping[str, Any]) -> contextlib.AbstractContextManager[None]:
        """Put other objects in the place of exercises, named in full, wherever they are used."""

    def seed(self, seed: int) -> None:
        """Seed torch's own generator, where the answer runs."""

    def random_states(self) -> list[torch.Tensor]:
        """Return the states of torch's own generators, where the answer runs."""

    def is_stub(self, full: str) -> bool:
        """Tell whether an exercise holds nothing yet."""

    def uses(self, full: str) -> Sequence[str]:
        """List the exercises that an exercise's code names, directly or by way of others."""

    def owner(self, code: types.CodeType) -> str | None:
        """Return the full name of the exercise whose code this is."""

    def called(self, file: str) -> str:
        """Return what a student calls a file, or a cell, with code of theirs; "" for others."""
