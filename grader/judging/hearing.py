"""A hearing: every check of one submission on one device gets its verdict, whatever it does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.answers.forked import Job, Starter
from grader.answers.remote import RemoteWorld
from grader.answers.talk import ByHeart
from grader.answers.trouble import Lost
from grader.chapters import Catalogue, Exercise
from grader.judging.judge import Judge
from grader.judging.outcome import Outcome
from grader.judging.recognise import SlipMemory
from grader.judging.run import Setting
from grader.judging.waiting import waits_for
from grader.results import CheckResult
from grader.suite.check import Check

# so many processes may an exercise cost before the rest of it is not tried
TROUBLE_LIMIT = 2
# and so many times may a submission not come back at all before it is waited for less long
PATIENCE_LIMIT = 3
IMPATIENT = 1.0


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
        folder: the answer's files.
        device: cpu or cuda.
        seed: of the inputs.
        limits: for this submission.
        memory: what the known slips give, remembered from other submissions of the same seed.
        by_heart: what was said in checks that passed, remembered from other submissions.
        stand_ins: wrong functions of the kit's own in the place of exercises, in a proof.
    """

    catalogue: Catalogue
    starter: Starter
    folder: Path
    device: str
    seed: int
    limits: Limits = field(default_factory=Limits)
    memory: SlipMemory = field(default_factory=SlipMemory)
    by_heart: ByHeart | None = None
    stand_ins: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._trouble: dict[str, int] = {}
        self._broken: dict[str, tuple[str, str]] = {}
        self._never_back = 0
        # what comes from here decides; the spare is for looking into what went wrong
        self._deciding, self._spare = self._world(), self._world()
        place = self._deciding.place
        self.judge = Judge(
            self.catalogue, self._deciding, Setting("cpu", self.seed, place), spare=self._spare,
            memory=self.memory, by_heart=self.by_heart, proving=bool(self.stand_ins),
        )  # fmt: skip

    def results(self, exercises: Sequence[Exercise]) -> Iterator[CheckResult]:
        """Give every check its result, in order."""
        with contextlib.closing(self):
            for exercise in exercises:
                for check in exercise.checks:
                    outcome = self.outcome(check)
                    yield CheckResult(
                        check.name, self.device, outcome.verdict, check.core,
                        outcome.message, outcome.slip, waits_for(check, outcome),
                    )  # fmt: skip

    def outcome(self, check: Check) -> Outcome:
        """Judge one check."""
        if check.stem in self._broken:
            verdict, says = self._broken[check.stem]
            return Outcome(verdict, message=says)  # type: ignore[arg-type]
        if self._trouble.get(check.full_exercise, 0) >= TROUBLE_LIMIT:
            says = f"{check.full_exercise}: not tried, it ended its process in earlier checks"
            return Outcome("crashed", message=says)
        try:
            return self.judge.judge(check)
        except Lost as lost:
            return self._lost(check, lost)
        except Exception as problem:
            # what came has upset the judge itself: the loss is the answer's, for this check only
            return self._lost(check, self._deciding.upset(problem))

    def close(self) -> None:
        """End the processes of the answer."""
        self._deciding.close()
        self._spare.close()

    def _lost(self, check: Check, lost: Lost) -> Outcome:
        name, stem = check.full_exercise, self._deciding.loading
        self._trouble[name] = self._trouble.get(name, 0) + 1
        if lost.verdict == "timeout":
            self._never_back += 1
            self.judge.hanging.add(name)
            if self._never_back >= PATIENCE_LIMIT:
                self._deciding.seconds = min(self._deciding.seconds, IMPATIENT)
                self._spare.seconds = self._deciding.seconds
        if stem is not None:
            says = f"{stem}.py, while it was imported, {lost.says}"
            self._broken[stem] = (lost.verdict, says)
        else:
            says = f"{name} {lost.says}"
        return Outcome(lost.verdict, message=says)  # type: ignore[arg-type]

    def _world(self) -> RemoteWorld:
        home = "cuda:0" if self.device == "cuda" else self.device
        names = self.catalogue.names()
        job = Job(self.folder, names, home, self.limits.memory, self.stand_ins)
        return RemoteWorld(
            lambda: self.starter.start(job), self.folder, names, self.limits.seconds, home
        )
