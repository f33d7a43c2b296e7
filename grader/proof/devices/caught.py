"""What the dry run says of programs that are right or wrong on a GPU, without one."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

from grader.chapters import Catalogue, World
from grader.judging.run import Setting, run
from grader.proof.devices.programs import Program, every
from grader.proof.figure import Figure

# of the mistakes that nobody looked at while the dry run was written, so many must be caught
FEWEST = 0.9


def mistakes_caught(known: Catalogue, setting: Setting) -> Figure:
    """Mistakes that a CPU forgives fail a check of devices."""
    figure = Figure("device mistakes caught without a GPU")
    for program in every("mistakes"):
        figure.count(failing(known, program, setting) != [], str(program))
    return figure


def right_programs_let_through(known: Catalogue, setting: Setting) -> Figure:
    """Programs that are right on any device, however odd, fail none."""
    figure = Figure("right programs not accused")
    for program in every("right"):
        names = failing(known, program, setting)
        figure.count(not names, f"{program}: {', '.join(names)}")
    return figure


def failing(known: Catalogue, program: Program, setting: Setting) -> list[str]:
    """Name the checks of devices of its exercise that a program fails."""
    with tempfile.TemporaryDirectory() as space:
        world = World(program.folder(Path(space) / "answers"), known.names())
        checks = [c for c in known.exercise(program.full).checks if "device_ready" in c.name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [c.name for c in checks if not run(c, world, setting)[0].passed]
