"""Putting back a stub; the old answer is kept."""

from __future__ import annotations

import argparse

from grader.commands.usage import UsageError, answers_folder, as_usage

HELP = "put a stub back, and keep what was there"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the name of a function or chapter."""
    parser.add_argument("name", metavar="NAME", help="causal_mask, or ex03_masking for all of it")


def run(given: argparse.Namespace) -> int:
    """Put it back, and say where the old answer is."""
    from grader.hints import Ladder
    from grader.naming import chapter, select
    from grader.stubs import BrokenTextError, NoStubsError, Pristine, reset
    from grader.written.source import Unreadable

    answers = answers_folder(given)
    with as_usage(NoStubsError):
        pristine = Pristine()
        names = select(given.name, pristine.names())
    stem = names[0].split(".")[0]
    whole = chapter(given.name, [stem]) is not None
    if len(names) > 1 and not whole:
        raise UsageError(f"`{given.name}` is more than one function: {', '.join(names)}")
    name = None if whole else names[0].split(".")[1]
    try:
        done = reset(pristine, answers, stem, name)
    except BrokenTextError as problem:
        raise UsageError(
            f"{stem}.py, {problem}. So where {name} begins and ends cannot be told. Mend that "
            f"line, or put back the whole chapter: python -m grader reset {stem}"
        ) from problem
    except Unreadable as problem:
        raise UsageError(
            f"{problem}. To put back the whole chapter: python -m grader reset {stem}"
        ) from problem
    except OSError as problem:
        raise UsageError(f"{stem} cannot be put back: {problem}") from problem
    for full in names:
        Ladder(answers.parent).forget(full)
    print("\n".join(done.lines(name or stem)))
    return 0
