"""Chapter 2: scaled scores by value, and the spread of raw ones by measuring it."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.suite import (
    Case,
    Draw,
    Finding,
    Rule,
    check,
    checks_by_law,
    holds,
    in_any_words,
    plain,
    printed,
    reference,
    same,
    situation,
    vary,
)
from grader.suite.compare import at_place
from grader.suite.devices import on_a_gpu
from grader.suite.queries_and_keys import query_key, query_key_refusals


@reference
def scale_scores(scores, d_k):
    """Scores over the square root of the width."""
    return scores * float(d_k) ** -0.5


@reference
def scaled_scores(query, key):
    """Every query with every key, over the square root of the width."""
    if query.shape[:-2] != key.shape[:-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"the shapes do not fit: {tuple(query.shape)} and {tuple(key.shape)}")
    return scale_scores(torch.einsum("...qd,...kd->...qk", query, key), key.shape[-1])


@reference
def score_spread(d_k, pairs, generator=None):
    """The standard deviation of products of fresh normal vectors."""
    device = None if generator is None else generator.device
    drawn = torch.randn(2, pairs, d_k, generator=generator, device=device)
    return drawn.prod(0).sum(-1).std()


# Document 002's raw scores, queries and keys with two digits more than it prints, and what it
# prints of the scaled scores: S * (4 ** -0.5).
RAW_6 = [
    [-2.580913, 8.849757, -6.960043],
    [1.518524, -4.573888, -4.268573],
    [-2.213483, -0.160140, -6.634679],
]
QUERY_6 = [
    [-1.696391, 1.335473, -0.513287, 0.067364],
    [1.659539, -0.444519, -0.191736, 1.772949],
    [-0.164994, -2.989882, -3.889325, 1.275632],
]
KEY_6 = [
    [0.602307, -0.726044, 1.179856, 0.238277],
    [-0.652125, 4.422405, -3.745978, -1.265720],
    [-0.710635, -4.342897, 4.298424, -2.366444],
]
SCALED = [[-1.2905, 4.4249, -3.4800], [0.7593, -2.2869, -2.1343], [-1.1067, -0.0801, -3.3173]]


def scores_and_width(draw: Draw, *batch: int, q=5, k=7, d_k=11):
    # no size is 4 or a square: neither a fixed divisor of 2 nor whole-number roots hide here
    return draw(*batch, q, k, scale=10), d_k


def minus_infinity(draw: Draw):
    return draw.tensor([[1.5, -torch.inf, -4.0], [-torch.inf, 0.0, 2.0]]), 3


SCALED_IN_002 = {"q": 3, "k": 3, "d_k": 4}
CASES = [
    Case("scale_scores", scores_and_width, scale_scores, documents=(SCALED_IN_002,)),
    Case("scaled_scores", query_key, scaled_scores, documents=(SCALED_IN_002,)),
]
SPECIAL = [
    Case("scale_scores", minus_infinity, scale_scores, "minus_infinity",
         cites="Minus infinity stays", everywhere=True),
    *(Case("scale_scores", lambda draw, d_k=d_k: (draw(5, 7, scale=3 * d_k**0.5), d_k),
           scale_scores, f"width_{d_k}") for d_k in (2, 64, 500)),
    *(Case("scaled_scores", lambda draw, d_k=d_k: query_key(draw, d_k=d_k), scaled_scores,
           f"width_{d_k}", cites="d_k is read from the tensors") for d_k in (2, 64)),
]  # fmt: skip
EXPLAINS = {
    "scale_scores": ("The divisor is", "Do not divide in place"),
    "scaled_scores": (),
    "score_spread": ("An experiment",),
}
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(query_key_refusals("scaled_scores"))))


@check("scale_scores")
def test_scale_scores_printed_in_002(answer, draw):
    got = answer.scale_scores(draw.tensor(RAW_6), 4)
    same(got, draw.tensor(SCALED), within=printed(4))


@check("scale_scores", about="dtypes")
def test_scale_scores_as_large_as_float16_holds(answer, draw):
    """Catches a way by numbers that are larger than the scores."""
    given = draw.tensor([[6e4, -5e4, 3.0], [2e4, 0.0, -6e4]], torch.float16)
    same(answer.scale_scores(given, 64), given.double() / 8, like=given)


@check("scaled_scores")
def test_scaled_scores_printed_in_002(answer, draw):
    got = answer.scaled_scores(draw.tensor(QUERY_6), draw.tensor(KEY_6))
    same(got, draw.tensor(SCALED), within=printed(4))


@check("scaled_scores", about="calls")
def test_scaled_scores_equal_pytorchs(answer, draw):
    query, key = query_key(draw, 2)
    identity = torch.eye(7, dtype=query.dtype, device=query.device).expand(2, 7, 7)
    oracle = F.scaled_dot_product_attention(query, key, identity)
    got = answer.scaled_scores(query, key)
    same(got, scaled_scores(query.double(), key.double()), like=query)
    same(torch.softmax(got, -1), oracle, label="the softmax of the output")


@check("scaled_scores", about="calls")
def test_scaled_scores_follow_their_keys(answer, draw):
    query, key = query_key(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    want = scaled_scores(query.double(), key.double())[:, order]
    same(answer.scaled_scores(query, key[order]), want, like=query)


# score_spread is measured, so its checks allow for chance, and for no more than that. The product
# of two unit-normal vectors has variance d and fourth moment 3 d^2 + 6 d (each x y has variance 1
# and fourth moment 9). The variance of a variance measured on n products is therefore
# (2 d^2 + 6 d) / n, and the relative error of the deviation, half as large as the variance's, is
# sqrt((1 + 3 / d) / (2 n)). Six of those: right answers are outside once in 10^8 times.
SIXFOLD = 6.0
# What other things come out as, with the ratio by which chance may move them: the size tells
# which of them was measured, whatever the order of the draws.
OFTEN = (
    (lambda d, _: float(d), 1.15),  # the variance
    (lambda _, __: 1.0, 1.15),  # scaled already, or not added up
    (lambda d, _: (2 * d / torch.pi) ** 0.5, 1.15),  # the mean of the products without signs
    (lambda d, _: (7 * d / 144) ** 0.5, 1.15),  # numbers from 0 to 1
    (lambda d, _: d**0.5 / 3, 1.15),  # numbers from -1 to 1
    (lambda d, _: (2 * d) ** 0.5, 1.15),  # one vector twice
    (lambda d, _: d**0.25, 1.15),  # the root of the deviation
    (lambda d, _: d**-0.5, 1.15),  # the mean over the features
    (lambda _, n: n**0.5, 2.2),  # sums over the pairs, and only d_k of them
    (lambda d, n: (d * n) ** 0.5, 1.15),  # not divided by the number of pairs
)


def number(got, place: str | None = None, label: str = "the output") -> float:
    """Return the measured number, after its type, shape, dtype and device."""
    want = torch.zeros(())
    if not isinstance(got, Tensor):
        raise Finding("type", label, got, want)
    if got.shape != want.shape:
        raise Finding("shape", label, got.detach(), want)
    if not got.is_floating_point():
        raise Finding("dtype", label, got.detach(), want)
    at_place(got, want, label, place)
    return float(plain(got))


def near_root(spread: float, d_k: int, pairs: int) -> None:
    """Demand the square root of d_k, within the error of sampling."""
    right = d_k**0.5
    error = SIXFOLD * ((1 + 3 / d_k) / (2 * pairs)) ** 0.5 * right
    holds(
        abs(spread - right) <= error,
        f"the spread of {pairs} products of vectors {d_k} wide",
        f"expected {right:.4g}, give or take {error:.2g} by chance, got {spread:.4g}",
        looks_like(spread, d_k, pairs),
    )


def looks_like(spread: float, d_k: int, pairs: int) -> float:
    """Return the size in OFTEN that is nearest by ratio; 0 for about 0, -1 for none of them.

    What is not a number stays so.
    """
    if math.isnan(spread):
        return spread
    if abs(spread) < 0.2:
        return 0.0
    ratios = [(size(d_k, pairs), slack) for size, slack in OFTEN]
    near = [
        (max(spread / size, size / spread), size)
        for size, slack in ratios
        if size / slack < spread < size * slack
    ]
    return min(near)[1] if near else -1.0


@check("score_spread")
def test_score_spread_draws_every_pair_anew(answer, draw):
    """Catches one query, or one key, for all the pairs: the spread is then its length.

    Lengths of vectors 2 wide swing widely, and by chance come near any size, so this stands first.
    Right spreads of 300 products lie within 6.5 % of each other; of 20, the largest is hardly
    ever more than 1.4 times the smallest. What is of quite another size is left to the next check.
    """
    generator = draw.generator(1)
    got = answer.repeated(20, "score_spread", 2, 300, generator)
    spreads = sorted(number(spread, str(draw.place)) for spread in got)
    holds(
        not 0.5 < spreads[10] < 4 or spreads[-1] < 2 * spreads[0],
        "the spread of 300 products of vectors 2 wide, measured 20 times",
        f"it swings from {spreads[0]:.2g} to {spreads[-1]:.2g}, expected about 1.2 to 1.6: every "
        "pair has vectors of its own",
    )


@check("score_spread")
@vary("d_k", [7, 50, 1])
def test_score_spread_values(answer, draw, d_k):
    """Catches a variance, scaled products, other numbers than normal ones, a wrong sum."""
    got = answer.score_spread(d_k, 3001, draw.generator(d_k))
    near_root(number(got, str(draw.place)), d_k, 3001)


@check("score_spread", cites="The result is measured")
def test_score_spread_is_measured(answer, draw):
    """Catches sqrt(d_k) from the formula: measured again, with other numbers, it differs."""
    spreads = []
    for seed in (1, 2, 3, 4):
        # torch's own generator stands still, so that only `generator` can make a difference
        answer.seed(0)
        spreads.append(number(answer.score_spread(7, 50, draw.generator(seed)), str(draw.place)))
    first, *others = spreads
    near_root(first, 7, 50)
    if any(abs(other - first) > 1e-5 for other in others):
        return
    again = [number(answer.score_spread(7, 50, draw.generator(5)), str(draw.place)) for _ in "ab"]
    if any(abs(other - first) > 1e-5 for other in again):
        why = "torch's own generator decides about it, and `generator` does not"
        holds(False, "four generators with four seeds", f"the spread is the same: {why}", "own")
    known = abs(first - 7**0.5) < 1e-4
    why = "nothing is drawn" if known else "the same numbers are drawn at every call"
    holds(False, "four generators with four seeds", f"the spread is the same: {why}", known)


@check("score_spread", cites="Every number is drawn with `generator`")
def test_score_spread_draws_with_the_generator(answer, draw):
    """Catches numbers from elsewhere: a generator in the same state must give the same spread."""
    first = number(answer.score_spread(7, 50, draw.generator(1)), str(draw.place))
    again = number(answer.score_spread(7, 50, generator=draw.generator(1)), str(draw.place))
    holds(
        abs(again - first) <= 1e-5 * abs(first),
        "two generators with the same seed",
        "the spread differs: not every number was drawn with `generator`",
    )
    going_on = draw.generator(1)
    number(answer.score_spread(7, 50, going_on), str(draw.place))
    more = [number(answer.score_spread(7, 50, going_on), str(draw.place)) for _ in range(3)]
    holds(
        any(abs(later - first) > 1e-5 for later in more),
        "one generator, four calls",
        "the spread is the same each time: the numbers were not drawn with `generator` itself",
    )


@check("score_spread", about="calls", cites="With `generator`, no other")
def test_score_spread_leaves_the_global_generator(answer, draw):
    """Catches a seed that is set for everyone, and numbers drawn past `generator`."""
    before = answer.random_states()
    got = answer.score_spread(7, 50, draw.generator(1))
    after = answer.random_states()
    near_root(number(got, str(draw.place)), 7, 50)
    # that gradients are switched on at the end is seen only where they were off
    with torch.no_grad(), situation("gradients off"):
        number(answer.score_spread(7, 50, draw.generator(1)), str(draw.place))
    holds(
        all(map(torch.equal, before, after)),
        "torch's own generator",
        "its state changed, although `generator` was given: nothing else is to be seeded or drawn "
        "from",
    )


@check("score_spread")
def test_score_spread_takes_a_product_for_each_pair(answer, draw):
    """Catches every query with every key, a fixed number of pairs, a mean that is not taken off.

    Two products are often close to each other: their deviation is below a fifth of sqrt(d_k) in
    16 of 100 draws, in 22 with division by `pairs`. Without the mean taken off it is 4 of 100,
    with the four products of two queries and two keys 1, with more products 0. Of 400 draws, 33
    is four deviations away from 64 as well as from 17, and 140 is five from 91.
    """
    generator = draw.generator(1)
    number(answer.score_spread(16, 2, generator), str(draw.place))
    spreads = [got.item() for got in answer.repeated(400, "score_spread", 16, 2, generator)]
    close = sum(spread < 0.2 * 16**0.5 for spread in spreads)
    holds(
        33 <= close <= 140,
        "the spread of 2 products of vectors 16 wide, measured 400 times",
        f"{close} of them are below 0.8, expected about 60 to 95: it has to be the deviation of 2 "
        "products, no more, from their mean",
        # of many products it hardly swings; else a number that either correction leaves alone
        1.0 if min(spreads) > 2 else sum(spreads) / max(spreads) / 400,
    )


@check("score_spread")
def test_score_spread_multiplies_two_vectors(answer, draw):
    """Catches sums of one vector's numbers, or numbers that were stretched to the right spread.

    Their deviation is sqrt(d_k), too, but normal numbers have a fourth moment of 3 and products of
    two have 9: measured on 100 of them the deviation of products swings by 14 %, theirs by 7 %.
    A sum of 20 products has 3.3, and swings by 7.6 %: not so a product of two that was stretched.
    """
    generator = draw.generator(1)
    for d_k, expected, what in (
        (1, 14, "products of two normal numbers"), (20, 7.6, "sums of the products of two vectors"),
    ):  # fmt: skip
        number(answer.score_spread(d_k, 100, generator), str(draw.place))
        spreads = [got.item() for got in answer.repeated(200, "score_spread", d_k, 100, generator)]
        mean = sum(spreads) / 200
        swing = (sum((spread - mean) ** 2 for spread in spreads) / 200) ** 0.5 / mean
        holds(
            swing > 0.095 if d_k == 1 else swing < 0.105,
            f"the spread of 100 products of vectors {d_k} wide, measured 200 times",
            f"it swings by {100 * swing:.2g} %, expected about {expected} %: these are not {what}",
        )


@check("score_spread", about="shapes", cites=Rule("sizes"))
def test_score_spread_drawn(answer, draw):
    """Catches a size of its own way: wide vectors, many pairs, few of them."""
    generator = draw.generator(1)
    for widths, many in ((range(100, 132), range(300, 600)), (range(1, 4), range(20_000, 40_000))):
        d_k, pairs = draw.one_of(widths), draw.one_of(many)
        near_root(number(answer.score_spread(d_k, pairs, generator), str(draw.place)), d_k, pairs)
    d_k, pairs = draw.one_of(range(2, 9)), draw.one_of(range(3, 17))
    number(answer.score_spread(d_k, pairs, generator), str(draw.place))
    spreads = [got.item() for got in answer.repeated(400, "score_spread", d_k, pairs, generator)]
    mean = sum(spread**2 for spread in spreads) / 400 / d_k
    # on average one correction gives 1, the other (pairs - 1) / pairs
    low, high = 1 - 1 / pairs, 1.0
    error = SIXFOLD * ((2 + 6 / d_k) / (400 * (pairs - 1))) ** 0.5
    holds(
        low * (1 - error) < mean < high * (1 + error),
        f"the spread of {pairs} products of vectors {d_k} wide, measured 400 times",
        f"its square is {mean * d_k:.2g} on average, expected {low * d_k:.2g} to {d_k}",
        looks_like(mean**0.5 * d_k**0.5, d_k, pairs),
    )


@check("score_spread", cites="None: torch's own generator")
def test_score_spread_without_a_generator(answer):
    """Catches a generator that is needed, and one that starts anew each time it is not given."""
    got = [answer.score_spread(7, 400) for _ in range(4)]
    first, *others = (number(spread, "cpu") for spread in got)
    near_root(first, 7, 400)
    near_root(number(answer.score_spread(1, 3001), "cpu"), 1, 3001)
    holds(
        any(abs(other - first) > 1e-5 for other in others),
        "four calls without a generator",
        "the spread is the same each time: the same numbers are drawn at every call",
    )


@check("score_spread", about="devices", cites="Every number is drawn with `generator`")
def test_score_spread_is_device_ready(answer, draw):
    """Catches numbers that are drawn on the CPU whatever device the generator is on."""

    def run(device):
        got = answer.score_spread(7, 3001, draw.generator(7))
        near_root(number(got, str(device)), 7, 3001)

    on_a_gpu(answer, draw, run)
