"""`python -m grader.proof.cuda` proves on a machine with a GPU what no other can prove.

It goes on whatever fails, writes all of it to one file to send back, and ends with three lists:
held, not held, not tried. The status is 0 only if nothing stands under "not held".
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from grader import devices
from grader.chapters import catalogue
from grader.proof.cuda.part import NotTried, Part, tried
from grader.proof.cuda.parts import Asked, parts
from grader.proof.cuda.spread import Both, Spread
from grader.proof.prove import begin

REHEARSAL = (
    "REHEARSAL: {} is no GPU of PyTorch's own. This says that the command works, and nothing\n"
    "of a GPU's arithmetic, speed, memory or drivers."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m grader.proof.cuda", description=__doc__)
    parser.add_argument("--device", default="cuda", help="default: cuda")
    parser.add_argument("--only", metavar="NAME", action="append", default=[],
                        help="a chapter or a function; repeatable (default: all)")  # fmt: skip
    parser.add_argument("--part", metavar="WORD", action="append", default=[], dest="chosen",
                        help="only parts whose title holds WORD; repeatable")  # fmt: skip
    parser.add_argument("--most", type=int, metavar="N",
                        help="N trials of each function in each part (default: all)")  # fmt: skip
    parser.add_argument("--count", type=int, default=100, help="submissions in the batch")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="N trials at a time (default: one a core)")  # fmt: skip
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="N",
                        help="begin no trial of a part after N minutes (default: all)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default: 0)")
    parser.add_argument("--file", type=Path, default=Path("cuda.txt"), help="to send back")
    given = parser.parse_args(arguments)
    try:
        devices.require(given.device)
        asked = _asked(given)
    except (ValueError, LookupError) as problem:
        print(f"grader: {problem.args[0]}", file=sys.stderr)
        return 2
    begin()
    with given.file.open("w", encoding="utf-8") as file:
        return _prove(asked, _teller(file), given.chosen)


def _asked(given: argparse.Namespace) -> Asked:
    known = catalogue()
    exercises = known.listed(given.only) or list(known.exercises())
    both = Both(given.device, given.seed)
    spread = Spread(both, exercises, given.most, given.jobs, given.minutes)
    return Asked(spread, given.only, given.count)


def _teller(file: TextIO) -> Callable[[str], None]:
    def tell(line: str) -> None:
        for where in (sys.stdout, file):
            print(line, file=where, flush=True)

    return tell


def _prove(asked: Asked, tell: Callable[[str], None], chosen: Sequence[str] = ()) -> int:
    if asked.device not in devices.OF_TORCH:
        tell(REHEARSAL.format(asked.device))
    most = asked.spread.most
    if asked.only or most is not None:
        tell(f"NOT ALL: only {', '.join(asked.only) or 'all'}, at most {most or 'all'} of each")
    done: list[Part] = []
    for title, does in parts(asked):
        tell(f"\n## {title}\n")
        asked_for = not chosen or any(word in title for word in chosen)
        done.append(tried(title, does if asked_for else _not_asked, tell))
    for held in ("held", "not held", "not tried"):
        tell(f"\n{held}:")
        titles = [part.title for part in done if part.held == held]
        tell("\n".join(f"  {title}" for title in titles) or "  nothing")
    return int(any(part.held == "not held" for part in done))


def _not_asked(_: Part) -> None:
    raise NotTried("not asked for")


if __name__ == "__main__":
    sys.exit(main())
