"""Chapter 4: softmax and attention weights, by value and at the edges."""

import torch
import torch.nn.functional as F

from grader.suite import (
    Case,
    Draw,
    Rule,
    check,
    checks_by_law,
    holds,
    in_any_words,
    printed,
    reference,
    refusal,
    same,
    situation,
)
from grader.suite.arithmetic import softmax64, weights64
from grader.suite.queries_and_keys import (
    TRIANGLE,
    far_below_zero,
    open_mask,
    pattern,
    query_key,
    right_with_masks_of_every_shape,
)
from grader.suite.your_own import (
    KEYS,
    PIECE,
    READY_SOFTMAX,
    ROWS,
    eighths,
    no_ready_softmax,
    your_own,
)

NOTHING = "A query that may attend to nothing"
MASKED = "Minus infinity gives exactly 0."
THROUGHOUT = "A slice that is all minus infinity"
READY_MADE = Rule("ready-made")


@reference
def softmax(scores, dim=-1):
    return softmax64(scores, dim)


@reference
def attention_weights(query, key, mask=None):
    return weights64(query, key, mask)


def scores(draw: Draw, *batch: int, q=5, k=7):
    return (draw(*batch, q, k, scale=2),)


def some_masked(draw: Draw):
    given = draw(5, 7, scale=2)
    return (given.masked_fill(~draw.mask(5, 7), -torch.inf),)


def row_masked(draw: Draw):
    given = draw(5, 7, scale=2)
    given[3] = -torch.inf
    return (given,)


def masked(draw: Draw, *batch: int, q=5, k=7, d_k=3):
    return *query_key(draw, *batch, q=q, k=k, d_k=d_k), draw.mask(*batch, q, k)


def mask_of(*shape: int):
    return lambda draw: (*query_key(draw, 2), draw.mask(*shape))


def query_masked(draw: Draw):
    mask = draw.mask(5, 7)
    mask[3] = False
    return *query_key(draw), mask


def all_masked(draw: Draw):
    return *query_key(draw), draw.mask(5, 7) & False


def causal(draw: Draw):
    # square on purpose: a mask taken the wrong way round must fit, and differ by value
    return *query_key(draw, k=5), pattern(draw, *TRIANGLE)


def masked_key_dominates(draw: Draw):
    # the masked key's score is so large that exp leaves nothing for the others beside it
    query = draw.tensor([[1.0, 0.0, 1.0], [0.5, 1.0, -1.0]])
    key = draw.tensor([[400.0, 0.0, 0.0], [1.0, 0.5, -0.5], [0.0, 1.5, 2.0], [300.0, 1.0, 1.0]])
    return query, key, draw.tensor([[0, 1, 1, 0], [0, 1, 1, 0]], torch.bool)


IN_002 = {"q": 3, "k": 3}
SOFTMAX = Case("softmax", scores, softmax, documents=(IN_002,))
OVER_COLUMNS = Case("softmax", scores, softmax, "columns", {"dim": -2})
WEIGHTS = Case(
    "attention_weights", query_key, attention_weights, documents=({**IN_002, "d_k": 4},),
    large={"d_k": 4},
)  # fmt: skip
WITH_MASK = Case("attention_weights", masked, attention_weights, "masked", large={"d_k": 4})
CASES = [SOFTMAX, OVER_COLUMNS, WEIGHTS, WITH_MASK]


def far_below(draw):
    # four of each row are the largest
    return (
        draw.tensor([[x * far for x in (1, 2, 1, 3, 1, 2, 1)] for far in (-1e10, -1e30, -1e38)]),
    )


def softmax_case(label, inputs, cites, *, polish=False, **options):
    return Case(
        "softmax", inputs, softmax, label, options, cites=cites, polish=polish,
        everywhere=cites in (MASKED, THROUGHOUT),
    )  # fmt: skip


def weights_case(label, inputs, cites="None: everywhere"):
    everywhere = cites == NOTHING
    return Case(
        "attention_weights", inputs, attention_weights, label, cites=cites, everywhere=everywhere,
        polish=label == "mask_of_one_row",
    )  # fmt: skip


SPECIAL = [
    softmax_case("minus_infinity", some_masked, MASKED),
    softmax_case("row_of_minus_infinity", row_masked, THROUGHOUT),
    softmax_case("far_below_zero", lambda draw: (draw(5, 7, scale=2) - 1000,), "The weights"),
    softmax_case("far_below_every_limit", far_below, "The weights", polish=True),
    softmax_case("first_dimension", lambda draw: (draw(3, 5, 7),), "The weights", dim=0),
    softmax_case("one_dimension", lambda draw: (draw(7, scale=2),), "The weights"),
    weights_case("causal", causal, "The weights"),
    weights_case("query_masked", query_masked, NOTHING),
    weights_case("all_masked", all_masked, NOTHING),
    weights_case("masked_key_dominates", masked_key_dominates, "The weights"),
    weights_case("masked_far_below_zero", lambda d: (*far_below_zero(d), d.mask(5, 7))),
    weights_case("mask_of_keys", mask_of(2, 1, 7)),
    weights_case("one_mask_for_all", mask_of(5, 7)),
    weights_case("mask_of_one_row", mask_of(7)),
]
EMPTY = [
    softmax_case(str(list(shape)), lambda draw, shape=shape: (draw(*shape),), "An empty tensor")
    for shape in ((0, 7), (3, 0), (0,))
]
SHAPES = "ValueError: `mask` does not broadcast"
REFUSALS = [
    refusal(
        "attention_weights", "ValueError: `query` or `key` has fewer than two dimensions.",
        ("`query` is [3], with 1 dimension", lambda a, d: a.attention_weights(d(3), d(7, 3))),
        ("`key` is [3], with 1 dimension", lambda a, d: a.attention_weights(d(5, 3), d(3))),
        ("`query` and `key` are [3], with 1 dimension",
         lambda a, d: a.attention_weights(d(3), d(3))),
    ),
    refusal(
        "attention_weights", "ValueError: `query` and `key` differ in width.",
        ("`query` is 3 wide and `key` is 5 wide",
         lambda a, d: a.attention_weights(d(5, 3), d(7, 5))),
        ("`query` is 1 wide and `key` is 5 wide",
         lambda a, d: a.attention_weights(d(5, 1), d(7, 5))),
    ),
    refusal(
        "attention_weights", "ValueError: `query` and `key` differ in their batch.",
        ("`query` has a batch of 2 and `key` a batch of 1",
         lambda a, d: a.attention_weights(d(2, 5, 3), d(1, 7, 3))),
        ("`query` is [2, 5, 3] and `key` is [7, 3], without a batch",
         lambda a, d: a.attention_weights(d(2, 5, 3), d(7, 3))),
        ("`query` is [2, 3, 5, 3] and `key` is [2, 1, 7, 3]",
         lambda a, d: a.attention_weights(d(2, 3, 5, 3), d(2, 1, 7, 3))),
    ),
    refusal(
        "attention_weights", "ValueError: `mask` does not broadcast to [*batch, q, k].",
        ("`mask` is [5, 3] and the scores are [5, 7]",
         lambda a, d: a.attention_weights(*query_key(d), d.mask(5, 3))),
        ("`mask` is [5, 3], all True, and the scores are [5, 7]",
         lambda a, d: a.attention_weights(*query_key(d), open_mask(d, 5, 3))),
        ("`mask` is [2, 5, 7], all True, and would enlarge the scores, [5, 7]",
         lambda a, d: a.attention_weights(*query_key(d), open_mask(d, 2, 5, 7))),
        ("`mask` is [2, 7] and the scores are [2, 5, 7]: it would meet the queries",
         lambda a, d: a.attention_weights(*query_key(d, 2), d.mask(2, 7))),
        ("`mask` is [2, 5, 7] and would enlarge the scores, [5, 7]",
         lambda a, d: a.attention_weights(*query_key(d), d.mask(2, 5, 7))),
        ("`mask` is [1, 5, 7] and the scores are [5, 7], without a batch",
         lambda a, d: a.attention_weights(*query_key(d), d.mask(1, 5, 7))),
        ("`mask` is [5, 7] and would repeat the scores, [1, 7]",
         lambda a, d: a.attention_weights(*query_key(d, q=1), d.mask(5, 7))),
    ),
]  # fmt: skip
EXPLAINS = {
    "softmax": ("A slice is", "Mind scores of 1e4"),
    "attention_weights": (),
}
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(REFUSALS, "mask"), EMPTY))


@check("softmax", cites="The weights, in the shape of `scores`")
def test_softmax_printed_in_002(answer, draw):
    low = -torch.inf
    given = draw.tensor([[-1.2905, low, low], [0.7593, -2.2869, low], [-1.1067, -0.0801, -3.3173]])
    weights = draw.tensor([[1.0, 0.0, 0.0], [0.9546, 0.0454, 0.0], [0.2563, 0.7156, 0.0281]])
    same(answer.softmax(given), weights, within=printed(4))


def of_large_scores(answer, draw: Draw, dtype):
    given = draw.tensor([[1e4, 1e4 - 1, 1e4 - 2], [-1e4, -1e4 + 1, -1e4], [1e4, -1e4, 0.0]], dtype)
    same(answer.softmax(given), softmax(given.double()), like=given)


@check("softmax", cites="The weights, in the shape of `scores`")
def test_softmax_of_large_scores(answer, draw):
    of_large_scores(answer, draw, torch.float32)


@check("softmax", about="dtypes", cites="The weights, in the shape of `scores`")
def test_softmax_of_large_scores_in_float64(answer, draw):
    of_large_scores(answer, draw, torch.float64)


@check("softmax", about="dtypes", cites="The weights, in the shape of `scores`")
def test_softmax_of_large_scores_in_float16(answer, draw):
    """Catches a maximum that is taken off only where float32 would overflow."""
    given = draw.tensor([[40, 39, 37], [13, 12, 14], [-20, -18, -19]], torch.float16)
    same(answer.softmax(given), softmax(given.double()), like=given)


@check("softmax", cites="The weights, in the shape of `scores`")
def test_softmax_of_rows_far_apart(answer, draw):
    given = draw.tensor([[900.0, 901.0], [0.0, 1.0], [-900.0, -899.0]])
    same(answer.softmax(given), softmax(given.double()), like=given)


@check("softmax", cites=MASKED)
def test_softmax_of_minus_infinity_is_0(answer, draw):
    given = some_masked(draw)[0]
    weights = answer.softmax(given)
    same(weights, softmax(given.double()), like=given)
    at_masked = weights.detach()[torch.isneginf(given)].abs()
    holds(
        bool((at_masked == 0).all()),
        "the weight of minus infinity",
        "it must be exactly 0, not a small number",
        float(at_masked.max()),
    )


@check("softmax", about="dtypes", cites="A slice sums to 1")
def test_softmax_sums_to_1(answer, draw):
    given = scores(draw.using(torch.float64), 13)[0]
    weights = answer.softmax(given)
    same(weights, softmax(given))
    apart = weights.detach().sum(-1) - 1
    off = float(apart.abs().max())
    # what is rounded lies on both sides of 1 in 65 rows, and what a number is added to on one
    label, side = (
        ("the sum of each row", "below") if (apart < 0).all() else ("the sum of a row", "off")
    )
    holds(off < 1e-12, label, f"it is {side} 1 by {off:.1g}, which float64 can tell", off)


@check("softmax", cites=READY_MADE)
def test_softmax_is_your_own(answer, draw):
    your_own(answer, draw, READY_SOFTMAX, [SOFTMAX, SPECIAL[1]])
    no_ready_softmax(
        draw, "softmax", answer.softmax, lambda draw: [draw(ROWS, KEYS, scale=2)], softmax
    )


@check("attention_weights", cites=READY_MADE)
def test_attention_weights_are_your_own(answer, draw):
    your_own(answer, draw, READY_SOFTMAX, [WEIGHTS, WITH_MASK])
    no_ready_softmax(
        draw, "attention_weights", answer.attention_weights,
        lambda draw: [eighths(draw, ROWS, PIECE), eighths(draw, KEYS, PIECE)], attention_weights,
    )  # fmt: skip


@check("attention_weights", cites="The weights [*batch, q, k]")
def test_attention_weights_printed_in_002(answer, draw):
    query = draw.tensor(
        [
            [-1.6964, 1.3355, -0.5133, 0.0674],
            [1.6595, -0.4445, -0.1917, 1.7729],
            [-0.1650, -2.9899, -3.8893, 1.2756],
        ]
    )
    key = draw.tensor(
        [
            [0.6023, -0.7260, 1.1799, 0.2383],
            [-0.6521, 4.4224, -3.7460, -1.2657],
            [-0.7106, -4.3429, 4.2984, -2.3664],
        ]
    )
    mask = draw.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]], torch.bool)
    weights = draw.tensor([[1.0, 0.0, 0.0], [0.9546, 0.0454, 0.0], [0.2563, 0.7156, 0.0281]])
    same(answer.attention_weights(query, key, mask), weights, within=printed(4))


@check("softmax", about="shapes", cites="The weights, in the shape of `scores`")
def test_softmax_over_each_dimension(answer, draw):
    for count in (1, 2, 3, 4, 5):
        given = draw(*(draw.one_of((2, 3, 4, 5)) for _ in range(count)))
        for dim in range(-count, count):
            with situation(f"dim={dim} of {count}"):
                same(answer.softmax(given, dim), softmax(given.double(), dim), like=given)


@check("attention_weights", about="edges", cites="None: everywhere")
def test_attention_weights_with_masks_of_every_shape(answer, draw):
    call = answer.attention_weights
    right_with_masks_of_every_shape(draw, query_key, call, attention_weights)


@check("softmax", about="dtypes", cites="A slice sums to 1")
def test_softmax_keeps_float64(answer, draw):
    # at 1e4 float32 cannot tell scores apart that differ by 0.0003
    given = draw.using(torch.float64).tensor([[1e4, 1e4 + 0.0003, 1e4 - 0.3], [0.0, 0.1, 0.2]])
    same(answer.softmax(given), softmax(given))


@check("attention_weights", about="calls", cites="The weights [*batch, q, k]")
def test_attention_weights_equal_pytorchs(answer, draw):
    query, key, mask = masked(draw)
    identity = torch.eye(7, dtype=query.dtype, device=query.device)
    oracle = F.scaled_dot_product_attention(query, key, identity, attn_mask=mask)
    same(answer.attention_weights(query, key, mask), oracle)


@check("attention_weights", about="calls", cites="The mask comes before the softmax")
def test_attention_weights_do_not_see_the_future(answer, draw):
    query, key, mask = causal(draw)
    before = answer.attention_weights(query, key, mask)
    changed = key.clone()
    changed[3:] += 3
    after = answer.attention_weights(query, changed, mask)
    same(before, attention_weights(query.double(), key.double(), mask), like=query)
    same(after[:3], before[:3], label="the weights of queries 0 to 2 after keys 3 and 4 changed")


@check("attention_weights", about="calls", cites="The weights [*batch, q, k]")
def test_attention_weights_follow_their_keys(answer, draw):
    query, key = query_key(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    want = attention_weights(query.double(), key.double())[:, order]
    same(answer.attention_weights(query, key[order]), want, like=query)
