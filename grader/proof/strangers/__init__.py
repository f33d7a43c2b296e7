"""Wrong answers that strangers wrote from the stubs alone, as beginners do.

Eleven lots, by people who had seen neither the suites nor the coach; each says what is wrong.
They are told by the checks, and make up the classes that the benchmark grades. A twelfth lot is
by somebody who looked for what no check draws: right answers, wrong in special cases alone.
"""

from __future__ import annotations

from pathlib import Path

from grader.chapters import Catalogue
from grader.judging.run import Setting
from grader.proof.devices.programs import Program, cells, of_chapters
from grader.proof.figure import Figure

HERE = Path(__file__).parent


def wrong_answers() -> list[Program]:
    """Read all of them."""
    return [program for path in sorted(HERE.glob("wrong_*.txt")) for program in cells(path)]


def special_cases() -> list[Program]:
    """Read those that are wrong in special cases alone."""
    return list(cells(HERE / "special_cases.txt"))


def strangers_rejected(known: Catalogue, setting: Setting) -> Figure:
    """Every wrong answer of a stranger fails a check."""
    figure = Figure("strangers' wrong answers rejected")
    for program in of_chapters(known, [*wrong_answers(), *special_cases()]):
        figure.count(any(program.fails(known, setting)), f"{program} passes")
    return figure
