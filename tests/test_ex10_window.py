"""Chapter 10: masks by exact value, windows by value, and what they cost, counted."""

import itertools
import math

import torch

from grader.suite import (
    Case,
    Draw,
    Growth,
    Rule,
    check,
    checks_by_law,
    in_any_words,
    reference,
    refusal,
    same,
    situation,
    vary,
)
from grader.suite.arithmetic import attention64
from grader.suite.devices import on_a_gpu
from grader.suite.queries_and_keys import far_below_zero, pattern
from grader.suite.your_own import READY_ATTENTION, your_own

EMPTY = "With 0 queries it is empty."
DIVIDE = "It need not divide n."
READY_MADE = Rule("ready-made")

# What is right: masks pair by pair, and attention over all pairs in float64


@reference
def pair_by_pair(q, k, sees, device):
    kept = [[sees(k - q + i, j) for j in range(k)] for i in range(q)]
    return torch.tensor(kept, dtype=torch.bool, device=device).reshape(q, k)


@reference
def causal_mask_at(q, k, device=None):
    if q > k:
        raise ValueError(f"{q} and {k}")
    return pair_by_pair(q, k, lambda i, j: j <= i, device)


@reference
def window_mask(q, k, window, sinks=0, device=None):
    if q > k or window < 1 or sinks < 0:
        raise ValueError(f"{q}, {k}, {window} and {sinks}")
    return pair_by_pair(q, k, lambda i, j: j <= i and (j > i - window or j < sinks), device)


@reference
def window_attention(query, key, value, window):
    shapes = [tuple(part.shape) for part in (query, key, value)]
    if window < 1 or min(map(len, shapes)) < 2 or len({one[:-1] for one in shapes}) > 1:
        raise ValueError(f"{shapes} and {window} do not fit together")
    if shapes[0] != shapes[1]:
        raise ValueError(f"{shapes} do not fit together")
    n = query.shape[-2]
    band = torch.ones(n, n, dtype=torch.bool, device=query.device).tril().triu(1 - window)
    return attention64(query, key, value, band)


# How each function is called, at whatever sizes


def last_of(draw: Draw, *, q=3, k=7):  # noqa: ARG001
    return min(q, k), max(q, k)


def last_of_a_window(draw: Draw, *, q=5, k=11, window=3):  # noqa: ARG001
    return min(q, k), max(q, k), window


def with_sinks(draw: Draw, *, q=5, k=11, window=3, sinks=2):  # noqa: ARG001
    return min(q, k), max(q, k), window, sinks


def qkv(draw: Draw, *batch: int, n=7, window=3, d_k=5, d_v=11):
    query, key = draw(*batch, n, d_k, scale=1.3), draw(*batch, n, d_k, scale=1.3)
    return query, key, draw(*batch, n, d_v, scale=1.3), window


def of_sizes(name: str, label: str, *given: int, expected=window_mask, **more):
    return Case(name, lambda draw: given, expected, label, **more)  # noqa: ARG005


def at(label: str, n: int, window: int, *batch: int, **more):
    """Make a case of a sequence and a window of these lengths."""
    inputs = lambda draw: qkv(draw, *batch, n=n, window=window)  # noqa: E731
    return Case("window_attention", inputs, window_attention, label, **more)


def alike(draw: Draw):
    """Let all scores be 0: each position gets the mean of what it sees."""
    query, key, value, window = qkv(draw, 2, n=9, window=4)
    return query * 0, key, value, window


def far_apart(draw: Draw):
    """Let all scores be below 0 by far: a key of zeros that is not masked has all the weight."""
    query, key, value, window = qkv(draw, 2, n=8, window=4)
    return query.abs() * 4, -key.abs() * 4, value, window


def values_of_zeros(draw: Draw):
    """Let a value be zeros in the middle: it is a word like any other, and no padding."""
    query, key, value, window = qkv(draw, n=11, window=3)
    value[[4, 5]] = 0
    return query, key, value, window


CAUSAL = Case("causal_mask_at", last_of, causal_mask_at)
WINDOW = Case("window_mask", last_of_a_window, window_mask)
SINKS = Case("window_mask", with_sinks, window_mask, "sinks")
ATTENTION = Case("window_attention", qkv, window_attention, large={"d_k": 4})
CASES = [CAUSAL, WINDOW, SINKS, ATTENTION]
NONE = {"cites": EMPTY}
SPECIAL = [
    of_sizes("causal_mask_at", "as_many_queries", 5, 5, expected=causal_mask_at),
    of_sizes("causal_mask_at", "one_query", 1, 6, expected=causal_mask_at),
    of_sizes("causal_mask_at", "many_keys", 3, 131, expected=causal_mask_at),
    of_sizes("causal_mask_at", "no_query", 0, 4, expected=causal_mask_at, **NONE),
    of_sizes("causal_mask_at", "nothing", 0, 0, expected=causal_mask_at, **NONE),
    of_sizes("window_mask", "itself_alone", 4, 6, 1),
    of_sizes("window_mask", "as_many_queries", 6, 6, 4),
    of_sizes("window_mask", "one_query", 1, 9, 4, 2),
    of_sizes("window_mask", "as_long_as_the_keys", 3, 7, 7),
    of_sizes("window_mask", "longer_than_the_keys", 3, 7, 20, cites="The window may be"),
    of_sizes("window_mask", "more_sinks_than_keys", 3, 7, 2, 20, cites="The window may be"),
    of_sizes("window_mask", "much_longer_than_the_keys", 3, 7, 10**5, cites="The window may be"),
    of_sizes("window_mask", "many_more_sinks_than_keys", 3, 7, 2, 10**5,
             cites="The window may be"),
    of_sizes("window_mask", "many_keys", 3, 131, 5, 2),
    of_sizes("window_mask", "as_many_sinks_as_keys", 6, 6, 1, 6, cites="The window may be"),
    of_sizes("window_mask", "sinks_in_the_window", 6, 8, 5, 4, cites="A position that is in both"),
    of_sizes("window_mask", "sinks_in_the_future", 7, 7, 1, 4),
    of_sizes("window_mask", "sinks_and_one_word", 4, 9, 1, 1),
    of_sizes("window_mask", "no_query", 0, 4, 2, 1, **NONE),
    of_sizes("window_mask", "nothing", 0, 0, 2, 1, **NONE),
    at("itself_alone", 6, 1),
    at("divides", 12, 4, 2),
    at("one_left_over", 13, 4, 2, cites=DIVIDE),
    at("one_missing", 11, 4, 2, cites=DIVIDE),
    at("shorter_than_two_windows", 7, 5, cites=DIVIDE),
    at("as_long_as_the_sequence", 6, 6, 2),
    at("longer_than_the_sequence", 5, 9, 2, everywhere=True),
    at("much_longer_than_the_sequence", 3, 1000),
    at("one_position", 1, 1),
    at("one_position_in_a_window", 1, 4, 3),
    at("two_batches", 9, 2, 2, 3),
    at("many_short_windows", 97, 2),
    at("many_long_windows", 131, 41),
    Case("window_attention", alike, window_attention, "scores_alike"),
    Case("window_attention", far_apart, window_attention, "scores_below_0"),
    Case("window_attention", values_of_zeros, window_attention, "values_of_zeros"),
    Case("window_attention", lambda d: (*far_below_zero(d, q=7), d(7, 11), 3), window_attention,
         "far_below_zero"),
]  # fmt: skip

# About three times as many positions: whoever has a number for each pair of them makes nine times
# as much, with a batch or without, and whether the window divides n or not: who has only whole
# blocks has a single one where n is a prime. A block may be longer than the window, so the smallest
# sequence is no short one. What a loop over slices makes on the way back grows as the square of n,
# though none of it is large. Of a loop over blocks the largest tensor may grow as the square of the
# window, where all blocks together grow as it does. With --earlier reference only the output is
# seen of what chapter 5 works out.
LONG = Case("window_attention", qkv, window_attention, "long", sizes={"d_v": 3})
BATCH = Case("window_attention", qkv, window_attention, "long, in a batch", batch=(2,),
             sizes={"d_v": 3})  # fmt: skip
WIDE = Case("window_attention", qkv, window_attention, "wide", sizes={"n": 128, "d_v": 3})
GROWS = "Memory and work grow as n does"


def of_the_output(n, d_v, **_):
    return n * d_v


COSTS = [
    Growth(BATCH, "largest", "n", (128, 389), 1, GROWS, least=of_the_output, backward=True),
    Growth(LONG, "made", "n", (129, 384), 1, GROWS, least=of_the_output, large=1200),
    Growth(WIDE, "made", "window", (8, 32), 1, GROWS, least=of_the_output),
]  # fmt: skip


def refused(window: int = 3, **other):
    """Call `window_attention` with some of its arguments in other shapes."""

    def call(answer, draw):
        given = dict(zip(("query", "key", "value"), qkv(draw, 2), strict=False))
        drawn = {name: draw(*shape) for name, shape in other.items()}
        return answer.window_attention(**{**given, **drawn}, window=window)

    return call


MORE_QUERIES = "ValueError: there are more queries than keys."
SHORT = "ValueError: `window` is below 1."
# query and key are [2, 7, 5], value [2, 7, 11] where nothing else is said
REFUSALS = [
    refusal(
        "causal_mask_at", MORE_QUERIES,
        *((f"`q` is {q} and `k` is {k}", lambda a, _, q=q, k=k: a.causal_mask_at(q, k))
          for q, k in ((5, 4), (7, 2), (3, 0))),
    ),
    refusal(
        "window_mask", MORE_QUERIES,
        *((f"`q` is {q} and `k` is {k}", lambda a, _, q=q, k=k: a.window_mask(q, k, 2, 1))
          for q, k in ((5, 4), (7, 2), (3, 0))),
    ),
    refusal(
        "window_mask", SHORT,
        ("`window` is 0", lambda a, _: a.window_mask(3, 5, 0)),
        ("`window` is -2", lambda a, _: a.window_mask(3, 5, -2)),
        ("`window` is 0, and there are 2 sinks", lambda a, _: a.window_mask(3, 5, 0, 2)),
        ("`window` is 0, and there are 0 queries", lambda a, _: a.window_mask(0, 5, 0)),
    ),
    refusal(
        "window_mask", "ValueError: `sinks` is below 0.",
        ("`sinks` is -1", lambda a, _: a.window_mask(3, 5, 2, -1)),
        ("`sinks` is -4", lambda a, _: a.window_mask(3, 5, 2, sinks=-4)),
        ("`sinks` is -2, and `window` is larger than 5 keys",
         lambda a, _: a.window_mask(3, 5, 7, -2)),
        ("`sinks` is -1, and there are 0 queries", lambda a, _: a.window_mask(0, 5, 2, -1)),
    ),
    refusal(
        "window_attention",
        "ValueError: `query`, `key` or `value` has fewer than two dimensions.",
        ("`query` is [5], with 1 dimension", refused(query=(5,))),
        ("`key` is [5], with 1 dimension", refused(key=(5,))),
        ("`value` is [11], with 1 dimension", refused(value=(11,))),
        ("all have 1 dimension, and are [7]", refused(query=(7,), key=(7,), value=(7,))),
    ),
    refusal(
        "window_attention", "ValueError: `query` and `key` differ in width.",
        ("`query` is 5 wide and `key` is 13 wide", refused(key=(2, 7, 13))),
        ("`query` is 5 wide and `key` is 1 wide", refused(key=(2, 7, 1))),
        ("`query` is 1 wide and `key` is 5 wide", refused(query=(2, 7, 1))),
    ),
    refusal(
        "window_attention", "ValueError: `query`, `key` and `value` differ in number.",
        ("there are 6 queries for 7 keys and values", refused(query=(2, 6, 5))),
        ("there is 1 query for 7 keys and values", refused(query=(2, 1, 5))),
        ("there are 8 queries for 7 keys and values", refused(query=(2, 8, 5))),
        ("there are 7 queries and 9 keys and values", refused(key=(2, 9, 5), value=(2, 9, 11))),
        ("there is 1 key, with 1 value, for 7 queries", refused(key=(2, 1, 5), value=(2, 1, 11))),
        ("there are 6 values for 7 keys", refused(value=(2, 6, 11))),
        ("there are 8 values for 7 keys", refused(value=(2, 8, 11))),
        ("there is 1 value for 7 keys", refused(value=(2, 1, 11))),
    ),
    refusal(
        "window_attention", "ValueError: `query`, `key` and `value` differ in their batch.",
        ("`query` has a batch of 2, `key` and `value` a batch of 1",
         refused(key=(1, 7, 5), value=(1, 7, 11))),
        ("`query` and `key` have a batch of 2, `value` a batch of 1", refused(value=(1, 7, 11))),
        ("`query` is [2, 3, 7, 5], `key` is [2, 1, 7, 5] and `value` [2, 1, 7, 11]",
         refused(query=(2, 3, 7, 5), key=(2, 1, 7, 5), value=(2, 1, 7, 11))),
        ("`query` is [7, 5], without a batch, and `key` is [2, 7, 5]", refused(query=(7, 5))),
        ("`query` is [2, 7, 5], and `key` and `value` are without a batch",
         refused(key=(7, 5), value=(7, 11))),
    ),
    refusal(
        "window_attention", SHORT,
        ("`window` is 0", refused(window=0)),
        ("`window` is -3", refused(window=-3)),
    ),
]  # fmt: skip
EXPLAINS = {
    "causal_mask_at": ("The positions are those", "So the last query"),
    "window_attention": ("So nothing that is made",),
}
OWN_WORDS = ("causal_mask_at", "window_mask", "window")
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(REFUSALS, *OWN_WORDS), costs=COSTS))

# Masks: by hand, and by the device that they are asked for


@check("causal_mask_at")
def test_causal_mask_at_by_hand(answer, draw):
    same(
        answer.causal_mask_at(3, 7, device=draw.place),
        pattern(draw, "TTTTT..", "TTTTTT.", "TTTTTTT"),
    )


@check("causal_mask_at", cites="With q = k")
def test_causal_mask_at_as_in_chapter_3(answer, draw):
    same(answer.causal_mask_at(4, 4, draw.place), pattern(draw, "T...", "TT..", "TTT.", "TTTT"))


@check("window_mask")
@vary("sinks", [0, 1])
def test_window_mask_by_hand(answer, draw, sinks):
    rows = ("..TTT..", "...TTT.", "....TTT"), ("T.TTT..", "T..TTT.", "T...TTT")
    same(answer.window_mask(3, 7, 3, sinks, draw.place), pattern(draw, *rows[sinks]))


@check("window_mask", about="edges", cites=Rule("sizes"))
def test_window_mask_of_every_size(answer, draw):
    """Catches a shortcut that is taken one position too early."""
    k = 6
    for q, window, sinks in itertools.product((k, 2), range(1, k + 2), range(k + 1)):
        with situation(f"q={q}, k={k}, window={window}, sinks={sinks}"):
            got = answer.window_mask(q, k, window, sinks, draw.place)
            same(got, window_mask(q, k, window, sinks, draw.device))


MASKS = {
    "causal_mask_at": ((3, 5), causal_mask_at),
    "window_mask": ((4, 6, 2, 1), window_mask),
}


def device_ready(answer, draw, name):
    """Hold a mask against the device that it is asked for, given in any form."""
    given, right = MASKS[name]
    # a single query may be answered in a way of its own, and so may none
    few = [(one, *given[1:]) for one in (1, 0)]

    def run(device):
        make = getattr(answer, name)
        for some in (given, *few):
            same(make(*some, device=device), right(*some, draw.device))
        label = "the mask with a device named in words"
        same(make(*given, device=str(device)), right(*given, draw.device), label=label)
        same(make(*given), right(*given), label="the mask without a device", place="cpu")

    on_a_gpu(answer, draw, run)


@check("causal_mask_at", about="devices", cites="It is on `device`.")
def test_causal_mask_at_is_device_ready(answer, draw):
    device_ready(answer, draw, "causal_mask_at")


@check("window_mask", about="devices", cites="It is on `device`.")
def test_window_mask_is_device_ready(answer, draw):
    device_ready(answer, draw, "window_mask")


def without_a_device(answer, name):
    """Hold a mask against the default device."""
    given, right = MASKS[name]
    make = getattr(answer, name)
    for said, mask in (
        ("without a device", lambda: make(*given)),
        ("with device=None", lambda: make(*given, device=None)),
    ):
        with situation(said):
            same(mask(), right(*given), label=f"the mask {said}", place="cpu")


@check("causal_mask_at", cites="None: the default device")
def test_causal_mask_at_without_a_device(answer):
    without_a_device(answer, "causal_mask_at")


@check("window_mask", cites="None: the default device")
def test_window_mask_without_a_device(answer):
    without_a_device(answer, "window_mask")


# Windows: by hand, and by what reaches whom


@check("window_attention", cites=READY_MADE)
def test_window_attention_is_your_own(answer, draw):
    your_own(answer, draw, READY_ATTENTION, [ATTENTION, ATTENTION.at(2), ATTENTION.at(2, 3)])


@check("window_attention")
def test_window_attention_by_hand(answer, draw):
    asks = math.log(3)
    query, key = draw.tensor([[1]] * 5), draw.tensor([0, asks, 0, asks, asks])[:, None]
    value = draw.tensor([8, 16, 40, 4, 20])[:, None]
    same(answer.window_attention(query, key, value, 2), draw.tensor([8, 14, 22, 13, 12])[:, None])


@check("window_attention")
@vary("sizes", [(9, 3), (10, 4), (6, 8)])
def test_window_attention_by_index(answer, draw, sizes):
    """Let all keys be alike and each value be one-hot: the output is whom each position sees."""
    n, window = sizes
    value = torch.eye(n, dtype=draw.dtype, device=draw.device)
    sees = window_mask(n, n, window, device=draw.device).to(draw.dtype)
    key = draw(1, 4).expand(n, 4).contiguous()
    same(answer.window_attention(draw(n, 4), key, value, window), sees / sees.sum(-1, keepdim=True))
