"""Chapter 9: groups of heads by value and by index, and what is never copied, counted."""

import math

import torch
from torch import nn

from grader.suite import (
    Case,
    Draw,
    Growth,
    ModuleCase,
    Rule,
    check,
    checks_by_law,
    exact,
    in_any_words,
    reference,
    refusal,
    same,
    situation,
    vary,
)
from grader.suite.arithmetic import attention64, heads64
from grader.suite.queries_and_keys import (
    OF_EVERY_SHAPE,
    far_below_zero,
    open_mask,
    right_with_masks_of_every_shape,
)
from grader.suite.your_own import READY_ATTENTION, your_own

NOTHING = "A query that may attend to nothing"
EVERYWHERE = "None: everywhere"
READY_MADE = Rule("ready-made")

# What is right, worked out in float64: one head after the other


@reference
def repeat_heads(x, times):
    if x.dim() < 3 or times < 1:
        raise ValueError(f"{tuple(x.shape)} and {times}")
    return torch.stack([head for head in x.unbind(-3) for _ in range(times)], -3)


@reference
def grouped_attention(query, key, value, mask=None):
    shapes = [tuple(part.shape) for part in (query, key, value)]
    if min(map(len, shapes)) < 3 or len({one[:-3] for one in shapes}) > 1:
        raise ValueError(f"{shapes} do not fit together")
    h, g = query.shape[-3], key.shape[-3]
    if h % g or key.shape[:-1] != value.shape[:-1] or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"{shapes} do not fit together")
    if mask is not None:
        mask = mask.expand(*query.shape[:-3], query.shape[-2], key.shape[-2])
    keys, values = repeat_heads(key, h // g).unbind(-3), repeat_heads(value, h // g).unbind(-3)
    heads = zip(query.unbind(-3), keys, values, strict=True)
    return torch.stack([attention64(q, k, v, mask) for q, k, v in heads], -3)


@reference
def as_in_chapter_6(x, weights, n_heads):
    parts = (x @ weights[f"{name}.weight"].T for name in ("w_q", "w_k", "w_v"))
    return heads64(*parts, n_heads) @ weights["w_o.weight"].T


@reference
def cache_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    kept = torch.empty(2, dtype=dtype).nbytes
    return sum(kept * n_kv_heads * d_head * n for _ in range(n_layers)) * batch


@reference
def layer_output(weights, x, memory=None, mask=None, *, made):
    """Project, attend head by head, project again; `weights` by their names in the module."""
    n_heads, n_kv_heads = made[1:3]

    def project(name, tokens):
        out = tokens @ weights[f"{name}.weight"].T
        return out + weights[f"{name}.bias"] if f"{name}.bias" in weights else out

    def split(tokens, heads):
        return torch.stack(tokens.chunk(heads, -1), -3)

    seen = x if memory is None else memory
    query = split(project("w_q", x), n_heads)
    key, value = (split(project(name, seen), n_kv_heads) for name in ("w_k", "w_v"))
    mixed = grouped_attention(query, key, value, mask)
    return project("w_o", torch.cat(mixed.unbind(-3), -1))


@reference
class GroupedQueryAttention(nn.Module):
    """The module on float64 arithmetic; stands in for a student's when blame is sought."""

    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if n_heads < 1 or d_model % n_heads or n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"{d_model}, {n_heads} and {n_kv_heads}")
        self.made = (d_model, n_heads, n_kv_heads)
        narrow = d_model // n_heads * n_kv_heads
        for name, width in zip(LAYERS, (d_model, narrow, narrow, d_model), strict=True):
            setattr(self, name, nn.Linear(d_model, width, bias=bias))

    def forward(self, x, memory=None, mask=None):
        """Attend in float64, and return the dtype of `x`."""
        weights = {name: weight.double() for name, weight in self.named_parameters()}
        seen = None if memory is None else memory.double()
        return layer_output(weights, x.double(), seen, mask, made=self.made).to(x.dtype)


LAYERS = ("w_q", "w_k", "w_v", "w_o")

# How each function is called, at whatever sizes


def heads(draw: Draw, *batch: int, g=2, n=5, d=7, times=3):
    g, times = few_heads(g, times, n * d, 15_000)
    return draw(*batch, g, n, d), times


def few_heads(g: int, times: int, scores: int, most: int = 700) -> tuple[int, int]:
    """Let there be fewer heads where all sizes are large: plain loops go from score to score."""
    return (g, times) if g * times * scores <= most else (min(g, 2), min(times, 3))


def qkv(draw: Draw, *batch: int, g=2, times=3, q=5, k=7, d_k=11, d_v=13):
    g, times = few_heads(g, times, q * k)
    query = draw(*batch, g * times, q, d_k, scale=1.3)
    return query, draw(*batch, g, k, d_k, scale=1.3), draw(*batch, g, k, d_v, scale=1.3)


def qkv_masked(draw: Draw, *batch: int, g=2, times=3, q=5, k=7, d_k=11, d_v=13):
    given = qkv(draw, *batch, g=g, times=times, q=q, k=k, d_k=d_k, d_v=d_v)
    return *given, draw.mask(*batch, q, k)


def masked_far_below_zero(draw: Draw):
    query, key = far_below_zero(draw)
    return query.repeat(6, 1, 1), key.repeat(2, 1, 1), draw(2, 7, 3), draw.mask(5, 7)


def fewer_queries_each(draw: Draw, *batch: int, h=6, g=3, queries=60, k=11, d_k=13, d_v=5):
    """Make as many queries in all, whatever the number of heads is."""
    query = draw(*batch, h, queries // h, d_k, scale=1.3)
    return query, draw(*batch, g, k, d_k, scale=1.3), draw(*batch, g, k, d_v, scale=1.3)


def fewer_queries_each_masked(draw: Draw, *batch: int, h=6, g=3, queries=60, k=11, d_k=13, d_v=5):
    given = fewer_queries_each(draw, *batch, h=h, g=g, queries=queries, k=k, d_k=d_k, d_v=d_v)
    return *given, draw.mask(*batch, queries // h, k)


def model_sizes(draw: Draw, *, n_layers=3, n_kv_heads=2, d_head=7, n=11, batch=5):  # noqa: ARG001
    return n_layers, n_kv_heads, d_head, n, batch


def one_sequence(draw: Draw, *, n_layers=2, n_kv_heads=3, d_head=5, n=7):  # noqa: ARG001
    return n_layers, n_kv_heads, d_head, n


def nothing_kept(draw: Draw):  # noqa: ARG001
    return 3, 2, 7, 0, 5


def weights_for(draw: Draw, made, bias: bool):
    d_model, n_heads, n_kv_heads = made
    narrow = d_model // n_heads * n_kv_heads
    weights = {}
    for name, width in zip(LAYERS, (d_model, narrow, narrow, d_model), strict=True):
        weights[f"{name}.weight"] = draw(width, d_model, scale=d_model**-0.5)
        if bias:
            weights[f"{name}.bias"] = draw(width, scale=0.5)
    return weights


def a_layer(draw: Draw, *batch: int, q=5, n_kv_heads=2, times=3, d_head=4):
    # d_model is a product of three sizes: all of them large are more than a matrix holds
    q, d_head = min(q, 37), min(d_head, 11)
    n_kv_heads, times = few_heads(min(n_kv_heads, 13), min(times, 7), q * q)
    d_model = n_kv_heads * times * d_head
    made = d_model, n_kv_heads * times, n_kv_heads
    x = draw(*batch, q, d_model, scale=1.3)
    return made, weights_for(draw, made, bias=False), (x,)


def looking_at_memory(draw: Draw, *batch: int, q=5, k=7, n_kv_heads=2, times=3, d_head=4):
    n_kv_heads, times = few_heads(n_kv_heads, times, q * k)
    made, _, (x,) = a_layer(draw, *batch, q=q, n_kv_heads=n_kv_heads, times=times, d_head=d_head)
    q = x.shape[-2]
    memory = draw(*batch, k, x.shape[-1], scale=1.3)
    weights = weights_for(draw, made, bias=True)
    return (*made, True), weights, (x, memory, draw.mask(*batch, q, k))


def masked_layer(*shape: int, batch: tuple[int, ...] = (), tokens: int = 5):
    """Make inputs of a layer that looks at itself, with a mask of some shape."""

    def inputs(draw: Draw):
        made, weights, (x,) = a_layer(draw, *batch, q=tokens)
        return made, weights, (x, None, draw.mask(*shape))

    return inputs


def layer_that_sees_nothing(draw: Draw):
    made, weights, (x, memory, mask) = looking_at_memory(draw, 2)
    mask[1, 3] = False
    return made, weights, (x, memory, mask)


def other_heads(g: int, times: int):
    return lambda draw: qkv_masked(draw, 2, g=g, times=times)


def of_layer(n_kv_heads: int, times: int):
    return lambda draw: a_layer(draw, 2, n_kv_heads=n_kv_heads, times=times)


def mask_of(*shape: int, **sizes: int):
    return lambda draw: (*qkv(draw, 2, **sizes), draw.mask(*shape))


def all_threes(*shape: int):
    """Make 3 sequences, 3 heads of keys, 3 queries and 3 keys: a mask may land anywhere."""
    return lambda draw: (*qkv(draw, 3, g=3, q=3, k=3), draw.mask(*shape))


def query_masked(draw: Draw):
    *given, mask = qkv_masked(draw)
    mask[3] = False
    return *given, mask


def all_masked(draw: Draw):
    return *qkv(draw), draw.mask(5, 7) & False


LARGE = {"d_k": 4}
REPEAT = Case("repeat_heads", heads, repeat_heads)
GROUPED = Case("grouped_attention", qkv, grouped_attention, large=LARGE)
MASKED = Case("grouped_attention", qkv_masked, grouped_attention, "masked", large=LARGE)
BYTES = Case("cache_bytes", model_sizes, cache_bytes)
IN_FLOAT32 = Case("cache_bytes", one_sequence, cache_bytes, "float32", {"dtype": torch.float32})
LAYER = ModuleCase("GroupedQueryAttention", a_layer, layer_output, cites="One new row")
LOOKING = ModuleCase(
    "GroupedQueryAttention", looking_at_memory, layer_output, "memory", cites="One new row"
)
CASES = [REPEAT, GROUPED, MASKED, BYTES, IN_FLOAT32, LAYER, LOOKING]


def masked(label, inputs, cites=EVERYWHERE):
    return Case(
        "grouped_attention", inputs, grouped_attention, label, cites=cites,
        everywhere=cites == NOTHING, polish=label.partition("-")[0] == "k",
    )  # fmt: skip


def bytes_of(dtype):
    name = str(dtype).removeprefix("torch.")
    return Case("cache_bytes", model_sizes, cache_bytes, name, {"dtype": dtype})


def layer(label, inputs, cites="One new row", **more):
    return ModuleCase("GroupedQueryAttention", inputs, layer_output, label, cites=cites, **more)


ANSWER = "The answer of each head"
SPECIAL = [
    masked("one_head_of_keys", other_heads(1, 5), ANSWER),
    masked("as_many_heads_of_keys", other_heads(5, 1), ANSWER),
    masked("fifteen_heads", other_heads(3, 5), ANSWER),
    masked("five_groups", other_heads(5, 3), ANSWER),
    masked("many_groups", lambda draw: qkv(draw, g=13, times=11, q=3, k=5), ANSWER),
    *(masked(f"{name}-all_sizes_3", all_threes(*shape))
      for name, shape in (("batch_q_k", (3, 3, 3)), ("batch_1_k", (3, 1, 3)), ("q_k", (3, 3)),
                          ("k", (3,)))),
    masked("batch_1_k", mask_of(2, 1, 7)),
    masked("batch_q_1", mask_of(2, 5, 1)),
    masked("q_k", mask_of(5, 7)),
    masked("k", mask_of(7)),
    masked("two_batches", lambda draw: (*qkv(draw, 2, 3), draw.mask(3, 1, 7))),
    masked("query_masked", query_masked, NOTHING),
    masked("all_masked", all_masked, NOTHING),
    masked("masked_far_below_zero", masked_far_below_zero),
    *map(bytes_of, (torch.float64, torch.bfloat16, torch.int8, torch.uint8, torch.int32)),
    Case("cache_bytes", nothing_kept, cache_bytes, "nothing_kept"),
    layer("one_head_of_keys", of_layer(1, 5)),
    layer("as_many_heads_of_keys", of_layer(5, 1)),
    layer("fifteen_heads", of_layer(3, 5), "None: `x` itself"),
    layer("q_k", masked_layer(5, 5), "None: everywhere"),
    layer("k", masked_layer(5), "None: everywhere", polish=True),
    layer("batch_q_k", masked_layer(3, 3, 3, batch=(3,), tokens=3), "None: everywhere"),
    layer("query_masked", layer_that_sees_nothing, NOTHING, everywhere=True),
]  # fmt: skip

# As many queries in all: scores, queries and output stay as large, whoever makes them, and so does
# one copy of keys and values. What there is for each head grows as the heads do. In a batch: a
# product of matrices that broadcasts copies then for certain. With --earlier reference it is not
# seen what chapter 5 works out, only what comes of it.
FEWER_EACH = Case("grouped_attention", fewer_queries_each, grouped_attention,
                  "as many queries in all", batch=(2,))  # fmt: skip
FEWER_EACH_MASKED = Case("grouped_attention", fewer_queries_each_masked, grouped_attention,
                         "as many queries in all, masked", batch=(2,))  # fmt: skip
COSTS = [
    # in the end each head has one query, as where a model writes
    Growth(case, "largest", "h", (6, 30, 60), 0, "Keys and values are never copied",
           least=lambda queries, d_v, **_: 2 * queries * d_v)
    for case in (FEWER_EACH, FEWER_EACH_MASKED)
]  # fmt: skip


def refused(name: str, **other):
    """Call a function of queries, keys and values with some of them in other shapes."""

    def call(answer, draw):
        given = dict(zip(("query", "key", "value"), qkv(draw, 2), strict=True))
        drawn = {name: draw(*shape) for name, shape in other.items()}
        return getattr(answer, name)(**{**given, **drawn})

    return call


def masked_call(shape, *batch: int, **sizes: int):
    return lambda a, d: a.grouped_attention(*qkv(d, *batch, **sizes), d.mask(*shape))


def built(answer, draw: Draw):
    return answer.GroupedQueryAttention(24, 6, 2).to(draw.device)


BROADCASTS = "ValueError: `mask` does not broadcast to [*batch, q, k]."
OF_HEADS = "ValueError: `n_heads` is below 1 or does not divide d_model."
OF_GROUPS = "ValueError: `n_kv_heads` is below 1 or does not divide n_heads."
# query is [2, 6, 5, 11], key [2, 2, 7, 11], value [2, 2, 7, 13] where nothing else is said
REFUSALS = [
    refusal(
        "repeat_heads", "ValueError: `x` has fewer than three dimensions.",
        ("`x` is [5, 7], with 2 dimensions", lambda a, d: a.repeat_heads(d(5, 7), 3)),
        ("`x` is [7], with 1 dimension", lambda a, d: a.repeat_heads(d(7), 3)),
        ("`x` is [5, 7], with 2 dimensions, and `times` is 1",
         lambda a, d: a.repeat_heads(d(5, 7), 1)),
    ),
    refusal(
        "repeat_heads", "ValueError: `times` is below 1.",
        ("`times` is 0", lambda a, d: a.repeat_heads(d(2, 5, 7), 0)),
        ("`times` is -3", lambda a, d: a.repeat_heads(d(2, 5, 7), -3)),
    ),
    refusal(
        "grouped_attention",
        "ValueError: `query`, `key` or `value` has fewer than three dimensions.",
        ("`query` is [5, 11], with 2 dimensions", refused("grouped_attention", query=(5, 11))),
        ("`key` is [7, 11], with 2 dimensions", refused("grouped_attention", key=(7, 11))),
        ("`value` is [7, 13], with 2 dimensions", refused("grouped_attention", value=(7, 13))),
        ("`query` is [11], with 1 dimension", refused("grouped_attention", query=(11,))),
        ("`key` is [7, 11], and nothing has a batch",
         lambda a, d: a.grouped_attention(d(6, 5, 11), d(7, 11), d(2, 7, 13))),
        ("`value` is [7, 13], and nothing has a batch",
         lambda a, d: a.grouped_attention(d(6, 5, 11), d(2, 7, 11), d(7, 13))),
        ("`query` is [5, 11], with 2 dimensions, and there is 1 head of keys",
         lambda a, d: a.grouped_attention(d(5, 11), d(1, 7, 11), d(1, 7, 13))),
        ("all have 2 dimensions, and `query` is [5, 11]",
         lambda a, d: a.grouped_attention(d(5, 11), d(7, 11), d(7, 13))),
        ("all have 2 dimensions, and `query`, `key` and `value` are [6, 11]",
         lambda a, d: a.grouped_attention(d(6, 11), d(6, 11), d(6, 11))),
    ),
    refusal(
        "grouped_attention", "ValueError: `query` and `key` differ in width.",
        ("`query` is 11 wide and `key` is 13 wide",
         refused("grouped_attention", key=(2, 2, 7, 13))),
        ("`query` is 11 wide and `key` is 1 wide",
         refused("grouped_attention", key=(2, 2, 7, 1))),
        ("`query` is 1 wide and `key` is 11 wide",
         refused("grouped_attention", query=(2, 6, 5, 1))),
    ),
    refusal(
        "grouped_attention", "ValueError: `key` and `value` differ in number.",
        ("there are 7 keys and 11 values", refused("grouped_attention", value=(2, 2, 11, 13))),
        ("there are 7 keys and 1 value", refused("grouped_attention", value=(2, 2, 1, 13))),
    ),
    refusal(
        "grouped_attention", "ValueError: `key` and `value` differ in their heads.",
        ("there are 2 heads of keys and 3 of values",
         refused("grouped_attention", value=(2, 3, 7, 13))),
        ("there are 2 heads of keys and 1 of values",
         refused("grouped_attention", value=(2, 1, 7, 13))),
        ("there is 1 head of keys and 2 of values",
         refused("grouped_attention", key=(2, 1, 7, 11))),
        ("there are 2 heads of keys and 6 of values, one for each head of queries",
         refused("grouped_attention", value=(2, 6, 7, 13))),
    ),
    refusal(
        "grouped_attention",
        "ValueError: the heads of `key` do not divide those of `query`.",
        *((f"there are {h} heads of queries and {g} of keys",
           refused("grouped_attention", query=(2, h, 5, 11), key=(2, g, 7, 11),
                   value=(2, g, 7, 13)))
          for h, g in ((7, 2), (6, 4), (2, 6), (1, 2), (15, 9))),
    ),
    refusal(
        "grouped_attention", "ValueError: `query`, `key` and `value` differ in their batch.",
        ("`query` has a batch of 2, `key` and `value` a batch of 1",
         refused("grouped_attention", key=(1, 2, 7, 11), value=(1, 2, 7, 13))),
        ("`query` and `key` have a batch of 2, `value` a batch of 1",
         refused("grouped_attention", value=(1, 2, 7, 13))),
        ("`query` has a batch of [2, 3], `key` and `value` one of [2, 1]",
         refused("grouped_attention", query=(2, 3, 6, 5, 11), key=(2, 1, 2, 7, 11),
                 value=(2, 1, 2, 7, 13))),
        ("`query` is [6, 5, 11], without a batch, and `key` is [2, 2, 7, 11]",
         refused("grouped_attention", query=(6, 5, 11))),
        ("`query` is [2, 6, 5, 11], and `key` and `value` are without a batch",
         refused("grouped_attention", key=(2, 7, 11), value=(2, 7, 13))),
    ),
    refusal(
        "grouped_attention", BROADCASTS,
        ("`mask` is [5, 3] and the scores of a head are [5, 7]", masked_call((5, 3), 2)),
        ("`mask` is [5, 3], all True, and the scores of a head are [5, 7]",
         lambda a, d: a.grouped_attention(d(2, 6, 5, 11), d(2, 2, 7, 11), d(2, 2, 7, 13),
                                          open_mask(d, 5, 3))),
        ("`mask` is [6, 5, 7], one table for each head: it has no dimension for the heads",
         masked_call((6, 5, 7))),
        ("`mask` is [2, 5, 7], one table for each head of keys", masked_call((2, 5, 7))),
        ("`mask` is [2, 6, 5, 7], with a dimension for the heads", masked_call((2, 6, 5, 7), 2)),
        ("`mask` is [2, 1, 5, 7], with a dimension for the heads", masked_call((2, 1, 5, 7), 2)),
        ("`mask` is [3, 3, 3, 3], with a dimension for the heads, and there are 3 of everything",
         masked_call((3, 3, 3, 3), 3, g=3, q=3, k=3)),
        ("`mask` is [15, 7], a row for each query of a group", masked_call((15, 7), 2)),
        ("`mask` is [5, 7] and there is 1 query", masked_call((5, 7), 2, q=1)),
        ("`mask` is [5, 7] and there is 1 key", masked_call((5, 7), 2, k=1)),
        ("`mask` is [2, 7], without a dimension for the queries, in a batch of 2",
         masked_call((2, 7), 2)),
        ("`mask` is [2, 5, 7] and `query` has a batch of 1", masked_call((2, 5, 7), 1)),
    ),
    refusal(
        "GroupedQueryAttention", OF_HEADS,
        *((f"`n_heads` is {n_heads} and `d_model` is {d_model}",
           lambda a, _, sizes=(d_model, n_heads): a.GroupedQueryAttention(*sizes, 1))
          for d_model, n_heads in ((7, 3), (24, 5), (6, 12), (24, 0), (24, -2))),
    ),
    refusal(
        "GroupedQueryAttention", OF_GROUPS,
        *((f"`n_kv_heads` is {n_kv_heads} and `n_heads` is 6",
           lambda a, _, n_kv_heads=n_kv_heads: a.GroupedQueryAttention(24, 6, n_kv_heads))
          for n_kv_heads in (4, 5, 12, 0, -2)),
    ),
    refusal(
        "GroupedQueryAttention", "ValueError: `x` or `memory` has fewer than two dimensions.",
        ("`x` is [24], with 1 dimension", lambda a, d: built(a, d)(d(24))),
        ("`memory` is [24], with 1 dimension", lambda a, d: built(a, d)(d(5, 24), d(24))),
    ),
    refusal(
        "GroupedQueryAttention", "ValueError: `x` or `memory` is not d_model wide.",
        *((f"`x` is {wide} wide and d_model is 24",
           lambda a, d, wide=wide: built(a, d)(d(2, 5, wide))) for wide in (9, 25)),
        *((f"`x` is {wide} wide, and `memory` 24, as d_model is",
           lambda a, d, wide=wide: built(a, d)(d(2, 5, wide), d(2, 7, 24))) for wide in (9, 25)),
        *((f"`memory` is {wide} wide and d_model is 24",
           lambda a, d, wide=wide: built(a, d)(d(2, 5, 24), d(2, 7, wide))) for wide in (9, 25)),
        ("`memory` is 8 wide, as wide as the keys, and d_model is 24",
         lambda a, d: built(a, d)(d(2, 5, 24), d(2, 7, 8))),
    ),
    refusal(
        "GroupedQueryAttention", "ValueError: `x` and `memory` differ in their batch.",
        ("`x` has a batch of 2 and `memory` a batch of 1",
         lambda a, d: built(a, d)(d(2, 5, 24), d(1, 7, 24))),
        ("`x` is [2, 3, 5, 24] and `memory` is [2, 1, 7, 24]",
         lambda a, d: built(a, d)(d(2, 3, 5, 24), d(2, 1, 7, 24))),
        ("`x` is [5, 24], without a batch, and `memory` is [2, 7, 24]",
         lambda a, d: built(a, d)(d(5, 24), d(2, 7, 24))),
        ("`x` is [2, 5, 24], a batch of 2, and `memory` is [7, 24], without a batch",
         lambda a, d: built(a, d)(d(2, 5, 24), d(7, 24))),
    ),
    refusal(
        "GroupedQueryAttention", BROADCASTS,
        ("`mask` is [5, 3] and the scores of a head are [5, 5]",
         lambda a, d: built(a, d)(d(2, 5, 24), mask=d.mask(5, 3))),
        ("`mask` is [5, 3], all True, and the scores of a head are [5, 5]",
         lambda a, d: built(a, d)(d(2, 5, 24), mask=open_mask(d, 5, 3))),
        ("`mask` is [6, 5, 5], one table for each head: it has no dimension for the heads",
         lambda a, d: built(a, d)(d(5, 24), mask=d.mask(6, 5, 5))),
    ),
]  # fmt: skip
EXPLAINS = {
    "repeat_heads": ("This copies", "It is how groups"),
    "cache_bytes": ("How many heads of queries",),
}
OWN_WORDS = ("mask", "heads", "repeat_heads")
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(REFUSALS, *OWN_WORDS), costs=COSTS))


@check("repeat_heads")
def test_repeat_heads_by_index(answer, draw):
    """Catches heads that are dealt out, and tokens that are repeated instead."""
    x = draw.tensor([[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]])
    want = [x[0], x[0], x[1], x[1], x[2], x[2]]
    same(answer.repeat_heads(x, 2), torch.stack(want))


@check("grouped_attention", cites=READY_MADE)
def test_grouped_attention_is_your_own(answer, draw):
    cases = [GROUPED, MASKED, *(c.at(*b) for c in (GROUPED, MASKED) for b in ((2,), (2, 3)))]
    your_own(answer, draw, READY_ATTENTION, cases)


@check("grouped_attention")
def test_grouped_attention_by_hand(answer, draw):
    asks = math.log(3)
    query = draw.tensor([0, asks, 0, asks, 0, asks])[:, None, None]
    key = draw.tensor([[[0], [1]], [[0], [1]]])
    value = draw.tensor([[[10], [20]], [[30], [70]]])
    want = draw.tensor([15, 17.5, 15, 60, 50, 60])[:, None, None]
    same(answer.grouped_attention(query, key, value), want)


@check("grouped_attention")
@vary("sizes", [(6, 2), (15, 3), (10, 5), (5, 1)])
def test_grouped_attention_by_index(answer, draw, sizes):
    """Let each head of values hold its own number, so that heads of queries tell what they use."""
    h, g = sizes
    value = draw.tensor(range(g))[:, None, None].expand(g, 3, 2).contiguous()
    got = answer.grouped_attention(draw(h, 4, 5), draw(g, 3, 5), value)
    used = [j // (h // g) for j in range(h)]
    same(got, draw.tensor(used)[:, None, None].expand(h, 4, 2))


@check("grouped_attention", about="edges", cites=EVERYWHERE)
def test_grouped_attention_with_masks_of_every_shape(answer, draw):
    call, sizes = answer.grouped_attention, OF_EVERY_SHAPE[1:]
    right_with_masks_of_every_shape(draw, qkv, call, grouped_attention, sizes)


@check("cache_bytes")
@vary("model", [(80, 64, 128, 4096, 10 * 2**30), (80, 8, 128, 4096, 5 * 2**28),
                (80, 1, 128, 4096, 5 * 2**25)])  # fmt: skip
def test_cache_bytes_of_a_large_model(answer, draw, model):  # noqa: ARG001
    *sizes, want = model
    same(answer.cache_bytes(*sizes), want)


@check("GroupedQueryAttention", cites=READY_MADE)
def test_module_is_your_own(answer, draw):
    your_own(answer, draw, READY_ATTENTION, [LAYER, LOOKING, LAYER.at(2), LOOKING.at(2, 3)])


@check("GroupedQueryAttention", about="calls", cites="Where n_kv_heads is n_heads")
def test_module_of_as_many_heads_is_that_of_chapter_6(answer, draw):
    made, weights, (x,) = a_layer(draw, 2, n_kv_heads=3, times=1)
    layer = LAYER.make(answer, (made, weights, x))
    same(layer(x), as_in_chapter_6(exact(x), exact(weights), made[1]), like=x)


@check(
    "GroupedQueryAttention",
    cites=["Each head is d_head", "The module has four layers", "w_q:", "w_k:", "w_v:", "w_o:"],
)
@vary("sizes", [(24, 6, 2), (30, 15, 3), (12, 4, 1)])
def test_module_has_narrow_keys(answer, draw, sizes):
    weights = weights_for(draw, sizes, bias=False)
    LAYER.make(answer, (sizes, weights, draw(3, sizes[0])))


@check("GroupedQueryAttention", cites="False: none of them")
def test_module_with_and_without_bias(answer, draw):
    for bias in (False, True):
        with situation(f"bias={bias}"):
            made, weights = (24, 6, 2), weights_for(draw, (24, 6, 2), bias=bias)
            x = draw(5, 24, scale=1.3)
            layer = LAYER.make(answer, ((*made, bias), weights, x))
            want = layer_output(exact(weights), exact(x), made=made)
            same(layer(x), want, like=x)


@check("GroupedQueryAttention", about="calls", cites="One new row")
def test_module_by_index(answer, draw):
    """Let w_v make the number of its head: the features of the output tell who used which."""
    made = (12, 6, 2)
    x = draw(3, 12)
    x[:, 0] = 1
    weights = {name: one * 0 for name, one in weights_for(draw, made, bias=False).items()}
    weights["w_v.weight"][:, 0] = draw.tensor([1, 2, 3, 4])
    weights["w_o.weight"] = draw.tensor(torch.eye(12).tolist())
    layer = LAYER.make(answer, (made, weights, x))
    want = draw.tensor([[1, 2] * 3 + [3, 4] * 3] * 3)
    same(layer(x), want)
