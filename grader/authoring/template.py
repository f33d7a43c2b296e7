"""The text of a new chapter: small, whole, and to be replaced bit by bit."""

from __future__ import annotations

from string import Template

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

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
''')
SOLUTION = Template('''"""Chapter $number. $title: what it is about. The reference answer."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
''')
FUNCTION = Template('''

def $name(
    x: Float[Tensor, "*batch n d"],
) -> tuple[Float[Tensor, "*batch n d"], Float[Tensor, "*batch d"]]:
    """Center every feature on its mean over the tokens.

    Difficulty 1 of 5, about 5 minutes.

    Args:
        x: one token per row [*batch, n, d].

    Returns:
        The centered tokens [*batch, n, d], and the mean of each feature [*batch, d].

    Raises:
        ValueError: `x` has fewer than two dimensions.

    Example:
        >>> $name(torch.tensor([[1.0, 4.0], [3.0, 0.0]]))
        (tensor([[-1.,  2.],
                [ 1., -2.]]), tensor([2., 2.]))
    """
''')
STUB = Template("""    raise NotImplementedError("$stem.$name")
""")
BODY = """    if x.dim() < 2:
        raise ValueError(f"x is {list(x.shape)}, and has to be [*batch, n, d]")
    mean = x.mean(-2)  # [*batch, d]
    return x - mean.unsqueeze(-2), mean
"""
SUITE = Template('''"""Chapter $number: by value, and what it refuses."""

from grader.suite import Case, check, checks_by_law, reference, refusal, same

# What is right, worked out in float64 and in another way than a student would
''')
REFERENCE = Template("""

@reference
def $name(x):
    if x.dim() < 2:
        raise ValueError(f"{tuple(x.shape)} is not [*batch, n, d]")
    mean = sum(x.unbind(-2)) / x.shape[-2]
    return x - mean[..., None, :], mean
""")
CASES = Template("""

# How each function is called, at whatever sizes


def tokens(draw, *batch, n=5, d=3):
    return (draw(*batch, n, d),)


CASES = [
$cases]
REFUSALS = [
$refusals]
# sentences of the stubs that only explain, and so have no check
EXPLAINS = {}
globals().update(checks_by_law(CASES, refusals=REFUSALS))
""")
CASE = Template("""    Case("$name", tokens, $name),
""")
REFUSAL = Template("""    refusal(
        "$name", "ValueError: `x` has fewer than two dimensions.",
        ("`x` is [7], with 1 dimension", lambda answer, draw: answer.$name(draw(7))),
    ),
""")
CHECK = Template("""

@check("$name")
def test_${name}_by_hand(answer, draw):
    want = draw.tensor([[-1.0, 2.0], [1.0, -2.0]]), draw.tensor([2.0, 2.0])
    same(answer.$name(draw.tensor([[1.0, 4.0], [3.0, 0.0]])), want)
""")
COACH = Template('''"""The coach of chapter $number."""

from __future__ import annotations

from grader.coach import Task

TRACK = "$track"
FORMULA = 'chapter $number, The formula: "Every feature is centered on its mean over all tokens."'
''')
TASK = Template('''
$name = Task(
    "$name",
    points=2,
    difficulty=1,
    minutes=5,
    hints=(
        "Which fact is needed? The mean of a feature is taken over the tokens.",
        "How to go about it? Take the mean first, and then subtract it from every token.",
        "Which operation, with which shape? The mean over dimension -2 is [*batch, d]; it needs a "
        "dimension of size 1 to be subtracted from [*batch, n, d].",
    ),
)


@$name.slip(FORMULA)
def mean_over_the_features_of_$name(x):
    """You took the mean of each token: it is taken of each feature, over the tokens."""
    if x.dim() < 2:
        raise ValueError(f"x is {list(x.shape)}, and has to be [*batch, n, d]")
    mean = x.mean(-1)
    return x - mean.unsqueeze(-1), mean

''')


def texts(
    stem: str, number: int, word: str, names: list[str], track: str
) -> tuple[str, str, str, str]:
    """Return the texts of the stubs, the solution, the suite and the coach."""
    title = word.replace("_", " ").capitalize()
    about = {"stem": stem, "number": str(number), "title": title, "track": track}

    def each(template: Template) -> str:
        return "".join(template.substitute(about, name=name) for name in names)

    heads = [FUNCTION.substitute(about, name=name) for name in names]
    stubs = [STUB.substitute(about, name=name) for name in names]
    exercise = "".join(head + stub for head, stub in zip(heads, stubs, strict=True))
    cases = CASES.substitute(cases=each(CASE), refusals=each(REFUSAL))
    return (
        EXERCISE.substitute(about) + exercise,
        SOLUTION.substitute(about) + "".join(head + BODY for head in heads),
        SUITE.substitute(about) + each(REFERENCE) + cases + each(CHECK),
        (COACH.substitute(about) + each(TASK)).rstrip() + "\n",
    )
