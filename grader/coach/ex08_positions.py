"""The coach of chapter 8."""

from __future__ import annotations

import math

import torch

from grader.coach import Task
from grader.coach.common import Common
from grader.pictures.drawings import draws

TRACK = "beyond"

ANGLE = 'chapter 8, The formula: "angle(p, i) = p * base^(-2i / d_head)"'
TURN = 'chapter 8, The formula: "(u, v)  ->  (u cos a - v sin a,  u sin a + v cos a)"'
COUNTER = 'chapter 8, The formula: "Turn it about 0, counter-clockwise"'
SLOWER = 'chapter 8, The formula: "every later pair more slowly"'
KEYS = 'chapter 8, The formula: "Do the same with the keys, and then score as in chapter 2."'
DISTANCE = 'chapter 8, The formula: "by the distance, wherever they stand"'
LENGTH = 'chapter 8, The formula: "A turn changes no length"'
GIVEN = 'chapter 8, The formula: "Positions are given, not counted."'
DIGITS = 'chapter 8, The formula: "An angle of 4096 needs its digits"'
LAYOUTS = 'chapter 8, Which features make a pair: "Either is right, and each needs weights"'
ORDER = 'chapter 8, Which features make a pair: "But it is only an order of features"'
ROW = 'chapter 8, Shapes: "Every word of a place is turned by its row"'
ENTRY = 'the stub of rotary_angles: "entry (p, i) is positions[p] * base^(-2i / d_head)"'
ANY_ORDER = 'the stub of rotary_angles: "Positions may come in any order"'
NEIGHBOURS = 'the stub of rotate_pairs: "features (2i, 2i + 1) of row p are turned"'
APART = 'the stub of rotate_halves: "features (i, i + d_head / 2) of row p are turned"'
NEW_ROWS = 'the stub of pairs_to_halves: "row i is the old row 2i"'
OF_HEADS = 'the stub of pairs_to_halves: "the first rows / n_heads rows belong to head 0"'
LINEAR = 'the stub of pairs_to_halves: "which multiplies by its transpose"'
OWN = 'the stub of rotary_scores: "Each is turned by the angles of its own positions"'
SCALE = 'chapter 2, The formula: "scaled = Q K^T / sqrt(d_k)"'
ROOT = 'the stub of scale_scores: "neither the width itself nor its square"'
COUNTED = 'chapter 8, If you want the sources: "It counts the pairs from 1"'


def _angles_fit(positions, d_head):
    if positions.dim() != 1 or d_head < 2 or d_head % 2:
        raise ValueError(f"do not fit: {tuple(positions.shape)} and {d_head}")


def _rows_fit(x, angles):
    if x.dim() < 2 or x.shape[-1] % 2 or angles.shape != (x.shape[-2], x.shape[-1] // 2):
        raise ValueError(f"do not fit: {tuple(x.shape)} and {tuple(angles.shape)}")


def _weight_fits(weight, n_heads):
    if weight.dim() != 2 or n_heads < 1 or len(weight) % (2 * n_heads):
        raise ValueError(f"do not fit: {tuple(weight.shape)} and {n_heads}")


def _scores_fit(query, key, query_positions, key_positions, base=10000.0):
    if query.shape[:-2] != key.shape[:-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"do not fit: {tuple(query.shape)} and {tuple(key.shape)}")
    for x, positions in ((query, query_positions), (key, key_positions)):
        if x.dim() < 2 or x.shape[-1] % 2 or positions.shape != (x.shape[-2],):
            raise ValueError(f"do not fit: {tuple(x.shape)} and {tuple(positions.shape)}")


rotary_angles = Task(
    "rotary_angles",
    points=3,
    difficulty=2,
    minutes=10,
    hints=(
        "Each pair has a rate, base^(-2i / d_head), the same at all positions. The angle is the "
        "position times the rate.",
        "Make the rates out of the even numbers 0, 2, ..., d_head - 2, in float32 and on the "
        "device of the positions. Then every position meets every rate.",
        "`torch.arange(0, d_head, 2)`, with dtype= and device=, is [d_head / 2]. A column of "
        "positions, `positions.float()[:, None]`, is [n, 1]; their product is [n, d_head / 2].",
    ),
)


def _fit_angles(positions, d_head, base=10000.0):
    _angles_fit(positions, d_head)


_angles_slip = rotary_angles.refusing(_fit_angles)


def _even(positions, d_head):
    return torch.arange(0, d_head, 2, dtype=torch.float32, device=positions.device)


def _angles(positions, d_head, base=10000.0):
    return positions.float()[:, None] * base ** (-_even(positions, d_head) / d_head)


@_angles_slip(GIVEN)
def positions_from_one(positions, d_head, base=10000.0):
    """You counted the positions from 1: take them as they are given."""
    return _angles(positions + 1, d_head, base)


@_angles_slip(GIVEN)
def positions_counted(positions, d_head, base=10000.0):
    """You counted the rows, 0, 1, 2, ...: take the positions that are given."""
    return _angles(torch.arange(len(positions), device=positions.device), d_head, base)


@_angles_slip(GIVEN)
def positions_from_the_first(positions, d_head, base=10000.0):
    """You took the first position off all of them, so that they start at 0 again: a decoder goes on
    where it is."""
    return _angles(positions - positions[0], d_head, base)


@_angles_slip(ANY_ORDER)
def positions_sorted(positions, d_head, base=10000.0):
    """You put the positions in order: row p belongs to positions[p]."""
    return _angles(positions.sort().values, d_head, base)


@_angles_slip(ENTRY)
def two_missing(positions, d_head, base=10000.0):
    """The 2 is missing: your exponent is -i / d_head, as if the base were its root, 100. It is
    -2i / d_head."""
    return _angles(positions, d_head, base**0.5)


@_angles_slip(ENTRY)
def two_twice(positions, d_head, base=10000.0):
    """The 2 came twice: your exponent is -4i / d_head. The even numbers are 2i already, or you
    divided i by half of d_head and doubled it."""
    return _angles(positions, d_head, base**2)


@_angles_slip(ENTRY)
def base_ignored(positions, d_head, base=10000.0):
    """You always take a base of 10000: that is only its default, use `base`."""
    return _angles(positions, d_head) + 0 * base


@_angles_slip(GIVEN)
def positions_looked_up(positions, d_head, base=10000.0):
    """You look the positions up in a table, as row numbers: a negative one is then counted from its
    end, and a fraction is cut off. Multiply the positions that are given."""
    most = int(positions.max()) + 1 if len(positions) else 1
    table = _angles(torch.arange(max(most, 1)), d_head, base)
    # on the CPU, for an index out of range breaks a GPU for the judge, too
    return table[positions.long().cpu()].to(positions.device)


@_angles_slip(SLOWER)
def rates_upside_down(positions, d_head, base=10000.0):
    """Later pairs turn faster in your answer: the exponent is negative, -2i / d_head."""
    return _angles(positions, d_head, 1 / base)


@_angles_slip(COUNTED)
def pairs_from_one(positions, d_head, base=10000.0):
    """You counted the pairs from 1, as the paper does, but without its i - 1: the first pair turns
    by 1 radian for each place."""
    return _angles(positions, d_head, base) * base ** (-2 / d_head)


@_angles_slip(ENTRY)
def rates_reach_the_base(positions, d_head, base=10000.0):
    """Your last pair has the rate 1 / base, as `linspace` makes it: the exponents go up in steps of
    2 / d_head, and end before -1."""
    steps = torch.linspace(0, 1, d_head // 2, device=positions.device)
    return positions.float()[:, None] * base**-steps


@_angles_slip(ENTRY)
def rate_of_each_feature(positions, d_head, base=10000.0):
    """There are d_head angles in each row: both features of a pair are turned by one angle, so
    there are d_head / 2."""
    every = torch.arange(d_head, device=positions.device)
    return positions.float()[:, None] * base ** (-every / d_head)


@_angles_slip(ENTRY)
def angles_side_by_side_twice(positions, d_head, base=10000.0):
    """Each angle is there twice, one half after the other, as some libraries keep them: here it is
    one for each pair, [n, d_head / 2]."""
    return torch.cat([_angles(positions, d_head, base)] * 2, -1)


@_angles_slip(ENTRY)
def angles_repeated(positions, d_head, base=10000.0):
    """Each angle is there twice in a row, once for each feature: here it is one for each pair,
    [n, d_head / 2]."""
    return _angles(positions, d_head, base).repeat_interleave(2, -1)


@_angles_slip(ROW)
def angles_on_their_side(positions, d_head, base=10000.0):
    """Rows and columns are swapped: a row belongs to a position, a column to a pair."""
    return _angles(positions, d_head, base).T


@_angles_slip(ENTRY)
def cosines(positions, d_head, base=10000.0):
    """These are cosines: return the angles, the turn is worked out later."""
    return _angles(positions, d_head, base).cos()


@_angles_slip(ENTRY)
def sines(positions, d_head, base=10000.0):
    """These are sines: return the angles, the turn is worked out later."""
    return _angles(positions, d_head, base).sin()


@_angles_slip(ENTRY)
def whole_turns(positions, d_head, base=10000.0):
    """You multiplied by 2 pi: at position 1 the first pair is turned by 1 radian, not by a whole
    turn."""
    return 2 * math.pi * _angles(positions, d_head, base)


@_angles_slip(ENTRY)
def degrees(positions, d_head, base=10000.0):
    """These are degrees: leave the angles in radians."""
    return _angles(positions, d_head, base).rad2deg()


@_angles_slip(ENTRY)
def angles_backwards(positions, d_head, base=10000.0):
    """Your angles are negative where they should be positive: the minus belongs to the exponent."""
    return -_angles(positions, d_head, base)


@_angles_slip(ENTRY)
def angles_within_a_turn(positions, d_head, base=10000.0):
    """You cut the angles down to one turn, as `%` does: the turn is the same, but the angle that
    is asked for is the position times the rate."""
    return _angles(positions, d_head, base) % (2 * math.pi)


@_angles_slip(DIGITS)
def angles_in_the_dtype_of_positions(positions, d_head, base=10000.0):
    """You worked in the dtype of the positions: float16 and bfloat16 lose the digits of the rates
    and of the angles. Make both float32 first."""
    if not positions.is_floating_point():
        return _angles(positions, d_head, base)
    rates = (base ** (-_even(positions, d_head) / d_head)).to(positions.dtype)
    return (positions[:, None] * rates).float()


@_angles_slip(ANY_ORDER)
def positions_made_whole(positions, d_head, base=10000.0):
    """You cut the positions to whole numbers: they may also lie between two of them."""
    return _angles(positions.long(), d_head, base)


rotate_pairs = Task(
    "rotate_pairs",
    points=4,
    difficulty=3,
    minutes=10,
    hints=(
        "Features 2i and 2i + 1 are a point (u, v). Turned by a, it is (u cos a - v sin a, "
        "u sin a + v cos a).",
        "Take all u out of the even features and all v out of the odd ones, in float32 at least. "
        "Turn them all at once, and put them back alternately.",
        "`x[..., 0::2]` and `x[..., 1::2]` are [*batch, n, d_head / 2], like the cosines [n, "
        "d_head / 2]. torch.stack on a new last dimension and `flatten(-2)` put them back.",
    ),
)
_pairs_slip = rotate_pairs.refusing(_rows_fit)


def _wide(x):
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _turn(u, v, angles):
    cos, sin = angles.cos(), angles.sin()
    return u * cos - v * sin, u * sin + v * cos


def _alternately(u, v, x):
    return torch.stack((u, v), -1).flatten(-2).to(x.dtype)


def _even_odd(x):
    return _wide(x[..., 0::2]), _wide(x[..., 1::2])


def _pairs(x, angles):
    return _alternately(*_turn(*_even_odd(x), _wide(angles)), x)


def _halves(x, angles):
    return torch.cat(_turn(*_wide(x).chunk(2, -1), _wide(angles)), -1).to(x.dtype)


@_pairs_slip(LAYOUTS)
def halves_for_pairs(x, angles):
    """You turned features that are half the width apart, (i, i + d_head / 2): here neighbours are a
    pair, (2i, 2i + 1). That is rotate_halves."""
    return _halves(x, angles)


@_pairs_slip(COUNTER)
def pairs_turned_back(x, angles):
    """You turned the other way: the minus belongs to v sin a in the first feature, and the second
    one is a sum."""
    return _pairs(x, -angles)


@_pairs_slip(TURN)
def pairs_without_a_minus(x, angles):
    """The minus is missing: the first feature becomes u cos a - v sin a. Your rows change their
    lengths."""
    u, v = _even_odd(x)
    cos, sin = angles.cos(), angles.sin()
    return _alternately(u * cos + v * sin, u * sin + v * cos, x)


@_pairs_slip(TURN)
def pairs_mirrored(x, angles):
    """You mirrored the pairs: the second feature becomes u sin a + v cos a, both with a plus."""
    u, v = _even_odd(x)
    cos, sin = angles.cos(), angles.sin()
    return _alternately(u * cos - v * sin, -u * sin - v * cos, x)


@_pairs_slip(TURN)
def pairs_cosine_for_sine(x, angles):
    """Cosine and sine have changed places: at an angle of 0 nothing is to change."""
    u, v = _even_odd(x)
    cos, sin = angles.sin(), angles.cos()
    return _alternately(u * cos - v * sin, u * sin + v * cos, x)


@_pairs_slip(NEIGHBOURS)
def pairs_put_back_as_halves(x, angles):
    """The pairs are turned, but put back as two halves, as `cat` does: u and v go back to where
    they were, alternately."""
    return torch.cat(_turn(*_even_odd(x), _wide(angles)), -1).to(x.dtype)


@_pairs_slip(NEIGHBOURS)
def halves_put_back_as_pairs(x, angles):
    """You took the halves for u and v, and put them back alternately: u is every even feature, v
    every odd one."""
    return _alternately(*_turn(*_wide(x).chunk(2, -1), _wide(angles)), x)


def _rotated(x):
    u, v = _even_odd(x)
    return torch.stack((-v, u), -1).flatten(-2)


def _rotated_half(x):
    u, v = _wide(x).chunk(2, -1)
    return torch.cat((-v, u), -1)


@_pairs_slip(NEIGHBOURS)
def pairs_by_angles_of_halves(x, angles):
    """Neighbours are turned, but by two different angles: you put the angles side by side twice, as
    it is done for halves. Use repeat_interleave(2, -1), or one angle for both."""
    twice = torch.cat([_wide(angles)] * 2, -1)
    return (_wide(x) * twice.cos() + _rotated(x) * twice.sin()).to(x.dtype)


@_pairs_slip(NEIGHBOURS)
def pairs_by_rotate_half(x, angles):
    """The angles lie as pairs need them, but what you add with the sine comes from half the width
    away, as `rotate_half` makes it: it is the neighbour."""
    twice = _wide(angles).repeat_interleave(2, -1)
    return (_wide(x) * twice.cos() + _rotated_half(x) * twice.sin()).to(x.dtype)


@_pairs_slip(TURN)
def pairs_second_uses_the_first(x, angles):
    """The second feature was made of the first one after it had been changed: keep the old u until
    both are done."""
    u, v = _even_odd(x)
    cos, sin = angles.cos(), angles.sin()
    u = u * cos - v * sin
    return _alternately(u, u * sin + v * cos, x)


@_pairs_slip(LENGTH)
def angles_added_to_pairs(x, angles):
    """You added sines and cosines to the features, as chapter 7 does: here the features are
    turned."""
    return (_wide(x) + torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)).to(x.dtype)


@_pairs_slip(NEIGHBOURS)
def pairs_of_the_first_half_only(x, angles):
    """Only the first features are turned, and the others are left as they were, as some models have
    it: here all are turned."""
    rest = angles.clone()
    rest[..., (angles.shape[-1] + 1) // 2 :] = 0
    return _pairs(x, rest)


@_pairs_slip(TURN)
def pairs_as_they_came(x, angles):
    """The rows came back as they were: turn each pair by its angle."""
    return _pairs(x, 0 * angles)


@_pairs_slip(TURN)
def pairs_turned_twice(x, angles):
    """You turned twice as far: each pair once, by its angle."""
    return _pairs(x, 2 * angles)


@_pairs_slip(ROW)
def pairs_by_the_first_row(x, angles):
    """Every row is turned by the angles of the first one: row p has angles of its own."""
    return _pairs(x, angles[:1].expand_as(angles))


@_pairs_slip(NEIGHBOURS)
def pairs_by_the_first_angle(x, angles):
    """All pairs of a row are turned by its first angle: each pair has its own."""
    return _pairs(x, angles[:, :1].expand_as(angles))


@_pairs_slip(DIGITS)
def pairs_by_rounded_angles(x, angles):
    """You rounded the angles to the dtype of x: bfloat16 and float16 have no digits for an angle in
    the thousands. Work in float32 at least, and round the result."""
    return _pairs(x, angles.to(x.dtype))


@_pairs_slip(DIGITS)
def pairs_in_the_dtype_of_x(x, angles):
    """All steps are taken in the dtype of x: bfloat16 and float16 have no digits for an angle in
    the thousands. Work in float32 at least, and round the result alone."""
    u, v = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.to(x.dtype).cos(), angles.to(x.dtype).sin()
    return torch.stack((u * cos - v * sin, u * sin + v * cos), -1).flatten(-2)


@_pairs_slip(DIGITS)
def pairs_by_rounded_sines(x, angles):
    """You rounded sines and cosines to the dtype of x before you multiplied: work in float32 at
    least, and round the result."""
    u, v = x[..., 0::2], x[..., 1::2]
    cos, sin = _wide(angles).cos().to(x.dtype), _wide(angles).sin().to(x.dtype)
    return torch.stack((u * cos - v * sin, u * sin + v * cos), -1).flatten(-2)


rotate_halves = Task(
    "rotate_halves",
    points=2,
    difficulty=2,
    minutes=5,
    hints=(
        "The turn is the same as in `rotate_pairs`: only where u and v are found differs.",
        "Let u be the first half of the features and v the second, and put the turned halves back "
        "side by side.",
        "`x.chunk(2, -1)` gives two tensors [*batch, n, d_head / 2]; torch.cat on dimension -1 "
        "makes [*batch, n, d_head] of the turned ones.",
    ),
)
_halves_slip = rotate_halves.refusing(_rows_fit)


def _joined(u, v, x):
    return torch.cat((u, v), -1).to(x.dtype)


@_halves_slip(LAYOUTS)
def pairs_for_halves(x, angles):
    """You turned neighbours, (2i, 2i + 1): here a pair is half the width apart,
    (i, i + d_head / 2). That is rotate_pairs."""
    return _pairs(x, angles)


@_halves_slip(APART)
def gathered_the_other_way(x, angles):
    """The features were put in pairs in the order that takes pairs apart: i and i + d_head / 2 have
    to come side by side, turned, and then each goes back to where it was."""
    d = x.shape[-1]
    order = torch.cat((torch.arange(0, d, 2), torch.arange(1, d, 2))).to(x.device)
    return _pairs(x[..., order], angles)[..., order.argsort()]


@_halves_slip(COUNTER)
def halves_turned_back(x, angles):
    """You turned the other way, as with (v, -u) for the half that is turned: it is (-v, u)."""
    return _halves(x, -angles)


@_halves_slip(TURN)
def halves_without_a_minus(x, angles):
    """The minus is missing, as with (v, u) for the half that is turned: it is (-v, u). Your rows
    change their lengths."""
    u, v = _wide(x).chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return _joined(u * cos + v * sin, u * sin + v * cos, x)


@_halves_slip(TURN)
def halves_mirrored(x, angles):
    """You mirrored the pairs: the second half becomes u sin a + v cos a, both with a plus."""
    u, v = _wide(x).chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return _joined(u * cos - v * sin, -u * sin - v * cos, x)


@_halves_slip(TURN)
def halves_cosine_for_sine(x, angles):
    """Cosine and sine have changed places: at an angle of 0 nothing is to change."""
    u, v = _wide(x).chunk(2, -1)
    cos, sin = angles.sin(), angles.cos()
    return _joined(u * cos - v * sin, u * sin + v * cos, x)


@_halves_slip(APART)
def halves_swapped(x, angles):
    """The two halves came back the wrong way round: the first half stays first."""
    u, v = _turn(*_wide(x).chunk(2, -1), _wide(angles))
    return _joined(v, u, x)


@_halves_slip(APART)
def halves_by_angles_of_pairs(x, angles):
    """The two features of a pair are turned by different angles: you repeated each angle twice in a
    row, as it is done for neighbours. Put the angles side by side twice."""
    twice = _wide(angles).repeat_interleave(2, -1)
    return (_wide(x) * twice.cos() + _rotated_half(x) * twice.sin()).to(x.dtype)


@_halves_slip(APART)
def halves_by_neighbours(x, angles):
    """The angles lie as halves need them, but what you add with the sine comes from the neighbour:
    it comes from half the width away."""
    twice = torch.cat([_wide(angles)] * 2, -1)
    return (_wide(x) * twice.cos() + _rotated(x) * twice.sin()).to(x.dtype)


@_halves_slip(APART)
def converted_first(x, angles):
    """You put the features in another order and turned them: that is what `pairs_to_halves` does to
    the weights. Here the features stay where they are."""
    return _joined(*_turn(*_even_odd(x), _wide(angles)), x)


@_halves_slip(APART)
def halves_put_back_alternately(x, angles):
    """The halves are turned, but put back alternately: side by side, with `cat`."""
    return _alternately(*_turn(*_wide(x).chunk(2, -1), _wide(angles)), x)


@_halves_slip(APART)
def second_half_mirrored(x, angles):
    """You paired the first feature with the last one: it is features i and i + d_head / 2."""
    u, v = _wide(x).chunk(2, -1)
    u, v = _turn(u, v.flip(-1), _wide(angles))
    return _joined(u, v.flip(-1), x)


@_halves_slip(TURN)
def halves_second_uses_the_first(x, angles):
    """The second half was made of the first one after it had been changed: keep the old u until
    both are done."""
    u, v = _wide(x).chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    u = u * cos - v * sin
    return _joined(u, u * sin + v * cos, x)


@_halves_slip(APART)
def halves_of_the_first_half_only(x, angles):
    """Only some pairs are turned, and the others are left as they were, as some models have it:
    here all are turned."""
    rest = angles.clone()
    rest[..., (angles.shape[-1] + 1) // 2 :] = 0
    return _halves(x, rest)


@_halves_slip(TURN)
def halves_as_they_came(x, angles):
    """The rows came back as they were: turn each pair by its angle."""
    return _halves(x, 0 * angles)


@_halves_slip(DIGITS)
def halves_by_rounded_angles(x, angles):
    """You rounded the angles to the dtype of x: bfloat16 and float16 have no digits for an angle in
    the thousands. Work in float32 at least, and round the result."""
    return _halves(x, angles.to(x.dtype))


@_halves_slip(DIGITS)
def halves_in_the_dtype_of_x(x, angles):
    """All steps are taken in the dtype of x: bfloat16 and float16 have no digits for an angle in
    the thousands. Work in float32 at least, and round the result alone."""
    u, v = x.chunk(2, -1)
    cos, sin = angles.to(x.dtype).cos(), angles.to(x.dtype).sin()
    return torch.cat((u * cos - v * sin, u * sin + v * cos), -1)


@_halves_slip(DIGITS)
def halves_by_rounded_sines(x, angles):
    """You rounded sines and cosines to the dtype of x before you multiplied: work in float32 at
    least, and round the result."""
    u, v = x.chunk(2, -1)
    cos, sin = _wide(angles).cos().to(x.dtype), _wide(angles).sin().to(x.dtype)
    return torch.cat((u * cos - v * sin, u * sin + v * cos), -1)


pairs_to_halves = Task(
    "pairs_to_halves",
    points=4,
    difficulty=3,
    minutes=10,
    hints=(
        "Feature i of a head has to be what feature 2i was, and feature i + d_head / 2 what "
        "feature 2i + 1 was. Rows of the weight make features.",
        "Take the rows apart into heads, pairs, and first or second of a pair. Let the last two "
        "change places, and put the rows together again.",
        "`unflatten` on dimension 0 makes [n_heads, d_head / 2, 2, d_in] of the rows; transpose "
        "the two in the middle, and `flatten` the first three: [rows, d_in] again.",
    ),
)
_rows_slip = pairs_to_halves.refusing(_weight_fits)


@_rows_slip(NEW_ROWS)
def halves_to_pairs(weight, n_heads):
    """You went the other way, from halves to pairs: row i becomes the old row 2i, not the other way
    round."""
    return weight.unflatten(0, (n_heads, 2, -1)).transpose(1, 2).flatten(0, 2)


@_rows_slip(OF_HEADS)
def all_rows_as_one_head(weight, n_heads):
    """You put the rows in order as if there were one head: each head keeps its own rows, and is put
    in order by itself."""
    return torch.cat((weight[0::2], weight[1::2])) + 0 * n_heads


@_rows_slip(ORDER)
def rows_as_they_came(weight, n_heads):
    """The rows came back in their old order: in each head the even rows come first, then the odd
    ones."""
    return weight * 1 + 0 * n_heads


@_rows_slip(NEW_ROWS)
def odd_rows_first(weight, n_heads):
    """The odd rows came first: in each head the even rows make the first half."""
    return weight.unflatten(0, (n_heads, -1, 2)).flip(2).transpose(1, 2).flatten(0, 2)


@_rows_slip(LINEAR)
def columns_for_rows(weight, n_heads):
    """You put the columns in order: an nn.Linear keeps one row for each feature that it makes, so
    it is the rows."""
    order = torch.arange(weight.shape[1], device=weight.device)
    return weight[:, torch.cat((order[0::2], order[1::2]))] + 0 * n_heads


@_rows_slip(OF_HEADS)
def heads_alternately(weight, n_heads):
    """You took n_heads for the width of a head: it is how many there are, and each has rows /
    n_heads rows."""
    return weight.unflatten(0, (-1, n_heads)).transpose(0, 1).flatten(0, 1)


@_rows_slip(OF_HEADS)
def rows_dealt_out_to_heads(weight, n_heads):
    """You dealt the rows out to the heads in turn, row r to head r % n_heads: each head is one
    block of rows, and the first rows / n_heads rows are head 0."""
    dealt = weight.unflatten(0, (-1, n_heads))
    return torch.cat((dealt[0::2], dealt[1::2])).flatten(0, 1)


@_rows_slip(ORDER)
def turned_weight(weight, n_heads):
    """You turned the weight, as `rotate_half` does with features, and signs changed: only the order
    of the rows is to change."""
    u, v = weight.unflatten(0, (n_heads, 2, -1)).unbind(1)
    return torch.stack((-v, u), 1).flatten(0, 2)


@_rows_slip(NEW_ROWS)
def heads_not_joined(weight, n_heads):
    """The heads still have a dimension of their own: the weight of an nn.Linear is a matrix, like
    the one that came."""
    return weight.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).flatten(1, 2)


rotary_scores = Task(
    "rotary_scores",
    points=3,
    difficulty=2,
    minutes=10,
    hints=(
        "Turn the queries by their positions and the keys by theirs, then score. The difference of "
        "the angles is what is left of the positions.",
        "You have all parts: the angles of this chapter, its turn of pairs, and the scaled scores "
        "of chapter 2.",
        "`rotary_angles(query_positions, d, base)` is [q, d / 2], that of the keys [k, d / 2]; "
        "`rotate_pairs` keeps shapes, and `scaled_scores` makes [*batch, q, k].",
    ),
)
_scores_slip = rotary_scores.refusing(_scores_fit)


def _scores(query, key, scale=None):
    return query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)


def _placed(x, positions, base):
    return _pairs(x, _angles(positions, x.shape[-1], base))


@_scores_slip(KEYS)
def places_ignored(query, key, query_positions, key_positions, base=10000.0):
    """These are the scores of chapter 2: turn queries and keys by their positions first."""
    return _scores(query, key) + 0 * (query_positions.sum() + key_positions.sum()) * base


@_scores_slip(KEYS)
def queries_turned_only(query, key, query_positions, key_positions, base=10000.0):
    """The keys are not turned: so a score knows where its query stands, and not how far the key
    is."""
    return _scores(_placed(query, query_positions, base), _placed(key, 0 * key_positions, base))


@_scores_slip(KEYS)
def keys_turned_only(query, key, query_positions, key_positions, base=10000.0):
    """The queries are not turned: so a score knows where its key stands, and not how far the query
    is."""
    return _scores(_placed(query, 0 * query_positions, base), _placed(key, key_positions, base))


@_scores_slip(OWN)
def keys_by_the_default_base(query, key, query_positions, key_positions, base=10000.0):
    """`base` goes to the angles of the queries only, so the keys are always turned with 10000: hand
    it on to both."""
    return _scores(_placed(query, query_positions, base), _placed(key, key_positions, 10000.0))


@_scores_slip(OWN)
def queries_by_the_default_base(query, key, query_positions, key_positions, base=10000.0):
    """`base` goes to the angles of the keys only, so the queries are always turned with 10000: hand
    it on to both."""
    return _scores(_placed(query, query_positions, 10000.0), _placed(key, key_positions, base))


@_scores_slip(LAYOUTS)
def scores_of_halves(query, key, query_positions, key_positions, base=10000.0):
    """You turned with `rotate_halves`: these scores are those of `rotate_pairs`."""
    d = query.shape[-1]
    query = _halves(query, _angles(query_positions, d, base))
    return _scores(query, _halves(key, _angles(key_positions, d, base)))


@_scores_slip(GIVEN)
def both_counted_from_zero(query, key, query_positions, key_positions, base=10000.0):
    """You counted queries and keys from 0: their positions are given."""
    places = [torch.arange(len(at), device=at.device) for at in (query_positions, key_positions)]
    return _scores(_placed(query, places[0], base), _placed(key, places[1], base))


@_scores_slip(GIVEN)
def queries_counted_from_zero(query, key, query_positions, key_positions, base=10000.0):
    """You counted the queries from 0: in a decoder that works on one new word at a time, every word
    would stand at 0."""
    places = torch.arange(len(query_positions), device=query.device)
    return _scores(_placed(query, places, base), _placed(key, key_positions, base))


@_scores_slip(GIVEN)
def keys_counted_from_zero(query, key, query_positions, key_positions, base=10000.0):
    """You counted the keys from 0: their positions are given."""
    places = torch.arange(len(key_positions), device=query.device)
    return _scores(_placed(query, query_positions, base), _placed(key, places, base))


@_scores_slip(GIVEN)
def each_from_its_first(query, key, query_positions, key_positions, base=10000.0):
    """Queries and keys each start at 0 again: whoever takes the first position off has to take the
    same one off both."""
    query = _placed(query, query_positions - query_positions[0], base)
    return _scores(query, _placed(key, key_positions - key_positions[0], base))


@_scores_slip(OWN)
def keys_from_one(query, key, query_positions, key_positions, base=10000.0):
    """Your distances are off by one: queries and keys are counted from the same place."""
    return _scores(_placed(query, query_positions, base), _placed(key, key_positions + 1, base))


@_scores_slip(OWN)
def queries_from_one(query, key, query_positions, key_positions, base=10000.0):
    """Your distances are off by one: queries and keys are counted from the same place."""
    return _scores(_placed(query, query_positions + 1, base), _placed(key, key_positions, base))


@_scores_slip(OWN)
def positions_swapped(query, key, query_positions, key_positions, base=10000.0):
    """The positions have changed places: query_positions are for the queries, key_positions for the
    keys."""
    if len(query_positions) != len(key_positions):
        raise ValueError(f"{len(key_positions)} positions for {len(query_positions)} queries")
    return _scores(_placed(query, key_positions, base), _placed(key, query_positions, base))


@_scores_slip(DISTANCE)
def turned_apart(query, key, query_positions, key_positions, base=10000.0):
    """You turned the keys the other way: then the score knows the sum of the positions. Turn both
    the same way."""
    return _scores(_placed(query, query_positions, base), _placed(key, -key_positions, base))


@_scores_slip(COUNTER)
def both_turned_back(query, key, query_positions, key_positions, base=10000.0):
    """You turned queries and keys the other way: a key behind then looks like a key ahead."""
    return _scores(_placed(query, -query_positions, base), _placed(key, -key_positions, base))


@_scores_slip(ANGLE)
def scores_of_base_10000(query, key, query_positions, key_positions, base=10000.0):
    """You always take a base of 10000: hand `base` on to `rotary_angles`."""
    query = _placed(query, query_positions, 10000.0)
    return _scores(query, _placed(key, key_positions, 10000.0)) + 0 * base


@_scores_slip(ANGLE)
def scores_of_the_root_of_the_base(query, key, query_positions, key_positions, base=10000.0):
    """The 2 is missing in the exponents, as if the base were 100: they are -2i / d."""
    query = _placed(query, query_positions, base**0.5)
    return _scores(query, _placed(key, key_positions, base**0.5))


@_scores_slip(SCALE)
def turned_not_scaled(query, key, query_positions, key_positions, base=10000.0):
    """The scale is missing: divide the scores by the square root of d."""
    query = _placed(query, query_positions, base)
    return _scores(query, _placed(key, key_positions, base), 1.0)


@_scores_slip(ROOT)
def turned_and_divided_by_d(query, key, query_positions, key_positions, base=10000.0):
    """You divided by d, or scaled twice: divide once, by the square root of d."""
    d, query = query.shape[-1], _placed(query, query_positions, base)
    return _scores(query, _placed(key, key_positions, base), 1 / d)


@_scores_slip(SCALE)
def scaled_by_the_number_of_pairs(query, key, query_positions, key_positions, base=10000.0):
    """You scaled by the root of the number of pairs: it is the width, d."""
    d, query = query.shape[-1], _placed(query, query_positions, base)
    return _scores(query, _placed(key, key_positions, base), (d / 2) ** -0.5)


@_scores_slip(DIGITS)
def positions_in_the_dtype_of_the_queries(query, key, query_positions, key_positions, base=10000.0):
    """You brought the positions to the dtype of the queries, and float16 and bfloat16 have no
    digits for 4099: `rotary_angles` takes them as they are."""
    at = query_positions.to(query.dtype), key_positions.to(query.dtype)
    return _scores(_placed(query, at[0], base), _placed(key, at[1], base))


@_scores_slip(GIVEN)
def scores_of_whole_positions(query, key, query_positions, key_positions, base=10000.0):
    """You cut the positions to whole numbers: they may also lie between two of them."""
    at = query_positions.long(), key_positions.long()
    return _scores(_placed(query, at[0], base), _placed(key, at[1], base))


@_scores_slip(DISTANCE)
def distance_without_its_sign(query, key, query_positions, key_positions, base=10000.0):
    """Where a key stands behind its query, you turned by the distance without its sign: before and
    behind are not alike, so turn by the difference as it is."""
    d, far = query.shape[-1], (query_positions.float()[:, None] - key_positions.float()).abs()
    angles = far[..., None] * base ** (-_even(query_positions, d) / d)  # [q, k, d / 2]
    (qu, qv), (ku, kv) = (x.unflatten(-1, (-1, 2)).unbind(-1) for x in (query, key))
    qu, qv, ku, kv = qu.unsqueeze(-2), qv.unsqueeze(-2), ku.unsqueeze(-3), kv.unsqueeze(-3)
    turned = (qu * ku + qv * kv) * angles.cos() + (qu * kv - qv * ku) * angles.sin()
    return (turned.sum(-1) * d**-0.5).to(query.dtype)


@_scores_slip(DISTANCE)
def distances_added(query, key, query_positions, key_positions, base=10000.0):
    """You added the distances to the scores: the distance comes in by turning queries and keys."""
    far = query_positions[:, None] - key_positions
    return _scores(query, key) + (far / base).to(query.dtype)


@_scores_slip(KEYS)
def turned_and_softmaxed(query, key, query_positions, key_positions, base=10000.0):
    """These are weights, each row sums to 1: stop at the scaled scores."""
    query = _placed(query, query_positions, base)
    return torch.softmax(_scores(query, _placed(key, key_positions, base)), -1)


# What the chapter's own differences show

FINDINGS = (
    Common(
        "angles_are_not_float32",
        lambda found: (
            found.kind == "dtype"
            and found.expected.dtype == torch.float32
            and found.actual.dtype in (torch.float16, torch.bfloat16)
        ),
        "This has to be float32: angles are, whatever the dtype of the positions is, and turned "
        "rows are if x is.",
    ),
)


# What `grader show` draws


def _places(sketch, n=9):
    return sketch.words or [f"place {place}" for place in range(n)]


def _pair_names(pairs):
    return [f"pair {i}" for i in range(pairs)]


@draws(rotary_angles)
def draw_rotary_angles(sketch):
    """Fast on the left, slow on the right: the angles of each place, in radians."""
    rows = _places(sketch)
    sketch.row("A full circle is 6.28; d_head is 8, and the base 10000.")
    angles = sketch.call("rotary_angles", torch.arange(len(rows)), 8)
    sketch.draw("angles", angles, rows, _pair_names(4))


def _seen_from_above(points, size=13):
    """Mark points [n, 2] in a table that is seen from above: u to the right, v upwards."""
    table = torch.zeros(size, size, dtype=torch.bool)
    places = ((points.double().clamp(-1, 1) + 1) / 2 * (size - 1)).round().long()
    table[size - 1 - places[:, 1], places[:, 0]] = True
    return table


def _circles(sketch, name, pairs, base):
    """Draw for each pair where the point (1, 0) comes to, place after place."""
    d_head, n = 2 * len(pairs), len(_places(sketch, 12))
    angles = torch.arange(float(n))[:, None] * base ** (-torch.arange(0, d_head, 2) / d_head)
    start = torch.zeros(n, d_head)
    start[:, [u for u, _ in pairs]] = 1.0
    for i, (u, v) in enumerate(pairs):

        def marked(turn, given, at=(u, v)):
            out = turn(*given)
            fits = isinstance(out, torch.Tensor) and out.shape == given[0].shape
            return _seen_from_above(out.detach()[:, list(at)].nan_to_num()) if fits else out

        seen = sketch.use(name, marked, start, angles)
        sketch.draw(f"pair {i}", seen, "", "", scale="mask", made=f"features {u} and {v}")


@draws(rotate_pairs)
def draw_rotate_pairs(sketch):
    """Circles: where the point (1, 0) of each pair stands at the first places."""
    sketch.row(f"Places 0 to {len(_places(sketch, 12)) - 1}, seen from above; base 100.")
    _circles(sketch, "rotate_pairs", [(0, 1), (2, 3), (4, 5)], 100.0)


@draws(rotate_halves)
def draw_rotate_halves(sketch):
    """The same circles, of features that are half the width apart."""
    sketch.row(f"Places 0 to {len(_places(sketch, 12)) - 1}, seen from above; base 100.")
    _circles(sketch, "rotate_halves", [(0, 3), (1, 4), (2, 5)], 100.0)


@draws(pairs_to_halves)
def draw_pairs_to_halves(sketch):
    """Where each row of a weight goes: two heads, six rows each."""
    old = torch.stack((torch.arange(12.0), torch.arange(12) // 6), -1)
    sketch.row("Each row holds its own old number, and its head.")
    sketch.draw("pairs", old.T, ["row", "head"], range(12), scale="plain", digits=0)
    moved = sketch.use("pairs_to_halves", lambda f, given: f(*given).T, old, 2)
    sketch.draw("halves", moved, ["row", "head"], range(12), scale="plain", digits=0, under=True)


@draws(rotary_scores)
def draw_rotary_scores(sketch):
    """All words alike: the scores show the distance, and nothing else."""
    rows = _places(sketch)
    alike = torch.ones(len(rows), 8)
    places = torch.arange(len(rows))
    sketch.row("Every query and every key is (1, 1, ..., 1), 8 wide; base 100.")
    scores = sketch.call("rotary_scores", alike, alike, places, places, base=100.0)
    sketch.draw("scores", scores, rows, rows)
    sketch.note("Along a diagonal the distance is the same, and so is the score.")
