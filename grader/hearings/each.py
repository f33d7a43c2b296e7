"""Every check of a submission: heard as a whole, or each chapter by itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader import devices
from grader.chapters import Catalogue, Exercise
from grader.hearings.earlier import references
from grader.hearings.hearing import Hearing, Limits
from grader.hearings.probe import asked
from grader.judging.recognise import SlipMemory
from grader.remote.talk import ByHeart
from grader.results import CheckResult, Earlier
from grader.trouble import Lost, NurseryError
from grader.workers.forked import Starter


@dataclass(frozen=True)
class Hearings:
    """Hears one submission after the other.

    Attributes:
        catalogue: the chapters.
        starter: starts the processes that answers run in.
        earlier: whose earlier chapters later ones are judged over. Over the reference's, each
            chapter has processes of its own, so that none gets hold of what the next is lent.
        by_heart: what was said in checks that passed.
        known: what each device cannot do, once it was asked.
    """

    catalogue: Catalogue
    starter: Starter
    earlier: Earlier = "own"
    by_heart: ByHeart | None = field(default_factory=ByHeart)
    known: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def results(
        self,
        sources: Mapping[str, bytes],
        exercises: Sequence[Exercise],
        device: str,
        seed: int,
        limits: Limits | None = None,
        memory: SlipMemory | None = None,
    ) -> Iterator[CheckResult]:
        """Give every check of the exercises a result, in order.

        Args:
            sources: the submission's chapters, by the names of their files.
            exercises: those to hear.
            device: where.
            seed: of the inputs.
            limits: for this submission.
            memory: what the known slips give with this seed.
        """
        lacks = self._lacks(device)
        spent, limits, memory = 0.0, limits or Limits(), memory or SlipMemory()
        for stem, some in self._apart(exercises):
            hearing = Hearing(
                self.catalogue, self.starter, sources, device, seed, limits, memory, self.by_heart,
                earlier=references(self.catalogue, stem) if stem else {}, lacks=lacks,
                spent=spent,
            )  # fmt: skip
            yield from hearing.results(some)
            spent = hearing.taken

    def _lacks(self, device: str) -> Mapping[str, str]:
        """Say what a device cannot do, by asking a process that nothing of a submission was in."""
        if device == devices.CPU:
            return {}
        if device not in self.known:
            try:
                said = asked("lacks", device, self.starter).get("lacks")
            except Lost as lost:
                raise NurseryError(f"{device} cannot be used: its process {lost.says}") from lost
            self.known[device] = dict(said) if type(said) is dict else {}
        return self.known[device]

    def _apart(self, exercises: Sequence[Exercise]) -> Iterator[tuple[str, Sequence[Exercise]]]:
        if self.earlier == "own":
            yield "", exercises
            return
        for stem, some in itertools.groupby(exercises, lambda one: one.stem):
            yield stem, list(some)
