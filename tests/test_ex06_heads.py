"""Chapter 6: heads, by value, at the edges, and beside PyTorch's own module."""

import contextlib
import functools
import itertools
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from grader.suite import (
    OTHER_FLOATS,
    Case,
    Draw,
    Finding,
    Rule,
    aside,
    check,
    checks_by_law,
    exact,
    floating,
    holds,
    in_any_words,
    later_call,
    leaf,
    reference,
    refusal,
    same,
    situation,
    unchanged,
    vary,
    worked_out,
)
from grader.suite.arithmetic import attention64
from grader.suite.devices import on_a_gpu
from grader.suite.laws.gradients import gradients_match, pulled
from grader.suite.laws.layouts import SCATTERED
from grader.suite.module_case import look_at_weights
from grader.suite.modules import attention_layers, in_every_mode, runs_on, stepped
from grader.suite.promises import LEAVES
from grader.suite.queries_and_keys import (
    OF_EVERY_SHAPE,
    TRIANGLE,
    far_below_zero,
    open_mask,
    pattern,
    right_with_masks_of_every_shape,
    some_mask,
)
from grader.suite.your_own import PIECE, READY_ATTENTION, ROWS, no_ready_attention, your_own

NOTHING = "A query that may attend to nothing"
EVERYWHERE = "None: everywhere"
READY_MADE = Rule("ready-made")

# What is right


@reference
def split_heads(x, n_heads):
    if x.ndim < 2 or n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(f"{n_heads} heads do not divide {tuple(x.shape)}")
    return torch.stack(x.chunk(n_heads, -1), -3)


@reference
def merge_heads(x):
    if x.ndim < 3:
        raise ValueError(f"{tuple(x.shape)} is not [*batch, n_heads, n, d_head]")
    return torch.cat(x.unbind(-3), -1)


@reference
def multi_head(query, key, value, n_heads, mask=None):
    shapes = [tuple(x.shape) for x in (query, key, value)]
    batches = {x.shape[:-2] for x in (query, key, value)}
    if len(batches) > 1 or len({x.shape[-1] for x in (query, key, value)}) > 1:
        raise ValueError(f"{shapes} do not fit together")
    if n_heads < 1 or query.shape[-1] % n_heads:
        raise ValueError(f"{n_heads} heads do not divide {query.shape[-1]}")
    if mask is not None:
        mask = mask.expand(*query.shape[:-1], key.shape[-2])[..., None, :, :]
    parts = (split_heads(x, n_heads) for x in (query, key, value))
    return merge_heads(attention64(*parts, mask))


@reference
def layer_output(x, memory, mask, weights, n_heads):
    """Project, attend head by head, project again; `weights` by their names in the module."""

    def project(name, tokens):
        made = tokens @ weights[f"{name}.weight"].T
        return made + weights[f"{name}.bias"] if f"{name}.bias" in weights else made

    seen = x if memory is None else memory
    parts = project("w_q", x), project("w_k", seen), project("w_v", seen)
    return project("w_o", multi_head(*parts, n_heads, mask))


@reference
class MultiHeadAttention(nn.Module):
    """The module on float64 arithmetic; stands in for a student's when blame is sought."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"{n_heads} heads do not divide {d_model}")
        self.d_model, self.n_heads = d_model, n_heads
        for name in LAYERS:
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def forward(self, x, memory=None, mask=None):
        """Attend in float64, and return the dtype of `x`."""
        given = [tokens for tokens in (x, memory) if tokens is not None]
        if any(tokens.shape[-1] != self.d_model for tokens in given):
            raise ValueError(f"{[tuple(t.shape) for t in given]} is not {self.d_model} wide")
        weights = {name: weight.double() for name, weight in self.named_parameters()}
        seen = None if memory is None else memory.double()
        return layer_output(x.double(), seen, mask, weights, self.n_heads).to(x.dtype)


LAYERS = ("w_q", "w_k", "w_v", "w_o")

# The three functions


def tokens(draw: Draw, *batch: int, n=5, n_heads=3, d_head=7):
    return draw(*batch, n, n_heads * d_head), n_heads


def pieces(draw: Draw, *batch: int, n=5, n_heads=3, d_head=7):
    return (draw(*batch, n_heads, n, d_head),)


def qkv(draw: Draw, *batch: int, q=5, k=7, n_heads=3, d_head=2):
    query, key, value = (draw(*batch, n, n_heads * d_head, scale=1.3) for n in (q, k, k))
    return query, key, value, n_heads


def qkv_masked(draw: Draw, *batch: int, q=5, k=7, n_heads=3, d_head=2):
    given = qkv(draw, *batch, q=q, k=k, n_heads=n_heads, d_head=d_head)
    return *given, draw.mask(*batch, q, k)


def many_heads(draw: Draw, *batch: int, q=5, k=7, n_heads=4, d_head=4):
    return qkv_masked(draw, *batch, q=q, k=k, n_heads=n_heads, d_head=d_head)


def asymmetric(draw: Draw):
    return draw.tensor([[1, 0, 0], [1, 1, 0], [0, 1, 1]], torch.bool)


def square_masks(draw: Draw):
    """Make masks of every shape for 3 sequences, 3 heads, 3 queries and 3 keys."""
    table = asymmetric(draw)
    each_its_own = torch.stack([table, table.roll(1, -1), table.roll(1, -2)])
    return {
        "k": draw.tensor([1, 0, 1], torch.bool),
        "q_k": table,
        "batch_1_k": table[:, None],
        "batch_q_k": each_its_own,
    }


def square_mask(shape: str):
    return lambda draw: (*qkv(draw, 3, q=3, k=3), square_masks(draw)[shape])


def mask_of(*shape: int):
    return lambda draw: (*qkv(draw, 2), draw.mask(*shape))


def query_masked(draw: Draw):
    mask = draw.mask(5, 7)
    mask[3] = False
    return *qkv(draw, d_head=7), mask


def masked_far_below_zero(draw: Draw):
    query, key = far_below_zero(draw)
    return query.tile(3), key.tile(3), draw(7, 3 * 16), 3, draw.mask(5, 7)


def all_masked(draw: Draw):
    return *qkv(draw, d_head=7), draw.mask(5, 7) & False


LARGE = {"d_head": 4}
SPLIT = Case("split_heads", tokens, split_heads)
MERGE = Case("merge_heads", pieces, merge_heads)
MULTI = Case("multi_head", qkv, multi_head, large=LARGE)
MASKED = Case("multi_head", qkv_masked, multi_head, "masked", large=LARGE)
CASES = [SPLIT, MERGE, MULTI, MASKED]


def multi_case(label, inputs, cites=EVERYWHERE):
    return Case(
        "multi_head", inputs, multi_head, label, cites=cites, everywhere=cites == NOTHING,
        polish=label.partition("-")[0] == "k",
    )  # fmt: skip


SPECIAL = [
    multi_case("four_heads", many_heads, "The answers of the heads"),
    *(multi_case(f"{shape}-all_sizes_3", square_mask(shape))
      for shape in ("batch_q_k", "batch_1_k", "q_k", "k")),
    multi_case("batch_1_k", mask_of(2, 1, 7)),
    multi_case("q_k", mask_of(5, 7)),
    multi_case("k", mask_of(7)),
    multi_case("two_batches", lambda draw: (*qkv(draw, 2, 3), draw.mask(3, 1, 7))),
    multi_case("query_masked", query_masked, NOTHING),
    multi_case("all_masked", all_masked, NOTHING),
    multi_case("masked_far_below_zero", masked_far_below_zero),
]  # fmt: skip


def refused(name: str, **other):
    """Call a function of queries, keys and values with some of them in other shapes."""

    def call(answer, draw):
        given = dict(zip(("query", "key", "value", "n_heads"), qkv(draw, 2), strict=True))
        drawn = {name: draw(*v) if isinstance(v, tuple) else v for name, v in other.items()}
        return getattr(answer, name)(**{**given, **drawn})

    return call


def masked_call(shape, *batch: int, q=5, k=7):
    return lambda a, d: a.multi_head(*qkv(d, *batch, q=q, k=k), d.mask(*shape))


DIVIDES = "ValueError: `n_heads` is below 1 or does not divide d_model."
BROADCASTS = "ValueError: `mask` does not broadcast to [*batch, q, k]."
REFUSALS = [
    refusal(
        "split_heads", "ValueError: `x` has fewer than two dimensions.",
        ("`x` is [6], with 1 dimension", lambda a, d: a.split_heads(d(6), 3)),
    ),
    refusal(
        "split_heads", DIVIDES,
        ("`n_heads` is 3 and `x` is 7 wide", lambda a, d: a.split_heads(d(5, 7), 3)),
        ("`n_heads` is 4 and `x` is 6 wide", lambda a, d: a.split_heads(d(2, 5, 6), 4)),
        ("`n_heads` is 12 and `x` is 6 wide", lambda a, d: a.split_heads(d(5, 6), 12)),
        ("`n_heads` is 0 and `x` is 6 wide", lambda a, d: a.split_heads(d(5, 6), 0)),
        ("`n_heads` is -3 and `x` is 6 wide", lambda a, d: a.split_heads(d(5, 6), -3)),
    ),
    refusal(
        "merge_heads", "ValueError: `x` has fewer than three dimensions.",
        ("`x` is [5, 7], with 2 dimensions", lambda a, d: a.merge_heads(d(5, 7))),
        ("`x` is [7], with 1 dimension", lambda a, d: a.merge_heads(d(7))),
    ),
    refusal(
        "multi_head", "ValueError: `query`, `key` or `value` has fewer than two dimensions.",
        ("`query` is [6], with 1 dimension",
         lambda a, d: a.multi_head(d(6), d(7, 6), d(7, 6), 3)),
        ("`key` and `value` are [6], with 1 dimension",
         lambda a, d: a.multi_head(d(5, 6), d(6), d(6), 3)),
        ("`key` is [6], with 1 dimension",
         lambda a, d: a.multi_head(d(5, 6), d(6), d(5, 6), 3)),
        ("`value` is [6], with 1 dimension",
         lambda a, d: a.multi_head(d(5, 6), d(7, 6), d(6), 3)),
        ("`query` is [6], with 1 dimension, and there is a mask",
         lambda a, d: a.multi_head(d(6), d(2, 7, 6), d(2, 7, 6), 3, d.mask(2, 1, 7))),
    ),
    refusal(
        "multi_head", "ValueError: `query`, `key` and `value` differ in width.",
        # where your own attention refuses them, it tells of the widths of one head
        ("`query` is 6 wide and `key` is 9 wide, with 3 heads 2 and 3 for each",
         refused("multi_head", key=(2, 7, 9))),
        ("`query` is 6 wide and `value` is 9 wide", refused("multi_head", value=(2, 7, 9))),
        ("`query` is 6 wide and `value` is 9 wide, with 1 head",
         refused("multi_head", value=(2, 7, 9), n_heads=1)),
        ("`query` is 9 wide and `key` is 6 wide, with 3 heads 3 and 2 for each",
         refused("multi_head", query=(2, 5, 9))),
        ("`query` is 3 wide and `key` is 6 wide, with 3 heads 1 and 2 for each",
         refused("multi_head", query=(2, 5, 3))),
        ("`key` is 3 wide and `query` is 6 wide, with 3 heads 1 and 2 for each",
         refused("multi_head", key=(2, 7, 3))),
        ("`value` is 3 wide and `query` is 6 wide", refused("multi_head", value=(2, 7, 3))),
        ("`key` is 6 wide and `query` is 5 wide", refused("multi_head", query=(2, 5, 5))),
    ),
    refusal(
        "multi_head", "ValueError: `key` and `value` differ in number.",
        ("there are 7 keys and 11 values", refused("multi_head", value=(2, 11, 6))),
        ("there are 7 keys and 1 value", refused("multi_head", value=(2, 1, 6))),
        ("there are 7 keys and 5 values, and no batch",
         lambda a, d: a.multi_head(d(5, 6), d(7, 6), d(5, 6), 3)),
    ),
    refusal(
        "multi_head", "ValueError: `query`, `key` and `value` differ in their batch.",
        ("`query` has a batch of 2, `key` and `value` a batch of 1",
         refused("multi_head", key=(1, 7, 6), value=(1, 7, 6))),
        ("`query` and `key` have a batch of 2, `value` a batch of 1",
         refused("multi_head", value=(1, 7, 6))),
        ("`query` is [5, 6], without a batch, and `key` is [2, 7, 6]",
         refused("multi_head", query=(5, 6))),
        ("`query` is [2, 3, 5, 6] and `key` and `value` are [2, 1, 7, 6]",
         refused("multi_head", query=(2, 3, 5, 6), key=(2, 1, 7, 6), value=(2, 1, 7, 6))),
        ("`query` and `key` have a batch of [2, 3], `value` is [2, 1, 7, 6]",
         refused("multi_head", query=(2, 3, 5, 6), key=(2, 3, 7, 6), value=(2, 1, 7, 6))),
        ("`query` is [1, 2, 5, 6] and `key` is [2, 7, 6], and there is a mask",
         lambda a, d: a.multi_head(d(1, 2, 5, 6), d(2, 7, 6), d(2, 7, 6), 3, d.mask(2, 1, 7))),
    ),
    refusal(
        "multi_head", DIVIDES,
        ("`n_heads` is 4 and d_model is 6", refused("multi_head", n_heads=4)),
        ("`n_heads` is 5 and d_model is 6", refused("multi_head", n_heads=5)),
        ("`n_heads` is 0 and d_model is 6", refused("multi_head", n_heads=0)),
        ("`n_heads` is -3 and d_model is 6", refused("multi_head", n_heads=-3)),
    ),
    refusal(
        "multi_head", BROADCASTS,
        ("`mask` is [5, 3] and the scores of a head are [5, 7]", masked_call((5, 3), 2)),
        ("`mask` is [5, 3], all True, and the scores of a head are [5, 7]",
         lambda a, d: a.multi_head(d(2, 5, 6), d(2, 7, 6), d(2, 7, 6), 3, open_mask(d, 5, 3))),
        ("`mask` is [3, 5, 7], one table for each head: it has no dimension for the heads",
         masked_call((3, 5, 7))),
        ("`mask` is [2, 3, 5, 7], with a dimension for the heads", masked_call((2, 3, 5, 7), 2)),
        ("`mask` is [1, 2, 1, 7] and the scores of a head are [2, 5, 7]",
         masked_call((1, 2, 1, 7), 2)),
        ("`mask` is [2, 5, 7], a batch of 2, and `query` is [5, 6], without a batch",
         masked_call((2, 5, 7))),
        ("`mask` is [1, 5, 7], a batch of 1, and `query` is [5, 6], without a batch",
         masked_call((1, 5, 7))),
        ("`mask` is [2, 7], without a dimension for the queries, in a batch of 2",
         masked_call((2, 7), 2)),
        ("`mask` is [2, 5, 7] and `query` has a batch of 1", masked_call((2, 5, 7), 1)),
        ("`mask` is [5, 7] and there is 1 query", masked_call((5, 7), 1, q=1)),
        ("`mask` is [5, 7] and there is 1 key", masked_call((5, 7), 1, k=1)),
    ),
    refusal(
        "MultiHeadAttention", DIVIDES,
        ("`n_heads` is 3 and `d_model` is 7", lambda a, _: a.MultiHeadAttention(7, 3)),
        ("`n_heads` is 4 and `d_model` is 6", lambda a, _: a.MultiHeadAttention(6, 4)),
        ("`n_heads` is 12 and `d_model` is 6", lambda a, _: a.MultiHeadAttention(6, 12)),
        ("`n_heads` is 0 and `d_model` is 6", lambda a, _: a.MultiHeadAttention(6, 0)),
        ("`n_heads` is -2 and `d_model` is 6", lambda a, _: a.MultiHeadAttention(6, -2)),
    ),
    refusal(
        "MultiHeadAttention", "ValueError: `x` or `memory` has fewer than two dimensions.",
        ("`x` is [6], with 1 dimension", lambda a, d: made(a, d)(d(6))),
        ("`x` is [6], with 1 dimension, and `memory` is [7, 6]",
         lambda a, d: made(a, d)(d(6), memory=d(7, 6))),
        ("`memory` is [6], with 1 dimension", lambda a, d: made(a, d)(d(5, 6), memory=d(6))),
    ),
    refusal(
        "MultiHeadAttention", "ValueError: `x` or `memory` is not d_model wide.",
        ("`x` is 9 wide and d_model is 6", lambda a, d: made(a, d)(d(2, 5, 9))),
        ("`x` is 9 wide, d_model is 6, and there is a memory",
         lambda a, d: made(a, d)(d(2, 5, 9), memory=d(2, 7, 6))),
        ("`memory` is 9 wide and d_model is 6",
         lambda a, d: made(a, d)(d(2, 5, 6), memory=d(2, 7, 9))),
    ),
    refusal(
        "MultiHeadAttention", "ValueError: `x` and `memory` differ in their batch.",
        ("`x` has a batch of 2 and `memory` a batch of 1",
         lambda a, d: made(a, d)(d(2, 5, 6), memory=d(1, 7, 6))),
        ("`x` is [2, 3, 5, 6] and `memory` is [2, 1, 7, 6]",
         lambda a, d: made(a, d)(d(2, 3, 5, 6), memory=d(2, 1, 7, 6))),
        ("`x` is [5, 6] and `memory` is [2, 7, 6]",
         lambda a, d: made(a, d)(d(5, 6), memory=d(2, 7, 6))),
        ("`x` is [2, 5, 6] and `memory` is [7, 6]",
         lambda a, d: made(a, d)(d(2, 5, 6), memory=d(7, 6))),
    ),
    refusal(
        "MultiHeadAttention", BROADCASTS,
        ("`mask` is [5, 3] and the scores of a head are [5, 7]",
         lambda a, d: made(a, d)(d(2, 5, 6), memory=d(2, 7, 6), mask=d.mask(5, 3))),
        ("`mask` is [5, 3], all True, and the scores of a head are [5, 7]",
         lambda a, d: made(a, d)(d(2, 5, 6), memory=d(2, 7, 6), mask=open_mask(d, 5, 3))),
        ("`mask` is [3, 5, 7], one table for each head: it has no dimension for the heads",
         lambda a, d: made(a, d)(d(5, 6), memory=d(7, 6), mask=d.mask(3, 5, 7))),
        ("`mask` is [5, 7] and `x` is 1 token",
         lambda a, d: made(a, d)(d(2, 1, 6), memory=d(2, 7, 6), mask=d.mask(5, 7))),
        ("`mask` is [5, 7] and `memory` is 1 token",
         lambda a, d: made(a, d)(d(2, 5, 6), memory=d(2, 1, 6), mask=d.mask(5, 7))),
        ("`mask` is [2, 5, 7] and `x` has a batch of 1",
         lambda a, d: made(a, d)(d(1, 5, 6), memory=d(1, 7, 6), mask=d.mask(2, 5, 7))),
    ),
]  # fmt: skip
EXPLAINS = {
    "split_heads": ("The heads come before",),
    "merge_heads": (),
    "multi_head": ("The inputs are already",),
    "MultiHeadAttention": (),
}
OWN_WORDS = ("mask", "n_heads", "split_heads", "merge_heads")
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(REFUSALS, *OWN_WORDS)))


@check("multi_head", cites=READY_MADE)
def test_multi_head_is_your_own(answer, draw):
    cases = [MULTI, MASKED, *(c.at(*b) for c in (MULTI, MASKED) for b in ((2,), (2, 3)))]
    your_own(answer, draw, READY_ATTENTION, cases)
    no_ready_attention(
        draw, "multi_head",
        lambda *tokens: answer.multi_head(*tokens, 2), lambda *tokens: multi_head(*tokens, 2),
        heads=2, rows=ROWS // 2,
    )  # fmt: skip


@check("multi_head", about="edges", cites=EVERYWHERE)
def test_multi_head_with_masks_of_every_shape(answer, draw):
    inputs = functools.partial(qkv, n_heads=2)
    right_with_masks_of_every_shape(draw, inputs, answer.multi_head, multi_head)


@check("split_heads", about="calls", cites="With d_model 6 and 2 heads")
def test_split_heads_owns_consecutive_features(answer, draw):
    x = draw(5, 6)
    before = answer.split_heads(x, 3)
    changed = x.clone()
    changed[:, 2:4] += 1
    after = answer.split_heads(changed, 3)
    same(before, split_heads(x, 3))
    same(after, split_heads(changed, 3), label="the pieces after features 2 and 3 changed")


@check("merge_heads", cites="Merging what was split")
def test_merge_heads_undoes_the_split(answer, draw):
    for batch in ((), (2,)):
        x = draw(*batch, 5, 6)
        pieces = x.unflatten(-1, (3, 2)).transpose(-3, -2)
        same(answer.merge_heads(pieces), x, label="the tokens, split and merged again")


@check("multi_head", cites="The heads never see each other")
def test_multi_head_heads_do_not_see_each_other(answer, draw):
    query, key, value, n_heads = qkv(draw, 2)
    before = answer.multi_head(query, key, value, n_heads)
    same(before, multi_head(*map(exact, (query, key, value)), n_heads), like=query)
    changed = key.clone()
    changed[..., 2:4] += draw(2, 7, 2)
    after = answer.multi_head(query, changed, value, n_heads)
    others = [0, 1, 4, 5]
    same(
        after[..., others], before[..., others],
        label="features 0, 1, 4 and 5 of the output, after features 2 and 3 of the keys changed",
    )  # fmt: skip
    want = multi_head(*map(exact, (query, changed, value)), n_heads)
    same(after, want, like=query, label="the output after features 2 and 3 of the keys changed")


@check("multi_head", about="calls")
def test_multi_head_equals_pytorchs(answer, draw):
    query, key, value, n_heads = qkv(draw, 2)
    mask = draw.mask(2, 5, 7)
    heads = (x.unflatten(-1, (n_heads, 2)).transpose(-3, -2) for x in (query, key, value))
    oracle = F.scaled_dot_product_attention(*heads, attn_mask=mask[:, None])
    got = answer.multi_head(query, key, value, n_heads, mask)
    same(got, oracle.transpose(-3, -2).flatten(-2))


@check("multi_head", about="calls")
def test_multi_head_follows_no_order(answer, draw):
    query, key, value, n_heads = qkv(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    want = multi_head(*map(exact, (query, key, value)), n_heads)
    same(answer.multi_head(query, key[order], value[order], n_heads), want, like=query)


@check("multi_head", about="calls", cites=EVERYWHERE)
def test_multi_head_does_not_see_the_future(answer, draw):
    query, key, value, n_heads = qkv(draw, 2, q=5, k=5)
    mask = pattern(draw, *TRIANGLE)
    before = answer.multi_head(query, key, value, n_heads, mask)
    want = multi_head(*map(exact, (query, key, value)), n_heads, mask)
    same(before, want, like=query)
    changed = value.clone()
    changed[:, 3:] += 3
    after = answer.multi_head(query, key, changed, n_heads, mask)
    same(after[:, :3], before[:, :3], label="rows 0 to 2 after values 3 and 4 changed")


# The module


@dataclass(frozen=True)
class Use:
    """A module of some size, and what it is called with.

    Attributes:
        label: as it stands in the check's name.
        x: the shape of the tokens.
        memory: the shape of the memory; None: self-attention.
        mask: the shape of the mask, "table", "tables", "nothing" or "drawn"; None: no mask.
        bias: whether the four layers have one.
        n_heads: how many heads.
        polish: whether it is seldom met.
    """

    label: str
    x: tuple[int, ...]
    memory: tuple[int, ...] | None = None
    mask: tuple[int, ...] | str | None = None
    bias: bool = True
    n_heads: int = 3
    polish: bool = False

    @property
    def id(self) -> str:
        """The use as it stands in a check's name."""
        return self.label

    @property
    def said(self) -> str:
        """The call as the message names it."""
        optional = [name for name in ("memory", "mask") if getattr(self, name) is not None]
        return f"the output of layer({', '.join(['x', *(f'{n}={n}' for n in optional)])})"

    def draw_inputs(self, draw: Draw):
        """Draw the tokens, the memory and the mask."""
        x = draw(*self.x, scale=1.2)
        memory = None if self.memory is None else draw(*self.memory, scale=1.2)
        return x, memory, self._draw_mask(draw)

    def _draw_mask(self, draw: Draw):
        if self.mask is None:
            return None
        if self.mask == "table":
            return asymmetric(draw)
        if self.mask == "tables":
            return square_masks(draw)["batch_q_k"]
        if self.mask == "nothing":
            mask = draw.mask(self.x[-2], (self.memory or self.x)[-2])
            mask[1] = False
            return mask
        if self.mask == "drawn":
            return some_mask(draw, *self.x[:-1], (self.memory or self.x)[-2])
        return draw.mask(*self.mask)


def draw_weights(draw: Draw, d_model: int, bias: bool):
    weights = {f"{name}.weight": draw(d_model, d_model, scale=d_model**-0.5) for name in LAYERS}
    if bias:
        weights |= {f"{name}.bias": draw(d_model, scale=0.7) for name in LAYERS}
    return weights


def make_layer(answer, draw: Draw, weights, n_heads: int = 3):
    """Make the module, look at its layers, and put drawn weights into them."""
    d_model, bias = len(weights["w_q.weight"]), "w_q.bias" in weights
    layer = answer.MultiHeadAttention(d_model, n_heads, **({} if bias else {"bias": False}))
    said = f"MultiHeadAttention({d_model}, {n_heads}{'' if bias else ', bias=False'})"
    holds(
        isinstance(layer, nn.Module), said,
        "it must be an nn.Module: keep `class MultiHeadAttention(nn.Module)`",
    )  # fmt: skip
    for name in LAYERS:
        look_at(layer, name, said, d_model, bias)
    layer.to(draw.device, draw.dtype)
    lost = layer.load_state_dict(weights, strict=False).unexpected_keys
    holds(
        not lost, said,
        f"its state_dict has no {', '.join(lost)}: assign the four nn.Linear to `self` as w_q, "
        "w_k, w_v and w_o",
        lost,
    )  # fmt: skip
    return layer


def look_at(layer, name, said, d_model, bias):
    """Demand that a submodule is there, is linear, and has the right sizes."""
    part = getattr(layer, name, None)
    names = [child for child, _ in layer.named_children()]
    holds(
        part is not None, said,
        f"it has no `{name}`. Its submodules are called {', '.join(names) or 'nothing yet'}; the "
        "four nn.Linear must be called w_q, w_k, w_v and w_o",
        names,
    )  # fmt: skip
    holds(
        isinstance(part, nn.Linear), said,
        f"its `{name}` is a {type(part).__name__} and must be an nn.Linear",
        (name, type(part).__name__),
    )  # fmt: skip
    shape = tuple(part.weight.shape)
    holds(
        shape == (d_model, d_model), said,
        f"its `{name}` is nn.Linear({shape[1]}, {shape[0]}) and must be "
        f"nn.Linear({d_model}, {d_model})",
        (name, shape),
    )  # fmt: skip
    has = part.bias is not None
    holds(
        has == bias, said,
        f"its `{name}` has {'a' if has else 'no'} bias although bias={bias} was asked for",
        (name, has),
    )  # fmt: skip


def made(answer, draw: Draw):
    """Make a module 6 wide with 3 heads, and put drawn weights into it."""
    return make_layer(answer, draw, draw_weights(draw, 6, bias=True))


def call(layer, x, memory=None, mask=None):
    given = {"memory": memory, "mask": mask}
    return layer(x, **{name: value for name, value in given.items() if value is not None})


def try_out(answer, draw: Draw, use: Use, change=lambda tokens: tokens):
    """Make the module, call it, and compare; `change` is made to the tokens that it is given."""
    weights = draw_weights(draw, use.x[-1], use.bias)
    layer = make_layer(answer, draw, weights, use.n_heads)
    x, memory, mask = use.draw_inputs(draw)
    want = right(x, memory, mask, weights, use.n_heads)
    kept = [None if given is None else given.clone() for given in (x, memory, mask)]
    got = call(layer, change(x), None if memory is None else change(memory), mask)
    try:
        same(got, want, like=x, label=use.said)
    except Finding as found:
        if found.kind == "value":
            again = call(layer, *kept)
            holds(
                torch.allclose(again, got, 1e-3, 1e-3, equal_nan=True), use.said,
                "two calls with the same inputs differ: something random is involved",
            )  # fmt: skip
        raise


def right(x, memory, mask, weights, n_heads):
    doubled = {name: weight.double() for name, weight in weights.items()}
    return layer_output(exact(x), exact(memory), mask, doubled, n_heads)


SELF = Use("self", (5, 6))
CROSS = Use("memory", (5, 6), (7, 6))
MASKED_CROSS = Use("memory_and_mask", (2, 5, 6), (2, 7, 6), (2, 1, 7))
NOTHING_SEEN = Use("query_masked", (2, 5, 6), (2, 7, 6), "nothing", polish=True)
USES = [
    # first, because 2 and 8 divide its width: a number of heads written out is told by value
    Use("four_heads", (5, 16), n_heads=4),
    SELF,
    Use("memory_as_long_as_x", (5, 6), (5, 6)),
    CROSS,
    Use("mask", (3, 6), None, "table"),
    Use("memory_and_mask", (3, 6), (3, 6), "table"),
]
MASKS = [
    Use("all_sizes_3-mask_batch_q_k", (3, 3, 6), None, "tables"),
    MASKED_CROSS,
    Use("mask_q_k", (2, 5, 6), None, (5, 5)),
    Use("mask_batch_1_k", (2, 5, 6), None, (2, 1, 5)),
]
BATCHES = [
    Use("batch", (2, 5, 6)),
    Use("batch_of_one", (1, 5, 6), (1, 7, 6)),
    Use("two_batches", (2, 3, 5, 6), (2, 3, 7, 6)),
    Use("three_batches", (3, 1, 2, 5, 6)),
]
ONES = [
    Use("one_token", (1, 6)),
    Use("one_memory_token", (5, 6), (1, 6)),
    Use("one_head", (5, 6), n_heads=1),
    Use("one_feature_each", (5, 3)),
    Use("one_of_everything", (1, 1, 1), n_heads=1),
]
ANSWER = "One new row per token of `x`"


def plain_calls(draw: Draw):
    """Inputs of every kind: 2 to 4 dimensions, the memory x itself or another, and masks."""
    for batch in ((2,), (), (2, 3)):
        x, other = draw(*batch, 5, 6), draw(*batch, 7, 6)
        yield x, x, None
        for memory in (None, other):
            yield x, memory, None
            yield x, memory, draw.mask(5, 5 if memory is None else 7)


# training or not, with gradients or without
MODES = [(True, True), (False, False), (True, False), (False, True)]


def modes_for(turn: int, x, mask):
    """In which modes to call: a batch without a mask in all of them, else in one in turn."""
    if x.dim() == 3 and mask is None:
        return MODES
    return [MODES[turn % 4]]


# first, so that a ready-made attention is not told of something else; what goes wrong in some calls
# is for the checks of values to say
@check("MultiHeadAttention", cites=READY_MADE)
def test_module_is_your_own(answer, draw):
    make, came_back = answer.MultiHeadAttention, 0
    with answer.noticing(READY_ATTENTION) as seen, stopping_at_nothing():
        layer = make(6, 3).to(draw.device, draw.dtype)
        seen.extend(attention_layers(layer))
        for turn, (x, memory, mask) in enumerate(plain_calls(draw)):
            for training, wanting in modes_for(turn, x, mask):
                with torch.set_grad_enabled(wanting), stopping_at_nothing():
                    call(layer.train(training), x, memory, mask)
                    came_back += 1
            if seen:
                break
    if seen:
        raise Finding("forbidden", "MultiHeadAttention", seen[0], detail=READY_ATTENTION.name)
    if not came_back:
        call(make(6, 3).to(draw.device, draw.dtype), draw(2, 5, 6))
    with stopping_at_nothing():
        no_ready_attention(
            draw, "MultiHeadAttention", functools.partial(through_a_layer, answer, draw),
            lambda *tokens: multi_head(*tokens, 2), heads=2, rows=ROWS // 2,
        )  # fmt: skip


def through_a_layer(answer, draw, query, key, value):
    """Have a module work out attention, in training or not: its projections only sort features."""
    some, none = torch.eye(PIECE), torch.zeros(PIECE, PIECE)
    first, second = torch.cat([some, none], 1).repeat(2, 1), torch.cat([none, some], 1).repeat(2, 1)
    whole = torch.eye(2 * PIECE)
    weights = {"w_q": whole, "w_k": second, "w_v": first, "w_o": whole}
    weights = {f"{name}.weight": weight.to(query) for name, weight in weights.items()}
    weights |= {f"{name}.bias": query.new_zeros(2 * PIECE) for name in LAYERS}
    layer = make_layer(answer, draw.using(query.dtype), weights, 2)
    memory = torch.cat([value[:, :PIECE], key[:, :PIECE]], 1)
    return call(layer.train(query.requires_grad), query[None], memory[None])[0]


@contextlib.contextmanager
def stopping_at_nothing():
    """Go on after any error but the one that says: not written yet."""
    try:
        yield
    except NotImplementedError:
        raise
    except Exception as found:
        if isinstance(found, Finding) and found.kind == "forbidden":
            raise


@check("MultiHeadAttention", cites=ANSWER)
@vary("use", USES)
def test_module_values(answer, draw, use):
    try_out(answer, draw, use)


@check("MultiHeadAttention", cites=ANSWER)
def test_module_printed_in_no_document(answer, draw):
    # by hand: projections that are the identity leave the heads' answers as they are
    weights = {f"{name}.weight": torch.eye(2, device=draw.device) for name in LAYERS}
    module = make_layer(answer, draw, weights, 1)
    x, memory = draw.tensor([[0.0, 0.0]]), draw.tensor([[2.0, 4.0], [6.0, 0.0]])
    same(call(module, x, memory), draw.tensor([[4.0, 2.0]]))


@check("MultiHeadAttention", cites="None: everywhere")
def test_module_masks(answer, draw):
    for use in MASKS:
        with situation(use.label):
            try_out(answer, draw, use)


@check("MultiHeadAttention", cites=NOTHING)
def test_module_query_masked(answer, draw):
    try_out(answer, draw, NOTHING_SEEN)


@check("MultiHeadAttention", about="shapes", cites=Rule("batch"))
def test_module_batches(answer, draw):
    for use in BATCHES:
        with situation(use.label):
            try_out(answer, draw, use)


@check("MultiHeadAttention", about="edges", cites=Rule("sizes"))
def test_module_ones(answer, draw):
    for use in ONES:
        with situation(use.label):
            try_out(answer, draw, use)


def drawn_uses(draw: Draw, heads, tokens, batch, bias=True):
    """Draw sizes, and call with and without a memory and a mask."""
    n_heads = draw.one_of(heads)
    width = n_heads * draw.one_of((4, 5, 6, 7))
    x, other = ((*batch, draw.one_of(tokens), width) for _ in "xm")
    for memory in (None, other):
        for mask in (None, "drawn"):
            yield Use("drawn", x, memory, mask, bias, n_heads)


@check("MultiHeadAttention", cites=ANSWER)
def test_module_in_every_mode(answer, draw):
    weights = draw_weights(draw, 6, bias=True)
    layer, x, memory = make_layer(answer, draw, weights), draw(2, 5, 6), draw(2, 7, 6)
    want = right(x, memory, None, weights, 3)
    in_every_mode(layer, lambda layer: same(call(layer, x, memory), want, like=x))


@check("MultiHeadAttention", about="edges", cites=EVERYWHERE)
def test_module_with_masks_of_every_shape(answer, draw):
    weights = draw_weights(draw, 6, bias=True)
    layer = make_layer(answer, draw, weights)
    right_with_masks_of_every_shape(
        draw, lambda draw, *batch, q, k: (draw(*batch, q, 6), draw(*batch, k, 6)),
        functools.partial(call, layer), lambda x, memory, mask: right(x, memory, mask, weights, 3),
        OF_EVERY_SHAPE[1:],
    )  # fmt: skip


@check("MultiHeadAttention", about="shapes", cites=Rule("sizes"))
def test_module_drawn(answer, draw):
    uses = [
        *drawn_uses(draw, range(8, 14), range(2, 14), ()),
        *drawn_uses(draw, range(2, 8), range(14, 41), (), bias=False),
        *drawn_uses(draw, range(4, 14), range(6, 41), (draw.one_of((2, 3)),)),
        Use("drawn", (draw.one_of(range(41, 132)), 6), (draw.one_of(range(41, 132)), 6)),
    ]
    for use in uses:
        with situation("sizes that were drawn"):
            try_out(answer, draw, use)


@check("MultiHeadAttention", about="shapes", cites=Rule("batch"))
def test_module_drawn_batches(answer, draw):
    kinds = [[draw.one_of((1, 2, 3)) for _ in range(count)] for count in (2, 3, 4)]
    kinds.append([draw.one_of(range(14, 41))])
    for batch, heads in zip(kinds, ((1,), (2, 3), (1, 2, 3), (1, 2, 3)), strict=True):
        for use in drawn_uses(draw, heads, (2, 3, 4, 5), batch):
            with situation("a batch that was drawn"):
                try_out(answer, draw, use)


@check("MultiHeadAttention", cites="False: none of them")
def test_module_without_bias(answer, draw):
    try_out(answer, draw, Use("memory", (5, 6), (7, 6), bias=False))


@check("MultiHeadAttention", cites=ANSWER)
def test_module_of_large_scores(answer, draw):
    first_key_takes_everything(answer, draw)


@check("MultiHeadAttention", about="dtypes", cites=ANSWER)
def test_module_of_large_scores_in_dtypes(answer, draw):
    for dtype in OTHER_FLOATS:
        first_key_takes_everything(answer, draw.using(dtype))


def first_key_takes_everything(answer, draw: Draw):
    eye = torch.eye(4, device=draw.device, dtype=draw.dtype)
    module = make_layer(answer, draw, {f"{n}.weight": eye for n in LAYERS}, 1)
    # scores of 8192, 4096 and 0, over sqrt(4)
    x = draw.tensor([[64.0, 64.0, 0.0, 0.0]])
    memory = draw.tensor([[64.0, 64.0, 1.0, 2.0], [0.0, 64.0, 3.0, 4.0], [0.0, 0.0, 5.0, 6.0]])
    with situation(str(draw.dtype)):
        same(call(module, x, memory), memory[:1])


@check(
    "MultiHeadAttention",
    cites=["The module has four layers", "w_q:", "w_k:", "w_v:", "w_o:"],
)
def test_module_has_four_layers(answer, draw):
    weights = draw_weights(draw, 6, bias=True)
    layer = make_layer(answer, draw, weights)
    look_at_weights(layer, weights, "MultiHeadAttention(6, 3)")


@check("MultiHeadAttention", about="gradients", cites=[Rule("gradients"), NOTHING])
@vary("use", [SELF, MASKED_CROSS, NOTHING_SEEN])
def test_module_gradients(answer, draw, use):
    module_gradients_hold(answer, draw, use)


@check("MultiHeadAttention", about="dtypes", cites=[Rule("gradients"), NOTHING])
def test_module_gradients_in_float64(answer, draw):
    for use in (SELF, MASKED_CROSS, NOTHING_SEEN):
        with situation(use.label):
            module_gradients_hold(answer, draw.using(torch.float64), use, training=False)


def module_gradients_hold(answer, draw: Draw, use: Use, training: bool = True):
    weights = draw_weights(draw, 6, use.bias)
    inputs = use.draw_inputs(draw)
    module = make_layer(answer, draw, weights).train(training)
    given = [leaf(value) for value in inputs]
    got = call(module, *given)

    def compute():
        twins, twin_weights = (
            [leaf(value) for value in inputs],
            dict(zip(weights, map(leaf, weights.values()), strict=True)),
        )
        doubled = {name: value.double() for name, value in twin_weights.items()}
        want = layer_output(*map(exact, twins), doubled, use.n_heads)
        pull = draw(*want.shape)
        leaves = [value for value in (*twins, *twin_weights.values()) if floating(value)]
        return want.detach(), pulled(want, leaves, pull), pull

    want, slopes, pull = worked_out("gradients", compute)
    same(got, want, like=given[0], label=use.said)
    named = [*zip(("x", "memory", "mask"), given, strict=True)]
    named += [(name, module.get_parameter(name)) for name in weights]
    leaves = [(name, value) for name, value in named if floating(value)]
    gradients_match(got, leaves, slopes, pull)


@check("MultiHeadAttention", about="dtypes", cites=Rule("dtype"))
@vary("dtype", OTHER_FLOATS)
def test_module_dtypes(answer, draw, dtype):
    for use in (MASKED_CROSS, NOTHING_SEEN):
        with situation(use.label):
            try_out(answer, draw.using(dtype), use)


@check("MultiHeadAttention", about="devices", cites=Rule("device"))
def test_module_is_device_ready(answer, draw):
    for use in (SELF, MASKED_CROSS):
        weights = draw_weights(draw, 6, use.bias)
        module = make_layer(answer, draw, weights)
        inputs = use.draw_inputs(draw)
        want = right(*inputs, weights, 3)
        with situation(use.label):
            run = functools.partial(runs_on, answer, module, inputs, want, ask=call, label=use.said)
            on_a_gpu(answer, draw, run)


@check("MultiHeadAttention", about="calls", cites=Rule("strides"))
def test_module_strides(answer, draw):
    for name, scatter in SCATTERED.items():
        with situation(name):
            try_out(answer, draw, MASKED_CROSS, change=scatter)


@check("MultiHeadAttention", about="calls", cites=LEAVES)
def test_module_inputs_unchanged(answer, draw):
    weights = draw_weights(draw, 6, bias=True)
    module = make_layer(answer, draw, weights)
    inputs = MASKED_CROSS.draw_inputs(draw)
    before = [tensor.clone() for tensor in inputs]
    want = right(*before, weights, 3)
    for turn, which in enumerate(("the first call", "a second call like the first")):
        got = call(module, *inputs)
        for name, now, then in zip(("x", "memory", "mask"), inputs, before, strict=True):
            unchanged(answer.became(now), then, name)
        other = sorted({name for name, _ in module.named_parameters()} ^ set(weights))
        holds(not other, "the layer", f"the call gave or took away {', '.join(other)}", other)
        for name, weight in module.named_parameters():
            unchanged(weight.detach(), weights[name], name)
        with later_call(turn):
            same(got, want, like=before[0], label=f"the output of {which}")


@check("MultiHeadAttention", about="calls", cites=Rule("calls"))
def test_module_called_again(answer, draw):
    weights = draw_weights(draw, 6, bias=True)
    module = make_layer(answer, draw, weights)
    x, memory, mask = MASKED_CROSS.draw_inputs(draw)
    other_memory, other_mask = MASKED_CROSS.draw_inputs(draw)[1:]
    for turn, (given, said) in enumerate((
        ((x, memory, mask), "the output of the first call"),
        ((x, other_memory, other_mask), "the output of a second call with the same `x`"),
        ((x[:, :3], None, None), "the output of a third call, with fewer tokens"),
    )):  # fmt: skip
        want = right(*given, weights, 3)
        with later_call(turn):
            same(call(module, *given), want, like=x, label=said)
    changes = (nn.Module.load_state_dict, ""), (stepped, " as an optimizer does it")
    for training, (put, how) in itertools.product((True, False), changes):
        module.train(training)
        for inputs in ((x, memory, mask), (x, None, None)):
            call(module, *inputs)
            other = draw_weights(draw, 6, bias=True)
            put(module, other)
            want = right(*inputs, other, 3)
            said = f"the output of a further, equal call, after the weights were changed{how}"
            with later_call():
                same(call(module, *inputs), want, like=x, label=said)


@check("MultiHeadAttention", about="calls", cites=[Rule("arguments"), "None: `x` itself"])
def test_module_arguments(answer, draw):
    weights = draw_weights(draw, 6, bias=True)
    module = make_layer(answer, draw, weights)
    x, memory, mask = MASKED_CROSS.draw_inputs(draw)
    table = draw.mask(5, 5)
    for said, args, kwargs, inputs in (
        ("layer(x, memory, mask)", (x, memory, mask), {}, (x, memory, mask)),
        ("layer(x, None, mask)", (x, None, table), {}, (x, None, table)),
        ("layer(x, None, None)", (x, None, None), {}, (x, None, None)),
        ("layer(x=x, memory=memory)", (), {"x": x, "memory": memory}, (x, memory, None)),
    ):
        want = right(*inputs, weights, 3)
        got = in_order(module, args, kwargs, inputs, said)
        same(got, want, like=x, label=f"the output of {said}")
    by_name = answer.MultiHeadAttention(d_model=6, n_heads=3, bias=True)
    look_at(by_name, "w_o", "MultiHeadAttention(d_model=6, n_heads=3, bias=True)", 6, True)


def in_order(module, args, kwargs, inputs, said):
    """Call the module; where it fails by place and not by name, say so."""
    try:
        return module(*args, **kwargs)
    except NotImplementedError:
        raise
    except (ValueError, RuntimeError):
        call(module, *inputs)
        holds(
            False, said,
            "it fails, but with the arguments' names it does not: in your `forward` they are in "
            "another order than in the stub",
        )  # fmt: skip


@check("MultiHeadAttention", about="calls", cites="With the same weights")
@vary("use", [Use("self", (2, 5, 6), None, (5, 5)), MASKED_CROSS])
def test_module_equals_pytorchs(answer, draw, use):
    weights = draw_weights(draw, 6, use.bias)
    x, memory, mask = use.draw_inputs(draw)
    module = make_layer(answer, draw, weights)
    with aside():
        oracle = nn.MultiheadAttention(6, 3, batch_first=True, device=draw.device, dtype=draw.dtype)
    parts = {
        f"in_proj_{part}": torch.cat([weights[f"{name}.{part}"] for name in LAYERS[:3]])
        for part in ("weight", "bias")
    }
    parts |= {f"out_proj.{part}": weights[f"w_o.{part}"] for part in ("weight", "bias")}
    oracle.load_state_dict(parts)
    seen = x if memory is None else memory
    # PyTorch's module wants one table a head, and True for a masked key
    closed = ~mask.expand(2, 5, seen.shape[1]).repeat_interleave(3, 0)
    want, _ = oracle(x, seen, seen, attn_mask=closed, need_weights=False)
    same(call(module, x, memory, mask), want.detach(), label=use.said)


@check("MultiHeadAttention", about="calls", cites="None: everywhere")
def test_module_does_not_see_the_future(answer, draw):
    weights = draw_weights(draw, 6, bias=True)
    x = draw(2, 5, 6, scale=1.2)
    module = make_layer(answer, draw, weights)
    mask = pattern(draw, *TRIANGLE)
    before = module(x, mask=mask)
    same(before, right(x, None, mask, weights, 3), like=x, label="the output with a causal mask")
    changed = x.clone()
    changed[:, 3:] += 3
    after = module(changed, mask=mask)
    same(after[:, :3], before[:, :3].detach(), label="rows 0 to 2 after tokens 3 and 4 changed")
