"""The `grade` command: from arguments to a table and reports."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import __version__, naming
from grader.batch import store
from grader.batch.bench import Limits, NoBench
from grader.batch.devices import devices_of
from grader.batch.plan import GradingPlan, jobs_for, new_seed
from grader.batch.slots import side_by_side
from grader.batch.stopping import StopAsked
from grader.batch.submissions import Submission, find
from grader.chapters import Catalogue, Exercise, catalogue
from grader.reports import table
from grader.reports.formats import FORMATS, filled, refuse_early
from grader.reports.text import for_log
from grader.results import DeviceState, Earlier, Run
from grader.sandbox import Isolation, SandboxError, offered

Writer = Callable[[Run, Path], None]


@dataclass(frozen=True)
class GradeRequest:
    """What the user asked for, as given; None where the grader is to choose."""

    paths: Sequence[Path]
    device: str
    reports: Sequence[str]
    only: Sequence[str]
    jobs: int | None
    seed: int | None
    time_limit: float
    memory: int
    results: Path | None
    gradebook: Path | None = None
    assignment: str | None = None
    require_sandbox: bool = False
    earlier: Earlier = "own"


def grade(request: GradeRequest) -> int:
    """Grade and report; the exit status is 1 if a submission could not be graded.

    Raises:
        ValueError: arguments or a set-up that make no sense, before anything is graded.
        LookupError: no exercise is called like `only`.
        OSError: a path is not there, or a report cannot be written.
    """
    submissions = find(request.paths, _tell)
    reports = list(_reports(request, len(submissions)))
    devices, said = devices_of(request.device)
    known = catalogue()
    chosen = _chosen(known, request.only)
    limits = Limits(request.time_limit, request.memory)
    jobs = request.jobs or jobs_for(len(submissions))
    isolation = _isolation(request.require_sandbox, "cuda" in devices)
    try:
        with _kept(request) as (kept, seed):
            plan = GradingPlan(tuple(chosen), devices, seed, limits, jobs, isolation,
                               request.earlier)  # fmt: skip
            run, unchanged = _run(submissions, plan, said, kept)
            if kept is not None and unchanged < len(submissions):
                kept.tell(seed)
    except StopAsked as stop:
        with contextlib.suppress(OSError):  # the terminal may be what is gone
            print(f"grader: {_farewell(stop, len(submissions), request.results)}", file=sys.stderr)
        return 128 + stop.number
    except NoBench as problem:
        raise ValueError(str(problem)) from problem
    try:
        for write, path in reports:
            write(run, path)
    finally:  # in this order: nobody may read on what is printed
        table.show(run, unchanged)
        if kept is not None and kept.problem:
            print(f"grader: {request.results} is not complete: {kept.problem}", file=sys.stderr)
    return int(any(submission.problem for submission in run.submissions))


def _chosen(known: Catalogue, only: Sequence[str]) -> list[Exercise]:
    """List the exercises that names, or lists of names, mean; without any, all of them."""
    stems = list(known.names())
    names = [name for text in only for name in naming.listed(text, stems)]
    meant = {exercise.full for name in names for exercise in known.select(name)}
    return [e for e in known.exercises() if not names or e.full in meant]


def _tell(sentence: str) -> None:
    print(f"grader: {for_log(sentence)}", file=sys.stderr)


def _run(
    submissions: Sequence[Submission],
    plan: GradingPlan,
    said: dict[str, DeviceState],
    kept: store.Store | None,
) -> tuple[Run, int]:
    import torch

    with table.progress(len(submissions)) as progress:
        results = side_by_side(submissions, plan, kept, progress.after_each)
    says = plan.isolation.says if plan.isolation else ""
    run = Run(__version__, torch.__version__, plan.seed, said, tuple(results), says,
              plan.earlier)  # fmt: skip
    return run, progress.unchanged


def _isolation(required: bool, gpu: bool) -> Isolation:
    """Find out what shuts a submission in here, and say what it is not kept from.

    Raises:
        ValueError: something is not kept out although that is required, or nothing is known.
    """
    try:
        isolation = offered()
    except SandboxError as problem:
        raise ValueError(str(problem)) from problem
    if required and not isolation.complete:
        raise ValueError(f"--require-sandbox: {' '.join(isolation.missing)}")
    for sentence in isolation.missing_with_gpu if gpu else isolation.missing:
        print(f"grader: {sentence}", file=sys.stderr)
    return isolation


@contextlib.contextmanager
def _kept(request: GradeRequest) -> Iterator[tuple[store.Store | None, int]]:
    """Open the results database, if there is to be one, and settle the seed."""
    if request.results is None:
        yield None, new_seed() if request.seed is None else request.seed
        return
    with store.opened(request.results) as kept:
        seed, earlier = kept.seed(request.seed)
        if earlier:
            says = f"seed {seed}, as before in {request.results}; --seed N takes another"
            print(f"grader: {says}", file=sys.stderr)
        yield kept, seed


def _farewell(stop: StopAsked, total: int, results: Path | None) -> str:
    name = signal.Signals(stop.number).name
    by = "Ctrl-C" if name == "SIGINT" else name
    after = f"stopped by {by} after {stop.done} of {total}"
    if results is None:
        return f"{after}; --results FILE would have kept them"
    return f"{after}: {results} keeps what is graded, and the same command goes on from there"


def _reports(request: GradeRequest, submissions: int) -> Iterator[tuple[Writer, Path]]:
    """Say for every report who writes it and where to; what must fail fails before grading."""
    forms = dict(FORMATS)
    if request.gradebook is not None:
        forms["csv"] = filled(request.gradebook, request.assignment)
    wanted = [_parts(text) for text in request.reports]
    if request.gradebook is not None and "csv" not in [form for form, _ in wanted]:
        raise ValueError("--gradebook fills the csv report: add --report csv=FILE")
    for form, file in wanted:
        if form not in forms:
            raise ValueError(f"there is no report format `{form}`; there is {', '.join(forms)}")
        refuse_early(form, submissions)
        path = Path(file)
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise ValueError(f"the report cannot be written to {file}: no such folder, or a folder")
        yield forms[form], path


def _parts(text: str) -> tuple[str, str]:
    form, separator, file = text.partition("=")
    if not separator or not file:
        raise ValueError(f"--report takes FORMAT=FILE, as in json=scores.json, not `{text}`")
    return form, file
