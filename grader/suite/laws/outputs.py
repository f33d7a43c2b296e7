"""The laws of what comes out: its shape, dtype, device and values, at any sizes and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from grader import nested
from grader.suite.case import Case, exact, floating
from grader.suite.compare import same, situation
from grader.suite.draw import Draw
from grader.suite.promises import Rule
from grader.suite.tolerance import OTHER_FLOATS

# more than any block, and no more than may be asked for
MANY = range(116, 132)
FEW, SOME, LARGE, WIDE = range(2, 6), range(2, 14), range(14, 22), range(22, 45)
# between what is drawn for all sizes at once and more than any block
BETWEEN = range(45, 116)
# so many times is drawn anew until no two scores share the first place
TRIES = 60


def values(answer: Any, draw: Draw, case: Case) -> None:
    """The output has the right shape, dtype, device and values; in float32 for other ones, too."""
    # of one case each, so that what is remembered by its shape is not taken for an answer
    for _ in range(1 if case.label or draw.dtype != torch.float32 else 2):
        given = case.given(draw)
        want = case.want(given)
        same(case.call(answer, given), want, like=case.like(given, want))


def values_of_many(answer: Any, draw: Draw, case: Case) -> None:
    """Each size may be larger than a block: what is worked out in parts is put together."""
    for name in case.dimensions:
        for sizes in (BETWEEN, MANY):
            one = case.at(*case.batch, **{name: draw.one_of(sizes)})
            with situation(one.label):
                values(answer, draw, one)


def values_at_drawn_sizes(answer: Any, draw: Draw, case: Case) -> None:
    """The values hold at sizes that no table can foresee, all of them large at once, too."""
    for sizes, dimensions, most in ((SOME, (0, 1, 2, 3), 3), (LARGE, (2, 3), 2)):
        batch = [draw.one_of(range(1, most + 1)) for _ in range(draw.one_of(dimensions))]
        with situation("sizes that were drawn"):
            values(answer, draw, drawn(draw, case, sizes, batch))
    one_or_none = [1] * draw.apart("batch").one_of((0, 1))
    with situation("sizes that were drawn"):
        values(answer, draw, drawn(draw, case, WIDE, one_or_none))
    if case.takes_batches:
        more = [draw.one_of((1, 2, 3)) for _ in range(4)]
        for batch in (more, [draw.one_of(range(41, 71))]):
            with situation("a batch that was drawn", Rule("batch")):
                values(answer, draw, drawn(draw, case, FEW, batch))


def drawn(draw: Draw, case: Case, sizes: Sequence[int], batch: Sequence[int]) -> Case:
    """Draw every size of a case."""
    sized = {name: draw.one_of(sizes) for name in case.dimensions}
    return case.at(*(batch if case.takes_batches else case.batch), **sized)


def values_of_large_scores(answer: Any, draw: Draw, case: Case) -> None:
    """Scores of nearly 1e4, which exp cannot take, are right."""
    whole = draw.using(draw.dtype, whole=64)
    drawn_ones = (case.given(whole) for _ in range(TRIES))
    given = next((one for one in drawn_ones if _is_clear(case, one)), None)
    if given is None:
        raise ValueError(f"{case.id}: the largest of large scores were a tie, {TRIES} times")
    with situation(str(draw.dtype)):
        want = case.want(given)
        same(case.call(answer, given), want, like=case.like(given, want))


def large_scores_in_dtypes(answer: Any, draw: Draw, case: Case) -> None:
    """Scores of nearly 1e4 are right in the other dtypes, too."""
    for dtype in OTHER_FLOATS:
        values_of_large_scores(answer, draw.using(dtype), case)


def _is_clear(case: Case, given: tuple[Any, ...]) -> bool:
    """Tell whether the largest scores stand alone: a tie is decided by the last bit."""
    exactly = exact(given)
    want, other = case.worked_out(exactly), case.worked_out(nested.mapped(_bent, exactly))
    pairs = zip(nested.flat(want), nested.flat(other), strict=True)
    return all(
        torch.allclose(one, two, rtol=0.05, atol=0.05) for one, two in pairs if floating(one)
    )


def _bent(value: Any) -> Any:
    return value * (1 + 1e-3 * torch.sin(value)) if floating(value) else value


def of_nothing(answer: Any, draw: Draw, case: Case) -> None:
    """Inputs without an entry are taken, in every dtype."""
    for dtype in (torch.float32, *OTHER_FLOATS):
        with situation(str(dtype)):
            values(answer, draw.using(dtype), case)
