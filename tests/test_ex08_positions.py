"""Chapter 8: turns by value and by index, and scores that know the distance only."""

import math

import torch

from grader.suite import (
    OTHER_FLOATS,
    Case,
    Draw,
    Rule,
    check,
    checks_by_law,
    default_dtype,
    exact,
    printed,
    reference,
    refusal,
    refused,
    same,
    situation,
    vary,
)
from grader.suite.laws.gradients import gradients
from grader.suite.tolerance import Tolerance

# What is right, worked out in float64: a turn is a matrix here, one for each row


@reference
def rotary_angles(positions, d_head, base=10000.0):
    if positions.dim() != 1 or d_head < 2 or d_head % 2:
        raise ValueError(f"{tuple(positions.shape)} and {d_head}")
    rates = [math.exp(-2 * i / d_head * math.log(base)) for i in range(d_head // 2)]
    angles = torch.stack([positions.double() * rate for rate in rates], -1)
    return angles if positions.is_floating_point() else angles.float()


@reference
def turned(x, angles, pairs):
    """Multiply each row by a matrix that turns the pairs of features."""
    if x.dim() < 2 or x.shape[-1] % 2 or angles.shape != (x.shape[-2], x.shape[-1] // 2):
        raise ValueError(f"{tuple(x.shape)} and {tuple(angles.shape)}")
    angles, wide = angles.double(), x.double()
    turns = torch.zeros(*angles.shape[:1], x.shape[-1], x.shape[-1], device=x.device).double()
    for i, (u, v) in enumerate(pairs):
        turns[:, u, u] = turns[:, v, v] = angles[:, i].cos()
        turns[:, v, u] = angles[:, i].sin()
        turns[:, u, v] = -angles[:, i].sin()
    return torch.einsum("nij,...nj->...ni", turns, wide)


@reference
def rotate_pairs(x, angles):
    return turned(x, angles, [(i, i + 1) for i in range(0, x.shape[-1], 2)])


@reference
def rotate_halves(x, angles):
    half = x.shape[-1] // 2
    return turned(x, angles, [(i, i + half) for i in range(half)])


@reference
def pairs_to_halves(weight, n_heads):
    if weight.dim() != 2 or n_heads < 1 or len(weight) % (2 * n_heads):
        raise ValueError(f"{tuple(weight.shape)} and {n_heads}")
    d_head = len(weight) // n_heads
    heads = range(0, len(weight), d_head)
    order = [head + i for head in heads for first in (0, 1) for i in range(first, d_head, 2)]
    return torch.stack([weight[row] for row in order])


@reference
def rotary_scores(query, key, query_positions, key_positions, base=10000.0):
    if query.shape[:-2] != key.shape[:-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"{tuple(query.shape)} and {tuple(key.shape)}")
    d = query.shape[-1]
    query = rotate_pairs(query, rotary_angles(query_positions, d, base))
    key = rotate_pairs(key, rotary_angles(key_positions, d, base))
    return torch.einsum("...qd,...kd->...qk", query, key) * d**-0.5


# How each function is called, at whatever sizes


def whole_positions(draw: Draw, *, n=5, pairs=3):
    return draw.integers(-20, 40, n), 2 * pairs


def floating_positions(draw: Draw, *, n=5, pairs=3):
    return draw(n, scale=20), 2 * pairs


def small(draw: Draw) -> float:
    """Make float64 small: who works in float32 there, as the stub allows, has no more digits."""
    return 0.05 if draw.dtype == torch.float64 else 1.0


def rows_and_angles(draw: Draw, *batch: int, n=5, pairs=3):
    return draw(*batch, n, 2 * pairs, scale=small(draw)), draw(n, pairs, scale=2).float()


def a_weight(draw: Draw, *, n_heads=2, pairs=5, d_in=7):
    return draw(2 * n_heads * pairs, d_in), n_heads


def placed(draw: Draw, *batch: int, q=5, k=7, pairs=3):
    query, key = (draw(*batch, n, 2 * pairs, scale=1.3 * small(draw)) for n in (q, k))
    return query, key, draw.integers(-6, 7, q), draw.integers(-6, 7, k)


def between(draw: Draw, *batch: int, q=5, k=7, pairs=3):
    query, key, *_ = placed(draw, *batch, q=q, k=k, pairs=pairs)
    return query, key, draw(q, scale=2), draw(k, scale=2)


def in_place(draw: Draw):
    """Put queries and keys at the same positions, as in self-attention."""
    query, key, positions, _ = between(draw, q=5, k=5)
    return query, key, positions, positions.clone()


def unsorted(draw: Draw):
    return draw.tensor([7, 0, 7, -11, 3], torch.int64), 10


def small_whole_numbers(draw: Draw):
    return draw.tensor([7, 0, -5, 131], torch.int32), 6


def far_out(draw: Draw):
    """Make positions that float16 and bfloat16 have no digits for."""
    return draw.tensor([4097, 8191, 65537, 100003, -5003], torch.int64), 14


def one_pair(draw: Draw):
    return draw.integers(0, 9, 5), 2


def many_turns(draw: Draw):
    """Make angles that a half type would round by whole turns."""
    angles = [[4097.25, -3001.75, 257.5], [0.0, 65537.5, 8191.125]]
    return draw(3, 2, 6), draw.tensor(angles, torch.float32)


def a_row_of_zeros(draw: Draw):
    x, angles = rows_and_angles(draw, 2)
    x[..., 1, :] = 0
    return x, angles


def two_words(draw: Draw):
    return rows_and_angles(draw, pairs=1)


ANGLES = Case("rotary_angles", whole_positions, rotary_angles, dtype=torch.float32)
SLOWER = Case("rotary_angles", whole_positions, rotary_angles, "base_500", {"base": 500.0},
              dtype=torch.float32)  # fmt: skip
FLOATING = Case("rotary_angles", floating_positions, rotary_angles, "floating",
                dtype=torch.float32)  # fmt: skip
PAIRS = Case("rotate_pairs", rows_and_angles, rotate_pairs)
HALVES = Case("rotate_halves", rows_and_angles, rotate_halves)
ROWS = Case("pairs_to_halves", a_weight, pairs_to_halves)
SCORES = Case("rotary_scores", placed, rotary_scores)
SCORES_BETWEEN = Case("rotary_scores", between, rotary_scores, "floating", {"base": 100.0})
SCORES_IN_PLACE = Case("rotary_scores", in_place, rotary_scores, "equal positions")
CASES = [ANGLES, SLOWER, FLOATING, PAIRS, HALVES, ROWS, SCORES]
SPECIAL = [
    # not among CASES: angles of float32 have too few digits for gradients in float64
    SCORES_BETWEEN,
    Case("rotary_angles", unsorted, rotary_angles, "unsorted", dtype=torch.float32,
         cites="Positions may come in any order"),
    Case("rotary_angles", small_whole_numbers, rotary_angles, "int32", dtype=torch.float32),
    Case("rotary_angles", one_pair, rotary_angles, "one_pair", dtype=torch.float32),
    Case("rotate_pairs", many_turns, rotate_pairs, "many_turns", cites="It is worked out"),
    Case("rotate_halves", many_turns, rotate_halves, "many_turns", cites="It is worked out"),
    Case("rotate_pairs", two_words, rotate_pairs, "one_pair"),
    Case("rotate_halves", two_words, rotate_halves, "one_pair"),
    Case("rotate_pairs", a_row_of_zeros, rotate_pairs, "row_of_zeros"),
    Case("rotate_halves", a_row_of_zeros, rotate_halves, "row_of_zeros"),
]  # fmt: skip


def of_rows(name: str):
    """Refuse what both layouts refuse."""
    return [
        refusal(
            name, "ValueError: `x` has fewer than two dimensions.",
            ("`x` is [6], with 1 dimension", refused(name, rows_and_angles, _0=(6,))),
            ("`x` is [6], with 1 dimension, and there are angles of 6 rows",
             lambda a, d: getattr(a, name)(d(6), d(6, 3).float())),
        ),
        refusal(
            name, "ValueError: `x` has an odd number of features.",
            ("`x` is 7 wide", refused(name, rows_and_angles, _0=(5, 7))),
            ("`x` is [2, 5, 3], and there are angles for 1 pair",
             lambda a, d: getattr(a, name)(d(2, 5, 3), d(5, 1).float())),
            ("`x` is [5, 1], 1 wide, and there are angles for 1 pair",
             lambda a, d: getattr(a, name)(d(5, 1), d(5, 1).float())),
        ),
        refusal(
            name, "ValueError: `angles` is not [n, d_head / 2].",
            ("`x` is 6 wide and there are angles for 6 features, [5, 6]",
             lambda a, d: getattr(a, name)(d(5, 6), d(5, 6).float())),
            *((f"`x` is [2, 5, 6] and `angles` is {list(shape)}",
               lambda a, d, shape=shape: getattr(a, name)(d(2, 5, 6), d(*shape).float()))
              for shape in ((7, 3), (1, 3), (5, 1), (3,), (2, 5, 3), (1, 5, 3), (3, 5))),
        ),
    ]  # fmt: skip


REFUSALS = [
    refusal(
        "rotary_angles", "ValueError: `positions` is not a vector.",
        ("`positions` is [5, 1], with 2 dimensions",
         lambda a, d: a.rotary_angles(d.integers(0, 9, 5, 1), 6)),
        ("`positions` is [2, 5], with 2 dimensions",
         lambda a, d: a.rotary_angles(d.integers(0, 9, 2, 5), 6)),
        ("`positions` is [], with 0 dimensions",
         lambda a, d: a.rotary_angles(d.tensor(3.0), 6)),
    ),
    refusal(
        "rotary_angles", "ValueError: `d_head` is odd or below 2.",
        *((f"`d_head` is {d_head}",
           lambda a, d, d_head=d_head: a.rotary_angles(d.integers(0, 9, 5), d_head))
          for d_head in (7, 1, 0, -4, -3)),
    ),
    *of_rows("rotate_pairs"),
    *of_rows("rotate_halves"),
    refusal(
        "pairs_to_halves", "ValueError: `weight` is not a matrix.",
        ("`weight` is [12], with 1 dimension", refused("pairs_to_halves", a_weight, _0=(12,))),
        ("`weight` is [3, 12, 7], with 3 dimensions",
         refused("pairs_to_halves", a_weight, _0=(3, 12, 7))),
        ("`weight` is [12, 7, 3], with 3 dimensions",
         refused("pairs_to_halves", a_weight, _0=(12, 7, 3))),
    ),
    refusal(
        "pairs_to_halves",
        "ValueError: `n_heads` is below 1, or the rows do not make n_heads heads of an even width.",
        *((f"there are 20 rows and `n_heads` is {n_heads}",
           refused("pairs_to_halves", a_weight, _1=n_heads)) for n_heads in (0, -2, 3, 4, 20, 40)),
        ("there are 7 rows and `n_heads` is 1",
         lambda a, d: a.pairs_to_halves(d(7, 4), 1)),
    ),
    refusal(
        "rotary_scores", "ValueError: `query` or `key` has fewer than two dimensions.",
        ("`query` is [6], with 1 dimension", refused("rotary_scores", placed, _0=(6,))),
        ("`query` is [], with 0 dimensions", refused("rotary_scores", placed, _0=())),
        ("`key` is [6], with 1 dimension", refused("rotary_scores", placed, _1=(6,))),
    ),
    refusal(
        "rotary_scores", "ValueError: `query` and `key` differ in width.",
        ("`query` is 6 wide and `key` is 8 wide", refused("rotary_scores", placed, _1=(7, 8))),
        ("`query` is 2 wide and `key` is 6 wide", refused("rotary_scores", placed, _0=(5, 2))),
    ),
    refusal(
        "rotary_scores", "ValueError: `query` and `key` differ in their batch.",
        ("`query` has a batch of 2 and `key` a batch of 1",
         refused("rotary_scores", lambda d: placed(d, 2), _1=(1, 7, 6))),
        ("`query` is [2, 3, 5, 6] and `key` is [2, 1, 7, 6]",
         refused("rotary_scores", lambda d: placed(d, 2, 3), _1=(2, 1, 7, 6))),
        ("`query` is [5, 6], without a batch, and `key` is [2, 7, 6]",
         refused("rotary_scores", placed, _1=(2, 7, 6))),
        ("`query` is [2, 5, 6], a batch of 2, and `key` is [7, 6], without a batch",
         refused("rotary_scores", placed, _0=(2, 5, 6))),
    ),
    refusal(
        "rotary_scores", "ValueError: `query` has an odd number of features.",
        ("`query` and `key` are 7 wide",
         refused("rotary_scores", placed, _0=(5, 7), _1=(7, 7))),
        ("`query` and `key` are 1 wide",
         refused("rotary_scores", placed, _0=(5, 1), _1=(7, 1))),
    ),
    refusal(
        "rotary_scores",
        "ValueError: `query_positions` is not [q], or `key_positions` is not [k].",
        ("there are 5 queries and 7 positions", refused("rotary_scores", placed, _2=(7,))),
        ("there are 7 keys and 5 positions", refused("rotary_scores", placed, _3=(5,))),
        ("there are 5 queries and 1 position", refused("rotary_scores", placed, _2=(1,))),
        ("there are 7 keys and 1 position", refused("rotary_scores", placed, _3=(1,))),
        ("`query_positions` is [2, 5], one row for each sequence",
         refused("rotary_scores", lambda d: placed(d, 2), _2=(2, 5))),
        ("`key_positions` is [7, 1], with 2 dimensions",
         refused("rotary_scores", placed, _3=(7, 1))),
        ("`query_positions` is [], with 0 dimensions", refused("rotary_scores", placed, _2=())),
        ("`key_positions` is [], with 0 dimensions", refused("rotary_scores", placed, _3=())),
    ),
]  # fmt: skip
EXPLAINS = {}
globals().update(checks_by_law(CASES, SPECIAL, REFUSALS))


@check("rotary_scores", about="gradients", cites=Rule("gradients"))
def test_rotary_scores_gradients_of_positions(answer, draw):
    """Positions may be floats, and want gradients as others do: each its own, also if all agree."""
    for case in (SCORES_BETWEEN, SCORES_IN_PLACE):
        with situation(case.label):
            gradients(answer, draw, case)


# room for powers that are worked out in float32 in one way or another
DIGITS_OF_FLOAT32 = Tolerance(4e-6, 1e-12)


@check("rotary_angles")
def test_rotary_angles_by_hand(answer, draw):
    got = answer.rotary_angles(draw.tensor([0, 1, 2], torch.int64), 4)
    same(got, draw.tensor([[0, 0], [1, 0.01], [2, 0.02]], torch.float32))


@check("rotary_angles", cites="Large positions keep the digits")
def test_rotary_angles_far_out(answer, draw):
    positions, d_head = far_out(draw)
    want = rotary_angles(positions, d_head).float()
    same(answer.rotary_angles(positions, d_head), want, within=DIGITS_OF_FLOAT32)


@check("rotary_angles", about="dtypes", cites="The angles in radians")
def test_rotary_angles_default_dtype(answer, draw):
    draw.require("float64")
    positions = draw.integers(0, 9, 11)
    with default_dtype(torch.float64):
        got = answer.rotary_angles(positions, 14)
    with situation("where the default dtype is float64"):
        same(got, rotary_angles(positions, 14).float(), within=DIGITS_OF_FLOAT32)


@check("rotary_angles", about="dtypes", cites="The angles in radians")
@vary("dtype", OTHER_FLOATS)
def test_rotary_angles_of_positions_in(answer, draw, dtype):
    """Catches powers and products in the dtype of the positions, which are whole here."""
    positions = draw.tensor([1, 3, -17, 96, 128], dtype)
    want = rotary_angles(positions, 10, 300.0).float()
    same(answer.rotary_angles(positions, 10, 300.0), want, within=DIGITS_OF_FLOAT32)


HALF_TYPES = (torch.float16, torch.bfloat16)
# A row of d_head 6 at angles of a right turn, or of a third of two: who is where, by index
QUARTERS = [[0.0, 0.0, 0.0], [math.pi / 2, 0.0, 0.0], [0.0, math.pi / 2, 0.0],
            [0.0, 0.0, math.pi / 2], [math.pi, -math.pi / 2, 0.0]]  # fmt: skip
ONES_TO_SIX = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]] * 5
OF_PAIRS = [[1, 2, 3, 4, 5, 6], [-2, 1, 3, 4, 5, 6], [1, 2, -4, 3, 5, 6], [1, 2, 3, 4, -6, 5],
            [-1, -2, 4, -3, 5, 6]]  # fmt: skip
OF_HALVES = [[1, 2, 3, 4, 5, 6], [-4, 2, 3, 1, 5, 6], [1, -5, 3, 4, 2, 6], [1, 2, -6, 4, 5, 3],
             [-1, 5, 3, -4, -2, 6]]  # fmt: skip


def quarters(draw: Draw):
    return draw.tensor(ONES_TO_SIX), draw.tensor(QUARTERS, torch.float32)


@check("rotate_pairs", cites="The turned rows [*batch, n, d_head]: features (2i, 2i + 1)")
def test_rotate_pairs_turns_neighbours(answer, draw):
    """Catches the other layout, another order of the output, and the other direction."""
    same(answer.rotate_pairs(*quarters(draw)), draw.tensor(OF_PAIRS))


@check("rotate_halves", cites="The turned rows [*batch, n, d_head]: features (i, i + d_head / 2)")
def test_rotate_halves_turns_what_is_half_the_width_apart(answer, draw):
    """Catches the other layout, another order of the output, and the other direction."""
    same(answer.rotate_halves(*quarters(draw)), draw.tensor(OF_HALVES))


@check("rotate_pairs")
def test_rotate_pairs_by_hand(answer, draw):
    angles = draw.tensor([[2.0, 0.02]], torch.float32)
    got = answer.rotate_pairs(draw.tensor([[3, 4, 1, 2]]), angles)
    same(got, draw.tensor([[-4.8856, 1.0633, 0.9598, 2.0196]]), within=printed(4))


@check("rotate_halves")
def test_rotate_halves_by_hand(answer, draw):
    angles = draw.tensor([[2.0, 0.02]], torch.float32)
    got = answer.rotate_halves(draw.tensor([[3, 4, 1, 2]]), angles)
    same(got, draw.tensor([[-2.1577, 3.9592, 2.3117, 2.0796]]), within=printed(4))


def keeps_lengths(answer, draw, name, want):
    x, angles = rows_and_angles(draw, 2)
    got = getattr(answer, name)(x, angles)
    same(got, want(x, angles), like=x)
    same((got * got).sum(-1), (x * x).sum(-1), label="the squared length of each row")


@check("rotate_pairs", cites="Turning changes no row's length")
def test_rotate_pairs_keeps_lengths(answer, draw):
    keeps_lengths(answer, draw, "rotate_pairs", rotate_pairs)


@check("rotate_halves", cites="Turning changes no row's length")
def test_rotate_halves_keeps_lengths(answer, draw):
    keeps_lengths(answer, draw, "rotate_halves", rotate_halves)


def rounds_once(answer, draw, name, want):
    """Compare where two large products nearly cancel: only what is rounded once has digits left."""
    for dtype in (torch.float16, torch.bfloat16):
        eps = torch.finfo(dtype).eps
        angles = draw.tensor([[math.pi / 4 + eps / 5, 3 * math.pi / 4 - eps / 3]] * 2)
        x = draw.tensor([[96.0] * 4, [-48.0] * 4], dtype)
        exactly = want(x, angles.float())
        with situation(f"{dtype}, where two products nearly cancel"):
            same(getattr(answer, name)(x, angles.float()), exactly.to(dtype),
                 within=Tolerance(4 * eps, 1e-4))  # fmt: skip


@check("rotate_pairs", about="dtypes", cites="It is worked out in float32 at least")
def test_rotate_pairs_rounds_once(answer, draw):
    rounds_once(answer, draw, "rotate_pairs", rotate_pairs)


@check("rotate_halves", about="dtypes", cites="It is worked out in float32 at least")
def test_rotate_halves_rounds_once(answer, draw):
    rounds_once(answer, draw, "rotate_halves", rotate_halves)


@check("pairs_to_halves", cites="The same rows in another order")
def test_pairs_to_halves_by_index(answer, draw):
    weight = draw.tensor([[row, 100 + row] for row in range(12)])
    order = [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]
    want = draw.tensor([[row, 100 + row] for row in order])
    same(answer.pairs_to_halves(weight, 2), want)


@reference
def scores_of_heads(rotate, x, w_q, w_k, n_heads):
    """The scores of every head of a sequence, by what turns, a function of this file."""
    d_head = len(w_q) // n_heads
    angles = rotary_angles(torch.arange(len(x), device=x.device), d_head)
    query, key = (
        torch.stack([rotate(part, angles) for part in (x @ w.T).split(d_head, -1)])
        for w in (w_q, w_k)
    )
    return query @ key.mT / d_head**0.5


@check("pairs_to_halves", about="calls", cites=("A weight that was trained", "Row r makes"))
@vary("n_heads", [1, 3])
def test_pairs_to_halves_keeps_the_scores(answer, draw, n_heads):
    """Compare the scores of two converted weights, turned by halves, with those of before."""
    x, scale = draw(5, 7), 7**-0.5
    w_q, w_k = draw(6 * n_heads, 7, scale=scale), draw(6 * n_heads, 7, scale=scale)
    before = scores_of_heads(rotate_pairs, *map(exact, (x, w_q, w_k)), n_heads)
    halves = [answer.pairs_to_halves(w, n_heads) for w in (w_q, w_k)]
    for got, w in zip(halves, (w_q, w_k), strict=True):
        same(got, pairs_to_halves(w, n_heads))
    after = scores_of_heads(rotate_halves, *map(exact, (x, *halves)), n_heads)
    same(after, before, label="the scores after both weights were converted")


@check("rotary_scores")
def test_rotary_scores_by_hand(answer, draw):
    x = draw.tensor([[1, 0], [1, 0]])
    places = draw.tensor([5, 6], torch.int64), draw.tensor([3, 4], torch.int64)
    want = draw.tensor([[-0.2943, 0.3821], [-0.7000, -0.2943]])
    same(answer.rotary_scores(x, x, *places), want, within=printed(4))


@check("rotary_scores", about="calls", cites="The scores know the distance")
@vary("shift", [100, -37, 0.5])
def test_rotary_scores_know_the_distance_only(answer, draw, shift):
    query, key, query_at, key_at = placed(draw, 2)
    want = rotary_scores(*map(exact, (query, key)), query_at, key_at)
    same(answer.rotary_scores(query, key, query_at, key_at), want, like=query)
    moved = answer.rotary_scores(query, key, query_at + shift, key_at + shift)
    same(moved, want.to(query.dtype), within=printed(3),
         label=f"the scores after all positions moved by {shift}")  # fmt: skip


@check("rotary_scores", cites="Each is turned by the angles of its own positions")
def test_rotary_scores_of_one_new_word(answer, draw):
    """Catches positions that are counted anew: a decoder asks with one query, at a late place."""
    query, key, *_ = placed(draw, 2, q=1, k=7)
    query_at, key_at = draw.tensor([6], torch.int64), draw.tensor(range(7), torch.int64)
    want = rotary_scores(*map(exact, (query, key)), query_at, key_at)
    same(answer.rotary_scores(query, key, query_at, key_at), want, like=query)


@check("rotary_scores", cites="Each is turned by the angles of its own positions")
def test_rotary_scores_far_out(answer, draw):
    """Catches angles with too few digits: float32 leaves an angle of 5000 to about 0.0005."""
    query, key, *_ = placed(draw, q=3, k=5, pairs=7)
    query_at = draw.tensor([5003, 4999, 4097], torch.int64)
    key_at = draw.tensor([4096, 4099, 5001, 4801, 4803], torch.int64)
    want = rotary_scores(*map(exact, (query, key)), query_at, key_at)
    same(answer.rotary_scores(query, key, query_at, key_at), want.to(query.dtype),
         within=Tolerance(1e-3, 5e-3))  # fmt: skip


@check("rotary_scores", about="dtypes", cites="Each is turned by the angles of its own positions")
@vary("dtype", HALF_TYPES)
def test_rotary_scores_far_out_in_half_precision(answer, draw, dtype):
    """Catches positions in the dtype of the queries, which has no digits for 4099."""
    query, key, *_ = placed(draw.using(dtype), q=3, k=5, pairs=7)
    query_at = draw.tensor([5003, 4999, 4097], torch.int64)
    key_at = draw.tensor([4096, 4099, 5001, 4801, 4803], torch.int64)
    want = rotary_scores(*map(exact, (query, key)), query_at, key_at)
    same(answer.rotary_scores(query, key, query_at, key_at), want, like=query)
