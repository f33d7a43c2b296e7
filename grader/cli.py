"""The command line: what each command takes, and which part of the grader does it."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from grader import __version__

EPILOG = "Students run plain `pytest`; instructors run `python -m grader grade PATH`."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 done, 1 something failed, 2 bad arguments."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        status: int = given.run(given)
    except UsageError as problem:
        print(f"grader: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("grader: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return status


class UsageError(Exception):
    """Bad arguments or set-up; the sentence says what to do."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="grader", description="Without a command: the board of your exercises.", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=f"grader {__version__}")
    parser.add_argument("--answers", type=Path, metavar="DIR", help="folder of your answers")
    parser.set_defaults(run=_board)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_grade(commands)
    hint = commands.add_parser("hint", help="the next hint for a function (three in all)")
    hint.add_argument("name", metavar="NAME", help="causal_mask, or ex03_masking.causal_mask")
    hint.set_defaults(run=_hint)
    check = commands.add_parser("check", help="prove the kit: stubs, solutions, slips, variants")
    check.add_argument("--seed", type=int, default=0, help="seed of the inputs (default: 0)")
    check.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    check.set_defaults(run=_check)
    return parser


def _add_grade(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    grade = commands.add_parser("grade", help="score submissions on CPU and CUDA")
    grade.add_argument("paths", nargs="+", type=Path, metavar="PATH",
                       help="a submission (folder, .zip, .tar.gz) or a folder of them")  # fmt: skip
    grade.add_argument("--device", default="auto",
                       help="auto (default), cpu, cuda or cpu,cuda")  # fmt: skip
    grade.add_argument("--report", action="append", default=[], metavar="FORMAT=FILE",
                       help="write a report (formats: json), repeatable")  # fmt: skip
    grade.add_argument("--only", metavar="NAME", help="one chapter or function")
    grade.add_argument("--jobs", type=_positive(int), default=1, metavar="N",
                       help="submissions at a time (default: 1)")  # fmt: skip
    grade.add_argument("--seed", type=int, metavar="N",
                       help="seed of the inputs (default: a new one each time)")  # fmt: skip
    grade.add_argument("--time-limit", type=_positive(float), default=10.0, metavar="S",
                       help="seconds for each check (default: 10)")  # fmt: skip
    grade.add_argument("--memory", type=_positive(int), default=4096, metavar="MB",
                       help="megabytes for each submission (default: 4096)")  # fmt: skip
    grade.set_defaults(run=_grade)


def _positive(kind: type[int] | type[float]):  # noqa: ANN202
    def parse(text: str) -> float:
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
        return value

    parse.__name__ = kind.__name__
    return parse


def _board(given: argparse.Namespace) -> int:
    from grader.batch.board import show_board

    return show_board(given.answers)


def _grade(given: argparse.Namespace) -> int:
    from grader.batch.command import Request, grade

    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    request = Request(
        given.paths, given.device, given.report, given.only, given.jobs, seed,
        given.time_limit, given.memory,
    )  # fmt: skip
    try:
        return grade(request)
    except (ValueError, LookupError, OSError) as problem:
        said = problem.args[0] if isinstance(problem, LookupError) else problem
        raise UsageError(said) from problem


def _hint(given: argparse.Namespace) -> int:
    from grader.hints import next_hint

    try:
        print(next_hint(given.name))
    except LookupError as problem:
        raise UsageError(problem.args[0]) from problem
    return 0


def _check(given: argparse.Namespace) -> int:
    from grader.proof.prove import prove

    return prove(given.seed, given.device)
