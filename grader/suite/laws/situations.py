"""The situations in which a function's cases are called: sizes, batches, edges, layouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.suite.case import Case
from grader.suite.draw import Draw
from grader.suite.played import Played
from grader.suite.promises import RETURNS, Citation


@dataclass(frozen=True)
class Subject:
    """A function, and the situations in which a law is held against it."""

    exercise: str
    cases: tuple[Case, ...]
    note: str = ""

    @property
    def cites(self) -> Citation:
        """What all of its situations enforce; what comes out, if each has a sentence of its own."""
        cited = {case.cites for case in self.cases}
        return cited.pop() if len(cited) == 1 else RETURNS

    @property
    def id(self) -> str:
        """The subject as it stands in a check's name."""
        return f"{self.exercise}-{self.note}" if self.note else self.exercise


def subjects_of(cases: Iterable[Case]) -> list[Subject]:
    """Put the cases of each function together."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.exercise, []).append(case)
    return [Subject(exercise, tuple(listed)) for exercise, listed in found.items()]


def has_floats(case: Case) -> bool:
    """Tell whether a gradient or a dtype is a matter of its inputs."""
    return bool(case.tensors(case.given(Draw())))


def has_a_place(case: Case) -> bool:
    """Tell whether inputs say where the output is; what is asked for a device, its suite asks."""
    return "device" not in case.parameters()


def squares(cases: Sequence[Case]) -> list[Case]:
    """Let all sizes be the same: what is transposed or swapped fits, and differs by value."""
    found = []
    for case in cases:
        alike = dict.fromkeys(case.dimensions, 3)
        if len(alike) > 1:
            found.append(case.at(*case.batch, **alike))
        if alike and case.takes_batches:
            found.append(case.at(3, **alike))
    return found


def ones(cases: Sequence[Case]) -> list[Case]:
    """Let each size be 1, and then all of them: `squeeze` takes away more than meant."""
    found = []
    for case in cases:
        found += [case.at(*case.batch, **{name: 1}) for name in case.dimensions]
        if len(case.dimensions) > 1:
            found.append(_all_one(case, (1,) if case.takes_batches else case.batch))
    return found


def sized(cases: Sequence[Case]) -> list[Case]:
    """Take those that have sizes."""
    return [case for case in cases if case.dimensions]


def and_batched(case: Case) -> list[Case]:
    """Take a case as it is, and with a batch if it can have one."""
    return [case, case.at(2)] if case.takes_batches else [case]


def called(cases: Sequence[Case]) -> list[Case]:
    """List those that are one call, whose arguments can be given by their names."""
    return [case for case in cases if not isinstance(case, Played)]


def sloped_at_any_size(cases: Sequence[Case]) -> list[Case]:
    """List those whose sizes can be drawn and whose inputs want gradients."""
    sloped = [case for case in cases if case.slopes and has_floats(case)]
    return [case for case in sloped if case.dimensions or case.takes_batches]


def apart(cases: Sequence[Case]) -> list[Case]:
    """List those of which one input may want a gradient while another one does not."""
    return [case for case in cases if case.slopes and len(case.tensors(case.given(Draw()))) > 1]


def of_one_entry(cases: Sequence[Case]) -> list[Case]:
    """Let every size be 1: a slice of one entry has a gradient of its own."""
    return [_all_one(case, case.batch) for case in cases if case.dimensions and has_floats(case)]


def _all_one(case: Case, batch: tuple[int, ...]) -> Case:
    return case.at(*batch, **dict.fromkeys(case.dimensions, 1))


def documents(cases: Sequence[Case]) -> list[Case]:
    """Take the sizes of the documents' examples, with other numbers than theirs."""
    return [case.at(**sizes) for case in cases for sizes in case.documents]


def batches(cases: Sequence[Case]) -> list[Case]:
    """Take a batch, one of a single sequence, and several; mirrored, also none."""
    kinds = [(2,), (1,), (2, 3), (3, 1, 2), (3, 3)]
    batched = [case for case in cases if case.takes_batches]
    found = [case.at(*kind) for case in batched for kind in kinds]
    wide = [case for case in batched if len(case.dimensions) > 1]
    found += [case.at(*kind, **_mirrored(case)) for case in wide for kind in [(), (2,), (2, 3)]]
    return found


def _mirrored(case: Case) -> dict[str, int]:
    """Reverse the order of the sizes: some answers take a way of their own for what is wide."""
    ranked = sorted(case.dimensions, key=lambda name: case.dimensions[name])
    return {name: case.dimensions[other] for name, other in zip(ranked, ranked[::-1], strict=True)}


def strided(cases: Sequence[Case]) -> list[Case]:
    """Take each case as it is, and with one and two batch dimensions if it can have them."""
    batched = [case.at(*kind) for case in cases if case.takes_batches for kind in [(2,), (2, 3)]]
    return [*cases, *batched]


def large(cases: Sequence[Case]) -> list[Case]:
    """Take the sizes at which scores are too large for exp."""
    return [case.at(**case.large) for case in cases if case.large is not None]
