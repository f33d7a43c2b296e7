"""Chapter 5: linear combinations, attention, self-attention and cross-attention."""

import torch
from torch.nn.functional import scaled_dot_product_attention

from grader.suite import (
    Case,
    Draw,
    Rule,
    check,
    checks_by_law,
    exact,
    in_any_words,
    printed,
    reference,
    refusal,
    refused,
    same,
    vary,
)
from grader.suite.arithmetic import attention64, weights64
from grader.suite.queries_and_keys import (
    TRIANGLE,
    far_below_zero,
    open_mask,
    pattern,
    query_key,
    right_with_masks_of_every_shape,
)
from grader.suite.your_own import READY_ATTENTION, no_ready_attention, your_own

NOTHING = "A query that may attend to nothing"
EVERYWHERE = "None: everywhere"
READY_MADE = Rule("ready-made")


def _agree(they_do, *tensors):
    if not they_do:
        raise ValueError(f"the shapes do not fit: {[tuple(tensor.shape) for tensor in tensors]}")


@reference
def linear_combination(weights, tokens):
    _agree(weights.shape == tokens.shape[:1], weights, tokens)
    return torch.einsum("n,nd->d", weights, tokens)


@reference
def mix_values(weights, value):
    _agree((*weights.shape[:-2], weights.shape[-1]) == value.shape[:-1], weights, value)
    return torch.einsum("...qk,...kv->...qv", weights, value)


@reference
def attention(query, key, value, mask=None):
    _agree(query.shape[:-2] == key.shape[:-2] == value.shape[:-2], query, key, value)
    _agree(key.shape[-2] == value.shape[-2] and query.shape[-1] == key.shape[-1], query, key, value)
    return attention64(query, key, value, mask)


@reference
def self_attention(x, w_q, w_k, w_v, causal=False):
    n = x.shape[-2]
    mask = torch.ones(n, n, dtype=torch.bool, device=x.device).tril() if causal else None
    return attention(x @ w_q, x @ w_k, x @ w_v, mask)


@reference
def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):
    mask = None
    if memory_mask is not None:
        _agree(memory_mask.shape == memory.shape[:-1], memory, memory_mask)
        mask = memory_mask.unsqueeze(-2)
    return attention(x @ w_q, memory @ w_k, memory @ w_v, mask)


@reference
def naive_in_002():
    """Every token with every other, with more digits than are printed."""
    tokens = torch.tensor(TOKENS, dtype=torch.float64)
    return tokens @ tokens.T


@reference
def weights_in_002(query, key):
    """The weights with more digits than are printed."""
    return weights64(query, key, torch.ones(3, 3, dtype=torch.bool, device=query.device).tril())


def weights_tokens(draw: Draw, *, n=5, d=7):
    return draw(n), draw(n, d)


def weights_value(draw: Draw, *batch: int, q=5, k=7, d_v=3):
    return draw(*batch, q, k), draw(*batch, k, d_v)


def qkv(draw: Draw, *batch: int, q=5, k=7, d_k=3, d_v=2):
    return *query_key(draw, *batch, q=q, k=k, d_k=d_k), draw(*batch, k, d_v, scale=2)


def qkv_masked(draw: Draw, *batch: int, q=5, k=7, d_k=3, d_v=2):
    return *qkv(draw, *batch, q=q, k=k, d_k=d_k, d_v=d_v), draw.mask(*batch, q, k)


def tokens_weights(draw: Draw, *batch: int, n=5, d=7, d_k=3, d_v=2):
    x, scale = draw(*batch, n, d), d**-0.5
    w_q, w_k = draw(d, d_k, scale=1.2 * scale), draw(d, d_k, scale=1.2 * scale)
    return x, w_q, w_k, draw(d, d_v, scale=scale)


def two_sequences(draw: Draw, *batch: int, q=5, k=7, d=3, d_m=11, d_k=2, d_v=4):
    w_q, w_k = draw(d, d_k, scale=1.3 / d**0.5), draw(d_m, d_k, scale=1.3 / d_m**0.5)
    w_v = draw(d_m, d_v, scale=2 / d_m**0.5)
    return draw(*batch, q, d), draw(*batch, k, d_m), w_q, w_k, w_v


def two_sequences_masked(draw: Draw, *batch: int, q=5, k=7, d=3, d_m=11, d_k=2, d_v=4):
    given = two_sequences(draw, *batch, q=q, k=k, d=d, d_m=d_m, d_k=d_k, d_v=d_v)
    return *given, draw.mask(*batch, k)


def rows_of_zeros(draw: Draw):
    return draw(5, 7) * draw.tensor([[1], [0], [1], [0], [2]]), draw(7, 3)


def column_of_zeros(draw: Draw):
    return draw(5, 7) * draw.tensor([1, 1, 0, 1, 1, 1, 2]), draw(7, 3)


def weights_of_zero(draw: Draw):
    return draw(5) * draw.tensor([1, 0, 1, 0, 1]), draw(5, 7)


def no_tokens(draw: Draw):
    return draw(0), draw(0, 7)


def query_masked(draw: Draw):
    mask = draw.mask(5, 7)
    mask[3] = False
    return *qkv(draw), mask


def all_masked(draw: Draw):
    return *qkv(draw), draw.mask(5, 7) & False


def causal_mask(draw: Draw):
    # square on purpose: a mask taken the wrong way round must fit, and differ by value
    return *qkv(draw, k=5), pattern(draw, *TRIANGLE)


def key_nobody_sees(draw: Draw):
    # as many keys as queries: who looks along the wrong dimension finds what fits
    mask = draw.mask(5, 5)
    mask[:, 2], mask[:, 3] = False, True
    return *qkv(draw, k=5), mask


# so far that beside it digits of the other numbers are lost, and not so far that a large bias, such
# as -1e9, does not hide it
FAR = 2.0**20


def masked_key_far_away(draw: Draw):
    query, key, value, mask = qkv_masked(draw)
    mask[:, 2], key[2] = False, FAR
    mask[:, 3] = True
    return query, key, value, mask


def masked_far_below_zero(draw: Draw):
    return *far_below_zero(draw), draw(7, 3), draw.mask(5, 7)


def last_token_far_away(draw: Draw):
    x, *weights = tokens_weights(draw)
    x[-1] = FAR
    return x, *weights


def padding_far_away(draw: Draw):
    x, memory, *weights, mask = padded_batch(draw)
    memory[~mask] = FAR
    return x, memory, *weights, mask


def mask_of(*shape: int):
    return lambda draw: (*qkv(draw, 2), draw.mask(*shape))


def padded_batch(draw: Draw):
    return *two_sequences(draw, 2), pattern(draw, "TTTTT..", "TT.....")


def nothing_real(draw: Draw):
    return *two_sequences(draw, 2), pattern(draw, "TTTTT..", ".......")


def nothing_real_at_all(draw: Draw):
    return *two_sequences(draw, 2), pattern(draw, ".......", ".......")


IN_002 = {"q": 3, "k": 3, "d_v": 4}
LARGE = {"d_k": 4}
CAUSAL = {"causal": True}
COMBINATION = Case("linear_combination", weights_tokens, linear_combination,
                   documents=({"n": 3, "d": 5},))  # fmt: skip
MIX = Case("mix_values", weights_value, mix_values, documents=(IN_002, {**IN_002, "d_v": 5}))
ATTENTION = Case("attention", qkv, attention, documents=({**IN_002, "d_k": 4},), large=LARGE)
MASKED = Case("attention", qkv_masked, attention, "masked", cites="One mixture", large=LARGE)
SELF = Case("self_attention", tokens_weights, self_attention,
            documents=({"n": 3, "d": 2, "d_k": 2, "d_v": 2},))  # fmt: skip
SELF_CAUSAL = Case(
    "self_attention", tokens_weights, self_attention, "causal", CAUSAL, cites="With `causal`",
    documents=({"n": 3, "d": 5, "d_k": 4, "d_v": 4},),
)  # fmt: skip
CROSS = Case("cross_attention", two_sequences, cross_attention)
CROSS_MASKED = Case("cross_attention", two_sequences_masked, cross_attention, "masked")
CASES = [COMBINATION, MIX, ATTENTION, MASKED, SELF, SELF_CAUSAL, CROSS, CROSS_MASKED]
SPECIAL = [
    Case("linear_combination", weights_of_zero, linear_combination, "weights_of_zero",
         everywhere=True),
    Case("mix_values", rows_of_zeros, mix_values, "rows_of_zeros",
         cites="The weights are taken as they are", everywhere=True),
    Case("mix_values", column_of_zeros, mix_values, "column_of_zeros", everywhere=True),
    Case("attention", causal_mask, attention, "causal"),
    Case("attention", key_nobody_sees, attention, "key_nobody_sees", cites=EVERYWHERE),
    Case("attention", masked_key_far_away, attention, "masked_key_far_away", cites=EVERYWHERE),
    Case("attention", masked_far_below_zero, attention, "masked_far_below_zero", cites=EVERYWHERE),
    Case("self_attention", last_token_far_away, self_attention, "last_token_far_away", CAUSAL,
         cites="With `causal`"),
    Case("cross_attention", padding_far_away, cross_attention, "padding_far_away",
         cites="None: all of them"),
    Case("attention", query_masked, attention, "query_masked", cites=NOTHING, everywhere=True),
    Case("attention", all_masked, attention, "all_masked", cites=NOTHING, everywhere=True),
    Case("attention", mask_of(2, 1, 7), attention, "mask_of_keys", cites=EVERYWHERE),
    Case("attention", mask_of(5, 7), attention, "one_mask_for_all", cites=EVERYWHERE),
    Case("attention", mask_of(7), attention, "mask_of_one_row", cites=EVERYWHERE, polish=True),
    Case("cross_attention", padded_batch, cross_attention, "padded_batch",
         cites="None: all of them"),
    Case("cross_attention", nothing_real, cross_attention, "nothing_real",
         cites="Where no memory token", everywhere=True),
    Case("cross_attention", nothing_real_at_all, cross_attention, "nothing_real_at_all",
         cites="Where no memory token", everywhere=True),
]  # fmt: skip
EMPTY = [
    Case("linear_combination", no_tokens, linear_combination, "no_tokens", cites="With 0 tokens")
]


REFUSALS = [
    refusal(
        "linear_combination", "ValueError: `weights` is not a vector.",
        ("`weights` is [5, 1], with 2 dimensions, for 5 tokens",
         refused("linear_combination", weights_tokens, _0=(5, 1))),
        *((f"`weights` is {list(shape)}, with 2 dimensions, for 5 tokens",
           refused("linear_combination", weights_tokens, _0=shape)) for shape in ((2, 5), (1, 5))),
        ("`weights` is [], with 0 dimensions, for 1 token",
         refused("linear_combination", lambda d: weights_tokens(d, n=1), _0=())),
    ),
    refusal(
        "linear_combination", "ValueError: `tokens` is not a matrix.",
        ("`tokens` is [5], with 1 dimension",
         refused("linear_combination", weights_tokens, _1=(5,))),
        ("`tokens` is [5, 7, 2], with 3 dimensions",
         refused("linear_combination", weights_tokens, _1=(5, 7, 2))),
        ("`tokens` is [2, 5, 7], with 3 dimensions, for 5 weights",
         refused("linear_combination", weights_tokens, _1=(2, 5, 7))),
    ),
    refusal(
        "linear_combination", "ValueError: there are more weights than tokens, or fewer.",
        *((f"there are {n} weights for {tokens} tokens",
           refused("linear_combination", weights_tokens, _0=(n,), _1=(tokens, 7)))
          for n, tokens in ((3, 5), (1, 5), (5, 1), (5, 3))),
    ),
    refusal(
        "mix_values", "ValueError: `weights` or `value` has fewer than two dimensions.",
        ("`weights` is [7], with 1 dimension", refused("mix_values", weights_value, _0=(7,))),
        ("`value` is [7], with 1 dimension", refused("mix_values", weights_value, _1=(7,))),
        ("`weights` and `value` are [7], with 1 dimension",
         refused("mix_values", weights_value, _0=(7,), _1=(7,))),
    ),
    refusal(
        "mix_values", "ValueError: `weights` and `value` differ in their number of keys.",
        ("`weights` is [5, 7] and `value` is [4, 3]: 7 keys and 4 values",
         refused("mix_values", weights_value, _1=(4, 3))),
        ("`weights` is [5, 1] and `value` is [7, 3]: 1 key and 7 values",
         refused("mix_values", weights_value, _0=(5, 1))),
        ("`weights` is [5, 7] and `value` is [1, 3]: 7 keys and 1 value",
         refused("mix_values", weights_value, _1=(1, 3))),
    ),
    refusal(
        "mix_values", "ValueError: `weights` and `value` differ in their batch.",
        ("`weights` has a batch of 2 and `value` a batch of 1",
         refused("mix_values", weights_value, _0=(2, 5, 7), _1=(1, 7, 3))),
        ("`weights` has a batch of 1 and `value` a batch of 2",
         refused("mix_values", weights_value, _0=(1, 5, 7), _1=(2, 7, 3))),
        ("`weights` is [2, 5, 7], a batch of 2, and `value` is [7, 3], without a batch",
         refused("mix_values", weights_value, _0=(2, 5, 7))),
        ("`weights` is [5, 7], without a batch, and `value` is [2, 7, 3], a batch of 2",
         refused("mix_values", weights_value, _1=(2, 7, 3))),
        ("`weights` is [2, 3, 5, 7] and `value` is [2, 1, 7, 3]",
         refused("mix_values", weights_value, _0=(2, 3, 5, 7), _1=(2, 1, 7, 3))),
        ("`weights` is [2, 1, 5, 7] and `value` is [2, 3, 7, 3]",
         refused("mix_values", weights_value, _0=(2, 1, 5, 7), _1=(2, 3, 7, 3))),
        ("`weights` is [2, 3, 5, 7] and `value` is [3, 2, 7, 3]",
         refused("mix_values", weights_value, _0=(2, 3, 5, 7), _1=(3, 2, 7, 3))),
    ),
    refusal(
        "attention", "ValueError: `query`, `key` or `value` has fewer than two dimensions.",
        ("`query` is [3], with 1 dimension", refused("attention", qkv, _0=(3,))),
        ("`key` is [3], with 1 dimension", refused("attention", qkv, _1=(3,))),
        ("`value` is [7], with 1 dimension", refused("attention", qkv, _2=(7,))),
        ("`key` is [3], with 1 dimension, and there is a mask",
         lambda a, d: a.attention(d(5, 3), d(3), d(7, 2), d.mask(5, 7))),
    ),
    refusal(
        "attention", "ValueError: `query` and `key` differ in width.",
        ("`query` is 3 wide and `key` is 4 wide", refused("attention", qkv, _1=(7, 4))),
        ("`query` is 1 wide and `key` is 3 wide", refused("attention", qkv, _0=(5, 1))),
    ),
    refusal(
        "attention", "ValueError: `key` and `value` differ in number.",
        ("`key` has 7 rows and `value` has 6", refused("attention", qkv, _2=(6, 2))),
        ("`key` has 7 rows and `value` has 1", refused("attention", qkv, _2=(1, 2))),
        ("`key` has 1 row and `value` has 7", refused("attention", qkv, _1=(1, 3))),
    ),
    refusal(
        "attention", "ValueError: `query`, `key` and `value` differ in their batch.",
        ("`key` has a batch of 2 and `value` a batch of 1",
         refused("attention", lambda d: qkv(d, 2), _2=(1, 7, 4))),
        ("`query` has a batch of 2 and `key` a batch of 1",
         refused("attention", lambda d: qkv(d, 2), _1=(1, 7, 3))),
        ("`query` has a batch of 1, `key` and `value` a batch of 2",
         refused("attention", lambda d: qkv(d, 2), _0=(1, 5, 3))),
        ("`value` is [2, 1, 7, 2], and `query` and `key` have a batch of [2, 3]",
         refused("attention", lambda d: qkv(d, 2, 3), _2=(2, 1, 7, 2))),
        ("`query` is [2, 1, 5, 3], and `key` and `value` have a batch of [2, 3]",
         refused("attention", lambda d: qkv(d, 2, 3), _0=(2, 1, 5, 3))),
        ("`query` is [1, 5, 3], and `key` and `value` have no batch",
         refused("attention", qkv, _0=(1, 5, 3))),
        ("`value` is [7, 2], without a batch, and `key` has a batch of 2",
         refused("attention", lambda d: qkv(d, 2), _2=(7, 2))),
        ("`value` is [2, 7, 2], a batch of 2, and `key` is [7, 3], without a batch",
         refused("attention", qkv, _2=(2, 7, 2))),
    ),
    refusal(
        "attention", "ValueError: `mask` does not broadcast to [*batch, q, k].",
        ("`mask` is [5, 4] and the scores are [5, 7]",
         lambda a, d: a.attention(*qkv(d), d.mask(5, 4))),
        ("`mask` is [5, 4], all True, and the scores are [5, 7]",
         lambda a, d: a.attention(*qkv(d), open_mask(d, 5, 4))),
        ("`mask` is [2, 7], without a dimension for the queries, and the scores are [2, 5, 7]",
         lambda a, d: a.attention(*qkv(d, 2), d.mask(2, 7))),
        ("`mask` is [2, 3, 5], a batch of 2, and the scores are [3, 5], without a batch",
         lambda a, d: a.attention(*qkv(d, q=3, k=5), d.mask(2, 3, 5))),
        ("`mask` is [1, 3, 5], a batch of 1, and the scores are [3, 5], without a batch",
         lambda a, d: a.attention(*qkv(d, q=3, k=5), d.mask(1, 3, 5))),
        ("`mask` is [3, 5] and would repeat the scores, [1, 5]",
         lambda a, d: a.attention(*qkv(d, q=1, k=5), d.mask(3, 5))),
        ("`mask` is [3, 5] and would repeat the scores, [3, 1]",
         lambda a, d: a.attention(*qkv(d, q=3, k=1), d.mask(3, 5))),
        ("`mask` is [2, 3, 5] and would repeat the scores, [1, 3, 5]",
         lambda a, d: a.attention(*qkv(d, 1, q=3, k=5), d.mask(2, 3, 5))),
    ),
    refusal(
        "self_attention", "ValueError: `x` has fewer than two dimensions.",
        ("`x` is [7], with 1 dimension", refused("self_attention", tokens_weights, _0=(7,))),
        ("`x` is [7], with 1 dimension, and `causal` is True",
         lambda a, d: a.self_attention(d(7), *tokens_weights(d)[1:], causal=True)),
    ),
    refusal(
        "self_attention", "ValueError: `w_q`, `w_k` or `w_v` is not a matrix with d rows.",
        ("the tokens are 7 wide and `w_q` has 6 rows",
         refused("self_attention", tokens_weights, _1=(6, 3))),
        ("the tokens are 7 wide and `w_k` has 6 rows",
         refused("self_attention", tokens_weights, _2=(6, 3))),
        ("the tokens are 7 wide and `w_v` has 1 row",
         refused("self_attention", tokens_weights, _3=(1, 2))),
        *((f"the tokens are 7 wide and `{name}` is [{width}, 7], the other way round",
           refused("self_attention", tokens_weights, **{f"_{place}": (width, 7)}))
          for place, name, width in ((1, "w_q", 3), (2, "w_k", 3), (3, "w_v", 2))),
        *((f"`{name}` is [{size}], with 1 dimension",
           refused("self_attention", tokens_weights, **{f"_{place}": (size,)}))
          for place, name in ((1, "w_q"), (2, "w_k"), (3, "w_v")) for size in (7, 3)),
        *((f"the tokens are 7 wide and `{name}` has 8 rows",
           refused("self_attention", tokens_weights, **{f"_{place}": (8, width)}))
          for place, name, width in ((1, "w_q", 3), (2, "w_k", 3), (3, "w_v", 2))),
        ("there is a batch, and `w_q`, `w_k` and `w_v` are [7], with 1 dimension",
         refused("self_attention", lambda d: tokens_weights(d, 2), _1=(7,), _2=(7,), _3=(7,))),
        ("`w_q` is [1, 7, 3], with 3 dimensions",
         refused("self_attention", tokens_weights, _1=(1, 7, 3))),
        ("`w_k` is [1, 7, 3], with 3 dimensions",
         refused("self_attention", tokens_weights, _2=(1, 7, 3))),
        ("`w_v` is [2, 7, 3], with 3 dimensions",
         refused("self_attention", lambda d: tokens_weights(d, 2), _3=(2, 7, 3))),
        # a stack of one row fits where a matrix of one row does
        *((f"the tokens are 1 wide and `{name}` is [1, 1, {width}], with 3 dimensions",
           refused("self_attention", lambda d: tokens_weights(d, 2, d=1),
                   **{f"_{place}": (1, 1, width)}))
          for place, name, width in ((1, "w_q", 3), (2, "w_k", 3), (3, "w_v", 2))),
    ),
    refusal(
        "self_attention", "ValueError: `w_q` and `w_k` differ in width.",
        ("the queries are 3 wide and the keys are 4 wide",
         refused("self_attention", tokens_weights, _2=(7, 4))),
        ("the queries are 3 wide and the keys are 1 wide",
         refused("self_attention", tokens_weights, _2=(7, 1))),
    ),
    refusal(
        "cross_attention", "ValueError: `x` or `memory` has fewer than two dimensions.",
        ("`x` is [3], with 1 dimension", refused("cross_attention", two_sequences, _0=(3,))),
        ("`x` is [3], with 1 dimension, and the memory has a mask",
         lambda a, d: a.cross_attention(d(3), *two_sequences(d)[1:], d.mask(7))),
        ("`memory` is [11], with 1 dimension",
         refused("cross_attention", two_sequences, _1=(11,))),
    ),
    refusal(
        "cross_attention", "ValueError: `w_q` is not a matrix with d rows.",
        ("the tokens of `x` are 3 wide and `w_q` has 5 rows",
         refused("cross_attention", two_sequences, _2=(5, 2))),
        ("`w_q` is [2, 3], the other way round",
         refused("cross_attention", two_sequences, _2=(2, 3))),
        ("`w_q` is [3], with 1 dimension", refused("cross_attention", two_sequences, _2=(3,))),
        ("the tokens of `x` are 1 wide and `w_q` is [1, 1, 2], with 3 dimensions",
         refused("cross_attention", lambda d: two_sequences(d, 2, d=1), _2=(1, 1, 2))),
    ),
    refusal(
        "cross_attention", "ValueError: `w_k` or `w_v` is not a matrix with d_m rows.",
        ("the memory is 11 wide and `w_k` has 3 rows",
         refused("cross_attention", two_sequences, _3=(3, 2))),
        ("the memory is 11 wide and `w_v` has 3 rows",
         refused("cross_attention", two_sequences, _4=(3, 4))),
        ("`w_k` is [2, 11], the other way round",
         refused("cross_attention", two_sequences, _3=(2, 11))),
        ("`w_v` is [4, 11], the other way round",
         refused("cross_attention", two_sequences, _4=(4, 11))),
        *((f"`{name}` is [{size}], with 1 dimension",
           refused("cross_attention", two_sequences, **{f"_{place}": (size,)}))
          for place, name in ((3, "w_k"), (4, "w_v")) for size in (11, 2)),
        *((f"the memory is 1 wide and `{name}` is [1, 1, {width}], with 3 dimensions",
           refused("cross_attention", lambda d: two_sequences(d, 2, d_m=1),
                   **{f"_{place}": (1, 1, width)}))
          for place, name, width in ((3, "w_k", 2), (4, "w_v", 4))),
    ),
    refusal(
        "cross_attention", "ValueError: `w_q` and `w_k` differ in width.",
        ("the queries are 2 wide and the keys are 6 wide",
         refused("cross_attention", two_sequences, _3=(11, 6))),
    ),
    refusal(
        "cross_attention", "ValueError: `x` and `memory` differ in their batch.",
        ("`x` has a batch of 2 and `memory` a batch of 3",
         refused("cross_attention", lambda d: two_sequences(d, 2), _1=(3, 7, 11))),
        ("`x` has a batch of 2 and `memory` a batch of 1",
         refused("cross_attention", lambda d: two_sequences(d, 2), _1=(1, 7, 11))),
        ("`x` is [2, 3, 5, 3] and `memory` is [2, 1, 7, 11]",
         refused("cross_attention", lambda d: two_sequences(d, 2, 3), _1=(2, 1, 7, 11))),
        ("`x` is [2, 5, 3], a batch of 2, and `memory` is [7, 11], without a batch",
         refused("cross_attention", lambda d: two_sequences(d, 2), _1=(7, 11))),
        ("`x` is [5, 3], without a batch, and `memory` is [2, 7, 11], a batch of 2",
         refused("cross_attention", lambda d: two_sequences(d, 2), _0=(5, 3))),
        *((f"`x` is {list(shape)} and `memory`, which has a mask, is [2, 7, 11]",
           lambda a, d, shape=shape: a.cross_attention(d(*shape), *two_sequences(d, 2)[1:],
                                                       d.mask(2, 7)))
          for shape in ((5, 3), (3, 5, 3), (1, 5, 3))),
    ),
    refusal(
        "cross_attention", "ValueError: `memory_mask` is not [*batch, k].",
        *((f"`memory_mask` is {list(shape)} and the memory is [2, 7, 11]",
           lambda a, d, shape=shape: a.cross_attention(*two_sequences(d, 2), d.mask(*shape)))
          for shape in ((7,), (1, 7), (4, 7), (2, 1), (2, 5), (2, 5, 7), (2, 1, 7))),
        *((f"`memory_mask` is {list(shape)}, all True, and the memory is [2, 7, 11]",
           lambda a, d, shape=shape: a.cross_attention(*two_sequences(d, 2), open_mask(d, *shape)))
          for shape in ((7,), (2, 5))),
        ("`memory_mask` is [5, 7] and the memory is [7, 11]",
         lambda a, d: a.cross_attention(*two_sequences(d), d.mask(5, 7))),
    ),
]  # fmt: skip
EXPLAINS = {
    "linear_combination": ("The weights are taken",),
    "mix_values": ("One set of values",),
    "attention": ("The whole formula", "The values need not"),
    "self_attention": ("The same tokens",),
    "cross_attention": ("The queries come from",),
}
OWN_WORDS = ("mask", "linear_combination", "mix_values")
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(REFUSALS, *OWN_WORDS), EMPTY))


@check("attention", about="edges", cites=EVERYWHERE)
def test_attention_with_masks_of_every_shape(answer, draw):
    right_with_masks_of_every_shape(draw, qkv, answer.attention, attention)


# document 002: three tokens, and the layers that its seed gives, with more digits than it prints
TOKENS = [
    [0.3366904, 0.1288094, 0.2344624, 0.2303330, -1.1228564],
    [-0.1863283, 2.2082014, -0.6379970, 0.4616572, 0.2673509],
    [0.5349047, 0.8093572, 1.1102903, -1.6897990, -0.9889599],
]
W_K = [
    [-1.3846737, -0.8712361, -0.2233659, 1.7173615],
    [-0.4879917, 1.1913691, -0.8140076, -0.7359928],
    [-0.8371246, -0.9223900, 1.8113178, 0.1605649],
    [-0.0978069, 1.8445940, -1.1845374, 1.3835493],
    [-1.2024456, 0.7078122, -1.0758859, 0.5356547],
]
W_Q = [
    [0.3466467, -0.1973314, -1.0545889, 1.2779956],
    [0.7281095, -0.7106419, -0.6020683, 0.9604488],
    [0.4048143, -1.3543429, -0.4976462, 0.4746614],
    [-0.1975617, 1.2683114, 1.2242628, 0.0981172],
    [1.7422527, -1.3526736, 0.2190605, 0.5526349],
]
W_V = [
    [-0.6787530, 0.5743161, 0.1877491, -0.3576230],
    [0.5176930, 0.3877785, -0.5796772, -0.1691152],
    [1.9311606, 1.0118638, -1.4364065, -1.1298598],
    [0.2703736, -0.5628242, 0.6793404, 0.4405301],
    [1.1415080, 0.0185646, -1.8058051, 0.9254349],
]
NAIVE_MIX = [
    [1.2045, 0.9488, 1.8346, -1.8501, -2.9674],
    [-1.1198, 12.3029, -3.6754, 2.6688, 1.6991],
    [3.6518, 4.8810, 7.0084, -9.8898, -7.3800],
]
RESULT = [
    [-0.9285, 0.3301, 1.8359, -1.3448],
    [-0.8652, 0.3082, 1.7268, -1.2445],
    [0.1138, 0.0517, 0.0270, 0.1831],
]


@reference
def projected_in_002():
    """Q, K and V of document 002."""
    tokens = torch.tensor(TOKENS, dtype=torch.float64)
    return torch.stack([tokens @ torch.tensor(w, dtype=torch.float64) for w in (W_Q, W_K, W_V)])


@check("linear_combination")
@vary("weights", [(1 / 2, 1 / 2, 0.0), (1 / 3, 1 / 3, 1 / 3), (1.4988, -0.1217, 1.2659)])
def test_linear_combination_printed_in_002(answer, draw, weights):
    want = {
        0.0: [0.0752, 1.1685, -0.2018, 0.3460, -0.4278],
        1 / 3: [0.2284, 1.0488, 0.2356, -0.3326, -0.6148],
        1.2659: NAIVE_MIX[0],
    }[weights[-1]]
    # the scores were rounded to four digits, and that much the last digit of the answer may move
    within = printed(3) if weights[-1] == 1.2659 else printed(4)
    out = answer.linear_combination(draw.tensor(weights), draw.tensor(TOKENS))
    same(out, draw.tensor(want), within=within)


@check("mix_values")
def test_mix_values_naive_in_002(answer, draw):
    scores = naive_in_002().to(draw.device, draw.dtype)
    out = answer.mix_values(scores, draw.tensor(TOKENS))
    same(out, draw.tensor(NAIVE_MIX), within=printed(4))


@check("mix_values")
def test_mix_values_printed_in_002(answer, draw):
    query, key, value = projected_in_002().to(draw.device, draw.dtype)
    weights = weights_in_002(query.double(), key.double())
    same(answer.mix_values(weights.to(value.dtype), value), draw.tensor(RESULT), within=printed(4))


@check("attention")
def test_attention_printed_in_002(answer, draw):
    given = projected_in_002().to(draw.device, draw.dtype)
    out = answer.attention(*given, pattern(draw, "T..", "TT.", "TTT"))
    same(out, draw.tensor(RESULT), within=printed(4))


@check("self_attention", cites="With `causal`")
def test_self_attention_printed_in_002(answer, draw):
    made = [draw.tensor(w) for w in (W_Q, W_K, W_V)]
    out = answer.self_attention(draw.tensor(TOKENS), *made, causal=True)
    same(out, draw.tensor(RESULT), within=printed(4))


def poem_in_001(draw: Draw):
    """Return document 001's "write a poem", and its layers, turned from nn.Linear's way."""
    embeddings = draw.tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]])
    query = draw.tensor([[0.5406104, 0.5869042], [-0.1656557, 0.6495563]])
    key = draw.tensor([[-0.1549296, 0.1426876], [-0.3442585, 0.4152716]])
    value = draw.tensor([[0.6233450, -0.5187534], [0.6146145, 0.1323416]])
    return embeddings, query.T, key.T, value.T


@check("attention")
def test_attention_printed_in_001(answer, draw):
    x, w_q, w_k, _ = poem_in_001(draw)
    # values that are the identity hand over the weights
    identity = draw.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    out = answer.attention(x @ w_q, x @ w_k, identity)
    same(out, attention(*map(exact, (x @ w_q, x @ w_k, identity))), like=x)
    same(out[0], draw.tensor([0.36, 0.40, 0.24]), within=printed(2), label='the row of "write"')


@check("self_attention")
def test_self_attention_printed_in_001(answer, draw):
    given = poem_in_001(draw)
    out = answer.self_attention(*given)
    same(out, self_attention(*map(exact, given)), like=given[0])
    same(out[0, 0], draw.tensor(1.0100), within=printed(4), label='the first output of "write"')


@check("attention", cites=READY_MADE)
def test_attention_is_your_own(answer, draw):
    cases = [ATTENTION, MASKED, *(c.at(*b) for c in (ATTENTION, MASKED) for b in ((2,), (2, 3)))]
    your_own(answer, draw, READY_ATTENTION, cases)
    no_ready_attention(draw, "attention", answer.attention, attention)


@check("self_attention", cites=READY_MADE)
def test_self_attention_is_your_own(answer, draw):
    cases = [SELF, SELF_CAUSAL, *(c.at(*b) for c in (SELF, SELF_CAUSAL) for b in ((2,), (2, 3)))]
    your_own(answer, draw, READY_ATTENTION, cases)


@check("cross_attention", cites=READY_MADE)
def test_cross_attention_is_your_own(answer, draw):
    cases = [CROSS, CROSS_MASKED]
    cases += [case.at(*batch) for case in cases for batch in ((2,), (2, 3))]
    your_own(answer, draw, READY_ATTENTION, cases)


@check("attention", about="calls")
def test_attention_equals_pytorchs(answer, draw):
    query, key, value, mask = qkv_masked(draw)
    oracle = scaled_dot_product_attention(query, key, value, attn_mask=mask)
    same(answer.attention(query, key, value, mask), oracle)


@check("attention", about="calls")
def test_attention_follows_its_keys(answer, draw):
    query, key, value = qkv(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    out = answer.attention(query, key[order], value[order])
    same(out, attention(*map(exact, (query, key, value))), like=query)


@check("attention", about="calls", cites=EVERYWHERE)
def test_attention_does_not_see_masked_keys(answer, draw):
    query, key, value, mask = causal_mask(draw)
    before = answer.attention(query, key, value, mask)
    same(before, attention(*map(exact, (query, key, value)), mask), like=query)
    key[3:] += 3
    value[3:] -= 5
    after = answer.attention(query, key, value, mask)
    same(after[:3], before[:3], label="the rows of queries 0 to 2 after keys 3 and 4 changed")


@check("self_attention", about="calls", cites="With `causal`")
def test_self_attention_does_not_see_the_future(answer, draw):
    x, *made = tokens_weights(draw)
    before = answer.self_attention(x, *made, causal=True)
    same(before, self_attention(*map(exact, (x, *made)), causal=True), like=x)
    changed = x.clone()
    changed[3:] += 3
    after = answer.self_attention(changed, *made, causal=True)
    same(after[:3], before[:3], label="the rows of tokens 0 to 2 after tokens 3 and 4 changed")


@check("self_attention", about="calls")
def test_self_attention_follows_its_tokens(answer, draw):
    x, *made = tokens_weights(draw)
    order = draw.tensor([3, 0, 1, 4, 2], torch.int64)
    want = self_attention(*map(exact, (x, *made)))[order]
    same(answer.self_attention(x[order], *made), want, like=x)


@check("cross_attention", about="calls", cites="None: all of them")
def test_cross_attention_does_not_see_padding(answer, draw):
    x, memory, *made, mask = padded_batch(draw)
    before = answer.cross_attention(x, memory, *made, mask)
    same(before, cross_attention(*map(exact, (x, memory, *made)), mask), like=x)
    changed = memory.clone()
    changed[~mask] += 3
    after = answer.cross_attention(x, changed, *made, mask)
    same(after, before, label="the output after the padding changed")


@check("cross_attention", about="calls")
def test_cross_attention_follows_its_memory(answer, draw):
    x, memory, *made, mask = two_sequences_masked(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    want = cross_attention(*map(exact, (x, memory, *made)), mask)
    same(answer.cross_attention(x, memory[order], *made, mask[order]), want, like=x)
