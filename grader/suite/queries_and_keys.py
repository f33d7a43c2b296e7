"""Inputs and refusals that several chapters share: queries, keys, and masks of their scores."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.suite.case import exact
from grader.suite.compare import same, situation
from grader.suite.draw import Draw
from grader.suite.refusals import Refusal, refusal

# five tokens, each of which sees itself and those before it
TRIANGLE = ("T....", "TT...", "TTT..", "TTTT.", "TTTTT")


def query_key(
    draw: Draw, *batch: int, q: int = 5, k: int = 7, d_k: int = 3
) -> tuple[Tensor, Tensor]:
    """Draw queries and keys whose scores have a size of 1 to 5."""
    return draw(*batch, q, d_k, scale=1.3), draw(*batch, k, d_k, scale=1.3)


def far_below_zero(draw: Draw, *, q: int = 5, k: int = 7) -> tuple[Tensor, Tensor]:
    """Make queries and keys whose scores lie around -16384: a mask's -1e4 is no low score there.

    The scores of a query are 16 apart, so no rounding decides which is the largest, and the width
    is 16, so that dividing by its root, or by the fourth root on both sides, is exact.
    """
    query, key = (draw.tensor([[side] + 15 * [0]] * n) for n, side in ((q, 256), (k, -256)))
    query[:, 1] = draw.tensor([-2, 2])[draw.integers(0, 2, q)]
    key[:, 1] = 32 * draw.tensor(range(k))[draw.distinct(k).argsort()]
    return query, key


def pattern(draw: Draw, *rows: str) -> Tensor:
    """Make a mask of rows of letters: T may be attended to."""
    return draw.tensor([[letter == "T" for letter in row] for row in rows], torch.bool)


# several batch dimensions; as many sequences as queries, so that a mask [q, k] also fits as [batch,
# k]; a single key, which may be masked; and more queries, keys and sequences than any block has, of
# which the mask may be cut, too
OF_EVERY_SHAPE = (
    ((2, 3), 4, 5), ((4,), 4, 5), ((3,), 2, 1), ((), 131, 3), ((), 2, 131), ((131,), 2, 3),
)  # fmt: skip


def masks_for(draw: Draw, *shape: int) -> Iterator[Tensor]:
    """Draw a mask of every shape that broadcasts to this one; a row of it may be False."""
    for cut in range(len(shape)):
        for sizes in itertools.product(*((1, size) for size in shape[cut:])):
            mask = draw.integers(0, 3, *sizes) > 0
            mask.view(-1)[-1] = False
            yield mask


def right_with_masks_of_every_shape(
    draw: Draw,
    inputs: Callable[..., tuple[Any, ...]],
    call: Callable[..., Any],
    want: Callable[..., Any],
    sizes: Sequence[tuple[tuple[int, ...], int, int]] = OF_EVERY_SHAPE,
) -> None:
    """Compare what a function gives with masks of every shape.

    Args:
        draw: the inputs.
        inputs: `inputs(draw, *batch, q=q, k=k)` draws what the function takes but for the mask.
        call: calls the answer with these and a mask.
        want: works out the right output from the same in float64.
        sizes: batch, queries and keys.
    """
    for batch, q, k in sizes:
        given = inputs(draw, *batch, q=q, k=k)
        for mask in masks_for(draw, *batch, q, k):
            right = want(*map(exact, given), mask)
            with situation(f"scores {[*batch, q, k]} and a mask {list(mask.shape)}"):
                same(call(*given, mask), right, like=given[0])


def some_mask(draw: Draw, *shape: int) -> Tensor:
    """Draw a mask of queries and keys, of some shape that broadcasts to this one."""
    sizes = [*(draw.one_of((1, size)) for size in shape[:-1]), shape[-1]]
    mask = draw.mask(*sizes[draw.one_of(range(len(sizes) - 1)) :])
    # so that it can be told from none at all
    mask.view(-1)[-1] = False
    return mask


def open_mask(draw: Draw, *shape: int) -> Tensor:
    """Make a mask that is True everywhere: who skips it does not look at its shape."""
    return draw.integers(0, 1, *shape) == 0


def query_key_refusals(exercise: str) -> list[Refusal]:
    """List what every function of a query and a key refuses."""

    def call(query: tuple[int, ...], key: tuple[int, ...]) -> Any:
        return lambda answer, draw: getattr(answer, exercise)(draw(*query), draw(*key))

    return [
        refusal(
            exercise, "ValueError: `query` or `key` has fewer than two dimensions.",
            ("`query` is [3], with 1 dimension", call((3,), (7, 3))),
            ("`key` is [3], with 1 dimension", call((5, 3), (3,))),
            ("`query` and `key` are [3], with 1 dimension", call((3,), (3,))),
        ),
        refusal(
            exercise, "ValueError: `query` and `key` differ in width.",
            ("`query` is 3 wide and `key` is 2 wide", call((5, 3), (7, 2))),
            ("`query` is 3 wide and `key` is 1 wide", call((5, 3), (7, 1))),
            ("`query` is 1 wide and `key` is 3 wide", call((5, 1), (7, 3))),
            ("`query` is [5, 7] and `key` is [7, 5], already turned", call((5, 7), (7, 5))),
        ),
        refusal(
            exercise, "ValueError: `query` and `key` differ in their batch.",
            ("`query` has a batch of 2 and `key` a batch of 1", call((2, 5, 3), (1, 7, 3))),
            ("`query` has a batch of 1 and `key` a batch of 2", call((1, 5, 3), (2, 7, 3))),
            ("`query` has a batch of 2 and `key` a batch of 11", call((2, 5, 3), (11, 7, 3))),
            ("`query` is [5, 3], without a batch, and `key` is [2, 7, 3]",
             call((5, 3), (2, 7, 3))),
            ("`query` is [1, 5, 3] and `key` is [7, 3], without a batch",
             call((1, 5, 3), (7, 3))),
            ("`query` is [2, 5, 3] and `key` is [1, 2, 7, 3]", call((2, 5, 3), (1, 2, 7, 3))),
            ("`query` is [1, 2, 5, 3] and `key` is [2, 7, 3]", call((1, 2, 5, 3), (2, 7, 3))),
            ("`query` is [2, 3, 5, 4] and `key` is [2, 1, 7, 4]", call((2, 3, 5, 4), (2, 1, 7, 4))),
            ("`query` is [2, 1, 5, 4] and `key` is [2, 3, 7, 4]", call((2, 1, 5, 4), (2, 3, 7, 4))),
            ("`query` is [1, 3, 5, 4] and `key` is [1, 1, 3, 7, 4]",
             call((1, 3, 5, 4), (1, 1, 3, 7, 4))),
            ("`query` is [2, 5, 3] and `key` is [7, 3], without a batch",
             call((2, 5, 3), (7, 3))),
            ("`query` is [1, 1, 3] and `key` is [1, 3], without a batch",
             call((1, 1, 3), (1, 3))),
        ),
    ]  # fmt: skip
