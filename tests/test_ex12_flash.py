"""Chapter 12: parts and how they are merged, by value; attention in blocks, and what it costs."""

import math

import torch

from grader.suite import (
    Case,
    Draw,
    Growth,
    Rule,
    check,
    checks_by_law,
    exact,
    in_any_words,
    reference,
    refusal,
    refused,
    same,
    situation,
    vary,
)
from grader.suite.arithmetic import attention64, softmax64
from grader.suite.compare import holds
from grader.suite.devices import on_a_gpu
from grader.suite.laws.gradients import pulled
from grader.suite.queries_and_keys import (
    far_below_zero,
    open_mask,
    pattern,
    right_with_masks_of_every_shape,
)
from grader.suite.your_own import READY_ATTENTION, your_own

EVERYWHERE = "None: everywhere"
CLOSED = "A query that may attend to nothing"
ONE_CLOSED, BOTH_CLOSED = "Where one part is closed", "Where both are"
ORDER = "In whatever order"
EXTREME = "All of it is right"
DIVIDE, LARGER = "It need not divide", "It need not divide"
LAST = "The queries are the last"
READY_MADE = Rule("ready-made")

# What is right: all scores at once, in float64


@reference
def log_sum64(scores):
    """Logarithm of the sum of the powers; minus infinity where there are none."""
    top = scores.detach().amax(-1, keepdim=True).clamp_min(-1e300)
    closed = torch.isneginf(scores)
    powers = torch.where(closed, 0.0, torch.where(closed, 0.0, scores - top).exp())
    whole = powers.sum(-1)
    some = whole > 0
    return torch.where(some, torch.where(some, whole, 1.0).log() + top[..., 0], -torch.inf)


@reference
def partial_attention(query, key, value, mask=None):
    shapes = [tuple(part.shape) for part in (query, key, value)]
    if min(map(len, shapes)) < 2 or shapes[0][-1] != shapes[1][-1]:
        raise ValueError(f"{shapes} do not fit together")
    if shapes[1][:-1] != shapes[2][:-1] or shapes[0][:-2] != shapes[1][:-2]:
        raise ValueError(f"{shapes} do not fit together")
    scores = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(query.shape[-1])
    if mask is not None:
        try:
            scores = torch.where(mask.expand(scores.shape), scores, -torch.inf)
        except RuntimeError as problem:
            raise ValueError(f"{tuple(mask.shape)} and {tuple(scores.shape)}") from problem
    return torch.einsum("...qk,...kv->...qv", softmax64(scores), value), log_sum64(scores)


@reference
def merge_partials(out_a, log_sum_a, out_b, log_sum_b):
    shapes = [tuple(part.shape) for part in (out_a, out_b, log_sum_a, log_sum_b)]
    if len(shapes[0]) < 2 or shapes[0] != shapes[1]:
        raise ValueError(f"{shapes} do not fit together")
    if any(shape != shapes[0][:-1] for shape in shapes[2:]):
        raise ValueError(f"{shapes} do not fit together")
    both = torch.stack([log_sum_a, log_sum_b], -1)
    shares = softmax64(both)
    return torch.einsum("...qs,...sqv->...qv", shares, torch.stack([out_a, out_b], -3)), log_sum64(
        both
    )


@reference
def flash_attention(query, key, value, causal=False, block=64):
    shapes = [tuple(part.shape) for part in (query, key, value)]
    if block < 1 or (causal and shapes[0][-2:-1] > shapes[1][-2:-1]):
        raise ValueError(f"{shapes} and {block} do not fit together")
    if min(map(len, shapes)) < 2 or shapes[0][-1] != shapes[1][-1]:
        raise ValueError(f"{shapes} do not fit together")
    if shapes[1][:-1] != shapes[2][:-1] or shapes[0][:-2] != shapes[1][:-2]:
        raise ValueError(f"{shapes} do not fit together")
    return attention64(query, key, value, looking_back(query, key) if causal else None)


@reference
def looking_back(query, key):
    """Let the last q of k positions see what came before them."""
    q, k = query.shape[-2], key.shape[-2]
    return torch.ones(k, k, dtype=torch.bool, device=query.device).tril()[k - q :]


@reference
def all_parts(parts):
    """Attention over all keys of these parts, whose masks are side by side."""
    queries, keys, values, masks = zip(*parts, strict=True)
    return partial_attention(queries[0], torch.cat(keys, -2), torch.cat(values, -2),
                             torch.cat(masks, -1))  # fmt: skip


# How each function is called, at whatever sizes


def qkv(draw: Draw, *batch: int, q=5, k=7, d_k=3, d_v=2):
    query, key = draw(*batch, q, d_k, scale=1.3), draw(*batch, k, d_k, scale=1.3)
    return query, key, draw(*batch, k, d_v, scale=1.3)


def qkv_masked(draw: Draw, *batch: int, q=5, k=7, d_k=3, d_v=2):
    return *qkv(draw, *batch, q=q, k=k, d_k=d_k, d_v=d_v), draw.mask(*batch, q, k)


def two_parts(draw: Draw, *batch: int, q=5, d_v=3):
    return tuple(draw(*batch, q, *width, scale=1.3) for width in ((d_v,), (), (d_v,), ()))


def in_blocks(draw: Draw, *batch: int, q=5, k=7, d_k=3, d_v=2, block=3):
    return *qkv(draw, *batch, q=q, k=k, d_k=d_k, d_v=d_v), False, block


def in_blocks_causal(draw: Draw, *batch: int, q=5, k=7, d_k=3, d_v=2, block=3):
    query, key, value = qkv(draw, *batch, q=min(q, k), k=max(q, k), d_k=d_k, d_v=d_v)
    return query, key, value, True, block


def below(draw: Draw, given):
    """Let all scores be below 0 by far: a largest one that begins at 0 is never left."""
    query, key, *rest = given
    far = 40 if draw.dtype in (torch.float32, torch.float64) else 4
    return query.abs() * far, -key.abs() * far, *rest


def masked_by(*rows: str):
    """Make inputs whose mask has these rows, for both sequences of a batch."""

    def inputs(draw: Draw):
        return *qkv(draw, 2, q=len(rows), k=len(rows[0])), pattern(draw, *rows)

    return inputs


def mask_of(*shape: int):
    def inputs(draw: Draw):
        return *qkv(draw, 2), draw.mask(*shape)

    return inputs


def closed_rows(*, a=(), b=()):
    """Let these rows of one part or of the other be closed: zeros and minus infinity."""

    def inputs(draw: Draw):
        parts = [x.clone() for x in two_parts(draw, 2)]
        for rows, out, log_sum in ((a, parts[0], parts[1]), (b, parts[2], parts[3])):
            for row in rows:
                out[:, row], log_sum[:, row] = 0, -torch.inf
        return tuple(parts)

    return inputs


def moved(by_a: float, by_b: float):
    """Let the logarithms be about so large."""

    def inputs(draw: Draw):
        out_a, log_sum_a, out_b, log_sum_b = two_parts(draw, 2)
        return out_a, log_sum_a + by_a, out_b, log_sum_b + by_b

    return inputs


def a_closed_far_below(draw: Draw):
    """Let one part be closed and the other one all but closed: -1e4 is not minus infinity."""
    out_a, log_sum_a, out_b, log_sum_b = two_parts(draw, 2)
    return out_a * 0, torch.full_like(log_sum_a, -torch.inf), out_b, log_sum_b - 1e4


def each_query_its_own(draw: Draw):
    """Let some queries have large logarithms and others small ones."""
    out_a, log_sum_a, out_b, log_sum_b = two_parts(draw, 2)
    about = draw.tensor([1e4, -1e4, 0, -1e4, 1e4])
    return out_a, log_sum_a + about, out_b, log_sum_b + 0.9 * about


def at(label: str, q: int, k: int, block: int, *batch: int, causal=False, **more):
    """Make a case of so many queries, keys, and positions in a block."""
    inputs = in_blocks_causal if causal else in_blocks
    label = f"{label}-causal" if causal else label
    drawn = lambda draw: inputs(draw, *batch, q=q, k=k, block=block)  # noqa: E731
    return Case("flash_attention", drawn, flash_attention, label, **more)


def whichever(label: str, q: int, k: int, block: int, *batch: int, **more):
    """Make it causal, and not."""
    return [at(label, q, k, block, *batch, causal=causal, **more) for causal in (False, True)]


def many(draw: Draw, *batch: int, n=72, d_k=5, d_v=3, block=36):
    return *qkv(draw, *batch, q=n, k=n, d_k=d_k, d_v=d_v), False, block


def many_causal(draw: Draw, *batch: int, n=72, d_k=5, d_v=3, block=36):
    return *qkv(draw, *batch, q=n, k=n, d_k=d_k, d_v=d_v), True, block


# so many pairs of a query and a key that it sees are there at least, however many are in the future
OPEN = 8192


def with_a_future(draw: Draw, *, future=32, d_k=2, d_v=1, block=16):
    """Let queries be the last of all positions: the more they are, the more is in their future.

    What they see gets a little less, which leaves room for tiles that are seen in part. There are
    always more keys than queries: who skips blocks only in a square is seen.
    """
    k = (OPEN + 14 * (120 - future)) // future + future // 2
    q = future
    return *qkv(draw, q=q, k=k, d_k=d_k, d_v=d_v), True, block


LARGE = {"d_k": 4}
PART = Case("partial_attention", qkv, partial_attention, large=LARGE)
MASKED = Case("partial_attention", qkv_masked, partial_attention, "masked", large=LARGE)
MERGE = Case("merge_partials", two_parts, merge_partials)
FLASH = Case("flash_attention", in_blocks, flash_attention, large=LARGE)
CAUSAL = Case("flash_attention", in_blocks_causal, flash_attention, "causal", large=LARGE)
CASES = [PART, MASKED, MERGE, FLASH, CAUSAL]


def part(label: str, inputs, cites=EVERYWHERE, **more):
    return Case("partial_attention", inputs, partial_attention, label, cites=cites, **more)


def merged(label: str, inputs, cites, **more):
    return Case("merge_partials", inputs, merge_partials, label, cites=cites, everywhere=True,
                **more)  # fmt: skip


SPECIAL = [
    part("one_query_closed", masked_by("TT.T", "....", ".T.."), CLOSED, everywhere=True),
    part("all_closed", masked_by("....", "...."), CLOSED, everywhere=True),
    part("mask_of_keys", mask_of(2, 1, 7)),
    part("one_mask_for_all", mask_of(5, 7)),
    part("mask_of_one_row", mask_of(7), polish=True),
    part("scores_below_0", lambda d: below(d, qkv(d, 2)), "A tuple of the attention"),
    part("masked_far_below_zero", lambda d: (*far_below_zero(d), d(7, 3), d.mask(5, 7))),
    merged("a_closed", closed_rows(a=range(5)), ONE_CLOSED),
    merged("b_closed", closed_rows(b=range(5)), ONE_CLOSED),
    merged("some_rows_closed", closed_rows(a=(0, 3), b=(1,)), ONE_CLOSED),
    Case("merge_partials", closed_rows(a=range(5), b=range(5)), merge_partials, "both_closed",
         cites=BOTH_CLOSED),
    Case("merge_partials", closed_rows(a=(0, 2), b=(2, 3)), merge_partials, "one_row_of_both",
         cites=BOTH_CLOSED),
    Case("merge_partials", moved(200, 200), merge_partials, "large", cites=EXTREME),
    Case("merge_partials", moved(-200, -200), merge_partials, "far_below_0", cites=EXTREME),
    merged("far_apart", moved(1e4, -1e4), EXTREME),
    merged("far_apart_the_other_way", moved(-1e4, 1e4), EXTREME),
    merged("a_closed_b_far_below_0", a_closed_far_below, ONE_CLOSED),
    merged("each_query_its_own", each_query_its_own, EXTREME),
    merged("one_is_larger_at_1e4", moved(1e4, 9e3), EXTREME),
    merged("one_is_larger_at_-1e4", moved(-1e4, -9e3), EXTREME),
    Case("flash_attention", lambda d: (*far_below_zero(d, q=7), d(7, 11), True, 3),
         flash_attention, "far_below_zero, causal"),
    *whichever("one_position_at_a_time", 5, 7, 1, 2, cites=DIVIDE),
    *whichever("divides", 8, 12, 4, 2, cites=DIVIDE),
    *whichever("one_left_over", 9, 13, 4, 2, cites=DIVIDE),
    *whichever("one_missing", 7, 11, 4, 2, cites=DIVIDE),
    *whichever("as_large_as_all", 7, 7, 7, cites=LARGER),
    *whichever("larger_than_all", 5, 7, 1000, 2, cites=LARGER),
    *whichever("between_queries_and_keys", 3, 11, 5, 2, cites=LARGER),
    *whichever("one_query", 1, 9, 4, 2),
    *whichever("as_many_queries", 11, 11, 3, 2, 3),
    *whichever("one_position", 1, 1, 2),
    *whichever("many_blocks", 67, 71, 5),
    at("one_key", 7, 1, 2, 2),
    at("more_queries", 13, 5, 3, 2),
    at("one_query_fewer", 6, 7, 2, 2, causal=True, cites=LAST),
    at("much_before_the_queries", 4, 23, 3, causal=True, cites=LAST),
    Case("flash_attention", lambda d: below(d, in_blocks(d, 2, k=11)), flash_attention,
         "scores_below_0"),
    Case("flash_attention", lambda d: below(d, in_blocks_causal(d, 2, k=11)), flash_attention,
         "scores_below_0-causal"),
]  # fmt: skip

# Three times as many positions: whoever has a number for each pair of them makes nine times as
# much. Any way works out a score for each pair, so whatever hides this is seen by what is missing.
MANY = Case("flash_attention", many, flash_attention, "many")
MANY_CAUSAL = Case("flash_attention", many_causal, flash_attention, "many, causal")
# in a batch a piece of each matrix cannot be a view that lies in one go: who asks for that copies
BATCH_CAUSAL = Case("flash_attention", many_causal, flash_attention, "many, causal, in a batch",
                    batch=(2,))  # fmt: skip
# parts of the output that are alive at once are larger than a tile
SMALL_BLOCKS = Case("flash_attention", many, flash_attention, "small blocks",
                    sizes={"d_v": 17, "block": 4})  # fmt: skip
FUTURE = Case("flash_attention", with_a_future, flash_attention, "future")
GROWS, SKIPS = "The largest tensor grows as", "With `causal`, blocks"


def every_pair(n, **_):
    return n * n


def half_of_the_pairs(n, **_):
    return n * n // 2


def open_pairs(**_):
    return OPEN


COSTS = [
    Growth(MANY, "largest", "n", (72, 216), 1, GROWS, least=every_pair),
    Growth(BATCH_CAUSAL, "left", "n", (72, 216), 1, GROWS, least=half_of_the_pairs, backward=True),
    Growth(MANY_CAUSAL, "largest", "n", (72, 216), 1, GROWS, least=half_of_the_pairs,
           backward=True),
    Growth(SMALL_BLOCKS, "peak", "n", (24, 72), 1, GROWS, least=every_pair, backward=True),
    Growth(FUTURE, "made", "future", (32, 120), 0, SKIPS, least=open_pairs),
    Growth(FUTURE, "made", "future", (32, 120), 0, SKIPS, least=open_pairs, backward=True),
]  # fmt: skip


def misfits(name: str, inputs):
    """List what functions of a query, a key and a value refuse: [5, 3], [7, 3] and [7, 2]."""
    batched = lambda draw: inputs(draw, 2)  # noqa: E731
    return [
        refusal(
            name, "ValueError: `query`, `key` or `value` has fewer than two dimensions.",
            ("`query` is [3], with 1 dimension", refused(name, inputs, _0=(3,))),
            ("`key` is [3], with 1 dimension", refused(name, inputs, _1=(3,))),
            ("`value` is [7], with 1 dimension", refused(name, inputs, _2=(7,))),
            ("all of them are [3], with 1 dimension",
             refused(name, inputs, _0=(3,), _1=(3,), _2=(3,))),
        ),
        refusal(
            name, "ValueError: `query` and `key` differ in width.",
            ("`query` is 3 wide and `key` is 4 wide", refused(name, inputs, _1=(7, 4))),
            ("`query` is 1 wide and `key` is 3 wide", refused(name, inputs, _0=(5, 1))),
            ("`query` is 3 wide and `key` is 1 wide", refused(name, inputs, _1=(7, 1))),
        ),
        refusal(
            name, "ValueError: `key` and `value` differ in number.",
            ("`key` has 7 rows and `value` has 6", refused(name, inputs, _2=(6, 2))),
            ("`key` has 7 rows and `value` has 8", refused(name, inputs, _2=(8, 2))),
            ("`key` has 7 rows and `value` has 1", refused(name, inputs, _2=(1, 2))),
            ("`key` has 8 rows and `value` has 7", refused(name, inputs, _1=(8, 3))),
        ),
        refusal(
            name, "ValueError: `query`, `key` and `value` differ in their batch.",
            ("`key` has a batch of 2 and `value` a batch of 1",
             refused(name, batched, _2=(1, 7, 4))),
            ("`query` has a batch of 2 and `key` and `value` a batch of 1",
             refused(name, batched, _1=(1, 7, 3), _2=(1, 7, 2))),
            ("`query` has a batch of 1, `key` and `value` a batch of 2",
             refused(name, batched, _0=(1, 5, 3))),
            ("`query` is [2, 3, 5, 3], `key` is [2, 1, 7, 3] and `value` [2, 1, 7, 2]",
             refused(name, batched, _0=(2, 3, 5, 3), _1=(2, 1, 7, 3), _2=(2, 1, 7, 2))),
            ("`query` is [5, 3], without a batch, and `key` is [2, 7, 3]",
             refused(name, batched, _0=(5, 3))),
            ("`query` is [1, 5, 3], and `key` and `value` have no batch",
             refused(name, inputs, _0=(1, 5, 3))),
            ("`value` is [7, 2], without a batch, and `key` has a batch of 2",
             refused(name, batched, _2=(7, 2))),
        ),
    ]  # fmt: skip


def flash_with(q: int, k: int, block: int, *, causal: bool):
    return lambda a, d: a.flash_attention(*qkv(d, 2, q=q, k=k), causal=causal, block=block)


LOG_SUM = "ValueError: `log_sum_a` or `log_sum_b` is not [*batch, q]."
MORE_QUERIES = "ValueError: `causal` is True, and there are more queries than keys."
# of two parts out is [5, 3] and log_sum [5]
REFUSALS = [
    *misfits("partial_attention", qkv),
    refusal(
        "partial_attention", "ValueError: `mask` does not broadcast to [*batch, q, k].",
        ("`mask` is [5, 4] and the scores are [5, 7]",
         lambda a, d: a.partial_attention(*qkv(d), d.mask(5, 4))),
        ("`mask` is [5, 4], all True, and the scores are [5, 7]",
         lambda a, d: a.partial_attention(*qkv(d), open_mask(d, 5, 4))),
        ("`mask` is [2, 5, 7], a batch of 2, and the scores are [5, 7], without a batch",
         lambda a, d: a.partial_attention(*qkv(d), d.mask(2, 5, 7))),
        ("`mask` is [3, 5] and would repeat the scores, [1, 5]",
         lambda a, d: a.partial_attention(*qkv(d, q=1, k=5), d.mask(3, 5))),
        ("`mask` is [3, 5] and would repeat the scores, [3, 1]",
         lambda a, d: a.partial_attention(*qkv(d, q=3, k=1), d.mask(3, 5))),
    ),
    refusal(
        "merge_partials", "ValueError: `out_a` or `out_b` has fewer than two dimensions.",
        ("`out_a` and `out_b` are [3], with 1 dimension",
         lambda a, d: a.merge_partials(d(3), d(1)[0], d(3), d(1)[0])),
        ("`out_a` is [3], with 1 dimension", refused("merge_partials", two_parts, _0=(3,))),
        ("`out_b` is [3], with 1 dimension", refused("merge_partials", two_parts, _2=(3,))),
    ),
    refusal(
        "merge_partials", "ValueError: `out_a` and `out_b` differ in shape.",
        ("`out_a` is 3 wide and `out_b` is 4 wide",
         refused("merge_partials", two_parts, _2=(5, 4))),
        ("`out_a` is 3 wide and `out_b` is 1 wide",
         refused("merge_partials", two_parts, _2=(5, 1))),
        ("`out_a` is 1 wide and `out_b` is 3 wide",
         refused("merge_partials", two_parts, _0=(5, 1))),
        ("`out_a` has 5 rows and `out_b` has 1",
         refused("merge_partials", two_parts, _2=(1, 3), _3=(1,))),
        ("`out_a` has 5 rows and `out_b` has 6",
         refused("merge_partials", two_parts, _2=(6, 3), _3=(6,))),
        ("`out_a` is [5, 3], without a batch, and `out_b` is [1, 5, 3]",
         refused("merge_partials", two_parts, _2=(1, 5, 3), _3=(1, 5))),
    ),
    refusal(
        "merge_partials", LOG_SUM,
        ("`log_sum_a` is [4] for 5 queries", refused("merge_partials", two_parts, _1=(4,))),
        ("`log_sum_b` is [4] for 5 queries", refused("merge_partials", two_parts, _3=(4,))),
        ("`log_sum_a` is [1] for 5 queries", refused("merge_partials", two_parts, _1=(1,))),
        ("`log_sum_b` is [1] for 5 queries", refused("merge_partials", two_parts, _3=(1,))),
        ("both are [5, 1], with 2 dimensions, for parts of [5, 3]",
         refused("merge_partials", two_parts, _1=(5, 1), _3=(5, 1))),
        ("both are [2, 5], a batch of 2, and there is none",
         refused("merge_partials", two_parts, _1=(2, 5), _3=(2, 5))),
        *((f"`{name}` is [5], without a batch, for parts of [2, 5, 3]",
           refused("merge_partials", lambda d: two_parts(d, 2), **{place: (5,)}))
          for name, place in (("log_sum_a", "_1"), ("log_sum_b", "_3"))),
        ("both are [5], without a batch, for parts of [2, 5, 3]",
         refused("merge_partials", lambda d: two_parts(d, 2), _1=(5,), _3=(5,))),
    ),
    *misfits("flash_attention", in_blocks),
    refusal(
        "flash_attention", MORE_QUERIES,
        *((f"`causal` is True, with {q} queries and {k} keys", flash_with(q, k, 2, causal=True))
          for q, k in ((5, 4), (9, 2), (2, 1))),
    ),
    refusal(
        "flash_attention", "ValueError: `block` is below 1.",
        *((f"`block` is {block}", flash_with(5, 7, block, causal=causal))
          for block, causal in ((0, False), (-1, False), (-2, False), (0, True), (-64, True))),
    ),
]  # fmt: skip
EXPLAINS = {
    "partial_attention": ("The output is that of", "The second result"),
    "flash_attention": ("So nothing of q x k", "Pieces of", "Gradients of gradients"),
}
OWN_WORDS = ("merge_partials", "`causal` is True", "`block` is below 1")
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(REFUSALS, *OWN_WORDS), costs=COSTS))

# Parts: by hand, and under every mask


def by_hand(draw):
    """Draw nothing: the query, the keys and the values of the text."""
    key = draw.tensor([1, 3, 3, 9]).double().log().to(draw.dtype)[:, None]
    return draw.tensor([[1]]), key, draw.tensor([6, 14, 2, 10])[:, None]


@check("partial_attention", cites=READY_MADE)
def test_partial_attention_is_your_own(answer, draw):
    cases = [PART, MASKED, *(c.at(*b) for c in (PART, MASKED) for b in ((2,), (2, 3)))]
    your_own(answer, draw, READY_ATTENTION, cases)


@check("partial_attention")
@vary("keys", [(0, 2), (2, 4), (0, 4)])
def test_partial_attention_by_hand(answer, draw, keys):
    query, key, value = by_hand(draw)
    begin, end = keys
    out, whole = {(0, 2): (12, 4), (2, 4): (8, 12), (0, 4): (9, 16)}[keys]
    got = answer.partial_attention(query, key[begin:end], value[begin:end])
    same(got, (draw.tensor([[out]]), draw.tensor([whole]).double().log().to(draw.dtype)))


@check("partial_attention", about="edges", cites=EVERYWHERE)
def test_partial_attention_with_masks_of_every_shape(answer, draw):
    right_with_masks_of_every_shape(draw, qkv, answer.partial_attention, partial_attention)


# Merging: by hand, in any order, and where nothing is open


@check("merge_partials")
def test_merge_partials_by_hand(answer, draw):
    logs = draw.tensor([4, 12, 16]).double().log().to(draw.dtype)
    got = answer.merge_partials(draw.tensor([[12]]), logs[:1], draw.tensor([[8]]), logs[1:2])
    same(got, (draw.tensor([[9]]), logs[2:]))


@check("merge_partials", cites=EXTREME)
@vary("about", [1e4, -1e4])
def test_merge_partials_about_1e4(answer, draw, about):
    """In float64, where a logarithm near 1e4 has all the digits that a share needs."""
    given = moved(about, about)(draw.using(torch.float64))
    same(answer.merge_partials(*given), merge_partials(*given))


@check("merge_partials", cites=ORDER)
@vary("closed", [False, True])
def test_merge_partials_in_any_order(answer, draw, closed):
    """Merge three parts from the left, from the right, and the outer two first."""
    query = draw(2, 5, 3, scale=1.3)
    parts = []
    for k in (2, 4, 3):
        mask = draw.mask(2, 5, k)
        if closed:  # row 0 in the first part, row 1 in all of them
            mask[:, 1] = False
            mask[:, 0] &= k != 2
        parts.append((query, draw(2, k, 3, scale=1.3), draw(2, k, 2, scale=1.3), mask))
    want = all_parts([tuple(map(exact, given)) for given in parts])
    a, b, c = (
        tuple(one.to(draw.dtype) for one in partial_attention(*map(exact, given)))
        for given in parts
    )
    merge = answer.merge_partials
    for said, first, second, rest in (
        ("(a b) c", a, b, c),
        ("a (b c)", b, c, a),
        ("b (c a)", c, a, b),
    ):
        with situation(said):
            inner = merge(*first, *second)
            same(
                inner,
                merge_partials(*map(exact, (*first, *second))),
                like=query,
                label="the inner one",
            )
            got = merge(*inner, *rest) if said == "(a b) c" else merge(*rest, *inner)
            same(got, want, like=query)


def finite(arrived, names):
    for name, gradient in zip(names, arrived, strict=True):
        if gradient is not None:
            bad = int((~gradient.isfinite()).sum())
            holds(bad == 0, f"the gradient of `{name}`",
                  f"{bad} of its numbers are not finite", gradient)  # fmt: skip


@check("merge_partials", about="gradients", cites=BOTH_CLOSED)
@vary("rows", [((0, 1, 2, 3, 4), (0, 1, 2, 3, 4)), ((0, 2), (2, 3))])
def test_merge_partials_of_two_closed_ones_has_finite_gradients(answer, draw, rows):
    """What comes in at a row of minus infinity is 0, as from whoever merges it with others."""
    a, b = rows
    given = MERGE.twins(closed_rows(a=a, b=b)(draw))
    want = merge_partials(*map(exact, given))
    out, log_sum = answer.merge_partials(*given)
    same((out, log_sum), tuple(one.detach() for one in want), like=given[0])
    comes_in = torch.ones_like(log_sum).masked_fill(torch.isneginf(log_sum.detach()), 0)
    arrived = pulled((out, log_sum), list(given), (torch.ones_like(out), comes_in))
    finite(arrived, MERGE.names())


@check("merge_partials", about="devices", cites=Rule("device"))
def test_merge_partials_of_closed_ones_on_a_gpu(answer, draw):
    given = closed_rows(a=(0, 2), b=(2, 3))(draw)
    want = merge_partials(*map(exact, given))
    on_a_gpu(answer, draw, lambda _: same(answer.merge_partials(*given), want, like=given[0]))


# In blocks: by hand, and by whom each position sees


@check("flash_attention", cites=READY_MADE)
def test_flash_attention_is_your_own(answer, draw):
    cases = [FLASH, CAUSAL, *(c.at(*b) for c in (FLASH, CAUSAL) for b in ((2,), (2, 3)))]
    your_own(answer, draw, READY_ATTENTION, cases)


@check("flash_attention")
@vary("block", [1, 2, 3, 4, 64])
def test_flash_attention_by_hand(answer, draw, block):
    query, key, value = by_hand(draw)
    same(answer.flash_attention(query, key, value, block=block), draw.tensor([[9]]))


@check("flash_attention", about="calls", cites=Rule("arguments"))
def test_flash_attention_left_out(answer, draw):
    """Catches another `causal` by default."""
    given = qkv(draw, 2, q=5, k=7)
    for more in ({}, {"block": 2}, {"causal": True}):
        want = flash_attention(*map(exact, given), **more)
        with situation(", ".join(["query, key, value", *more])):
            same(answer.flash_attention(*given, **more), want, like=given[0])


@check("flash_attention", about="gradients")
@vary("block", [1, 2, 64])
def test_flash_attention_by_hand_on_the_way_back(answer, draw, block):
    """The gradients of the scores are -3/16, 15/16, -21/16 and 9/16, and the query is 1."""
    given = FLASH.twins(by_hand(draw))
    out = answer.flash_attention(*given, block=block)
    same(out, draw.tensor([[9]]))
    scores = draw.tensor([-3, 15, -21, 9]).double() / 16
    want = (
        (scores * exact(given[1]).detach()[:, 0]).sum()[None, None],
        scores[:, None],
        draw.tensor([1, 3, 3, 9]).double()[:, None] / 16,
    )
    arrived = pulled(out, list(given), torch.ones_like(out))
    for name, got, right in zip(FLASH.names(), arrived, want, strict=False):
        same(got, right, like=out, label=f"the gradient of `{name}`")


@check("flash_attention", cites=LAST)
@vary("sizes", [(7, 7, 3), (4, 9, 2), (1, 5, 2), (5, 6, 64)])
def test_flash_attention_by_index(answer, draw, sizes):
    """Let all keys be alike and each value be one-hot: the output is whom each query sees."""
    q, k, block = sizes
    query, key = draw(q, 4), draw(1, 4).expand(k, 4).contiguous()
    value = torch.eye(k, dtype=draw.dtype, device=draw.device)
    sees = looking_back(query, key).to(draw.dtype)
    got = answer.flash_attention(query, key, value, causal=True, block=block)
    same(got, sees / sees.sum(-1, keepdim=True))
