"""The suites under plain pytest: our messages instead of tracebacks, and the board at the end."""

from __future__ import annotations

import gc
import re
import shutil
import textwrap
from collections import Counter
from collections.abc import Generator
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from grader import devices, places
from grader.answers.refused import Refused, kit_imported
from grader.batch.folders import members
from grader.batch.members import chosen
from grader.batch.sources import Unusable
from grader.chapters import (
    Answer,
    BrokenFile,
    Catalogue,
    ChapterError,
    World,
    catalogue,
)
from grader.chapters.tracks import beyond, not_begun
from grader.grouping import grouped, is_check
from grader.judging.judge import Judge
from grader.judging.outcome import Outcome
from grader.judging.recorded import SEED, is_pack
from grader.judging.run import Setting
from grader.judging.stuck import stuck_in
from grader.judging.waiting import waits_for
from grader.narrow import narrowed, width_here
from grader.pytest_clock import CheckClock
from grader.reading.calls import names_optimizers
from grader.reports.board import WIDTH, board
from grader.reports.message import with_polish
from grader.results import CheckResult, ExerciseResult
from grader.suite.check import Check, check_of
from grader.suite.draw import Draw
from grader.written.folder import Folder

CHECK = pytest.StashKey[Check]()
OUTCOME = pytest.StashKey[Outcome]()
JUDGE = pytest.StashKey[Judge]()
KNOWN = pytest.StashKey[Catalogue]()
# the chapters beyond the seven that nobody has begun or asked for
UNTOUCHED = pytest.StashKey[frozenset[str]]()
WORLD = pytest.StashKey[World]()
REFUSED = pytest.StashKey[Refused]()
REPEATS = pytest.StashKey[bool]()
CLOCK = pytest.StashKey[CheckClock]()
MOST_NOTES = 3
MOST_REFUSED = 5
# checks of one function that fail in a way that has no name: the first few tell enough
MOST_UNNAMED = 3
NOT_ENDED = (
    "It could not be interrupted either, so pytest ends here, and what comes after this check was "
    "not tried. Mend {guilty} first, or leave it out with `pytest --deselect` or `-k`."
)
TOLD = pytest.StashKey[dict[tuple[str, Any], str]]()
UNNAMED = pytest.StashKey[dict[str, int]]()
# how many core checks of a function have passed
PASSED = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose the answer, the device and the seed."""
    group = parser.getgroup("attention kit")
    group.addoption("--answers", default=None, help="folder of answers (default: exercises)")
    group.addoption("--device", default="cpu", help="cpu (default), cuda, mps, xpu or another "
                    "that PyTorch has here, or auto: the accelerator if there is one")  # fmt: skip
    group.addoption("--seed", type=int, default=0, help="seed of the inputs (default: 0)")


def pytest_configure(config: pytest.Config) -> None:
    """Open the answers; one thread, because the tensors are tiny."""
    import torch

    torch.set_num_threads(1)
    # what is imported stays: looking through it over and over was 0.6 of the 1.5 s on the stubs
    gc.freeze()
    device, answers = _device(config), _answers(config)
    if not answers.is_dir():
        raise pytest.UsageError(f"--answers: there is no folder {answers}")
    if is_pack() and config.getoption("--seed") != SEED:
        raise pytest.UsageError(f"--seed: this pack holds what is right for seed {SEED} only")
    further = frozenset(beyond())
    untouched = not_begun(answers) - _asked_for(config)
    try:
        known = catalogue(further if untouched == further else frozenset())
    except ChapterError as problem:
        raise pytest.UsageError(str(problem)) from problem
    config.stash[KNOWN], config.stash[UNTOUCHED] = known, untouched
    devices.use(device)
    setting = Setting(devices.indexed(device), config.getoption("--seed"))
    world = World(answers, known.names())
    config.stash[WORLD], config.stash[JUDGE] = world, Judge(known, world, setting)
    config.stash[REFUSED] = Refused(answers, world.imported)
    config.stash[CLOCK] = CheckClock(lambda item: CHECK in item.stash, _lost)
    config.pluginmanager.register(config.stash[CLOCK], "kit-clock")
    config.stash[TOLD] = {}
    config.stash[UNNAMED] = {}
    config.stash[PASSED] = Counter()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Hear no more of what happens in this process."""
    if REFUSED in config.stash:
        config.stash[REFUSED].end()


def _asked_for(config: pytest.Config) -> set[str]:
    """Name the chapters that were asked for: by their files, or by a word of -k."""
    words = re.findall(r"\w+", config.getoption("keyword"))
    by_word = {
        stem
        for stem, names in beyond().items()
        for word in words
        if any(word.lower() in name.lower() for name in (stem, *names))
    }
    return by_word | set(map(_stem, _named(config)))


def _named(config: pytest.Config) -> list[Path]:
    """List the files that were asked for one by one."""
    paths = (Path(config.invocation_params.dir, arg.partition("::")[0]) for arg in config.args)
    return [path for path in paths if path.suffix == ".py"]


def _stem(suite: Path) -> str:
    return suite.stem.removeprefix("test_")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over what lies beyond the seven chapters until it is begun, or asked for."""
    return True if _stem(collection_path) in config.stash[UNTOUCHED] else None


def _device(config: pytest.Config) -> str:
    """Return the device to run on.

    Raises:
        pytest.UsageError: it is not there.
    """
    asked: str = config.getoption("--device")
    if asked == "auto":
        return devices.there()[-1]
    if "," in asked:
        raise pytest.UsageError("--device: pytest runs on one device at a time, `grade` on several")
    try:
        devices.require(asked)
    except ValueError as problem:
        raise pytest.UsageError(f"--device {asked}: {problem}") from problem
    return asked


def _answers(config: pytest.Config) -> Path:
    given = config.getoption("--answers")
    return Path(given).resolve() if given else places.EXERCISES


@pytest.fixture
def answer(request: pytest.FixtureRequest) -> Answer:
    """The door to the chapter's answer."""
    return Answer(request.config.stash[JUDGE].world, _stem(request.node.path))


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    """Inputs on the device of this run."""
    setting = request.config.stash[JUDGE].setting
    return Draw(setting.seed, request.node.nodeid, setting.device)


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Class] | None:
    """Group a suite's checks by the function that they belong to."""
    if isinstance(collector, pytest.Module) and is_check(name, obj):
        return grouped(collector)
    return None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Remember which check a test function is."""
    if isinstance(item, pytest.Function):
        params = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        stem, name = _stem(item.path), item.name.removeprefix("test_")
        check = check_of(item.obj, params, stem, name)
        if check is not None:
            item.stash[CHECK] = check


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run a chapter's core function by function, in teaching order, and then its polish."""
    known = config.stash[KNOWN]
    checks = [check for exercise in known.exercises() for check in exercise.checks]
    checks.sort(key=lambda check: not check.core)
    place = {(check.stem, check.name): at for at, check in enumerate(checks)}
    ordered: list[pytest.Item] = []
    for _, group in groupby(items, key=lambda item: (item.path, CHECK in item.stash)):
        listed = list(group)
        if CHECK in listed[0].stash:
            listed.sort(key=lambda item: place.get(_name(item.stash[CHECK]), -1))
        ordered += listed
    items[:] = ordered


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Load what an answer's first optimiser imports, before the clock of any check runs."""
    if session.config.getoption("collectonly"):
        return
    stems = {item.stash[CHECK].stem for item in session.items if CHECK in item.stash}
    sources = map(session.config.stash[WORLD].source, stems)
    if any(source is not None and names_optimizers(source) for source in sources):
        from grader.workers import warm

        warm.optimizer()


def _name(check: Check) -> tuple[str, str]:
    return check.stem, check.name


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Let the judge run a check; what it finds is raised again, so that --pdb lands on it."""
    check = pyfuncitem.stash.get(CHECK, None)
    if check is None:
        return None
    with pyfuncitem.config.stash[CLOCK].running(pyfuncitem):
        outcome = pyfuncitem.config.stash[JUDGE].judge(check)
    pyfuncitem.stash[OUTCOME] = outcome
    if outcome.verdict == "crashed":
        pyfuncitem.session.shouldfail = outcome.headline  # nothing more can be run there
    if outcome.verdict == "not run":
        pytest.skip(outcome.message)
    if outcome.passed:
        pyfuncitem.config.stash[PASSED][check.full_exercise] += check.core
    else:
        message = _told_once(pyfuncitem, check, outcome)
        problem = outcome.finding or outcome.error or AssertionError(outcome.message)
        if pyfuncitem.config.getoption("usepdb"):
            from grader.debugging import to_debug

            problem, at_hand = to_debug(check, outcome, pyfuncitem.config.stash[WORLD])
            message = f"{message}\n\n{at_hand}".rstrip()
        # pytest would draw a traceback with sources, 60 ms a check, only to have it replaced
        pyfuncitem.repr_failure = lambda *_, **__: message  # type: ignore[method-assign]
        raise problem
    return True


def _lost(item: pytest.Item, frame: FrameType | None) -> None:
    """Report a check that nothing can end, from another thread."""
    outcome, guilty = stuck_in(item.stash[CHECK], frame, item.config.stash[WORLD])
    outcome.message += "\n\n" + textwrap.fill(NOT_ENDED.format(guilty=guilty), width_here())
    item.stash[OUTCOME] = outcome
    report = pytest.TestReport(
        item.nodeid, item.location, {}, "failed", outcome.message, "call", user_properties=[]
    )
    report.kit = _kit(item, report.failed)  # type: ignore[attr-defined]
    item.config.hook.pytest_runtest_logreport(report=report)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Put the message in the place of the traceback."""
    report = yield
    if CHECK in item.stash and report.when == "call":
        report.kit = _kit(item, report.failed or report.passed)
    return report


def _kit(item: pytest.Item, was_run: bool) -> dict[str, Any]:
    """Return what the board needs of a check, in plain data: it may come from xdist's workers."""
    check, outcome = item.stash[CHECK], item.stash.get(OUTCOME, Outcome("passed"))
    return {
        "exercise": check.full_exercise,
        "check": check.name,
        "core": check.core,
        "verdict": outcome.verdict if was_run else "not run",
        "message": outcome.message,
        "slip": outcome.slip,
        "because": waits_for(check, outcome),
        "about": check.about,
        "repeats": item.stash.get(REPEATS, False),
        "refused": _refused(item.config),
    }


def _refused(config: pytest.Config) -> list[str]:
    """Say what `grade` refuses of what was done so far, and what it does not heed."""
    switched = config.stash[WORLD].switched.values()
    return [*config.stash[REFUSED].told(), *(one.says for chapter in switched for one in chapter)]


def _told_once(item: pytest.Item, check: Check, outcome: Outcome) -> str:
    """Tell a slip in full once; further checks that show the same point back to it.

    What has no name is told as often as it may help, the same error only once.
    """
    told, unnamed = item.config.stash[TOLD], item.config.stash[UNNAMED]
    key: tuple[str, Any] = (check.full_exercise, outcome.slip or outcome.blame)
    alike = "The same as in"
    if outcome.verdict == "not started":
        return outcome.message
    if isinstance(outcome.error, BrokenFile):
        key = ("", outcome.headline)
    elif not key[1] and outcome.error is not None:
        key = (check.full_exercise, outcome.headline)
    elif not key[1]:
        times = unnamed[check.full_exercise] = unnamed.get(check.full_exercise, 0) + 1
        key, alike = (check.full_exercise, min(times, MOST_UNNAMED)), "Mend first what fails in"
    if told.setdefault(key, item.name) == item.name:
        message = outcome.message
        if not outcome.blame and _is_polish(item, check):
            message = with_polish(outcome.message, check.exercise, outcome.verdict)
        return narrowed(message, outcome, width_here())
    item.stash[REPEATS] = True
    return f"{textwrap.fill(outcome.headline, width_here())}\n  {alike} {told[key]}, above"


def _is_polish(item: pytest.Item, check: Check) -> bool:
    """Tell whether a check is not of the core, and all of the core has passed here."""
    if check.core:
        return False
    exercise = item.config.stash[KNOWN].exercise(check.full_exercise)
    core = sum(one.core for one in exercise.checks)
    return item.config.stash[PASSED][check.full_exercise] == core


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: Any) -> tuple[str, str, Any] | None:
    """Tell not started from failed."""
    if getattr(report, "kit", {}).get("verdict") == "not started":
        return "not started", "-", ("NOT STARTED", {"yellow": True})
    return None


class Board:
    """Collects the reports, from xdist's workers too, and prints the board."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.results: dict[str, list[CheckResult]] = {}
        self.refused: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep what a report says of its check."""
        kit = dict(getattr(report, "kit", {}))
        kit.pop("repeats", None)
        if kit:
            self.refused.update(dict.fromkeys(kit.pop("refused")))
            exercise = kit.pop("exercise")
            self.results.setdefault(exercise, []).append(CheckResult(device="here", **kit))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        """Leave repeats out of pytest's own summaries, and print the board below them."""
        failed = terminalreporter.stats.get("failed", [])
        told = [report for report in failed if not getattr(report, "kit", {}).get("repeats")]
        if self.config.getoption("reportchars") == "fE" and told:
            terminalreporter.stats["failed"] = told
        result = yield
        if failed:
            terminalreporter.stats["failed"] = failed
        if self.results and self.config.get_verbosity() >= -1:
            self._print(terminalreporter, len(failed) - len(told))
        return result

    def _print(self, terminalreporter: Any, repeats: int) -> None:
        known = self.config.stash[KNOWN]
        results = [
            ExerciseResult(
                exercise.full,
                exercise.points,
                len(exercise.checks),
                tuple(self.results.get(exercise.full, ())),
                track=exercise.track,
            )
            for exercise in known.exercises()
        ]
        if not any(result.track == "beyond" for result in results):
            results += [
                ExerciseResult(f"{stem}.{name}", Fraction(0), 0, (), track="beyond")
                for stem, names in beyond().items()
                for name in names
            ]
        writer = terminalreporter._tw
        short = self.config.get_verbosity() < 0
        width = shutil.get_terminal_size((WIDTH, 24)).columns
        text = board(results, _answers(self.config), width=width,
                     colour=writer.hasmarkup, short=short)  # fmt: skip
        terminalreporter.section("board")
        if repeats:
            terminalreporter.write_line(_repeated(repeats))
        terminalreporter.write(text)
        notes = [c.message for r in results for c in r.checks if c.passed and c.message]
        for line in "\n".join(notes).splitlines()[:MOST_NOTES] if not short else []:
            terminalreporter.write_line(f"{'note':<14}{line}")
        ran = dict.fromkeys(r.stem for r in results if r.checks)
        folder = Folder(_answers(self.config), known.names())
        for line in folder.notes(ran):
            terminalreporter.write_line(f"{'note':<14}{line}")
        chapters = [(one, folder.path / one.name) for one in map(folder.source, ran) if one]
        of_kit = [line for chapter in chapters for line in kit_imported(*chapter)]
        refused = [*_not_taken(_answers(self.config)), *of_kit, *self.refused]
        for line in _at_most(MOST_REFUSED, refused):
            terminalreporter.write_line(f"{'note':<14}{line}")


def _repeated(checks: int) -> str:
    """Say how many failures were left out of what was told in full."""
    if checks == 1:
        return "1 more check fails, probably for a reason told above (pytest -rf names it)"
    return f"{checks} more checks fail, most of them for reasons told above (pytest -rf names them)"


def _not_taken(answers: Path) -> list[str]:
    """Say why `grade` would not take this folder, or a file in it, if that is so."""
    try:
        found = chosen(members(answers))
    except (Unusable, OSError) as problem:
        return [f"`grade` cannot take this folder: {problem}"]
    return [f"`grade` cannot read this chapter: {why}" for why in found.bad.values()]


def _at_most(number: int, lines: list[str]) -> list[str]:
    more = len(lines) - number
    return lines if more <= 0 else [*lines[:number], f"and {more} more of this kind"]


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Print a board where there is a terminal: not in xdist's workers."""
    if session.config.pluginmanager.hasplugin("terminalreporter"):
        session.config.pluginmanager.register(Board(session.config), "kit-board")
