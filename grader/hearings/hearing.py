"""A hearing: every check of one submission on one device gets its verdict, whatever it does."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader import devices
from grader.answers.door import OF_ANSWER, Answer
from grader.chapters import Catalogue, Exercise
from grader.hearings.by_heart import run_by_heart
from grader.judging.evidence import let_go
from grader.judging.explain import explain_lost
from grader.judging.judge import Judge
from grader.judging.outcome import Outcome
from grader.judging.recognise import SlipMemory
from grader.judging.result import check_result
from grader.judging.run import Setting
from grader.naming import in_words
from grader.remote.talk import ByHeart
from grader.remote.world import RemoteWorld
from grader.results import CheckResult
from grader.suite.check import Check
from grader.suite.expected import Tape
from grader.trouble import Lost, NurseryError
from grader.workers.forked import Starter, WorkerJob
from grader.written.source import name_of

# so many processes may an exercise cost before the rest of it is not tried
TROUBLE_LIMIT = 2
# and so many times may a submission not come back at all before it is waited for less long
PATIENCE_LIMIT = 3
IMPATIENT = 1.0
# a submission may take in all what so many checks may take
CHECKS = 60
# a check whose process somebody else has ended is tried so many times
ATTEMPTS = 2
KILLED = (
    "{name}: its process was ended from outside, {count} times in a row (kill -9, or no memory was "
    "left), so nothing is known of it: grade it again, with fewer --jobs if memory was short"
)


@dataclass(frozen=True)
class Limits:
    """What a submission may take: seconds for each check, megabytes for all."""

    seconds: float = 10.0
    memory: int = 4096


@dataclass
class Hearing:
    """Hears one submission on one device.

    Attributes:
        catalogue: the chapters.
        starter: starts the processes that the answer runs in.
        sources: the answer's chapters, by the names of their files.
        device: where.
        seed: of the inputs.
        limits: for this submission.
        memory: what the known slips give, remembered from other submissions of the same seed.
        by_heart: what was said in checks that passed, remembered from other submissions.
        planted: wrong functions of the kit's own in the place of exercises, in a proof.
        earlier: what stands for the exercises of earlier chapters, by their full names.
        lacks: what its device cannot do.
        spent: seconds that the submission has taken already.
    """

    catalogue: Catalogue
    starter: Starter
    sources: Mapping[str, bytes]
    device: str
    seed: int
    limits: Limits = field(default_factory=Limits)
    memory: SlipMemory = field(default_factory=SlipMemory)
    by_heart: ByHeart | None = None
    planted: Mapping[str, Sequence[str]] = field(default_factory=dict)
    earlier: Mapping[str, Any] = field(default_factory=dict)
    lacks: Collection[str] = ()
    spent: float = 0.0

    def __post_init__(self) -> None:
        self._trouble: dict[str, int] = {}
        self._because: dict[str, tuple[str, ...]] = {}
        self._broken: dict[str, tuple[str, str]] = {}
        self._never_back = 0
        self._most = CHECKS * self.limits.seconds
        # what comes from here decides; the spare is for looking into what went wrong
        self._deciding, self._spare = self._world(), self._world()
        place = self._deciding.workers_device
        self.judge = Judge(
            self._of_answer(), self._deciding, Setting("cpu", self.seed, place), spare=self._spare,
            memory=self.memory, by_heart=self._run_by_heart if self.by_heart else None,
            proving=bool(self.planted),
        )  # fmt: skip

    def _of_answer(self) -> Catalogue:
        """Return the chapters that are the answer's own: only these can be to blame."""
        lent = {full.partition(".")[0] for full in self.earlier}
        return Catalogue(tuple(c for c in self.catalogue.chapters if c.stem not in lent))

    def _run_by_heart(self, check: Check, tape: Tape) -> tuple[Outcome, Answer]:
        assert self.by_heart is not None
        return run_by_heart(check, self._deciding, self.judge.setting, self.by_heart, tape)

    def results(self, exercises: Sequence[Exercise]) -> Iterator[CheckResult]:
        """Give every check its result, in order."""
        with contextlib.closing(self):
            for exercise in exercises:
                for check in exercise.checks:
                    outcome = self.outcome(check)
                    yield check_result(check, outcome, self.device)
                    let_go(outcome)

    def outcome(self, check: Check) -> Outcome:
        """Judge one check."""
        if check.stem in self._broken:
            verdict, says = self._broken[check.stem]
            return Outcome(verdict, message=says)  # type: ignore[arg-type]
        if self._trouble.get(check.full_exercise, 0) >= TROUBLE_LIMIT:
            blame = self._because.get(check.full_exercise, ())
            who = in_words(blame) or "it"
            says = f"{check.full_exercise}: not tried, {who} ended its process in earlier checks"
            return Outcome("crashed", message=says, blame=blame)
        if self.taken > self._most:
            says = f"not tried, the submission has used up all of its {self._most:g} s"
            return Outcome("timeout", message=f"{check.full_exercise}: {says}")
        for _ in range(ATTEMPTS):
            outcome = self._judged(check)
            if outcome is not None:
                return outcome
        raise NurseryError(KILLED.format(name=check.full_exercise, count=ATTEMPTS))

    @property
    def taken(self) -> float:
        """How many seconds the submission has taken."""
        return self.spent + self._deciding.patience.total + self._spare.patience.total

    def _judged(self, check: Check) -> Outcome | None:
        """Judge a check; None if somebody else has ended the process."""
        try:
            return self.judge.judge(check)
        except Lost as lost:
            return None if lost.verdict == "killed" else self._lost(check, lost)
        except BaseException as problem:
            if not isinstance(problem, Exception) and not hasattr(problem, OF_ANSWER):
                raise
            # what came has upset the judge itself: the loss is the answer's, for this check only
            return self._lost(check, self._deciding.upset(problem))

    def close(self) -> None:
        """End the processes of the answer."""
        self._deciding.close()
        self._spare.close()

    def _lost(self, check: Check, lost: Lost) -> Outcome:
        name, stem = check.full_exercise, self._deciding.loading
        self._trouble[name] = self._trouble.get(name, 0) + 1
        blame = () if stem is not None else self._blamed(check)
        if lost.verdict == "timeout":
            self._never_back += 1
            self.judge.hanging.update(blame or {name})
            if self._never_back >= PATIENCE_LIMIT:
                for world in (self._deciding, self._spare):
                    world.patience.seconds = min(world.patience.seconds, IMPATIENT)
        if stem is not None:
            file = name_of(stem, self.sources.get(f"{stem}.py", b""))
            says = f"{file}, while it was imported, {lost.says}"
            self._broken[stem] = (lost.verdict, says)
        else:
            says = explain_lost(name, lost.says, blame)
        return Outcome(lost.verdict, message=says, blame=blame)  # type: ignore[arg-type]

    def _blamed(self, check: Check) -> tuple[str, ...]:
        """Name the earlier exercises that a process was lost in, as at the loss before."""
        name = check.full_exercise
        if name not in self._because:
            self._because[name] = self.judge.culprits_of_loss(check)
        return self._because[name]

    def _world(self) -> RemoteWorld:
        home = devices.indexed(self.device)
        devices.name_only(home)
        names = self.catalogue.names()
        job = WorkerJob(names, home, self.limits.memory, self.planted)
        return RemoteWorld(
            lambda: self.starter.start(job), self.sources, names, self.limits.seconds, home,
            self.earlier, self.lacks,
        )  # fmt: skip
