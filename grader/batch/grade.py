"""Grading one submission: read, looked up, judged; whatever goes wrong is its own problem."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from grader import places
from grader.batch.names import shortened
from grader.batch.plan import GradingPlan, content
from grader.batch.reader import SubmissionReader
from grader.batch.sources import Told, Unusable
from grader.batch.stopping import BatchStopped, NoJudge
from grader.batch.store import Store
from grader.batch.submissions import Submission
from grader.chapters import Exercise
from grader.hearings.process import GradingError
from grader.results import CheckResult, ExerciseResult, SubmissionResult
from grader.written.shapes import Shapes

Judge = Callable[[Mapping[str, bytes], int], Mapping[str, list[CheckResult]]]


def grade_one(
    submission: Submission,
    plan: GradingPlan,
    judge: Judge,
    reader: SubmissionReader,
    store: Store | None = None,
) -> tuple[SubmissionResult, bool]:
    """Grade one submission on every device of the plan, unless the store knows the result.

    Args:
        submission: whatever it holds.
        plan: what to grade by.
        judge: from the chapters' sources and a seed to each device's results, check by check.
        reader: reads the submission.
        store: where results are kept.

    Returns:
        The result, and whether it was in the store.

    Raises:
        BatchStopped: the batch was stopped meanwhile.
        NoJudge: no submission can be graded here.
    """
    try:
        told = Told()
        files = submission.files(reader, told)
        own = _own_plan(submission.identity, content(files), plan, store)
        where = (submission.identity, content(files), own.fingerprint)
        known = store.find(*where) if store else None
        tried = plan.exercises_in(files)
        found = known if known is not None and _fits(known, tried, plan.devices) else None
        if found is None:
            found = _by_exercise(judge(files, own.seed), tried, plan.devices)
            if store:
                store.keep(*where, own.seed, found)
        seed = None if own is plan else own.seed
        counted = tried if plan.named else _begun(tried, found)
        shapes = reader.shapes(files) if plan.with_shapes else {}
        return _put_together(submission, plan, counted, found, seed, told, shapes), found is known
    except (BatchStopped, NoJudge):
        raise
    except (Unusable, GradingError, OSError) as problem:
        return _ungradable(submission, str(problem), reader), False
    except Exception as problem:
        says = f"the grader itself failed on it: {type(problem).__name__}: {problem}"
        return _ungradable(submission, says, reader), False


def _ungradable(submission: Submission, why: str, reader: SubmissionReader) -> SubmissionResult:
    told = Told()
    told.leave(submission.held(reader))
    return SubmissionResult(
        submission.identity, problem=shortened(why), unused=_not_used(told),
        came_as=submission.came_as,
    )  # fmt: skip


def _not_used(told: Told) -> tuple[str, ...]:
    """List what has no part in the verdict; what every student has from the kit is no news."""
    own = (name for name in told.unused if PurePath(name).name not in _from_the_kit())
    return tuple(shortened(name, 120) for name in own)


@functools.cache
def _from_the_kit() -> frozenset[str]:
    beside = (path for path in places.EXERCISES.iterdir() if not path.match("ex*"))
    return frozenset(path.name for path in beside)


def _own_plan(identity: str, content: str, plan: GradingPlan, store: Store | None) -> GradingPlan:
    """Give what has come or changed since a run with this seed has ended another seed.

    What students were told since then may be the answers to the run's seed. What comes by a new
    name may have had another: newcomers get a seed of their run, what has changed one of its own.
    One part of a batch knows neither who is new nor how often the others have run: there, both get
    one of their own.
    """
    if store is None:
        return plan
    own = plan.with_own_seed(content)
    told = store.told(plan.seed)
    runs = [plan, *(plan.with_own_seed(f"run {n + 1}") for n in range(told))]
    graded = [(one, store.graded_with(identity, one.seed)) for one in (*runs, own)]
    as_before = [one for one, what in graded if what == content]
    if as_before:
        return as_before[0]
    has_changed = any(what for _, what in graded) or (told and plan.parts > 1)
    return own if has_changed else runs[-1]


def _by_exercise(
    found: Mapping[str, list[CheckResult]], tried: Sequence[Exercise], devices: Sequence[str]
) -> dict[str, list[CheckResult]]:
    sorted_out: dict[str, list[CheckResult]] = {e.full: [] for e in tried}
    checks = [e.full for e in tried for _ in e.checks]
    for device in devices:
        for full, result in zip(checks, found[device], strict=True):
            sorted_out[full].append(_whole(result))
    return sorted_out


def _whole(result: CheckResult) -> CheckResult:
    """Spell out halves of characters, which an answer can put into a message, but no file hold.

    Equal texts become one: what came out of another process came in as many copies.
    """
    message = result.message.encode("utf-8", "backslashreplace").decode()
    return dataclasses.replace(
        result, check=sys.intern(result.check), device=sys.intern(result.device),
        verdict=sys.intern(result.verdict), message=sys.intern(message),
        about=sys.intern(result.about),
    )  # fmt: skip


def _fits(
    known: Mapping[str, list[CheckResult]], tried: Sequence[Exercise], devices: Sequence[str]
) -> bool:
    """Tell whether what was kept has the shape that this kit would give it."""
    return list(known) == [e.full for e in tried] and all(
        [(result.check, result.device) for result in known[e.full]]
        == [(check.name, device) for device in devices for check in e.checks]
        for e in tried
    )


def _begun(tried: Sequence[Exercise], found: Mapping[str, list[CheckResult]]) -> list[Exercise]:
    """Leave out what lies beyond the seven chapters where nothing of a chapter is begun."""
    begun = {
        one.stem
        for one in tried
        if any(result.verdict != "not started" for result in found[one.full])
    }
    return [one for one in tried if one.track == "core" or one.stem in begun]


def _put_together(
    submission: Submission,
    plan: GradingPlan,
    counted: Sequence[Exercise],
    found: Mapping[str, list[CheckResult]],
    seed: int | None,
    told: Told,
    shapes: Shapes,
) -> SubmissionResult:
    exercises = tuple(
        _shared(
            ExerciseResult(
                e.full, e.points, len(e.checks), tuple(map(_shared, found[e.full])), track=e.track
            )
        )
        for e in counted
    )
    return SubmissionResult(
        submission.identity, exercises=exercises, devices=plan.devices, seed=seed,
        notes=tuple(shortened(note) for note in told.notes),
        unused=_not_used(told),
        came_as=submission.came_as, shapes=shapes,
    )  # fmt: skip


@functools.lru_cache(maxsize=2**15)
def _shared(result: Any) -> Any:
    """Let equal results be one object: in a large batch most submissions pass most checks."""
    return result
