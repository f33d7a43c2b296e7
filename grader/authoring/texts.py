"""The text of a new chapter: small, whole, and to be replaced bit by bit."""

from __future__ import annotations

import re
from string import Template

from grader.authoring.pieces import CLASS, CLASS_INPUTS, FUNCTION, Pieces

EXERCISE = Template('''"""Chapter $number. $title: what it is about, in a line.

The question
    What does somebody want to know who has read so far?

The formula
    mean_j = (x_0j + x_1j + ... + x_(n-1)j) / n,    centered_ij = x_ij - mean_j

    Every feature is centered on its mean over all tokens.

By hand
    The tokens (1, 4) and (3, 0) have the mean (2, 2). Centered, they are (-1, 2) and (1, -2).

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file.

May be used
    Anything in torch.
"""
''')
SOLUTION = Template('''"""Chapter $number. $title: what it is about. The reference answer."""
''')
IMPORTS = Template("""
from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor$nn
""")
SUITE = Template('''"""Chapter $number: by value, and what it refuses."""
$imports
from grader.suite import Case,$module_case check, checks_by_law, reference, refusal, same

# What is right, worked out in float64 and in another way than a student would
''')
CASES = Template("""

# How each is called, at whatever sizes


def some_tokens(draw, *batch, n=5, d=3):
    return (draw(*batch, n, d),)
$inputs

CASES = [
$cases]
REFUSALS = [
$refusals]
# sentences of the stubs that only explain, and so have no check
EXPLAINS = {}
globals().update(checks_by_law(CASES, refusals=REFUSALS))
""")
COACH = Template('''"""The coach of chapter $number."""

from __future__ import annotations
$imports
from grader.coach import Task

TRACK = "$track"
FORMULA = 'chapter $number, The formula: "Every feature is centered on its mean over all tokens."'
''')
TORCH = "\nimport torch\nfrom torch import nn\n"


def texts(
    stem: str, number: int, word: str, names: list[str], track: str
) -> tuple[str, str, str, str]:
    """Return the texts of the stubs, the solution, the suite and the coach."""
    classes = [name for name in names if is_class(name)]
    about = {
        "stem": stem,
        "number": str(number),
        "title": word.replace("_", " ").capitalize(),
        "track": track,
        "nn": ", nn" if classes else "",
        "imports": TORCH if classes else "",
        "module_case": " ModuleCase," if classes else "",
    }

    def each(piece: str) -> str:
        return "".join(
            getattr(_pieces(name), piece).substitute(about, name=name, low=_low(name))
            for name in names
        )

    inputs = "".join(CLASS_INPUTS.substitute(low=_low(name)) for name in classes)
    cases = CASES.substitute(cases=each("case"), refusals=each("refusal"), inputs=inputs)
    imports = IMPORTS.substitute(about)
    return (
        EXERCISE.substitute(about) + imports + "".join(_stub(stem, name) for name in names),
        SOLUTION.substitute(about) + imports + "".join(map(_solved, names)),
        SUITE.substitute(about) + each("reference") + cases + each("check"),
        (COACH.substitute(about) + each("task")).rstrip() + "\n",
    )


def is_class(name: str) -> bool:
    """Tell whether a name is a class's, by its first letter."""
    return name[0].isupper()


def _low(name: str) -> str:
    """Write a name as functions' names are written: `RunningMean` as `running_mean`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _pieces(name: str) -> Pieces:
    return CLASS if is_class(name) else FUNCTION


def _stub(stem: str, name: str) -> str:
    inner = "    " * len(_pieces(name).bodies)
    raises = f'{inner}raise NotImplementedError("{stem}.{name}")\n'
    return _pieces(name).head.substitute(name=name, first=raises, second=raises)


def _solved(name: str) -> str:
    first, *others = _pieces(name).bodies
    return _pieces(name).head.substitute(name=name, first=first, second="".join(others))
