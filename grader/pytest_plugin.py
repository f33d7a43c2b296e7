"""The suites under plain pytest: our messages instead of tracebacks, and the board at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Generator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from grader.answers.clock import processor_limit
from grader.chapters import Answer, BrokenFile, World, catalogue, places
from grader.judging.judge import Judge
from grader.judging.outcome import Outcome
from grader.judging.recorded import SEED, is_pack
from grader.judging.run import Setting
from grader.judging.waiting import waits_for
from grader.reports.board import board
from grader.results import CheckResult, ExerciseResult
from grader.suite.check import Check, check_of
from grader.suite.draw import Draw

CHECK = pytest.StashKey[Check]()
OUTCOME = pytest.StashKey[Outcome]()
JUDGE = pytest.StashKey[Judge]()
REPEATS = pytest.StashKey[bool]()
MOST_NOTES = 3
# checks of one function that fail in a way that has no name: the first few tell enough
MOST_UNNAMED = 3
TOLD = pytest.StashKey[dict[tuple[str, Any], str]]()
UNNAMED = pytest.StashKey[dict[str, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose the answer, the device and the seed."""
    group = parser.getgroup("attention kit")
    group.addoption("--answers", default=None, help="folder of answers (default: exercises)")
    group.addoption("--device", default="cpu", help="cpu or cuda (default: cpu)")
    group.addoption("--seed", type=int, default=0, help="seed of the inputs (default: 0)")


def pytest_configure(config: pytest.Config) -> None:
    """Open the answers; one thread, because the tensors are tiny."""
    import torch

    torch.set_num_threads(1)
    device, answers = config.getoption("--device"), _answers(config)
    if device not in ("cpu", "cuda"):
        raise pytest.UsageError(f"--device takes cpu or cuda, not {device}")
    if device == "cuda" and not torch.cuda.is_available():
        raise pytest.UsageError("--device cuda: PyTorch sees no CUDA device here")
    if not answers.is_dir():
        raise pytest.UsageError(f"--answers: there is no folder {answers}")
    if is_pack() and config.getoption("--seed") != SEED:
        raise pytest.UsageError(f"--seed: this pack holds what is right for seed {SEED} only")
    known = catalogue()
    setting = Setting(_indexed(device), config.getoption("--seed"))
    config.stash[JUDGE] = Judge(known, World(answers, known.names()), setting)
    config.stash[TOLD] = {}
    config.stash[UNNAMED] = {}


def _indexed(device: str) -> str:
    return "cuda:0" if device == "cuda" else device


def _answers(config: pytest.Config) -> Path:
    given = config.getoption("--answers")
    return Path(given).resolve() if given else places.EXERCISES


@pytest.fixture
def answer(request: pytest.FixtureRequest) -> Answer:
    """The door to the chapter's answer."""
    stem = request.node.path.stem.removeprefix("test_")
    return Answer(request.config.stash[JUDGE].world, stem)


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    """Inputs on the device of this run."""
    setting = request.config.stash[JUDGE].setting
    return Draw(setting.seed, request.node.nodeid, setting.device)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Remember which check a test function is."""
    if isinstance(item, pytest.Function):
        params = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        stem, name = item.path.stem.removeprefix("test_"), item.name.removeprefix("test_")
        check = check_of(item.obj, params, stem, name)
        if check is not None:
            item.stash[CHECK] = check


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run a chapter's checks function by function, in teaching order, what matters most first."""
    checks = [check for exercise in catalogue().exercises() for check in exercise.checks]
    place = {(check.stem, check.name): at for at, check in enumerate(checks)}
    ordered: list[pytest.Item] = []
    for _, group in groupby(items, key=lambda item: (item.path, CHECK in item.stash)):
        listed = list(group)
        if CHECK in listed[0].stash:
            listed.sort(key=lambda item: place.get(_name(item.stash[CHECK]), -1))
        ordered += listed
    items[:] = ordered


def _name(check: Check) -> tuple[str, str]:
    return check.stem, check.name


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Let the judge run a check; what it finds is raised again, so that --pdb lands on it."""
    check = pyfuncitem.stash.get(CHECK, None)
    if check is None:
        return None
    with processor_limit():
        outcome = pyfuncitem.config.stash[JUDGE].judge(check)
    pyfuncitem.stash[OUTCOME] = outcome
    if not outcome.passed:
        message = _told_once(pyfuncitem, check, outcome)
        # pytest would draw a traceback with sources, 60 ms a check, only to have it replaced
        pyfuncitem.repr_failure = lambda *_, **__: message  # type: ignore[method-assign]
        raise outcome.finding or outcome.error or AssertionError(outcome.message)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Put the message in the place of the traceback."""
    report = yield
    check = item.stash.get(CHECK, None)
    if check is not None and report.when == "call":
        outcome = item.stash.get(OUTCOME, Outcome("passed"))
        report.kit = {
            "exercise": check.full_exercise,
            "check": check.name,
            "core": check.core,
            "verdict": outcome.verdict if report.failed or report.passed else "not run",
            "message": outcome.message,
            "slip": outcome.slip,
            "because": waits_for(check, outcome),
            "repeats": item.stash.get(REPEATS, False),
        }
    return report


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
        return outcome.message
    item.stash[REPEATS] = True
    return f"{textwrap.fill(outcome.headline, 88)}\n  {alike} {told[key]}, above"


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

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep what a report says of its check."""
        kit = dict(getattr(report, "kit", {}))
        kit.pop("repeats", None)
        if kit:
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
        results = [
            ExerciseResult(
                exercise.full,
                exercise.points,
                len(exercise.checks),
                tuple(self.results.get(exercise.full, ())),
            )
            for exercise in catalogue().exercises()
        ]
        writer = terminalreporter._tw
        short = self.config.get_verbosity() < 0
        text = board(results, _answers(self.config), width=writer.fullwidth,
                     colour=writer.hasmarkup, short=short)  # fmt: skip
        terminalreporter.section("board")
        if repeats:
            more = "one more check fails" if repeats == 1 else f"{repeats} more checks fail"
            terminalreporter.write_line(f"{more}, most for the reasons above (-rf lists them)")
        terminalreporter.write(text)
        notes = [c.message for r in results for c in r.checks if c.passed and c.message]
        for line in "\n".join(notes).splitlines()[:MOST_NOTES] if not short else []:
            terminalreporter.write_line(f"{'note':<14}{line}")


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Print a board where there is a terminal: not in xdist's workers."""
    if session.config.pluginmanager.hasplugin("terminalreporter"):
        session.config.pluginmanager.register(Board(session.config), "kit-board")
