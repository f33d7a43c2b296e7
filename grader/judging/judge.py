"""The judge of one answer on one device: a check in, an outcome with its message out."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from grader.answers.calls import Call
from grader.answers.door import Answer
from grader.answers.protocol import Answers
from grader.chapters import Catalogue, Exercise
from grader.coach import Slip
from grader.coach.common import OTHER_ORDER
from grader.judging.blame import Blame
from grader.judging.explain import explain, explain_lost_device, explain_time_limit, noted
from grader.judging.other_calls import OtherCalls, narrowed
from grader.judging.outcome import Outcome, is_time_limit, outcome_of, student_frames
from grader.judging.recognise import Recogniser, SlipMemory
from grader.judging.run import Setting, run
from grader.suite.check import Check
from grader.suite.compare import Finding
from grader.suite.expected import Tape
from grader.trouble import BrokenFile, Hangs, HangsError, Lost, TimeLimit

# so many times may the spare world be lost before nothing more is looked into
SPARES = 2
# seconds for finding out why one check failed
LOOKING = 20.0


@dataclass
class Judge:
    """Judges one answer.

    Attributes:
        catalogue: the chapters.
        world: the answer's files; what comes from here decides.
        spare: the same files once more, for looking into what went wrong: nothing that runs
            there can reach the world that decides. By default the same world.
        memory: what the slips give, to be shared by judges of the same seed.
        by_heart: runs a check of a world in another process, by heart as far as that goes.
        proving: whether a slip stands in for an exercise, here or in the world.
        setting: device and seed.
        replaced: callables that stand in for the exercise, when a slip is being proved.
        hanging: exercises that did not come back; they are not called again.
    """

    catalogue: Catalogue
    world: Answers
    setting: Setting = field(default_factory=Setting)
    replaced: dict[str, Callable[..., Any]] = field(default_factory=dict)
    hanging: set[str] = field(default_factory=set)
    spare: Answers | None = None
    memory: SlipMemory = field(default_factory=SlipMemory)
    by_heart: Callable[[Check, Tape], tuple[Outcome, Answer]] | None = None
    proving: bool = False

    def __post_init__(self) -> None:
        self._untouched: dict[str, bool] = {}
        # by exercise and check: what was left to it to find, and what it has not found here
        self._left_to: dict[tuple[str, str], Finding] = {}
        self._not_found: set[tuple[str, str]] = set()
        self._in_vain = 0
        spare = self.spare or self.world
        self.recogniser = Recogniser(spare, self.setting, self.replaced, self.memory)
        self.other_calls = OtherCalls(spare, self.setting, self.replaced)
        self.proving |= bool(self.replaced)
        known = self.recogniser
        self.blame = Blame(
            self.catalogue, spare, self.setting, known.of_answer, known.seen, known.tape_of
        )

    def judge(self, check: Check) -> Outcome:
        """Run a check and say what came of it."""
        if check.full_exercise in self.hanging:
            said = f"{check.full_exercise}: not tried, it did not come back from an earlier check"
            return Outcome("timeout", message=said)
        try:
            if self._is_untouched(check):
                said = f"{check.full_exercise} is not started"
                return Outcome("not started", message=said, headline=said)
            with self._without_what_hangs():
                outcome, answer = self._run(check)
                if outcome.verdict == "not run":
                    return outcome
                if outcome.verdict == "crashed" and outcome.error is not None:
                    outcome.frames = student_frames(outcome.error, self.world)
                    outcome.message = explain_lost_device(check, outcome, self.setting.device)
                    return outcome
                outcome = self._with_what_is_left(check, outcome)
                self.recogniser.saw(check, outcome)
                if not outcome.passed:
                    self._complete(check, outcome, answer)
                elif outcome.notes:
                    outcome.message = noted(check, outcome)
        except BaseException as problem:
            if not is_time_limit(problem):
                raise
            return self._out_of_time(check, problem)
        return outcome

    def _without_what_hangs(self) -> contextlib.AbstractContextManager[None]:
        if not self.hanging:
            return contextlib.nullcontext()
        return self.world.replaced({name: Hangs(name) for name in self.hanging})

    def _run(self, check: Check) -> tuple[Outcome, Answer]:
        tape = self.recogniser.tape_of(check)
        # of what is known by heart nobody sees the memory that it takes
        by_heart = None if check.about == "costs" else self.by_heart
        if by_heart is None or self.replaced or self.hanging:
            return run(check, self.world, self.setting, self.replaced, tape)
        return by_heart(check, tape)

    def _with_what_is_left(self, check: Check, outcome: Outcome) -> Outcome:
        """Let a check fail by what its calls have left behind, unless another one does."""
        for finding in outcome.left:
            if not self._found_elsewhere(finding):
                return outcome_of(finding, check.full_exercise, self.world)
        here = check.full_exercise, check.name
        if outcome.passed and here in self._left_to:
            # elsewhere it did find what it was left to find: what it says there is the truth
            return outcome_of(self._left_to[here], check.full_exercise, self.world)
        if outcome.passed:
            self._not_found.add(here)
        return outcome

    def _found_elsewhere(self, finding: Finding) -> bool:
        """Tell whether the check of an exercise that enforces a rule finds it broken."""
        checks = self.catalogue.exercise(finding.of).checks
        home = next((one for one in checks if finding.cites in one.cites), None)
        if home is None or (finding.of, home.name) in self._not_found:
            return False
        try:
            with (self.spare or self.world).within(LOOKING):
                found = not self.recogniser.of_answer(home).passed
            if found:
                self._left_to.setdefault((finding.of, home.name), finding)
            return found
        except BaseException as problem:
            if not self._is_of_the_search(problem):
                raise
            return False

    def _is_of_the_search(self, problem: BaseException) -> bool:
        """Tell whether to look into something ended by itself, which says nothing of the answer."""
        return is_time_limit(problem) or (isinstance(problem, Lost) and self.spare is not None)

    def _is_untouched(self, check: Check) -> bool:
        """Tell a stub by its code, once: its checks need no inputs drawn and no sums done."""
        name = check.full_exercise
        if name not in self._untouched:
            self._untouched[name] = False
            if not self.proving:
                with contextlib.suppress(BrokenFile):
                    self._untouched[name] = self.world.is_stub(name)
        return self._untouched[name]

    def _complete(self, check: Check, outcome: Outcome, answer: Answer) -> None:
        slip: Slip | None = None
        call = outcome.call = answer.last_call(check.exercise)
        judged = outcome.verdict in ("failed", "error", "forbidden")
        if judged and not outcome.fault and not isinstance(outcome.error, BrokenFile | HangsError):
            exercise = self.catalogue.exercise(check.full_exercise)
            # what runs here again may print or warn, and has done so already
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with (self.spare or self.world).within(LOOKING):
                    slip = self._why(check, exercise, outcome, call)
            outcome.beside_the_point = self._is_beside_the_point(exercise, outcome)
        outcome.message = explain(check, outcome, slip, call)

    def _why(
        self, check: Check, exercise: Exercise, outcome: Outcome, call: Call | None
    ) -> Slip | None:
        """Look for who is to blame, or for the slip; what cannot be found out is left unsaid."""
        # what runs here does so a second time: if it hangs or crashes now, the verdict stands
        if self._in_vain >= SPARES:
            return None
        try:
            if outcome.stuck_at is not None:
                # who waits for it is known, but not whether it is all that is wanting
                outcome.follows = not self.proving and bool(self.blame.culprits(check, exercise))
                return None
            if not self.proving:
                suspects = self.blame.suspects(check, exercise, outcome)
                outcome.blame = suspects or self.blame.culprits(check, exercise)
                outcome.suspects = bool(suspects)
                if not outcome.blame:
                    outcome.blame = self.blame.lets_through(check, exercise, outcome)
                    outcome.let_through = bool(outcome.blame)
                outcome.follows = bool(outcome.blame) and not outcome.suspects
            if not outcome.blame and check.telling:
                refused = outcome.error is not None
                if refused and self.other_calls.in_another_order(exercise, outcome, call):
                    outcome.tried = OTHER_ORDER
                    return None
                slip = self.recogniser.recognise(exercise, check, outcome, call)
                if slip is None:
                    tape, seen = self.recogniser.tape_of(check), self.recogniser.seen
                    outcome.tried = self.other_calls.tell(
                        exercise, check, outcome, call, tape
                    ) or narrowed(exercise, check, outcome, seen)
                return slip
        except BaseException as problem:
            if not self._is_of_the_search(problem):
                raise
            self._in_vain += 1
        return None

    def _is_beside_the_point(self, exercise: Exercise, outcome: Outcome) -> bool:
        """Tell whether what is known of a cost or a refusal would mislead.

        What is known of a cost begins with "The numbers are right", and what is known of another
        error with "It does stop", as if it did not do so for what fits.
        """
        found = outcome.finding
        if found is None or found.kind not in ("cost", "refused badly"):
            return False
        seen = self.recogniser.seen
        others = [
            (check.core, seen[check.stem, check.name])
            for check in exercise.checks
            if (check.stem, check.name) in seen
        ]
        if found.kind == "cost":
            kinds = (one.finding.kind for _, one in others if one.finding is not None)
            return "value" in kinds
        raised = str(found.actual).partition(":")[0]
        return any(core and raised == type(one.error).__name__ for core, one in others)

    def culprits_of_loss(self, check: Check) -> tuple[str, ...]:
        """Name the earlier exercises that alone make a check lose its process."""
        if self.proving or self.spare is None or self._in_vain >= SPARES:
            return ()
        exercise = self.catalogue.exercise(check.full_exercise)
        try:
            with self.spare.within(LOOKING):
                return self.blame.culprits(check, exercise)
        except (Lost, TimeLimit):
            self._in_vain += 1
        return ()

    def _out_of_time(self, check: Check, problem: BaseException) -> Outcome:
        outcome = Outcome("timeout", error=problem, frames=student_frames(problem, self.world))
        guilty = self._innermost(problem) or check.full_exercise
        if guilty != check.full_exercise and self._passed_its_own(guilty):
            guilty = check.full_exercise  # which asks too much of it
        self.hanging.add(guilty)
        outcome.blame = () if guilty == check.full_exercise else (guilty,)
        outcome.message = explain_time_limit(check, outcome, guilty)
        return outcome

    def _passed_its_own(self, full: str) -> bool:
        """Tell whether an exercise was tried, and passed everything."""
        seen = [
            self.recogniser.seen.get((check.stem, check.name))
            for check in self.catalogue.exercise(full).checks
        ]
        return all(outcome is not None and outcome.passed for outcome in seen)

    def _innermost(self, problem: BaseException) -> str | None:
        if hasattr(problem, "kit_owner"):
            return str(problem.kit_owner) if problem.kit_owner else None
        guilty, step = None, problem.__traceback__
        while step is not None:
            guilty = self.world.owner(step.tb_frame.f_code) or guilty
            step = step.tb_next
        return guilty
