"""The law of cost: what a call makes grows no faster than the stub promises.

Nothing looks at a clock. What is counted are tensors, by their bytes and by their numbers, where
PyTorch makes them; the growth from one size to the next is compared, and not the amount, so that a
right answer may take a few tensors more or less.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from grader import nested
from grader.costs import Cost, Counting, Measure
from grader.suite.case import Case
from grader.suite.compare import Finding, same, situation
from grader.suite.devices import goes_back
from grader.suite.draw import Draw
from grader.suite.promises import Citation

# by so much a growth may miss what is promised: small sizes have parts that do not grow
SLACK = 1.3
# at the first size the largest tensor has at most so many bytes for each number that goes in or
# comes out: a right answer's has 20, and beside something large nothing is seen to grow
CEILING = 128
LEAST_NUMBERS = 1024
# so many bytes may a process take besides tensors: code that is loaded, and what is freed late
ROOM = 4 * 2**20
NAMES: dict[Measure, str] = {
    "largest": "the largest tensor",
    "peak": "the most that is alive at once",
    "left": "what is kept for the way back",
    "made": "how many numbers are worked out",
    "calls": "how many operations there are",
}
BYTES = ("largest", "peak", "left")
POWERS = {0: "not at all", 1: "as {size} does", 2: "as the square of {size}"}


@dataclass(frozen=True)
class Growth:
    """How a cost of an exercise may grow.

    Attributes:
        case: how it is called.
        measure: what is counted.
        size: the name of the size that grows.
        at: its values, the smallest first.
        power: of the size, as which the cost may grow.
        cites: the sentence that promises it.
        least: how many numbers any way works out, of the sizes; fewer were not seen.
        backward: whether the way back is gone and counts, too, by itself.
        sizes: others than the case's own.
        large: a value at which what must not be made is larger than a process takes by chance:
            there its memory is looked at from outside, where the answer runs in another one.
    """

    case: Case
    measure: Measure
    size: str
    at: tuple[int, ...]
    power: int
    cites: Citation
    least: Callable[..., int] | None = None
    backward: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)
    large: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no case and what is not counted.

        Raises:
            ValueError: it is one of these.
        """
        if not isinstance(self.case, Case):
            raise ValueError(f"a Growth is of a Case, not of {self.case!r}")
        if self.measure not in NAMES:
            raise ValueError(f"{self.measure!r} is not counted: say one of {', '.join(NAMES)}")

    @property
    def exercise(self) -> str:
        """The exercise that it is about."""
        return self.case.exercise

    @property
    def id(self) -> str:
        """What is promised as it stands in a check's name."""
        way = "-backward" if self.backward else ""
        return f"{self.case.id}-{self.measure}_by_{self.size}{way}"


def grows(answer: Any, draw: Draw, promised: Growth) -> None:
    """Call at one size after the other, and compare by how much the cost has grown.

    Raises:
        Finding: it is more than promised, or it could not be seen; or the values are wrong.
    """
    answer.renew()
    costs: list[tuple[int, tuple[Cost, ...]]] = []
    outside = None
    for value in promised.at:
        counting, case = _counted(answer, draw, promised, value)
        costs.append((value, _seen(promised, case, counting)))
        outside = counting.outside
        # at once, so that the call that a message shows is the one that it is about
        for before, after in itertools.pairwise(costs[-2:]):
            _compare(promised, before, after)
    if promised.large is not None and outside is not None:
        counting, _ = _counted(answer, draw, promised, promised.large)
        _fits(counting, promised.large, promised.size)


def _compare(
    promised: Growth, before: tuple[int, tuple[Cost, ...]], after: tuple[int, tuple[Cost, ...]]
) -> None:
    """Compare the costs at a size with those at the size before it, each way by itself."""
    (small, fewer), (large, more) = before, after
    allowed = (large / small) ** promised.power * SLACK
    for less, most in zip(fewer, more, strict=True):
        if most.of(promised.measure) > allowed * max(1, less.of(promised.measure)):
            raise _too_much(promised, (small, less), (large, most))


def _counted(answer: Any, draw: Draw, promised: Growth, value: int) -> tuple[Counting, Case]:
    """Call at a size, and count; the values have to be right."""
    case = promised.case.at(*promised.case.batch, **promised.sizes, **{promised.size: value})
    with situation(case.label):
        given = case.twins(case.given(draw)) if promised.backward else case.given(draw)
        want = case.want(given)
        with answer.counted():
            asks = case.asking(answer, given)
        with answer.counted() as counting:
            output, leaves = asks()
            if promised.backward:
                with counting.way_back():
                    goes_back(output, [value for _, value in leaves])
        same(output, want, like=case.like(given, want))
    if value == promised.at[0]:
        _is_no_ballast(counting, sum(map(_numbers, nested.flat(*given, want))))
    return counting, case


def _is_no_ballast(counting: Counting, numbers: int) -> None:
    """Compare the largest tensor with what goes in and comes out."""
    most = CEILING * max(LEAST_NUMBERS, numbers)
    largest = max((counting.forward, counting.backward), key=lambda one: one.largest)
    if largest.largest > most:
        raise Finding("cost", NAMES["largest"], largest, None, (
            f"it takes {_bytes(largest.largest)}, and {_number(numbers)} numbers go in and come "
            "out: beside that it cannot be seen how the rest grows"
        ))  # fmt: skip


def _numbers(value: Any) -> int:
    """Count the numbers of a tensor, or of a module's weights."""
    if isinstance(value, nn.Module):
        return sum(one.numel() for one in value.parameters())
    return value.numel() if isinstance(value, Tensor) else 0


def _fits(counting: Counting, value: int, size: str) -> None:
    """Compare what was counted with the memory that the other process took."""
    counted = max(counting.forward.peak, counting.backward.peak)
    if counting.outside is not None and counting.outside > counted + ROOM:
        raise Finding("cost", "the cost", detail=(
            f"with {value} for `{size}` its process took {_bytes(counting.outside)}, and "
            f"{_bytes(counted)} of tensors were counted: something is made where it cannot be "
            "counted"
        ))  # fmt: skip


def _seen(promised: Growth, case: Case, counting: Counting) -> tuple[Cost, ...]:
    """Return the costs that count, that of each way, once all of it was seen."""
    forward, backward = counting.forward, counting.backward
    least = promised.least(**_sizes(case)) if promised.least else 1
    if forward.unseen or forward.made < least:
        raise Finding("cost", "the cost", detail=(
            f"{_number(forward.made)} numbers were seen being worked out, and any way works out "
            f"{_number(least)}: what torch does not do, or another thread does, cannot be counted"
            if forward.made < least
            else "the output was made where it cannot be counted, by NumPy or in another thread"
        ))  # fmt: skip
    if not promised.backward or promised.measure == "left":
        return (forward,)
    return forward, backward


def _sizes(case: Case) -> dict[str, int]:
    return {**case.dimensions, **case.sizes}


def _too_much(promised: Growth, before: tuple[int, Cost], after: tuple[int, Cost]) -> Finding:
    (small, less), (large, more) = before, after
    counts = [one.of(promised.measure) for one in (less, more)]
    came, last = map(_bytes if promised.measure in BYTES else _number, counts)
    size = f"`{promised.size}`"
    times = counts[1] / max(1, counts[0])
    allowed = POWERS[promised.power].format(size=size)
    found = Finding(
        "cost", NAMES[promised.measure], more, None,
        f"it grows {_times(times)}, from {came} to {last}, while {size} grows "
        f"{_times(large / small)}, from {small} to {large}; promised is that it grows {allowed}",
    )  # fmt: skip
    found.at = f"{promised.size}={large}"
    return found


def _times(factor: float) -> str:
    return f"{factor:.3g}-fold"


def _bytes(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024 or unit == "MiB":
            break
        count /= 1024  # type: ignore[assignment]
    return f"{count:.4g} {unit}"


def _number(count: int) -> str:
    return f"{count:,}"
