"""Several parts as one run: what cannot be one is refused, in sentences that name the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.batch.names import NAMED, listed, shortened
from grader.batch.parts import ResultsFile
from grader.batch.shard import Shard
from grader.naming import in_words
from grader.results import Run, SubmissionResult

SHOWN = 40


@dataclass(frozen=True)
class Gap:
    """What is missing.

    Attributes:
        problem: of those who have no result by it, as their reports say it.
        advice: what to do.
        missing: their identities.
    """

    problem: str
    advice: str
    missing: Sequence[str]

    def __str__(self) -> str:
        return f"{self.problem}: {self.advice}"


def joined(parts: Sequence[ResultsFile], partial: bool = False) -> tuple[Run, list[Gap]]:
    """Put the parts of a batch together, or whole batches, or both.

    Args:
        parts: in any order; the run does not depend on it.
        partial: whether something may be missing: who has no result could not be graded, then.

    Returns:
        The run, and all that is missing.

    Raises:
        ValueError: the parts cannot be one run, or something is missing.
    """
    parts = sorted(parts, key=lambda part: (part.record.shard.part, list(part.record.batch)))
    _refuse_differing([(part.path, part.record.settings) for part in parts])
    batches: list[list[ResultsFile]] = []
    for part in parts:
        same = next((batch for batch in batches if _is_of(part, batch[0])), None)
        if same is None:
            batches.append([part])
        else:
            same.append(part)
    _refuse_mixed(batches)
    gaps = [gap for batch in batches for gap in _gaps(batch)]
    if gaps and not partial:
        raise ValueError(f"{'; '.join(map(str, gaps))}; or say --partial")
    why = {identity: gap.problem for gap in gaps for identity in gap.missing}
    results = [result for batch in batches for result in _results(batch, why)]
    first = parts[0].record
    isolation = "; ".join(sorted({part.record.isolation for part in parts} - {""}))
    run = Run(
        first.version, first.torch, first.seed, first.devices, tuple(results), isolation,
        earlier=first.earlier, reasons=_reasons(parts),
        passed_over=tuple(dict.fromkeys(name for p in parts for name in p.record.passed_over)),
    )  # fmt: skip
    return run, gaps


def _reasons(parts: Sequence[ResultsFile]) -> dict[str, str]:
    """Say why a device was not run, in the words of every part that could not."""
    found: dict[str, dict[str, None]] = {}
    for part in parts:
        for device, why in part.record.reasons.items():
            found.setdefault(device, {})[why] = None
    return {device: "; ".join(said) for device, said in found.items()}


def differing_machines(parts: Sequence[ResultsFile]) -> Iterator[str]:
    """Say in what the machines differed, which alone is no reason to grade anew."""
    for name in parts[0].record.machine:
        where = _by_value((part.path, part.record.machine.get(name, "")) for part in parts)
        if len(where) > 1:
            yield f"the machines differed in {name}: {_values(where)}"


def _refuse_differing(settings: Sequence[tuple[Path, Mapping[str, str]]]) -> None:
    names = dict.fromkeys(name for _, says in settings for name in says)
    for name in names:
        where = _by_value((path, says.get(name, "")) for path, says in settings)
        if len(where) > 1:
            raise ValueError(
                f"these results cannot be one run, for they differ in {name}: {_values(where)}: "
                "grade every part with the same kit and the same options"
            )


def _by_value(said: Iterable[tuple[Path, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, value in said:
        found.setdefault(value, []).append(str(path))
    return found


def _values(where: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{shortened(v, SHOWN)} in {_files(p)}" for v, p in where.items())


def _files(paths: Sequence[str]) -> str:
    """Name a few of many, each whole: what tells them apart may be anywhere in them."""
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(sorted(paths)[:NAMED]) + more


def _is_of(part: ResultsFile, other: ResultsFile) -> bool:
    """Tell whether two parts were cut from the same batch, in the same way."""
    mine, theirs = part.record, other.record
    return mine.shard.of == theirs.shard.of and mine.batch == theirs.batch


def _refuse_mixed(batches: Sequence[Sequence[ResultsFile]]) -> None:
    """Refuse parts that were cut from different batches, and people who are in two."""
    for number, batch in enumerate(batches):
        for other in batches[:number]:
            mine, theirs = batch[0], other[0]
            files = _files([str(mine.path), str(theirs.path)])
            cut = {mine.record.shard.of, theirs.record.shard.of}
            if len(cut) > 1:
                says = in_words([str(one) for one in sorted(cut)])
                raise ValueError(f"{files} were cut differently, into {says} parts: merge one kind")
            if cut != {1}:
                raise ValueError(
                    f"{files} are parts of different batches: {_difference(mine, theirs)}; grade "
                    "every part again on the same files: what has not changed is not graded again"
                )
            both = [name for name in mine.record.batch if name in theirs.record.batch]
            if both:
                raise ValueError(f"{listed(both)}: in both {files}, which are different batches")


def _difference(mine: ResultsFile, theirs: ResultsFile) -> str:
    for one, other in ((mine, theirs), (theirs, mine)):
        alone = [name for name in one.record.batch if name not in other.record.batch]
        if alone:
            return f"{listed(alone)} only in {one.path}"
    keys = theirs.record.batch
    changed = [name for name, key in mine.record.batch.items() if keys[name] != key]
    return f"{listed(changed)} changed in between" if changed else "in another order"


def _gaps(batch: Sequence[ResultsFile]) -> Iterator[Gap]:
    """Say which parts are not there, or not whole."""
    record = batch[0].record
    found: dict[int, list[ResultsFile]] = {}
    for part in batch:
        found.setdefault(part.record.shard.part, []).append(part)
    for number in range(1, record.shard.of + 1):
        shard = Shard(number, record.shard.of)
        wanted = [name for name, key in record.batch.items() if shard.holds(key)]
        there = {name for part in found.get(number, ()) for name in part.results}
        missing = [name for name in wanted if name not in there]
        if number not in found:
            yield Gap(f"{shard} is missing", "give its results file as well", missing)
        elif missing:
            files = _files([str(part.path) for part in found[number]])
            done = f"{len(wanted) - len(missing)} of {len(wanted)} submissions are in {files}"
            yield Gap(f"{shard} is not finished", f"{done}, run it again", missing)


def _results(batch: Sequence[ResultsFile], why: Mapping[str, str]) -> Iterator[SubmissionResult]:
    """Return a result for everybody in the batch, in its order.

    Raises:
        ValueError: two files hold different results of the same submission.
    """
    where: dict[str, ResultsFile] = {}
    for part in batch:
        for identity, result in part.results.items():
            before = where.setdefault(identity, part)
            if before.results[identity] != result:
                raise ValueError(
                    f"{shortened(identity, SHOWN)} has different results in {before.path} and "
                    f"{part.path}: leave one of them out"
                )
    for identity in batch[0].record.batch:
        if identity in where:
            yield where[identity].results[identity]
        else:
            yield SubmissionResult(identity, problem=why[identity])
