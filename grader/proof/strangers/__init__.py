"""Wrong answers that strangers wrote from the stubs alone, as beginners do.

Twenty-five lots, by people who had seen neither the suites nor the coach; each says what is wrong.
They are told by the checks, and make up the classes that the benchmark grades. Behind its function
stands in brackets which slip each is, or those that say it alike; where nothing does, no slip of
ours says what is wrong. What the twelfth lot was called at first sight was judged by others who
had seen nothing of the kit: of 219 answers 204 rightly, 2 wrongly, and 13 by no name. Of the 130
of the fourteenth 128 were rejected at first sight, and named as we read it: 116 rightly, 3 wrongly
and 9 by no name. Of the 140 of the fifteenth 137, of which two lacked an import: 121 rightly, 3
wrongly and 11 by no name. Of the 140 of the sixteenth 139, of which one lacked an import: 126
rightly, 2 wrongly and 10 by no name. Of the 150 of the seventeenth 146: 129 rightly, 3 wrongly and
14 by no name. Of the 156 of the eighteenth 156, of which one lacked an import: 151 rightly, 0
wrongly and 4 by no name. Of the 120 of the nineteenth 120, of which one lacked an import: 112
rightly, 2 wrongly and 5 by no name. Of the 140 of the twentieth 140, each of them rightly. These
three had been asked for what students naturally do, the nineteenth for misfits of sizes above all;
those before for what is not listed. Of the twenty-first 40 are what students naturally do in
the chapters beyond: 38 were rejected at first sight, each of them named rightly. Its last 14 are
right in all numbers, by somebody who looked for costs that are not counted: of 24 such 9 were
rejected at first sight. Of the 58 of the twenty-second, who looked for what authors of tests do not
think of, 51 were rejected at first sight: 45 rightly named, 2 wrongly and 4 by no name; one that
still passes, as its stub promises no more, is not among them. Of the 109 of the twenty-third, who
looked for what a suite would fail to notice, no more than 70 were rejected at first sight; 15 still
pass, most of which the rules now say are never checked, and are not among them. Of the 209 of the
twenty-fourth, which leave out what everybody thinks of first, 195 were rejected at first sight: 174
rightly named, 2 wrongly and 19 by no name; ten that still pass, as they lie within the tolerance,
or their stubs promise no more, are not among them, and 16 of somebody else's are. Of the 156 of
the twenty-fifth, by two who looked for what a hidden suite may fail to notice, 124 were rejected
at first sight; 22 that still pass, most of which their stubs or the rules leave open, are not
among them.

Three further lots are by people who looked for what no check draws: right answers, wrong in special
cases alone. Of the 60 of the second 53 were rejected at first sight; of the third only those that
were not are here.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

from grader.chapters import Exercise, World, catalogue
from grader.judging.judge import Judge
from grader.judging.recognise import SlipMemory
from grader.judging.run import Setting
from grader.proof.devices.programs import Program, cells
from grader.proof.figure import Figure
from grader.proof.strangers.named import Named

HERE = Path(__file__).parent
# a student reads no more messages than so many before something is changed
LOOKED_AT = 4


def wrong_answers() -> list[Program]:
    """Read all of them."""
    return [program for path in sorted(HERE.glob("wrong_*.txt")) for program in cells(path)]


def special_cases() -> list[Program]:
    """Read those that are wrong in special cases alone."""
    return list(cells(HERE / "special_cases.txt"))


def strangers_told(exercise: Exercise, setting: Setting) -> list[Figure]:
    """Every wrong answer of a stranger fails a check, and nearly every one is named for what it is.

    Args:
        exercise: the one that they are answers to.
        setting: for the checks.
    """
    rejected, named = Figure("strangers' wrong answers rejected"), Named()
    known, memory = catalogue(), SlipMemory()
    for program in (one for one in special_cases() if one.full == exercise.full):
        rejected.count(any(program.fails(known, setting)), f"{program} passes")
    for program in (one for one in wrong_answers() if one.full == exercise.full):
        said = list(_slips(program, exercise, setting, memory))
        rejected.count(bool(said), f"{program} passes")
        named.hears(str(program), program.slips, next(filter(None, said), ""))
    return [rejected, named]


def _slips(
    program: Program, exercise: Exercise, setting: Setting, memory: SlipMemory
) -> Iterator[str]:
    """Yield what the first checks that fail call it, until one has a name for it."""
    names = catalogue().names()
    with tempfile.TemporaryDirectory() as space, contextlib.redirect_stdout(io.StringIO()):
        world = World(program.folder(Path(space) / "answers"), names)
        judge = Judge(catalogue(), world, setting, memory=memory)
        failed = (one for one in map(judge.judge, exercise.checks) if not one.passed)
        for outcome in itertools.islice(failed, LOOKED_AT):
            yield outcome.slip or ""
            if outcome.slip:
                return
