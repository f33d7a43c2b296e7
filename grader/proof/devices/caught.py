"""What the dry run says of programs that are right or wrong on a GPU, without one."""

from __future__ import annotations

from grader.chapters import Catalogue
from grader.judging.run import Setting
from grader.proof.devices.programs import every
from grader.proof.figure import Figure

# of the mistakes that nobody looked at while the dry run was written, so many must be caught
FEWEST = 0.9
# what the checks that are run are about
DEVICES = "devices"


def mistakes_caught(known: Catalogue, setting: Setting) -> Figure:
    """Mistakes that a CPU forgives fail a check of devices."""
    figure = Figure("device mistakes caught without a GPU")
    for program in every("mistakes", known):
        figure.count(any(program.fails(known, setting, DEVICES)), str(program))
    return figure


def right_programs_let_through(known: Catalogue, setting: Setting) -> Figure:
    """Programs that are right on any device, however odd, fail none."""
    figure = Figure("right programs not accused")
    for program in every("right", known):
        names = list(program.fails(known, setting, DEVICES))
        figure.count(not names, f"{program}: {', '.join(names)}")
    return figure
