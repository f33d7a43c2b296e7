"""Chapter 4: softmax and attention weights, by value and at the edges."""

import torch
import torch.nn.functional as F

from grader.suite import (
    OTHER_FLOATS,
    Draw,
    check,
    devices,
    each,
    holds,
    laws,
    printed,
    refuses,
    same,
    vary,
)
from grader.suite.arithmetic import softmax64, weights64
from grader.suite.laws import Case

REFERENCES = {"softmax": softmax64, "attention_weights": weights64}


def rectangle(draw: Draw):
    return (draw(5, 7, scale=2),)


def with_closed_doors(draw: Draw):
    scores = draw(5, 7, scale=2)
    return (scores.masked_fill(~draw.mask(5, 7), -torch.inf),)


def far_below_zero(draw: Draw):
    return (draw(5, 7, scale=2) - 1000,)


def blind_row(draw: Draw):
    scores = draw(5, 7, scale=2)
    scores[3] = -torch.inf
    return (scores,)


def query_key(draw: Draw):
    return draw(5, 3, scale=1.3), draw(7, 3, scale=1.3)


def query_key_mask(draw: Draw):
    return *query_key(draw), draw.mask(5, 7)


def query_key_blind(draw: Draw):
    mask = draw.mask(5, 7)
    mask[3] = False
    return *query_key(draw), mask


def query_key_causal(draw: Draw):
    # square on purpose: a mask taken the wrong way round must fit, and differ by value
    mask = torch.ones(5, 5, dtype=torch.bool, device=draw.device).tril()
    return draw(5, 3, scale=1.3), draw(5, 3, scale=1.3), mask


def batched(draw: Draw):
    return draw(2, 5, 3, scale=1.3), draw(2, 7, 3, scale=1.3), draw.mask(2, 5, 7)


def two_batches(draw: Draw):
    return draw(2, 3, 5, 3, scale=1.3), draw(2, 3, 7, 3, scale=1.3), draw.mask(5, 7)


def keys_mask(draw: Draw):
    return draw(2, 5, 3, scale=1.3), draw(2, 7, 3, scale=1.3), draw.mask(2, 1, 7)


def closed_key_dominates(draw: Draw):
    # the closed key's score is so large that exp leaves nothing for the open ones beside it
    query = draw.tensor([[1.0, 0.0, 1.0], [0.5, 1.0, -1.0]])
    key = draw.tensor([[400.0, 0.0, 0.0], [1.0, 0.5, -0.5], [0.0, 1.5, 2.0], [300.0, 1.0, 1.0]])
    return query, key, draw.tensor([[0, 1, 1, 0], [0, 1, 1, 0]], torch.bool)


def mask_for_a_batch(draw: Draw):
    return draw(2, 5, 3, scale=1.3), draw(2, 7, 3, scale=1.3), draw.mask(5, 7)


def mask_of_one_row(draw: Draw):
    return draw(2, 5, 3, scale=1.3), draw(2, 7, 3, scale=1.3), draw.mask(7)


SOFTMAX = Case("softmax", rectangle, softmax64)
WEIGHTS = Case("attention_weights", query_key, weights64)
MASKED = Case("attention_weights", query_key_mask, weights64, "masked")
PLAIN = [SOFTMAX, WEIGHTS, MASKED]
EMPTY = Case("softmax", lambda draw: (draw(0, 7),), softmax64, "empty")
EDGES = [
    Case("softmax", with_closed_doors, softmax64, "minus_infinity"),
    Case("softmax", blind_row, softmax64, "blind_row"),
    Case("softmax", far_below_zero, softmax64, "far_below_zero"),
    Case("attention_weights", query_key_causal, weights64, "causal"),
    Case("attention_weights", query_key_blind, weights64, "blind_query"),
    Case("attention_weights", closed_key_dominates, weights64, "closed_key_dominates"),
]


@check(core=True)
@each(PLAIN)
def test_values(answer, draw, case):
    """Catches a softmax over the wrong dimension, a wrong scale, a mask that comes too late."""
    laws.values(answer, draw, case)


def softmax_kernels(scores):
    """PyTorch's own softmax, over rows, and over columns that lie like rows."""
    return [torch.softmax(scores, -1), torch.softmax(scores.mT.contiguous(), -2).mT]


@check("softmax", core=True)
def test_softmax_is_your_own(answer, draw):
    """Refuses a ready-made softmax or attention, under any name, and wrong values, also NaN."""
    laws.your_own(answer, draw, "softmax", [SOFTMAX, EDGES[1]])
    scores = draw.using(torch.float64)(32, 32, scale=2.0)
    with torch.no_grad():
        got = answer.softmax(scores)
    same(got, softmax64(scores), like=scores)
    laws.not_to_the_bit(got, softmax_kernels(scores), "softmax", "softmax")


@check("attention_weights", core=True)
def test_attention_weights_are_your_own(answer, draw):
    """Refuses a ready-made softmax or attention inside the weights, under any name."""
    laws.your_own(answer, draw, "softmax", [WEIGHTS, MASKED])
    # whole numbers over 8, and a width of 4: the scores are exact however they are worked out
    query, key = (draw.integers(-24, 25, 32, 4).double() / 8 for _ in "qk")
    scores = query @ key.mT / 2
    with torch.no_grad():
        got = answer.attention_weights(query, key)
    same(got, softmax64(scores), like=query)
    laws.not_to_the_bit(got, softmax_kernels(scores), "attention_weights", "softmax")


@check(core=True)
@each(EDGES)
def test_edges(answer, draw, case):
    """Catches NaN where nothing is open, weight left on closed doors, and exp that underflows."""
    laws.values(answer, draw, case)


@check("softmax", core=True)
def test_softmax_dim(answer, draw):
    """Catches a `dim` that is ignored or counted from one end only."""
    scores = draw(3, 5, 7, scale=2)
    for dim in (0, 1, -2):
        same(answer.softmax(scores, dim), softmax64(scores.double(), dim), like=scores)


@check("softmax", core=True)
def test_softmax_at_10000(answer, draw):
    """Catches exp without the largest score taken off: it overflows to infinity, then NaN."""
    scores = draw.tensor([[1e4, 1e4 - 1, 1e4 - 2], [-1e4, -1e4 + 1, -1e4], [1e4, -1e4, 0.0]])
    same(answer.softmax(scores), softmax64(scores.double()), like=scores)


@check("softmax", core=True)
def test_softmax_is_exact_at_its_edges(answer, draw):
    """Catches a small number added or clamped to: closed means 0, and a row sums to 1 exactly."""
    scores = with_closed_doors(draw.using(torch.float64))[0]
    weights = answer.softmax(scores)
    same(weights, softmax64(scores))
    holds(
        bool((weights[torch.isneginf(scores)] == 0).all()),
        "a closed door",
        "its weight must be exactly 0, not a small number",
        float(weights.detach()[torch.isneginf(scores)].abs().max()),
    )
    off = float((weights.detach().sum(-1) - 1).abs().max())
    holds(off < 1e-12, "the sum of a row", f"it is off 1 by {off:.1g}, which float64 can tell", off)


@check("softmax", core=True)
@vary("dtype", OTHER_FLOATS)
def test_softmax_blind_in_every_dtype(answer, draw, dtype):
    """Catches a guard that is lost in float16, where 1e-9 is 0, and a fill that is too large."""
    scores = blind_row(draw.using(dtype))[0]
    same(answer.softmax(scores), softmax64(scores.double()), like=scores)


@check("softmax")
@vary("dtype", OTHER_FLOATS)
def test_softmax_of_nothing_keeps_its_dtype(answer, draw, dtype):
    """Catches an empty tensor that comes back as another one, in float32."""
    scores = draw.using(dtype)(0, 7)
    same(answer.softmax(scores), scores)


@check("softmax")
def test_softmax_keeps_float64(answer, draw):
    """Catches float32 on the way: at 1e4 it cannot tell scores apart that differ by 0.0003."""
    scores = draw.using(torch.float64).tensor([[1e4, 1e4 + 0.0003, 1e4 - 0.3], [0.0, 0.1, 0.2]])
    same(answer.softmax(scores), softmax64(scores))


@check("softmax", core=True)
def test_softmax_rows_far_apart(answer, draw):
    """Catches one maximum for the whole tensor: the low rows then underflow to 0 / 0."""
    scores = draw.tensor([[900.0, 901.0], [0.0, 1.0], [-900.0, -899.0]])
    same(answer.softmax(scores), softmax64(scores.double()), like=scores)


@check("softmax")
@vary("shape", [(0, 7), (3, 0), (1,), (2, 3, 5, 7)])
def test_softmax_shapes(answer, draw, shape):
    """Catches code that leans on two dimensions, or fails on an empty tensor."""
    scores = draw(*shape, scale=2)
    same(answer.softmax(scores), softmax64(scores.double()), like=scores)


@check("softmax", core=True)
def test_softmax_printed_in_002(answer, draw):
    """The masked weights that document 002 prints, to its four digits."""
    low = -torch.inf
    scores = draw.tensor([[-1.2905, low, low], [0.7593, -2.2869, low], [-1.1067, -0.0801, -3.3173]])
    weights = draw.tensor([[1.0, 0.0, 0.0], [0.9546, 0.0454, 0.0], [0.2563, 0.7156, 0.0281]])
    same(answer.softmax(scores), weights, within=printed(4))


@check("attention_weights", core=True)
def test_attention_weights_printed_in_002(answer, draw):
    """From the query and key vectors that document 002 prints to its weights, masked."""
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


@check("attention_weights", core=True)
@each(
    [
        Case("attention_weights", batched, weights64, "batch"),
        Case("attention_weights", two_batches, weights64, "two_batches"),
        Case("attention_weights", keys_mask, weights64, "mask_of_keys"),
        Case("attention_weights", mask_for_a_batch, weights64, "one_mask_for_all"),
        Case("attention_weights", mask_of_one_row, weights64, "mask_of_one_row"),
    ]
)
def test_attention_weights_batches(answer, draw, case):
    """Catches code that leans on one batch dimension, or on a mask as large as the scores."""
    laws.values(answer, draw, case)


@check()
@vary("dtype", OTHER_FLOATS)
@each(PLAIN)
def test_dtypes(answer, draw, case, dtype):
    """Catches an output that is always float32, and constants that do not follow the dtype."""
    laws.values(answer, draw.using(dtype), case)


@check()
@each(PLAIN)
def test_strides(answer, draw, case):
    """Catches `view` on memory that is not in order."""
    laws.strides(answer, draw, case)


@check()
@each([*PLAIN, EDGES[0]])
def test_inputs_unchanged(answer, draw, case):
    """Catches in-place arithmetic on the caller's tensors, and results kept for later calls."""
    laws.inputs_unchanged(answer, draw, case)


@check()
@each([*PLAIN, EDGES[1], EDGES[4]])
def test_gradients(answer, draw, case):
    """Catches a cut graph and NaN that flows back through a blind row; compared by value."""
    laws.gradients(answer, draw, case)


@check()
@each(devices.by_exercise([SOFTMAX, EDGES[1], EMPTY, WEIGHTS, EDGES[4]]))
def test_device_ready(answer, draw, case):
    """Catches what works on the CPU alone: a tensor made without `device=`, or moved away."""
    devices.device_ready(answer, draw, case)


@check("attention_weights")
def test_attention_weights_equal_pytorchs(answer, draw):
    """Holds the weights against PyTorch's own attention, whose values are the identity here."""
    query, key, mask = query_key_mask(draw)
    identity = torch.eye(7, dtype=query.dtype, device=query.device)
    oracle = F.scaled_dot_product_attention(query, key, identity, attn_mask=mask)
    same(answer.attention_weights(query, key, mask), oracle)


@check("attention_weights")
def test_attention_weights_do_not_see_the_future(answer, draw):
    """Catches a mask that leaks: a key that is closed to a query must not move its weights."""
    query, key, mask = query_key_causal(draw)
    before = answer.attention_weights(query, key, mask)
    changed = key.clone()
    changed[3:] += 3
    after = answer.attention_weights(query, changed, mask)
    same(before, weights64(query.double(), key.double(), mask), like=query)
    same(after[:3], before[:3], label="the weights of queries 0 to 2 after keys 3 and 4 changed")


@check("attention_weights")
def test_attention_weights_follow_their_keys(answer, draw):
    """Catches weights that depend on where a key stands: shuffled keys, shuffled weights."""
    query, key = query_key(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    want = weights64(query.double(), key.double())[:, order]
    same(answer.attention_weights(query, key[order]), want, like=query)


@check("attention_weights")
def test_attention_weights_refuse_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    query, key = query_key(draw)
    refuses(
        lambda: answer.attention_weights(query, draw(7, 5)), 3, 5,
        why="`query` is 3 wide and `key` is 5 wide",
    )  # fmt: skip
    refuses(
        lambda: answer.attention_weights(draw(2, 5, 3), draw(1, 7, 3)), 2, 1,
        why="`query` has a batch of 2 and `key` a batch of 1",
    )  # fmt: skip
    refuses(
        lambda: answer.attention_weights(query, key, draw.mask(5, 3)), 7, 3,
        why="`mask` is [5, 3] and the scores are [5, 7]",
    )  # fmt: skip
    refuses(
        lambda: answer.attention_weights(draw(2, 5, 3), draw(2, 7, 3), draw.mask(2, 7)), 2, 5, 7,
        why="`mask` is [2, 7] and the scores are [2, 5, 7]: it would meet the queries",
    )  # fmt: skip
    refuses(
        lambda: answer.attention_weights(query, key, draw.mask(2, 5, 7)), 2, 5, 7,
        why="`mask` is [2, 5, 7] and would enlarge the scores, [5, 7]",
    )  # fmt: skip
