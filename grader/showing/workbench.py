"""Running the answer's functions one at a time, each announced before it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from grader import naming
from grader.answers.door import of_answer
from grader.chapters import BrokenFile, Catalogue, Missing, World
from grader.judging.explain import explain
from grader.judging.outcome import outcome_of
from grader.suite.check import Check
from grader.suite.expected import NotRecorded
from grader.suite.promises import RETURNS


class Stopped(Exception):
    """The function asked for did not come to its end; the message is written for the student."""

    def __init__(self, message: str, not_started: bool) -> None:
        super().__init__(message)
        self.not_started = not_started


@dataclass
class CallResult:
    """What a function gave back, or why it gave nothing."""

    result: Any = None
    missing: str = ""


class Workbench:
    """Runs functions of one answer, for the picture of one of them.

    Args:
        catalogue: the chapters.
        world: the answer.
        asked: the full name of the function whose picture this is.
        announce: is told the full name of each function before it runs, and None when it is back.
    """

    def __init__(
        self, catalogue: Catalogue, world: World, asked: str, announce: Callable[[str | None], None]
    ) -> None:
        self.catalogue, self.world, self.asked, self._announce = catalogue, world, asked, announce

    def full(self, name: str) -> str:
        """Return the full name; where several chapters have it, the one that is asked for."""
        found = naming.select(name, self.world.names)
        own = f"{self.asked.split('.')[0]}.{name}"
        return own if own in found else found[0]

    def reference(self, full: str) -> Any:
        """Return the right arithmetic for a function, in float64.

        Raises:
            NotRecorded: this is a students' pack, which has none.
        """
        stem, name = full.split(".")
        known = {chapter.stem: chapter.references for chapter in self.catalogue.chapters}
        if name not in known.get(stem, {}):
            raise NotRecorded(f"this pack has no arithmetic for {full}")
        return known[stem][name]

    def comes_before(self, full: str) -> bool:
        """Tell whether an exercise comes before the one that is asked for."""
        order = [f"{stem}.{name}" for stem, names in self.world.names.items() for name in names]
        return order.index(full) < order.index(self.asked)

    def run(self, full: str, way: Callable[[Any], Any]) -> CallResult:
        """Find a function of the answer and use it.

        Raises:
            Stopped: it is the one asked for, and it is not there, or it stopped.
        """
        default = torch.get_default_dtype()
        try:
            with self.world.active():
                function = self._find(full)
                self._announce(full)
                return CallResult(way(function))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return self._without(full, error)
        finally:
            self._announce(None)
            torch.set_default_dtype(default)
            torch.set_grad_enabled(True)

    def _find(self, full: str) -> Any:
        stem, name = full.split(".")
        self._announce(full)
        self.world.load(stem)
        if self.world.is_stub(full):
            with of_answer():
                raise NotImplementedError(full)
        made = self.world.found(stem, name)
        if not callable(made):
            raise Missing(f"{self.world.path(stem).name} has no `{name}`")
        return made

    def _without(self, full: str, error: BaseException) -> CallResult:
        check = stand_in_check(full)
        outcome = outcome_of(error, full, self.world)
        not_started = outcome.verdict == "not started"
        if full == self.asked:
            message = explain(check, outcome, None, None)
            raise Stopped(message, not_started) from None
        if not_started:
            how_far = "there yet" if isinstance(error, Missing) else "started"
            return CallResult(missing=f"your {full} is not {how_far}")
        if isinstance(error, BrokenFile):
            return CallResult(missing=f"your {error.file} does not run")
        return CallResult(missing=f"your {full} stopped with {type(error).__name__}")


def stand_in_check(full: str) -> Check:
    """Return a check of nothing, so that errors are explained as those of the checks are."""

    def nothing() -> None:
        pass

    stem, name = full.split(".")
    return Check(stem, name, "show", "values", False, (RETURNS,), False, nothing, {})
