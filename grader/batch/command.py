"""The `grade` command: from arguments to a table and reports."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from grader import __version__
from grader.batch import store
from grader.batch.by_course import course_for, score_of, scored, tables_of_times
from grader.batch.cluster import Cluster, grade_on
from grader.batch.devices import Usable, devices_of, named_in, try_devices
from grader.batch.duplicates import Rule, best_of, several, sorted_out
from grader.batch.names import listed
from grader.batch.plan import GradingPlan, jobs_for, new_seed
from grader.batch.record import record_of
from grader.batch.shard import Shard, keys, shard_of
from grader.batch.slots import side_by_side
from grader.batch.sources import Told
from grader.batch.stopping import NoJudge, StopAsked
from grader.batch.submissions import Submission, find
from grader.batch.wanted import Wanted, reports_for
from grader.chapters import Catalogue, Exercise, catalogue
from grader.course.settings import NAME, Course
from grader.hearings.hearing import Limits
from grader.reports import table
from grader.reports.text import tell
from grader.results import DeviceState, Earlier, Run, SubmissionResult
from grader.sandbox import Isolation, SandboxError, offered

SHARED_SEED = (
    "--shard: all parts need one seed: give each of them the same --seed N, a number that nobody "
    "can guess"
)


@dataclass(frozen=True)
class GradeRequest:
    """What the user asked for, as given; None where the grader is to choose."""

    paths: Sequence[Path]
    device: str
    wanted: Wanted
    only: Sequence[str]
    jobs: int | None
    seed: int | None
    time_limit: float
    memory: int
    results: Path | None
    require_sandbox: bool = False
    shard: str | None = None
    duplicates: Rule | None = None
    earlier: Earlier = "own"
    cluster: Cluster | None = None


def grade(request: GradeRequest) -> int:
    """Grade and report; the exit status is 1 if a submission could not be graded.

    Raises:
        ValueError: arguments or a set-up that make no sense, before anything is graded.
        LookupError: no exercise is called like `only`.
        OSError: a path is not there, or a report cannot be written.
    """
    shard = shard_of(request.shard)
    _refuse_lonely(request, shard)
    told = Told(most=sys.maxsize)
    for_one = request.wanted.is_for_one
    everything = find(request.paths, told, _own_files(request), one=for_one)
    batch = sorted_out(everything, request.duplicates)
    tell(*told.notes, *([] if request.duplicates else _several(batch)))
    by = keys(batch, shard)
    submissions = [one for one in batch if shard.holds(by[one.identity])]
    if not shard.is_whole:
        tell(f"{shard}: {len(submissions) or 'none'} of the {len(batch)} submissions")
    count = len(submissions)
    wanted = request.wanted
    reports = reports_for(wanted, count)
    known = catalogue()
    handed_in = (one.path for one in everything)
    reports.refuse_overwriting((*wanted.read, request.results, *handed_in))
    whose = [] if wanted.course or for_one else _folders(request.paths, everything)
    course = course_for(wanted.course, wanted.rules, whose, known)
    chosen = _chosen(known, request.only, course)
    named = bool(request.only or (course and course.weeks))
    unchanged, problem = 0, None
    try:
        if request.cluster is not None:
            run = _run_in_parts(request, request.cluster, count)
        else:
            part = BatchPart(shard, by, submissions, told.unused, course)
            run, unchanged, problem = _run_here(request, part, chosen, named)
    except StopAsked as stop:
        with contextlib.suppress(OSError):  # the terminal may be what is gone
            tell(_farewell(stop, len(submissions), request.results))
        return 128 + stop.number
    except NoJudge as none:
        raise ValueError(str(none)) from none
    if request.duplicates == "best":
        worth = partial(score_of, course, run)
        best, submissions = best_of(submissions, run.submissions, worth)
        run = replace(run, submissions=best)
    elsewhere = [identity for identity, key in by.items() if not shard.holds(key)]
    run = reports.with_absent(scored(course, run, chosen, submissions), elsewhere)
    tell(*reports.in_doubt(run))
    try:
        reports.write(run)
    finally:  # in this order: nobody may read on what is printed
        table.show(run, unchanged)
        if problem:
            tell(f"{request.results} is not complete: {problem}")
    if run.reasons and request.device != "auto":
        return 2  # what was asked for could not be run; all the rest is graded
    return int(any(submission.problem for submission in run.submissions))


@dataclass(frozen=True)
class BatchPart:
    """What of the batch is graded here, and what else is known of it.

    Attributes:
        shard: which part it is.
        by: the keys of all submissions of the batch, by identities, in order.
        submissions: those of the part.
        passed_over: the names of what lay beside them and is nobody's.
        course: its rules, if there are any.
    """

    shard: Shard
    by: Mapping[str, str]
    submissions: Sequence[Submission]
    passed_over: Sequence[str]
    course: Course | None


def _run_here(
    request: GradeRequest, part: BatchPart, chosen: Sequence[Exercise], named: bool
) -> tuple[Run, int, str | None]:
    """Grade; with how many were known before, and why results could not be kept, if so."""
    shard, submissions = part.shard, part.submissions
    devices, said = devices_of(request.device)
    limits = Limits(request.time_limit, request.memory)
    jobs = request.jobs or jobs_for(len(submissions))
    isolation = _isolation(request.require_sandbox)
    by_name = request.device != "auto"
    usable = try_devices(devices, isolation, limits.memory, by_name=by_name)
    _refuse(request, usable)
    devices, said = usable.devices, {**said, **dict.fromkeys(usable.reasons, "absent")}
    tell(*usable.sentences)
    if usable.jobs(jobs) < jobs:
        tell(f"{usable.most} at a time: the device's memory holds no more of {limits.memory} MB")
        jobs = usable.jobs(jobs)
    with _kept(request, shard) as (kept, seed):
        plan = GradingPlan(
            tuple(chosen), devices, seed, limits, jobs, isolation, shard.of, request.earlier, named,
            # what is kept may be compared later
            with_shapes=request.wanted.compares or kept is not None, on_gpu=usable.on_gpu,
        )  # fmt: skip
        if kept is None:
            return *_run(part, plan, said, kept, usable), None
        kept.begin(
            record_of(
                plan, said, usable, shard, part.by, part.passed_over,
                "" if part.course is None else part.course.name, request.duplicates or "",
            )
        )  # fmt: skip
        run, unchanged = _run(part, plan, said, kept, usable)
        # who hands in anew may come from another part, of which this one knows nothing
        if unchanged < len(submissions) or not shard.is_whole:
            kept.tell(seed)
        return run, unchanged, kept.problem


def _run_in_parts(request: GradeRequest, cluster: Cluster, count: int) -> Run:
    """Grade on a cluster; whose machines have what, this one cannot know."""
    folder = request.results
    if folder is None:
        raise ValueError("--cluster: add --results FOLDER, which all machines see")
    if cluster.kind == "local":
        devices, _ = devices_of(request.device)
    else:
        devices = ("cpu",) if request.device == "auto" else named_in(request.device)
        request = replace(request, device=",".join(devices))
    part = replace(
        request,
        cluster=None,
        wanted=Wanted(course=request.wanted.course, rules=request.wanted.rules),
        duplicates="each" if request.duplicates == "best" else request.duplicates,
    )
    return grade_on(
        cluster, count, folder, partial(_grade_part, part), jobs=request.jobs,
        memory=request.memory, gpu=devices != ("cpu",), seed=request.seed,
    )  # fmt: skip


def _grade_part(request: GradeRequest, shard: Shard, file: Path, jobs: int, seed: int) -> str:
    """Grade a part in a job of its own, and say why it cannot be, if so."""
    request = replace(request, shard=f"{shard.part}/{shard.of}", results=file, jobs=jobs, seed=seed)
    try:
        status = grade(request)
    except (ValueError, LookupError, OSError) as problem:
        return str(problem.args[0] if isinstance(problem, LookupError) else problem)
    if status > 2:  # 2: a device did not work, which is no reason to run the part again
        raise InterruptedError(f"stopped with status {status}")
    return ""


def _own_files(request: GradeRequest) -> frozenset[Path]:
    """List what this command reads and no student has handed in, though it may lie beside that."""
    wanted = request.wanted
    tables = tables_of_times(wanted.course, wanted.rules, request.paths)
    return frozenset(Path(os.path.abspath(one)) for one in (*wanted.read, *tables) if one)


def _several(batch: Sequence[Submission]) -> Iterator[str]:
    for together in several(batch):
        names = listed([one.path.name for one in together])
        yield f"{names} look like one student's: --duplicates latest, best or refuse"


def _refuse_lonely(request: GradeRequest, shard: Shard) -> None:
    """Refuse a part that could not be merged with the others."""
    if request.shard is None:
        return
    if request.cluster is not None:
        raise ValueError("--cluster cuts the batch itself: leave --shard out, or say --shards N")
    if request.results is None:
        raise ValueError(f"--shard: add --results FILE, which `merge` takes, for {shard}")
    if request.duplicates == "best":
        raise ValueError("--duplicates best needs all in one part: with --shard, take latest")
    if request.seed is None and not request.results.is_file():
        raise ValueError(SHARED_SEED)


def _chosen(known: Catalogue, only: Sequence[str], course: Course | None) -> list[Exercise]:
    """List the exercises that names, or lists of names, mean, of those that count."""
    meant = known.listed(only) or list(known.exercises())
    counting = course.exercises if course is not None else ()
    found = [one for one in meant if not counting or one.full in counting]
    if not found:
        raise ValueError(f"of the course nothing is called {', '.join(only)}")
    return found


def _folders(paths: Sequence[Path], batch: Sequence[Submission]) -> list[Path]:
    """List the folders that hold submissions and are none: an instructor's own.

    What holds one submission may be that one's folder, and of several paths each may be.
    """
    whole = [Path(os.path.abspath(path)) for path in paths]
    if len(whole) > 1 or len(batch) < 2:
        for path in whole:
            if (path / NAME).is_file():
                tell(f"{path / NAME} does not count: say --course, if it is yours")
        return []
    handed_in = {submission.path for submission in batch}
    return [path for path in whole if path.is_dir() and path not in handed_in]


def _run(
    part: BatchPart,
    plan: GradingPlan,
    said: dict[str, DeviceState],
    kept: store.Store | None,
    usable: Usable,
) -> tuple[Run, int]:
    import torch

    final = part.course is None or not part.course.makes_points
    with table.progress(len(part.submissions), final) as progress:

        def after_each(result: SubmissionResult, known: bool) -> None:
            if kept is not None:
                kept.add(result)
            progress.after_each(result, known)

        results = side_by_side(part.submissions, plan, kept, after_each)
    run = Run(
        __version__, torch.__version__, plan.seed, said, tuple(results),
        usable.says(plan.isolation), earlier=plan.earlier, reasons=usable.reasons,
        passed_over=tuple(part.passed_over),
    )  # fmt: skip
    return run, progress.unchanged


def _refuse(request: GradeRequest, usable: Usable) -> None:
    """Refuse what was asked for and cannot be done.

    Raises:
        ValueError: no device is left, or walls have to come down that are required.
    """
    if not usable.devices:
        raise ValueError(
            "; ".join(f"{name}: not run: {why}" for name, why in usable.reasons.items())
        )
    if request.require_sandbox and usable.walls:
        raise ValueError(f"--require-sandbox: {'; '.join(usable.walls)}")


def _isolation(required: bool) -> Isolation:
    """Find out what shuts a submission in here.

    Raises:
        ValueError: something is not kept out although that is required, or nothing is known.
    """
    try:
        isolation = offered()
    except SandboxError as problem:
        raise ValueError(str(problem)) from problem
    if required and not isolation.complete:
        raise ValueError(f"--require-sandbox: {' '.join(isolation.missing)}")
    return isolation


@contextlib.contextmanager
def _kept(request: GradeRequest, shard: Shard) -> Iterator[tuple[store.Store | None, int]]:
    """Open the results database, if there is to be one, and settle the seed."""
    if request.results is None:
        yield None, new_seed() if request.seed is None else request.seed
        return
    with store.opened(request.results) as kept:
        kept.refuse_another(shard)
        if request.shard is not None and request.seed is None and kept.earlier_seed() is None:
            raise ValueError(SHARED_SEED)
        seed, earlier = kept.seed(request.seed)
        if earlier:
            tell(f"seed {seed}, as before in {request.results}; --seed N takes another")
        yield kept, seed


def _farewell(stop: StopAsked, total: int, results: Path | None) -> str:
    name = signal.Signals(stop.number).name
    by = "Ctrl-C" if name == "SIGINT" else name
    after = f"stopped by {by} after {stop.done} of {total}"
    if results is None:
        return f"{after}; --results FILE would have kept them"
    return f"{after}: {results} keeps what is graded, and the same command goes on from there"
