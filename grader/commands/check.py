"""The proof of the kit."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

from grader.commands.usage import as_usage

HELP = "prove the kit: stubs, promises, solutions, variants, slips, mutants"


def add(parser: argparse.ArgumentParser) -> None:
    """Add what is to be proved, and how."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME",
        help="a chapter or a function only, or several: NAME NAME, or ex01..ex03,softmax",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs (default: 0)")
    parser.add_argument("--device", default="cpu", help="where (default: cpu)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="so many at a time (default: cores)"
    )
    group = parser.add_argument_group("mutants: right answers with one small change each")
    group.add_argument(
        "--mutants", action="store_true", help="run them instead; NAME may be `solutions`, or a "
        "folder of variants",
    )  # fmt: skip
    group.add_argument(
        "--minutes", type=float, help="stop after so many; which are run changes from day to day"
    )
    group.add_argument("--write", action="store_true", help="write the lists of survivors anew")


def run(given: argparse.Namespace) -> int:
    """Prove."""
    _refuse_unknown(given.names, given.mutants)
    if given.mutants:
        from grader.proof.mutants.prove import prove_mutants

        seed = given.seed or (int(time.time()) if given.minutes is not None else 0)
        return prove_mutants(given.names, given.jobs, given.minutes, seed, given.write)
    from grader.proof.prove import prove

    return prove(given.seed, given.device, given.names, given.jobs)


def _refuse_unknown(names: Sequence[str], mutants: bool) -> None:
    from grader import places
    from grader.chapters import catalogue

    folders = {"solutions", *(path.name for path in places.VARIANTS.iterdir())} if mutants else ()
    with as_usage():
        catalogue().listed([name for name in names if name not in folders])
