"""The command line: finds the commands, and turns what goes wrong into an exit status."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from grader import __version__, commands
from grader.author_errors import ChapterError
from grader.commands import board
from grader.commands.usage import UsageError

EPILOG = "Plain `pytest` runs the checks on what is in exercises/."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 done, 1 something failed, 2 bad arguments."""
    given = _parser().parse_args(arguments)
    try:
        status: int = given.run(given)
    except (UsageError, ChapterError) as problem:
        print(f"grader: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("grader: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="grader", description="Without a command: the board of your exercises.", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=f"grader {__version__}")
    parser.add_argument("--answers", type=Path, metavar="DIR", help="folder of your answers")
    parser.set_defaults(run=board.run)
    choices = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, command in _commands():
        one = choices.add_parser(name, help=command.HELP, description=command.__doc__)
        command.add(one)
        one.set_defaults(run=command.run)
    return parser


def _commands() -> Iterator[tuple[str, ModuleType]]:
    for found in pkgutil.iter_modules(commands.__path__):
        module = importlib.import_module(f"{commands.__name__}.{found.name}")
        if hasattr(module, "add"):
            yield found.name, module
