"""Chapter 6: heads, by value, at the edges, and beside PyTorch's own module."""

import contextlib
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from grader.suite import (
    OTHER_FLOATS,
    Draw,
    Finding,
    aside,
    check,
    devices,
    each,
    holds,
    laws,
    refuses,
    same,
    unchanged,
    vary,
)
from grader.suite.arithmetic import attention64
from grader.suite.laws import Case

# What is right


def split64(x, n_heads):
    if x.ndim < 2 or n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(f"{n_heads} heads do not divide {tuple(x.shape)}")
    return torch.stack(x.chunk(n_heads, -1), -3)


def merge64(x):
    if x.ndim < 3:
        raise ValueError(f"{tuple(x.shape)} is not [*batch, n_heads, n, d_head]")
    return torch.cat(x.unbind(-3), -1)


def multi_head64(query, key, value, n_heads, mask=None):
    shapes = [tuple(x.shape) for x in (query, key, value)]
    batches = {x.shape[:-2] for x in (query, key, value)}
    if len(batches) > 1 or len({x.shape[-1] for x in (query, key, value)}) > 1:
        raise ValueError(f"{shapes} do not fit together")
    if n_heads < 1 or query.shape[-1] % n_heads:
        raise ValueError(f"{n_heads} heads do not divide {query.shape[-1]}")
    if mask is not None:
        mask = mask.expand(*query.shape[:-1], key.shape[-2])[..., None, :, :]
    parts = (split64(x, n_heads) for x in (query, key, value))
    return merge64(attention64(*parts, mask))


def layer64(x, memory, mask, weights, n_heads):
    """Project, attend head by head, project again; `weights` by their names in the module."""

    def project(name, tokens):
        made = tokens @ weights[f"{name}.weight"].T
        return made + weights[f"{name}.bias"] if f"{name}.bias" in weights else made

    seen = x if memory is None else memory
    parts = project("w_q", x), project("w_k", seen), project("w_v", seen)
    return project("w_o", multi_head64(*parts, n_heads, mask))


class Layer64(nn.Module):
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
        return layer64(x.double(), seen, mask, weights, self.n_heads).to(x.dtype)


LAYERS = ("w_q", "w_k", "w_v", "w_o")
REFERENCES = {
    "split_heads": split64,
    "merge_heads": merge64,
    "multi_head": multi_head64,
    "MultiHeadAttention": Layer64,
}


# Inputs of the three functions. Square ones come first: whatever stands in the wrong place fits
# there, and differs by value.


def tokens_square(draw: Draw):
    return draw(3, 6), 3


def tokens(draw: Draw):
    return draw(5, 21), 3


def pieces_square(draw: Draw):
    return (draw(3, 3, 2),)


def pieces(draw: Draw):
    return (draw(3, 5, 7),)


def projected_alike(draw: Draw, n: int = 5):
    return *(draw(n, 6, scale=1.3) for _ in "qkv"), 3


def projected(draw: Draw):
    return draw(5, 21, scale=1.1), draw(7, 21, scale=1.1), draw(7, 21, scale=1.1), 3


def asymmetric(draw: Draw):
    return draw.tensor([[1, 0, 0], [1, 1, 0], [0, 1, 1]], torch.bool)


def projected_masked(draw: Draw):
    return *projected_alike(draw, 3), asymmetric(draw)


def projected_blind(draw: Draw):
    mask = draw.mask(5, 7)
    mask[3] = False
    return *projected(draw), mask


def projected_batch(draw: Draw, *batch: int, q: int = 5, k: int = 7):
    query, key, value = (draw(*batch, n, 6, scale=1.3) for n in (q, k, k))
    return query, key, value, 3


def square_batch_masks(draw: Draw):
    """Masks of every shape for 3 sequences, 3 heads, 3 queries and 3 keys."""
    table = asymmetric(draw)
    each_its_own = torch.stack([table, table.roll(1, -1), table.roll(1, -2)])
    return {
        "k": draw.tensor([1, 0, 1], torch.bool),
        "q_k": table,
        "batch_1_k": table[:, None],
        "batch_q_k": each_its_own,
    }


def with_square_mask(shape: str):
    return lambda draw: (*projected_batch(draw, 3, q=3, k=3), square_batch_masks(draw)[shape])


def with_mask(*shape: int):
    return lambda draw: (*projected_batch(draw, 2), draw.mask(*shape))


SPLIT = Case("split_heads", tokens, split64)
MERGE = Case("merge_heads", pieces, merge64)
MULTI = Case("multi_head", projected, multi_head64)
MASKED = Case("multi_head", projected_masked, multi_head64, "masked")
BLIND = Case("multi_head", projected_blind, multi_head64, "blind_query")
PLAIN = [SPLIT, MERGE, MULTI, MASKED]
VALUES = [
    Case("split_heads", tokens_square, split64, "as_many_tokens_as_heads"),
    SPLIT,
    Case("merge_heads", pieces_square, merge64, "as_many_tokens_as_heads"),
    MERGE,
    Case("multi_head", projected_alike, multi_head64, "as_many_keys_as_queries"),
    MULTI,
    MASKED,
]
BATCHES = [
    Case("split_heads", lambda draw: (draw(2, 5, 6), 3), split64, "batch"),
    Case("split_heads", lambda draw: (draw(2, 3, 5, 6), 3), split64, "two_batches"),
    Case("merge_heads", lambda draw: (draw(2, 3, 5, 7),), merge64, "batch"),
    Case("merge_heads", lambda draw: (draw(2, 5, 3, 5, 2),), merge64, "two_batches"),
    Case("multi_head", lambda draw: projected_batch(draw, 2), multi_head64, "batch"),
    Case("multi_head", lambda draw: projected_batch(draw, 2, 5), multi_head64, "two_batches"),
]
MASKS = [
    *(
        Case("multi_head", with_square_mask(shape), multi_head64, f"{shape}-all_sizes_3")
        for shape in ("batch_q_k", "batch_1_k", "q_k", "k")
    ),
    *(
        Case("multi_head", with_mask(*shape), multi_head64, label)
        for shape, label in [
            ((2, 5, 7), "batch_q_k"),
            ((2, 1, 7), "batch_1_k"),
            ((5, 7), "q_k"),
            ((7,), "k"),
        ]
    ),
    Case(
        "multi_head",
        lambda draw: (*projected_batch(draw, 2, 3), draw.mask(3, 1, 7)),
        multi_head64,
        "two_batches",
    ),
]
MULTI_BATCHES = [
    *(case for case in BATCHES if case.exercise == "multi_head"),
    Case("multi_head", with_mask(2, 5, 7), multi_head64, "batch_masked"),
    Case(
        "multi_head",
        lambda draw: (*projected_batch(draw, 2, 3), draw.mask(5, 7)),
        multi_head64,
        "two_batches_masked",
    ),
]
EDGES = [
    Case("split_heads", lambda draw: (draw(5, 3), 3), split64, "one_feature_each"),
    Case("split_heads", lambda draw: (draw(5, 3), 1), split64, "one_head"),
    Case("merge_heads", lambda draw: (draw(3, 5, 1),), merge64, "one_feature_each"),
    Case("merge_heads", lambda draw: (draw(1, 5, 3),), merge64, "one_head"),
    Case(
        "multi_head",
        lambda draw: (draw(5, 3), draw(7, 3), draw(7, 3), 3),
        multi_head64,
        "one_feature_each",
    ),
    Case(
        "multi_head", lambda draw: (draw(5, 3), draw(7, 3), draw(7, 3), 1), multi_head64, "one_head"
    ),
    BLIND,
]


@check(core=True)
@each(VALUES)
def test_values(answer, draw, case):
    """Catches features that reach the wrong head, a forgotten transpose, a wrong scale or mask."""
    laws.values(answer, draw, case)


@check(core=True)
@each(MASKS)
def test_masks(answer, draw, case):
    """Catches a mask whose batch lands on the heads: it serves every head, in every shape."""
    laws.values(answer, draw, case)


@check(core=True)
@each(BATCHES)
def test_batches(answer, draw, case):
    """Catches dimensions counted from the front, and code that leans on one batch dimension."""
    laws.values(answer, draw, case)


@check("multi_head", core=True)
def test_multi_head_is_your_own(answer, draw):
    """Refuses a ready-made attention inside the heads, under any name and for any shape."""
    laws.your_own(answer, draw, "attention", [MULTI, MASKED, *MULTI_BATCHES])
    exact = draw.using(torch.float64)
    tokens = [exact(12, 24) for _ in "qkv"]
    with torch.no_grad():
        got = answer.multi_head(*tokens, 3)
    same(got, multi_head64(*tokens, 3), like=tokens[0])
    kernels = laws.attention_kernels(*(split64(x, 3) for x in tokens))
    laws.not_to_the_bit(got, [merge64(one) for one in kernels], "multi_head", "attention")


@check(core=True)
@each(EDGES)
def test_edges(answer, draw, case):
    """Catches one head, one feature a head, and NaN for a query that may look at nothing."""
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
@each([SPLIT, MERGE, MASKED])
def test_inputs_unchanged(answer, draw, case):
    """Catches in-place work on the caller's tensors, and results kept for later calls."""
    laws.inputs_unchanged(answer, draw, case)


@check()
@each([*PLAIN, BLIND])
def test_gradients(answer, draw, case):
    """Catches a cut graph and NaN that flows back through a blind row; compared by value."""
    laws.gradients(answer, draw, case)


@check()
@each(devices.by_exercise([SPLIT, MERGE, MULTI, MASKED]))
def test_device_ready(answer, draw, case):
    """Catches what works on the CPU alone: a tensor made without `device=`, or moved away."""
    devices.device_ready(answer, draw, case)


@check("split_heads")
def test_split_heads_owns_consecutive_features(answer, draw):
    """Catches interleaved features: head 1 of three owns features 2 and 3 of 6, and no others."""
    x = draw(5, 6)
    before = answer.split_heads(x, 3)
    changed = x.clone()
    changed[:, 2:4] += 1
    after = answer.split_heads(changed, 3)
    same(before, split64(x, 3))
    same(after, split64(changed, 3), label="the pieces after features 2 and 3 changed")


@check("split_heads")
def test_split_heads_refuses_misfits(answer, draw):
    """Catches features that are dropped in silence, and errors that do not name the sizes."""
    refuses(
        lambda: answer.split_heads(draw(5, 7), 3), 7, 3,
        why="`n_heads` is 3 and `x` is 7 wide",
    )  # fmt: skip
    refuses(
        lambda: answer.split_heads(draw(2, 5, 6), 4), 6, 4,
        why="`n_heads` is 4 and `x` is 6 wide",
    )  # fmt: skip
    refuses(lambda: answer.split_heads(draw(5, 6), 0), 0, why="`n_heads` is 0")
    refuses(lambda: answer.split_heads(draw(6), 3), why="`x` is [6], it has no tokens")


@check("merge_heads")
def test_merge_heads_undoes_the_split(answer, draw):
    """Catches `view` and wrong orders on what a split really gives: memory that is not in order."""
    for batch in ((), (2,)):
        x = draw(*batch, 5, 6)
        pieces = x.unflatten(-1, (3, 2)).transpose(-3, -2)
        same(answer.merge_heads(pieces), x, label="the tokens, split and merged again")


@check("merge_heads")
def test_merge_heads_refuses_misfits(answer, draw):
    """Catches a merge of something that was never split, and errors that do not name the sizes."""
    refuses(
        lambda: answer.merge_heads(draw(5, 7)),
        why="`x` is [5, 7], it has no dimension for the heads",
    )  # fmt: skip


@check("multi_head", core=True)
def test_multi_head_heads_do_not_see_each_other(answer, draw):
    """Catches heads that share weights or features: a change in one head moves its block only."""
    query, key, value, n_heads = projected_batch(draw, 2)
    before = answer.multi_head(query, key, value, n_heads)
    same(before, multi_head64(*map(laws.exact, (query, key, value)), n_heads), like=query)
    changed = key.clone()
    changed[..., 2:4] += draw(2, 7, 2)
    after = answer.multi_head(query, changed, value, n_heads)
    others = [0, 1, 4, 5]
    same(
        after[..., others], before[..., others],
        label="features 0, 1, 4 and 5 of the output, after features 2 and 3 of the keys changed",
    )  # fmt: skip
    want = multi_head64(*map(laws.exact, (query, changed, value)), n_heads)
    same(after, want, like=query, label="the output after features 2 and 3 of the keys changed")


@check("multi_head")
def test_multi_head_equals_pytorchs(answer, draw):
    """Holds every head against PyTorch's own attention."""
    query, key, value, n_heads = projected_batch(draw, 2)
    mask = draw.mask(2, 5, 7)
    heads = (x.unflatten(-1, (n_heads, 2)).transpose(-3, -2) for x in (query, key, value))
    oracle = F.scaled_dot_product_attention(*heads, attn_mask=mask[:, None])
    got = answer.multi_head(query, key, value, n_heads, mask)
    same(got, oracle.transpose(-3, -2).flatten(-2))


@check("multi_head")
def test_multi_head_follows_no_order(answer, draw):
    """Catches an output that depends on where a key stands: keys and values shuffled alike."""
    query, key, value, n_heads = projected(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    want = multi_head64(query.double(), key.double(), value.double(), n_heads)
    same(answer.multi_head(query, key[order], value[order], n_heads), want, like=query)


@check("multi_head")
def test_multi_head_does_not_see_the_future(answer, draw):
    """Catches a mask that leaks into a head: what is closed must not move the output."""
    query, key, value, n_heads = projected_batch(draw, 2, q=5, k=5)
    mask = torch.ones(5, 5, dtype=torch.bool, device=draw.device).tril()
    before = answer.multi_head(query, key, value, n_heads, mask)
    want = multi_head64(*map(laws.exact, (query, key, value)), n_heads, mask)
    same(before, want, like=query)
    changed = value.clone()
    changed[:, 3:] += 3
    after = answer.multi_head(query, key, changed, n_heads, mask)
    same(after[:, :3], before[:, :3], label="rows 0 to 2 after values 3 and 4 changed")


@check("multi_head")
def test_multi_head_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    query, key, value, n_heads = projected_batch(draw, 2)
    refuses(
        lambda: answer.multi_head(query, key, value, 4), 6, 4,
        why="`n_heads` is 4 and d_model is 6",
    )  # fmt: skip
    refuses(lambda: answer.multi_head(query, key, value, 0), 0, why="`n_heads` is 0")
    refuses(
        lambda: answer.multi_head(query, draw(2, 7, 9), value, n_heads),
        why="`query` is 6 wide and `key` is 9 wide",
    )  # fmt: skip
    refuses(
        lambda: answer.multi_head(query, key[:1], value[:1], n_heads), 2, 1,
        why="`query` has a batch of 2, `key` and `value` a batch of 1",
    )  # fmt: skip
    refuses(
        lambda: answer.multi_head(query, key, draw(2, 11, 6), n_heads), 7, 11,
        why="there are 7 keys and 11 values",
    )  # fmt: skip
    refuses(
        lambda: answer.multi_head(query, key, value, n_heads, draw.mask(5, 3)), 7, 3,
        why="`mask` is [5, 3] and the scores of a head are [5, 7]",
    )  # fmt: skip
    refuses(
        lambda: answer.multi_head(query[0], key[0], value[0], 3, draw.mask(3, 5, 7)), 3,
        why="`mask` is [3, 5, 7], one table for each head: it has no dimension for the heads",
    )  # fmt: skip


@check("multi_head")
def test_multi_head_refuses_a_mask_that_enlarges(answer, draw):
    """Catches scores that the mask repeats in silence: only the mask broadcasts."""
    query, key, value, n_heads = projected_batch(draw, 1)
    table = draw.mask(5, 7)
    refuses(
        lambda: answer.multi_head(query[0], key[0], value[0], n_heads, table.expand(2, 5, 7)), 2,
        why="`mask` is [2, 5, 7], a batch of 2, and `query` is [5, 6], without a batch",
    )  # fmt: skip
    refuses(
        lambda: answer.multi_head(query[:, :1], key, value, n_heads, table), 5, 1,
        why="`mask` is [5, 7] and there is 1 query",
    )  # fmt: skip
    refuses(
        lambda: answer.multi_head(query, key[:, :1], value[:, :1], n_heads, table), 7, 1,
        why="`mask` is [5, 7] and there is 1 key",
    )  # fmt: skip
    refuses(
        lambda: answer.multi_head(query, key, value, n_heads, table.expand(2, 5, 7)), 2, 1,
        why="`mask` is [2, 5, 7] and `query` has a batch of 1",
    )  # fmt: skip


# The module


@dataclass(frozen=True)
class Use:
    """A module of some size, and what it is called with.

    Attributes:
        label: as it stands in the check's name.
        x: the shape of the tokens.
        memory: the shape of the memory; None: self-attention.
        mask: the shape of the mask, "table", "tables" or "blind"; None: no mask.
        bias: whether the four layers have one.
        n_heads: how many heads.
    """

    label: str
    x: tuple[int, ...]
    memory: tuple[int, ...] | None = None
    mask: tuple[int, ...] | str | None = None
    bias: bool = True
    n_heads: int = 3

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
            return square_batch_masks(draw)["batch_q_k"]
        if self.mask == "blind":
            mask = draw.mask(self.x[-2], (self.memory or self.x)[-2])
            mask[1] = False
            return mask
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
                "two calls with the same inputs differ: something random is in it",
            )  # fmt: skip
        raise


def try_again(answer, draw: Draw, use: Use):
    """Call one module with two inputs of the same sizes."""
    weights = draw_weights(draw, use.x[-1], use.bias)
    layer = make_layer(answer, draw, weights, use.n_heads)
    for said in (use.said, f"{use.said} for other tokens"):
        inputs = use.draw_inputs(draw)
        want = right(*inputs, weights, use.n_heads)
        same(call(layer, *inputs), want, like=inputs[0], label=said)


def right(x, memory, mask, weights, n_heads):
    exact = {name: weight.double() for name, weight in weights.items()}
    return layer64(laws.exact(x), laws.exact(memory), mask, exact, n_heads)


HEADS = Use("four_heads", (5, 16), n_heads=4)
SELF = Use("self", (5, 6))
CROSS = Use("memory", (5, 6), (7, 6))
MASKED_CROSS = Use("memory_and_mask", (2, 5, 6), (2, 7, 6), (2, 1, 7))
USES = [
    # first, because 2 and 8 divide its width: a number of heads written out is told by value
    HEADS,
    SELF,
    Use("memory_as_long_as_x", (5, 6), (5, 6)),
    CROSS,
    Use("mask", (3, 6), None, "table"),
    Use("memory_and_mask", (3, 6), (3, 6), "table"),
]
MORE_USES = [
    Use("all_sizes_3-mask_batch_q_k", (3, 3, 6), None, "tables"),
    Use("mask_batch_1_k", (2, 5, 6), (2, 7, 6), (2, 1, 7)),
    Use("mask_q_k", (2, 5, 6), None, (5, 5)),
    Use("mask_k", (2, 5, 6), (2, 7, 6), (7,)),
    Use("two_batches", (2, 3, 5, 6), (2, 3, 7, 6)),
    Use("blind_query", (5, 6), (7, 6), "blind"),
    Use("one_head", (5, 6), n_heads=1),
    Use("one_feature_each", (5, 3)),
]


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


# first, so that a ready-made attention is not told of something else; what goes wrong in its calls
# is for the checks of values to say
@check("MultiHeadAttention", core=True)
def test_module_is_your_own(answer, draw):
    """Refuses a ready-made attention inside the module, under any name and in every use."""
    make = answer.MultiHeadAttention
    with answer.noticing("attention") as seen, stopping_at_nothing():
        layer = make(6, 3).to(draw.device, draw.dtype)
        if any(isinstance(part, nn.MultiheadAttention) for part in layer.modules()):
            seen.append("nn.MultiheadAttention")
        for turn, (x, memory, mask) in enumerate(plain_calls(draw)):
            for training, wanting in modes_for(turn, x, mask):
                with torch.set_grad_enabled(wanting), stopping_at_nothing():
                    call(layer.train(training), x, memory, mask)
            if seen:
                break
    if seen:
        raise Finding("forbidden", "MultiHeadAttention", seen[0], detail="attention")


@contextlib.contextmanager
def stopping_at_nothing():
    """Go on after any error but the one that says: not written yet."""
    try:
        yield
    except NotImplementedError:
        raise
    except Exception:
        pass


@check("MultiHeadAttention", core=True)
@vary("use", USES)
def test_module_values(answer, draw, use):
    """Catches a layer that is not used, a memory in the wrong role, heads folded wrongly."""
    try_out(answer, draw, use)


@check("MultiHeadAttention", core=True)
@vary("use", MORE_USES)
def test_module_masks_and_batches(answer, draw, use):
    """Catches a mask on the heads' dimension, a fixed number of dimensions, NaN in blind rows."""
    try_out(answer, draw, use)


@check("MultiHeadAttention", core=True)
def test_module_called_again(answer, draw):
    """Catches an output that is remembered from an earlier call."""
    try_again(answer, draw, CROSS)


@check("MultiHeadAttention", core=True)
def test_module_without_bias(answer, draw):
    """Catches a `bias` that does not reach all four layers."""
    try_out(answer, draw, Use("memory", (5, 6), (7, 6), bias=False))


@check("MultiHeadAttention")
def test_module_has_four_layers(answer, draw):
    """Catches weights beyond the four layers, weights that are shared, and frozen weights."""
    layer = make_layer(answer, draw, draw_weights(draw, 6, bias=True))
    found = sorted(name for name, _ in layer.named_parameters(remove_duplicate=False))
    wanted = sorted(f"{name}.{part}" for name in LAYERS for part in ("weight", "bias"))
    more = [name for name in found if name not in wanted]
    holds(
        found == wanted, "MultiHeadAttention(6, 3)",
        f"it has parameters besides the four layers: {', '.join(more)}", more,
    )  # fmt: skip
    count = len(list(layer.parameters()))
    holds(
        count == 8, "MultiHeadAttention(6, 3)",
        f"it has {count} parameters, expected 8: two layers are one and the same nn.Linear", count,
    )  # fmt: skip
    frozen = [name for name, weight in layer.named_parameters() if not weight.requires_grad]
    holds(
        not frozen, "MultiHeadAttention(6, 3)",
        f"{', '.join(frozen)} cannot be trained: requires_grad is False", frozen,
    )  # fmt: skip


@check("MultiHeadAttention")
@vary("dtype", OTHER_FLOATS)
def test_module_dtypes(answer, draw, dtype):
    """Catches an output that is always float32 although the module was moved to another dtype."""
    try_out(answer, draw.using(dtype), MASKED_CROSS)


@check("MultiHeadAttention")
def test_module_strides(answer, draw):
    """Catches `view` on memory that is not in order."""
    try_out(answer, draw, MASKED_CROSS, change=laws.scatter)


@check("MultiHeadAttention")
def test_module_leaves_all_as_it_was(answer, draw):
    """Catches in-place work on tokens, mask or weights, and anything kept from call to call."""
    weights = draw_weights(draw, 6, bias=True)
    layer = make_layer(answer, draw, weights)
    inputs = MASKED_CROSS.draw_inputs(draw)
    x, *_ = before = [tensor.clone() for tensor in inputs]
    want = right(*before, weights, 3)
    for said in ("the output of the first call", "the output of a second call like the first"):
        got = call(layer, *inputs)
        for name, now, then in zip(("x", "memory", "mask"), inputs, before, strict=True):
            unchanged(answer.became(now), then, name)
        other = sorted({name for name, _ in layer.named_parameters()} ^ set(weights))
        holds(not other, "the layer", f"the call gave or took away {', '.join(other)}", other)
        for name, weight in layer.named_parameters():
            unchanged(weight.detach(), weights[name], name)
        same(got, want, like=x, label=said)
    memory, mask = MASKED_CROSS.draw_inputs(draw)[1:]
    want = right(x, memory, mask, weights, 3)
    same(call(layer, x, memory, mask), want, like=x, label="the output with another memory")
    shorter = x[:, :3]
    want = right(shorter, None, None, weights, 3)
    same(layer(shorter), want, like=x, label="the output of a third call, with fewer tokens")


@check("MultiHeadAttention")
@vary("use", [SELF, Use("blind_query", (2, 5, 6), (2, 7, 6), "blind")])
def test_module_gradients(answer, draw, use):
    """Catches weights and tokens that no gradient reaches, and NaN from a blind row; by value."""
    draw = draw.using(torch.float64)
    weights = draw_weights(draw, 6, use.bias)
    inputs = use.draw_inputs(draw)
    layer = make_layer(answer, draw, weights)
    x, memory, mask = (laws.leaf(value) for value in inputs)
    twins = [laws.leaf(value) for value in inputs]
    twin_weights = {name: laws.leaf(weight) for name, weight in weights.items()}
    got = call(layer, x, memory, mask)
    want = layer64(*twins, twin_weights, use.n_heads)
    same(got, want.detach(), label=use.said)
    named = [("x", x), ("memory", memory), *((name, layer.get_parameter(name)) for name in weights)]
    laws.backward_matches(
        got,
        want,
        [(name, value) for name, value in named if value is not None],
        (*twins, *twin_weights.values()),
        draw(*want.shape),
    )


@check("MultiHeadAttention")
def test_module_is_device_ready(answer, draw):
    """Catches what does not move with the module: a mask, a plain tensor it keeps."""
    for use in (SELF, MASKED_CROSS):
        weights = draw_weights(draw, 6, use.bias)
        layer = make_layer(answer, draw, weights)
        inputs = use.draw_inputs(draw)
        want = right(*inputs, weights, 3)

        def run(on, layer=layer, inputs=inputs, want=want, said=use.said):
            given = [laws.leaf(value) for value in inputs]
            got = call(answer.moved(layer), *given)
            same(got, want, like=inputs[0], label=said)
            devices.goes_backward(
                answer, got, [value for value in given if laws.floating(value)], on
            )

        devices.on_a_gpu(answer, draw, run)


@check("MultiHeadAttention")
@vary("use", [Use("self", (2, 5, 6), None, (5, 5)), MASKED_CROSS])
def test_module_equals_pytorchs(answer, draw, use):
    """Holds the module against torch.nn.MultiheadAttention with the same weights."""
    weights = draw_weights(draw, 6, use.bias)
    x, memory, mask = use.draw_inputs(draw)
    layer = make_layer(answer, draw, weights)
    with aside():
        oracle = nn.MultiheadAttention(6, 3, batch_first=True, device=draw.device, dtype=draw.dtype)
    parts = {
        f"in_proj_{part}": torch.cat([weights[f"{name}.{part}"] for name in LAYERS[:3]])
        for part in ("weight", "bias")
    }
    parts |= {f"out_proj.{part}": weights[f"w_o.{part}"] for part in ("weight", "bias")}
    oracle.load_state_dict(parts)
    seen = x if memory is None else memory
    # PyTorch's module wants one table a head, and True for a closed door
    closed = ~mask.expand(2, 5, seen.shape[1]).repeat_interleave(3, 0)
    want, _ = oracle(x, seen, seen, attn_mask=closed, need_weights=False)
    same(call(layer, x, memory, mask), want.detach(), label=use.said)


@check("MultiHeadAttention")
def test_module_does_not_see_the_future(answer, draw):
    """Catches a mask that leaks: a later token must not move the rows before it."""
    weights = draw_weights(draw, 6, bias=True)
    x = draw(2, 5, 6, scale=1.2)
    layer = make_layer(answer, draw, weights)
    mask = torch.ones(5, 5, dtype=torch.bool, device=draw.device).tril()
    before = layer(x, mask=mask)
    same(before, right(x, None, mask, weights, 3), like=x, label="the output with a causal mask")
    changed = x.clone()
    changed[:, 3:] += 3
    after = layer(changed, mask=mask)
    same(after[:, :3], before[:, :3].detach(), label="rows 0 to 2 after tokens 3 and 4 changed")


@check("MultiHeadAttention")
def test_module_refuses_numbers_of_heads(answer):
    """Catches a module that is made with heads that do not divide the width, or with none."""
    make = answer.MultiHeadAttention
    refuses(lambda: make(7, 3), 7, 3, why="`n_heads` is 3 and `d_model` is 7")
    refuses(lambda: make(6, 4), 6, 4, why="`n_heads` is 4 and `d_model` is 6")
    refuses(lambda: make(6, 0), 0, why="`n_heads` is 0")
    refuses(lambda: make(6, -2), -2, why="`n_heads` is -2, which 6 can be divided by")


@check("MultiHeadAttention")
def test_module_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    layer = make_layer(answer, draw, draw_weights(draw, 6, bias=True))
    x, memory = draw(2, 5, 6), draw(2, 7, 6)
    refuses(lambda: layer(draw(2, 5, 9)), 6, 9, why="`x` is 9 wide and d_model is 6")
    refuses(
        lambda: layer(x, memory=draw(2, 7, 9)), 6, 9,
        why="`memory` is 9 wide and d_model is 6",
    )  # fmt: skip
    refuses(
        lambda: layer(x, memory=memory[:1]), 2, 1,
        why="`x` has a batch of 2 and `memory` a batch of 1",
    )  # fmt: skip
    refuses(
        lambda: layer(x[0], memory=memory), 2,
        why="`x` is [5, 6] and `memory` is [2, 7, 6]",
    )  # fmt: skip
    refuses(
        lambda: layer(x, memory=memory, mask=draw.mask(5, 3)), 7, 3,
        why="`mask` is [5, 3] and the scores of a head are [5, 7]",
    )  # fmt: skip


@check("MultiHeadAttention")
def test_module_refuses_a_mask_that_enlarges(answer, draw):
    """Catches scores that the mask repeats in silence: only the mask broadcasts."""
    layer = make_layer(answer, draw, draw_weights(draw, 6, bias=True))
    x, memory, table = draw(1, 5, 6), draw(1, 7, 6), draw.mask(5, 7)
    refuses(
        lambda: layer(x[0], memory=memory[0], mask=table.expand(3, 5, 7)), 3,
        why="`mask` is [3, 5, 7], one table for each head: it has no dimension for the heads",
    )  # fmt: skip
    refuses(
        lambda: layer(x[:, :1], memory=memory, mask=table), 5, 1,
        why="`mask` is [5, 7] and `x` is one token",
    )  # fmt: skip
    refuses(
        lambda: layer(x, memory=memory[:, :1], mask=table), 7, 1,
        why="`mask` is [5, 7] and `memory` is one token",
    )  # fmt: skip
    refuses(
        lambda: layer(x, memory=memory, mask=table.expand(2, 5, 7)), 2, 1,
        why="`mask` is [2, 5, 7] and `x` has a batch of 1",
    )  # fmt: skip
