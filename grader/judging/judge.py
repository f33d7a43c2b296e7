"""The judge of one answer on one device: a check in, an outcome with its message out."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from grader.chapters import Answer, BrokenFile, Catalogue, World
from grader.coach import Slip
from grader.judging.blame import Blame
from grader.judging.explain import explain, explain_time_limit
from grader.judging.outcome import HangsError, Outcome, is_time_limit, student_frames
from grader.judging.recognise import Recogniser
from grader.judging.run import Setting, run
from grader.suite.check import Check


@dataclass
class Judge:
    """Judges one answer.

    Attributes:
        catalogue: the chapters.
        world: the answer's files.
        setting: device and seed.
        replaced: callables that stand in for the exercise, when a slip is being proved.
        hanging: exercises that did not come back; they are not called again.
    """

    catalogue: Catalogue
    world: World
    setting: Setting = field(default_factory=Setting)
    replaced: dict[str, Callable[..., Any]] = field(default_factory=dict)
    hanging: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._untouched: dict[str, bool] = {}
        self.recogniser = Recogniser(self.world, self.setting, self.replaced)
        remembered = self.recogniser.of_answer
        self.blame = Blame(self.catalogue, self.world, self.setting, remembered)

    def judge(self, check: Check) -> Outcome:
        """Run a check and say what came of it."""
        if check.full_exercise in self.hanging:
            said = f"{check.full_exercise}: not tried, it did not come back from an earlier check"
            return Outcome("timeout", message=said)
        try:
            if self._is_untouched(check):
                said = f"{check.full_exercise} is not started"
                return Outcome("not started", message=said, headline=said)
            with self.world.replaced({name: _hangs(name) for name in self.hanging}):
                outcome, answer = run(check, self.world, self.setting, self.replaced)
                self.recogniser.saw(check, outcome)
                if not outcome.passed:
                    self._complete(check, outcome, answer)
        except BaseException as problem:
            if not is_time_limit(problem):
                raise
            return self._out_of_time(check, problem)
        return outcome

    def _is_untouched(self, check: Check) -> bool:
        """Tell a stub by its code, once: its checks need no inputs drawn and no sums done."""
        name = check.full_exercise
        if name not in self._untouched:
            self._untouched[name] = False
            if not self.replaced:
                with contextlib.suppress(BrokenFile):
                    self._untouched[name] = self.world.is_stub(name)
        return self._untouched[name]

    def _complete(self, check: Check, outcome: Outcome, answer: Answer) -> None:
        slip: Slip | None = None
        judged = outcome.verdict in ("failed", "error", "forbidden")
        if judged and outcome.stuck_at is None and not isinstance(outcome.error, BrokenFile):
            exercise = self.catalogue.exercise(check.full_exercise)
            # what runs here again may print or warn, and has done so already
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if not self.replaced:
                    outcome.blame = self.blame.culprits(check, exercise)
                if not outcome.blame and check.telling:
                    slip = self.recogniser.recognise(exercise, check, outcome)
        outcome.message = explain(check, outcome, slip, answer.last_call(check.exercise))

    def _out_of_time(self, check: Check, problem: BaseException) -> Outcome:
        outcome = Outcome("timeout", error=problem, frames=student_frames(problem, self.world))
        guilty = self._innermost(problem) or check.full_exercise
        self.hanging.add(guilty)
        outcome.message = explain_time_limit(check, outcome, guilty)
        return outcome

    def _innermost(self, problem: BaseException) -> str | None:
        guilty, step = None, problem.__traceback__
        while step is not None:
            guilty = self.world.owner(step.tb_frame.f_code) or guilty
            step = step.tb_next
        return guilty


def _hangs(name: str) -> Callable[..., NoReturn]:
    def hangs(*_: object, **__: object) -> NoReturn:
        raise HangsError(name)

    return hangs
