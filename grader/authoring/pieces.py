"""What a new chapter holds for each of its names: texts for a function, and for a class."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template


@dataclass(frozen=True)
class Pieces:
    """The texts for one name.

    Attributes:
        head: the exercise, with `$first` and `$second` where bodies stand.
        bodies: what stands there in the solution.
        reference: what is right, in the suite.
        case: an entry of the suite's `CASES`.
        refusal: an entry of its `REFUSALS`.
        check: a check with literals.
        task: the coach's task, with a slip.

    In all of them `$name` is the name, and `$low` the same in small letters.
    """

    head: Template
    bodies: tuple[str, ...]
    reference: Template
    case: Template
    refusal: Template
    check: Template
    task: Template


FUNCTION = Pieces(
    Template('''

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
$first'''),
    (
        """\
    if x.dim() < 2:
        raise ValueError(f"x is {list(x.shape)}, and has to be [*batch, n, d]")
    mean = x.mean(-2)  # [*batch, d]
    return x - mean.unsqueeze(-2), mean
""",
    ),
    Template("""

@reference
def $name(x):
    if x.dim() < 2:
        raise ValueError(f"{tuple(x.shape)} is not [*batch, n, d]")
    mean = sum(x.unbind(-2)) / x.shape[-2]
    return x - mean[..., None, :], mean
"""),
    Template("""    Case("$name", some_tokens, $name),
"""),
    Template("""    refusal(
        "$name",
        "ValueError: `x` has fewer than two dimensions.",
        ("`x` is [7], with 1 dimension", lambda answer, draw: answer.$name(draw(7))),
    ),
"""),
    Template("""

@check("$name")
def test_${name}_by_hand(answer, draw):
    want = draw.tensor([[-1.0, 2.0], [1.0, -2.0]]), draw.tensor([2.0, 2.0])
    same(answer.$name(draw.tensor([[1.0, 4.0], [3.0, 0.0]])), want)
"""),
    Template('''
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

'''),
)

CLASS = Pieces(
    Template('''

class $name(nn.Module):
    """Center every feature on its mean over the tokens, and scale it by a number of its own.

    Difficulty 2 of 5, about 10 minutes.

    Args:
        d: the width of a token, at least 1.

    Example:
        >>> $name(2)(torch.zeros(3, 2)).shape
        torch.Size([3, 2])
    """

    def __init__(self, d: int) -> None:
$first
    def forward(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """Center and scale.

        Args:
            x: one token per row [*batch, n, d].

        Returns:
            The centered tokens [*batch, n, d], each feature times its entry of the parameter
            `scales` [d]. A new module has ones there.

        Raises:
            ValueError: `x` has fewer than two dimensions.
        """
$second'''),
    (
        """\
        super().__init__()
        self.scales = nn.Parameter(torch.ones(d))
""",
        """\
        if x.dim() < 2:
            raise ValueError(f"x is {list(x.shape)}, and has to be [*batch, n, d]")
        return self.scales * (x - x.mean(-2, keepdim=True))  # [d] * [*batch, n, d]
""",
    ),
    Template('''

@reference
def ${low}_made(weights, x):
    if x.dim() < 2:
        raise ValueError(f"{tuple(x.shape)} is not [*batch, n, d]")
    mean = sum(x.unbind(-2)) / x.shape[-2]
    return torch.einsum("d,...nd->...nd", weights["scales"], x - mean[..., None, :])


@reference
class $name(nn.Module):
    """Stands in for a student's where a later function fails."""

    def __init__(self, d):
        super().__init__()
        self.scales = nn.Parameter(torch.ones(d))

    def forward(self, x):
        """Work in float64, and return the dtype of the tokens."""
        return ${low}_made({"scales": self.scales.double()}, x.double()).to(x.dtype)
'''),
    Template("""    ModuleCase("$name", ${low}_inputs, ${low}_made, cites="The centered tokens"),
"""),
    Template("""    refusal(
        "$name",
        "ValueError: `x` has fewer than two dimensions.",
        (
            "`x` is [7], with 1 dimension",
            lambda answer, draw: answer.$name(7).to(draw.device)(draw(7)),
        ),
    ),
"""),
    Template("""

@check("$name", cites="A new module has ones there.")
def test_${low}_by_hand(answer, draw):
    want = draw.tensor([[-1.0, 2.0], [1.0, -2.0]])
    same(answer.$name(2).to(draw.device)(draw.tensor([[1.0, 4.0], [3.0, 0.0]])), want)
"""),
    Template('''
$name = Task(
    "$name",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "Which fact is needed? What a module learns is an nn.Parameter of it.",
        "How to go about it? Make the parameter in __init__; center in forward, and multiply.",
        "Which operation, with which shape? `scales` is [d]: times [*batch, n, d] it reaches every "
        "token.",
    ),
)


@$name.slip(FORMULA)
class MeanOverTheFeaturesOf$name(nn.Module):
    """You took the mean of each token: it is taken of each feature, over the tokens."""

    def __init__(self, d):
        super().__init__()
        self.scales = nn.Parameter(torch.ones(d))

    def forward(self, x):
        if x.dim() < 2:
            raise ValueError(f"x is {list(x.shape)}, and has to be [*batch, n, d]")
        return self.scales * (x - x.mean(-1, keepdim=True))

'''),
)
CLASS_INPUTS = Template("""

def ${low}_inputs(draw, *batch, n=5, d=3):
    return (d,), {"scales": draw(d)}, (draw(*batch, n, d),)
""")
