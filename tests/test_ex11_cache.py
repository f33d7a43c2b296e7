"""Chapter 11: a cache piece by piece, attention through it, and what one more word costs."""

import contextlib

import torch
from torch import nn

from grader.suite import (
    Draw,
    Growth,
    ModuleCase,
    Played,
    Rule,
    as_it_came,
    check,
    checks_by_law,
    equal,
    exact,
    in_any_words,
    leaf,
    reference,
    refusal,
    same,
    situation,
    vary,
    worked_out,
)
from grader.suite.arithmetic import attention64, turned64
from grader.suite.laws.gradients import gradients_match, pulled
from grader.suite.your_own import READY_ATTENTION, your_own

LAYERS = ("w_q", "w_k", "w_v", "w_o")
READY_MADE = Rule("ready-made")

# What is right: all that came so far, put together anew, and attention over the whole text


@reference
class KeyValueCache:
    """Stands in for a student's where a later function fails: a list of pieces."""

    def __init__(self, capacity):
        if capacity < 1:
            raise ValueError(f"a capacity of {capacity}")
        self.capacity = capacity
        self.reset()

    def reset(self):
        """Forget all."""
        self.length, self.pieces = 0, []

    def update(self, key, value):
        """Put a piece behind the others."""
        if min(key.dim(), value.dim()) < 2 or key.shape[:-1] != value.shape[:-1]:
            raise ValueError(f"{tuple(key.shape)} and {tuple(value.shape)}")
        for old, new in zip(self.pieces[0] if self.pieces else (), (key, value), strict=False):
            if _kind(old) != _kind(new):
                raise ValueError(f"{_kind(old)} and {_kind(new)}")
        if self.length + key.shape[-2] > self.capacity:
            raise ValueError(f"{self.length} and {key.shape[-2]} > {self.capacity}")
        self.pieces.append((key.detach().clone(), value.detach().clone()))
        self.length += key.shape[-2]
        return tuple(torch.cat(rows, -2) for rows in zip(*self.pieces, strict=True))


def _kind(rows):
    return rows.shape[:-2], rows.shape[-1], rows.dtype, rows.device


@reference
def all_so_far(capacity, pieces):  # noqa: ARG001
    keys, values = zip(*pieces, strict=True)
    return [
        (torch.cat(keys[: i + 1], -2), torch.cat(values[: i + 1], -2)) for i in range(len(pieces))
    ]


@reference
def all_in_the_end(capacity, pieces):
    return all_so_far(capacity, pieces)[-1]


def whole(*pieces):
    return torch.cat(pieces, -2)


@reference
def looking_back(n, window, device):
    return torch.ones(n, n, dtype=torch.bool, device=device).tril().triu(1 - (window or n))


@reference
def rows_of_the_whole(capacity, pieces):  # noqa: ARG001
    query, key, value = (whole(*parts) for parts in zip(*pieces, strict=True))
    out = attention64(query, key, value, looking_back(query.shape[-2], None, query.device))
    return list(out.split([piece[0].shape[-2] for piece in pieces], -2))


@reference
def last_rows(capacity, pieces):
    return rows_of_the_whole(capacity, pieces)[-1]


@reference
def attend_with_cache(query, key, value, cache):
    if query.shape != key.shape:
        raise ValueError(f"{tuple(query.shape)} and {tuple(key.shape)}")
    begin, (keys, values) = cache.length, cache.update(key, value)
    sees = looking_back(keys.shape[-2], None, keys.device)[begin:]
    return attention64(query, keys, values, sees)


@reference
def kept_rows(weights, x, made):
    d_model, n_heads, n_kv_heads, *_ = made
    key, value = (
        (x @ weights[f"{name}.weight"].T).unflatten(-1, (n_kv_heads, d_model // n_heads))
        for name in ("w_k", "w_v")
    )
    return turned64(key.transpose(-3, -2)), value.transpose(-3, -2)


@reference
def layer_output(weights, x, cache=None, *, made):
    d_model, n_heads, n_kv_heads, window = (*made, None, None)[:4]
    groups = n_heads if n_kv_heads is None else n_kv_heads
    d = d_model // n_heads

    def made_by(name, heads):
        rows = torch.einsum("...ni,oi->...no", x, weights[f"{name}.weight"])
        return torch.stack([rows[..., d * head : d * (head + 1)] for head in range(heads)], -3)

    begin = 0 if cache is None else cache.length
    query, key, value = made_by("w_q", n_heads), made_by("w_k", groups), made_by("w_v", groups)
    query, key = turned64(query, begin), turned64(key, begin)
    if cache is not None:
        key, value = cache.update(key, value)
    n, times = key.shape[-2], n_heads // groups
    sees = looking_back(n, window, x.device)[begin:]
    heads = [
        attention64(query[..., j, :, :], key[..., j // times, :, :], value[..., j // times, :, :],
                    sees)
        for j in range(n_heads)
    ]  # fmt: skip
    return torch.einsum("...ni,oi->...no", torch.cat(heads, -1), weights["w_o.weight"])


@reference
class CachedAttention(nn.Module):
    """Stands in for a student's where a later function fails."""

    def __init__(self, d_model, n_heads, n_kv_heads=None, window=None):
        super().__init__()
        if n_heads < 1 or d_model % n_heads or d_model // n_heads % 2:
            raise ValueError(f"{n_heads} heads cannot share {d_model} features")
        groups = n_heads if n_kv_heads is None else n_kv_heads
        if groups < 1 or n_heads % groups or (window is not None and window < 1):
            raise ValueError(f"{n_heads} and {n_kv_heads} heads, and a window of {window}")
        self.made, narrow = (d_model, n_heads, n_kv_heads, window), d_model // n_heads * groups
        for name, width in zip(LAYERS, (d_model, narrow, narrow, d_model), strict=True):
            self.add_module(name, nn.Linear(d_model, width, bias=False))

    def forward(self, x, cache=None):
        """Attend in float64, and return the dtype of `x`."""
        if x.dim() < 2 or x.shape[-1] != self.made[0]:
            raise ValueError(f"{tuple(x.shape)} for {self.made}")
        weights = {name: weight.double() for name, weight in self.named_parameters()}
        return layer_output(weights, x.double(), cache, made=self.made).to(x.dtype)


@reference
def layer_rows(made, weights, pieces, capacity):  # noqa: ARG001
    out = layer_output(weights, whole(*pieces), made=made)
    return list(out.split([piece.shape[-2] for piece in pieces], -2))


@reference
def last_layer_rows(made, weights, pieces, capacity):
    return layer_rows(made, weights, pieces, capacity)[-1]


# How each function is called, at whatever sizes


def cut(n: int) -> list[int]:
    """Cut a text into a prefill, a single word and the rest."""
    first = max(1, n // 2)
    rest = n - first - 1
    return [first, *[1] * (rest >= 0), *[rest] * (rest > 0)]


def some_rows(draw: Draw, *batch: int, n=7, d_k=5, d_v=3, room=2):
    pieces = [(draw(*batch, m, d_k), draw(*batch, m, d_v)) for m in cut(n)]
    return n + room, pieces


def rows_in(*sizes: int, batch: tuple[int, ...] = (), room: int = 2):
    """Make inputs of pieces of these sizes."""

    def inputs(draw: Draw):
        pieces = [(draw(*batch, m, 5), draw(*batch, m, 3)) for m in sizes]
        return max(1, sum(sizes) + room), pieces

    return inputs


def more_rows(draw: Draw, *batch: int, length=64, capacity=300, d_k=5, d_v=3, more=1):
    sizes = length, more
    return capacity, [(draw(*batch, m, d_k, scale=1.3), draw(*batch, m, d_v)) for m in sizes]


def some_words(draw: Draw, *batch: int, n=7, d_k=5, d_v=3, room=2):
    sizes = cut(n)
    pieces = [
        (draw(*batch, m, d_k, scale=1.3), draw(*batch, m, d_k, scale=1.3), draw(*batch, m, d_v))
        for m in sizes
    ]
    return n + room, pieces


def words_in(*sizes: int, batch: tuple[int, ...] = ()):
    def inputs(draw: Draw):
        pieces = [
            (draw(*batch, m, 5, scale=1.3), draw(*batch, m, 5, scale=1.3), draw(*batch, m, 3))
            for m in sizes
        ]
        return sum(sizes), pieces

    return inputs


def one_more_word(draw: Draw, *batch: int, length=64, capacity=300, d_k=5, d_v=3):
    pieces = [
        (draw(*batch, m, d_k, scale=1.3), draw(*batch, m, d_k, scale=1.3), draw(*batch, m, d_v))
        for m in (length, 1)
    ]
    return capacity, pieces


def small(draw: Draw) -> float:
    """Make float64 small: who turns in float32 there, as chapter 8 allows, has no more digits."""
    return 0.05 if draw.dtype == torch.float64 else 1.3


def weights_for(draw: Draw, d_model: int, n_heads: int, n_kv_heads: int):
    narrow = d_model // n_heads * n_kv_heads
    widths = (d_model, narrow, narrow, d_model)
    return {
        f"{name}.weight": draw(width, d_model, scale=d_model**-0.5)
        for name, width in zip(LAYERS, widths, strict=True)
    }


def heads_of(n: int, n_kv_heads: int, times: int, pairs: int) -> tuple[int, int, int]:
    """Let there be few heads where all sizes are large: plain loops go from score to score."""
    n_kv_heads, times, pairs = min(n_kv_heads, 13), min(times, 7), min(pairs, 7)
    if n_kv_heads * times * n * n > 700:
        n_kv_heads, times = min(n_kv_heads, 2), min(times, 3)
    return n_kv_heads, times, pairs


def a_layer(draw: Draw, *batch: int, n=6, n_kv_heads=2, times=3, pairs=2):
    n = min(n, 37)
    n_kv_heads, times, pairs = heads_of(n, n_kv_heads, times, pairs)
    made = 2 * pairs * n_kv_heads * times, n_kv_heads * times, n_kv_heads
    return made, weights_for(draw, *made), (draw(*batch, n, made[0], scale=small(draw)),)


def a_layer_with_a_window(draw: Draw, *batch: int, n=7, window=3, n_kv_heads=2, times=3):
    made, weights, given = a_layer(draw, *batch, n=n, n_kv_heads=n_kv_heads, times=times)
    return (*made, window), weights, given


def as_many_heads(draw: Draw, *batch: int, n=6, n_heads=3, pairs=2):
    made, weights, given = a_layer(draw, *batch, n=n, n_kv_heads=n_heads, times=1, pairs=pairs)
    return made[:2], weights, given


def a_text(draw: Draw, *batch: int, n=7, window=3, n_kv_heads=2, times=3, room=2):
    made, weights, (x,) = a_layer_with_a_window(
        draw, *batch, n=n, window=window, n_kv_heads=n_kv_heads, times=times
    )
    n = x.shape[-2]
    return made, weights, list(x.split(cut(n), -2)), n + room


def text_in(*sizes: int, window: int | None = None, batch: tuple[int, ...] = ()):
    def inputs(draw: Draw):
        made, weights, (x,) = a_layer(draw, *batch, n=sum(sizes))
        return (*made, window), weights, list(x.split(list(sizes), -2)), sum(sizes)

    return inputs


def one_more_token(draw: Draw, *, length=64, capacity=300, n_kv_heads=2, more=1):
    made = 12, 6, n_kv_heads
    pieces = [draw(m, 12) for m in (length, more)]
    return made, weights_for(draw, *made), pieces, capacity


def one_more_under_a_window(draw: Draw, *, length=64, capacity=300, window=7):
    made, *rest = one_more_token(draw, length=length, capacity=capacity)
    return (*made, window), *rest


# What is played


def updates(answer, capacity, pieces):
    cache = answer.KeyValueCache(capacity)
    return [as_it_came(answer.method(cache, "update", key, value)) for key, value in pieces]


def filled(answer, capacity, pieces):
    cache = answer.KeyValueCache(capacity)
    for key, value in pieces[:-1]:
        answer.method(cache, "update", key, value)
    return cache, *pieces[-1]


def update(answer, cache, key, value):
    return answer.method(cache, "update", key, value)


def attends(answer, capacity, pieces):
    cache = answer.KeyValueCache(capacity)
    return [answer.attend_with_cache(*piece, cache) for piece in pieces]


def attended(answer, capacity, pieces):
    cache = answer.KeyValueCache(capacity)
    for _, key, value in pieces[:-1]:  # filled by hand: plain loops attend far too slowly
        answer.method(cache, "update", key, value)
    return (*pieces[-1], cache)


def attend(answer, query, key, value, cache):
    return answer.attend_with_cache(query, key, value, cache)


def reads(answer, made, weights, pieces, capacity):
    layer = LAYER.make(answer, (made, weights))
    cache = answer.KeyValueCache(capacity)
    return [answer.moved(layer)(piece, cache) for piece in pieces]


def has_read(answer, made, weights, pieces, capacity):
    layer = LAYER.make(answer, (made, weights))
    cache = answer.KeyValueCache(capacity)
    for piece in pieces[:-1]:
        filled_by_hand(answer, cache, made, weights, piece)
    return layer, pieces[-1], cache


def filled_by_hand(answer, cache, made, weights, x):
    rows = kept_rows(exact(weights), exact(x), made)
    answer.method(cache, "update", *(one.to(x.dtype) for one in rows))


def read(answer, layer, x, cache):
    return answer.moved(layer)(x, cache)


def caching(inputs, expected=all_so_far, play=updates, label="", **more):
    return Played("KeyValueCache", inputs, expected, label, slopes=False, play=play, **more)


def attending(inputs, expected=rows_of_the_whole, play=attends, label="", **more):
    return Played("attend_with_cache", inputs, expected, label, slopes=False, play=play, **more)


def reading(inputs, expected=layer_rows, play=reads, label="", cites="The rows are", **more):
    return Played(
        "CachedAttention", inputs, expected, label, slopes=False, play=play, cites=cites, **more
    )


CUT = "Call it with the pieces"
LAYER = ModuleCase("CachedAttention", a_layer, layer_output, cites="One new row")
WINDOW = ModuleCase(
    "CachedAttention", a_layer_with_a_window, layer_output, "window", cites="One new row"
)
AS_MANY = ModuleCase(
    "CachedAttention", as_many_heads, layer_output, "as_many_heads", cites="None: as many as"
)
CACHE, ATTENDING, READING = (
    caching(some_rows),
    attending(some_words),
    reading(a_text, label="cache"),
)
CASES = [CACHE, ATTENDING, LAYER, WINDOW, AS_MANY, READING]
CUTS = [(1, 1, 1, 1, 1, 1, 1), (3, 2, 2), (7,), (1, 6), (6, 1), (2, 1, 1, 1, 2)]
SPECIAL = [
    *(caching(rows_in(*sizes), label="+".join(map(str, sizes))) for sizes in CUTS),
    caching(rows_in(3, 2, room=0), label="exactly_full"),
    caching(rows_in(1, room=0), label="a_capacity_of_1"),
    caching(rows_in(4, 0, 1, 0), label="no_row", cites="With 0 rows"),
    caching(rows_in(0, 0, 3), label="no_row_at_first", cites="With 0 rows"),
    caching(rows_in(2, 1, 3, batch=(2, 1, 3)), label="three_batches"),
    *(attending(words_in(*sizes), label="+".join(map(str, sizes)), cites=CUT) for sizes in CUTS),
    attending(words_in(5, 1, 2, batch=(2, 3)), label="two_batches", cites=CUT),
    *(reading(text_in(*sizes), label="+".join(map(str, sizes))) for sizes in CUTS),
    *(reading(text_in(*sizes, window=3), label=f"window-{'+'.join(map(str, sizes))}")
      for sizes in CUTS),
    reading(text_in(2, 3, 1, window=1), label="window-itself_alone"),
    reading(text_in(4, 1, 1, window=50), label="window-longer_than_the_text"),
    reading(text_in(2, 1, 1, batch=(2, 3)), label="two_batches"),
    reading(text_in(30, 1, 6), label="many_tokens"),
]  # fmt: skip

# How a step grows: what comes before it is made and not counted. Lengths are powers of two, where
# buffers that grow are made anew. With --earlier reference only the output is seen of what earlier
# chapters work out.
ONE_MORE_ROW = caching(more_rows, all_in_the_end, update, "one more row", before=filled)
THREE_MORE_IN_A_BATCH = caching(
    more_rows, all_in_the_end, update, "three more rows in a batch", before=filled, batch=(2,),
    sizes={"more": 3},
)  # fmt: skip
ONE_MORE_WORD = attending(one_more_word, last_rows, attend, "one more word", before=attended)
ONE_MORE_TOKEN = reading(one_more_token, last_layer_rows, read, "one more token", before=has_read)
THREE_MORE_TOKENS = reading(
    one_more_token, last_layer_rows, read, "three more tokens", before=has_read, sizes={"more": 3}
)
ONE_MORE_SEES_FEW = reading(
    one_more_under_a_window, last_layer_rows, read, "one more token under a window", before=has_read
)
NOTHING_GROWS = "So an update after the first"
COSTS = [
    Growth(ONE_MORE_ROW, "largest", "length", (64, 256), 0, NOTHING_GROWS),
    Growth(ONE_MORE_ROW, "made", "length", (64, 256), 0, NOTHING_GROWS),
    Growth(ONE_MORE_ROW, "largest", "capacity", (300, 1200), 0, NOTHING_GROWS),
    Growth(THREE_MORE_IN_A_BATCH, "largest", "length", (64, 256), 0, NOTHING_GROWS),
    Growth(ONE_MORE_WORD, "made", "length", (64, 256), 1, "A step of one word",
           least=lambda d_v, **_: d_v),
    Growth(ONE_MORE_WORD, "largest", "capacity", (300, 1200), 0, "A step of one word",
           least=lambda d_v, **_: d_v),
    *(Growth(one, "made", "length", (64, 256), 1, "A step's work", least=lambda **_: 12)
      for one in (ONE_MORE_TOKEN, THREE_MORE_TOKENS, ONE_MORE_SEES_FEW)),
]  # fmt: skip


# What is refused


def cache_of(answer, draw, capacity, *sizes, batch=(2,)):
    """Make a cache that holds rows already: keys are 5 wide, values 3."""
    cache = answer.KeyValueCache(capacity)
    for m in sizes:
        answer.method(cache, "update", draw(*batch, m, 5), draw(*batch, m, 3))
    return cache


def updated(key, value, *sizes, capacity=9, other=None):
    """Call `update` with rows of these shapes, after others of a batch of 2."""

    def call(answer, draw):
        cache = cache_of(answer, draw, capacity, *sizes)
        kinds = draw if other is None else draw.using(other)
        return answer.method(cache, "update", kinds(*key), kinds(*value))

    return call


def attends_with(query, key, value, capacity=9):
    """Call `attend_with_cache` with rows of these shapes, after 4 of a batch of 2."""

    def call(answer, draw):
        cache = cache_of(answer, draw, capacity, 4)
        return answer.attend_with_cache(draw(*query), draw(*key), draw(*value), cache)

    return call


def built(answer, draw, **more):
    return answer.CachedAttention(24, 6, 2, **more).to(draw.device)


def read_after(shape, capacity=9, batch=(2,)):
    """Call the module with tokens of this shape, after 4 of a batch."""

    def call(answer, draw):
        layer, cache = built(answer, draw), answer.KeyValueCache(capacity)
        layer(draw(*batch, 4, 24), cache)
        return layer(draw(*shape), cache)

    return call


ALIKE = "ValueError: `key` and `value` differ in number"
OTHERS = "ValueError: `key` or `value` differs from the first update"
FULL = "ValueError: there is no room"
REFUSALS = [
    refusal(
        "KeyValueCache", "ValueError: `capacity` is below 1.",
        ("`capacity` is 0", lambda a, _: a.KeyValueCache(0)),
        ("`capacity` is -3", lambda a, _: a.KeyValueCache(-3)),
    ),
    refusal(
        "KeyValueCache", "ValueError: `key` or `value` has fewer than two dimensions.",
        ("`key` is [5], with 1 dimension", updated((5,), (1, 3))),
        ("`value` is [3], with 1 dimension", updated((1, 5), (3,))),
        ("both have 1 dimension, and are [5] and [5]", updated((5,), (5,))),
    ),
    refusal(
        "KeyValueCache", ALIKE,
        ("there are 2 keys and 1 value", updated((2, 2, 5), (2, 1, 3))),
        ("there is 1 key and 2 values, and 4 of both in the cache",
         updated((2, 1, 5), (2, 2, 3), 4)),
        ("there are 0 keys and 1 value", updated((2, 0, 5), (2, 1, 3))),
        ("`key` has a batch of 2 and `value` of 3", updated((2, 1, 5), (3, 1, 3))),
        ("`key` has a batch of 1 and `value` of 2, as the cache", updated((1, 1, 5), (2, 1, 3), 4)),
        ("`key` is [1, 5], without a batch, and `value` is [2, 1, 3]",
         updated((1, 5), (2, 1, 3), 4)),
    ),
    refusal(
        "KeyValueCache", OTHERS,
        ("the batch of the first update was 2, and is 3 now", updated((3, 1, 5), (3, 1, 3), 4)),
        ("the batch of the first update was 2, and is 1 now", updated((1, 1, 5), (1, 1, 3), 4)),
        ("the first update had a batch, of 2, and now there is none: `key` is [1, 5]",
         updated((1, 5), (1, 3), 4)),
        ("the first update had a batch of 2, and now there are two dimensions, 7 and 2",
         updated((7, 2, 1, 5), (7, 2, 1, 3), 4)),
        ("keys were 5 wide, and `key` is 1 wide", updated((2, 1, 1), (2, 1, 3), 4)),
        ("keys were 5 wide, and `key` is 6 wide", updated((2, 1, 6), (2, 1, 3), 4)),
        ("values were 3 wide, and `value` is 1 wide", updated((2, 1, 5), (2, 1, 1), 4)),
        ("values were 3 wide, and `value` is 4 wide", updated((2, 1, 5), (2, 1, 4), 4)),
        ("there was a batch of 2, and with 0 new rows it is 3", updated((3, 0, 5), (3, 0, 3), 4)),
        *((f"the first update was float32, and now it is {dtype}".replace("torch.", ""),
           updated((2, 1, 5), (2, 1, 3), 4, other=dtype), ())
          for dtype in (torch.float64, torch.float16)),
    ),
    refusal(
        "KeyValueCache", FULL,
        ("there are 4 rows and 3 more for a capacity of 6",
         updated((2, 3, 5), (2, 3, 3), 4, capacity=6)),
        ("there are 6 rows and 1 more for a capacity of 6",
         updated((2, 1, 5), (2, 1, 3), 4, 2, capacity=6)),
        ("the first update has 7 rows, and the capacity is 6",
         updated((2, 7, 5), (2, 7, 3), capacity=6)),
        ("the first update has 7 rows and no batch, and the capacity is 6",
         updated((7, 5), (7, 3), capacity=6)),
        ("there is 1 row and 1 more for a capacity of 1",
         updated((2, 1, 5), (2, 1, 3), 1, capacity=1)),
    ),
    refusal(
        "attend_with_cache", "ValueError: `query` and `key` differ in shape",
        ("`query` is 4 wide and `key` 5", attends_with((2, 1, 4), (2, 1, 5), (2, 1, 3))),
        ("there are 2 queries and 1 key", attends_with((2, 2, 5), (2, 1, 5), (2, 1, 3))),
        ("there is 1 query and 2 keys", attends_with((2, 1, 5), (2, 2, 5), (2, 2, 3))),
        ("`query` has a batch of 3 and `key` of 2", attends_with((3, 1, 5), (2, 1, 5), (2, 1, 3))),
        ("`query` has a batch of 1 and `key` of 2", attends_with((1, 1, 5), (2, 1, 5), (2, 1, 3))),
        ("`query` is [1, 5], without a batch, and `key` is [2, 1, 5]",
         attends_with((1, 5), (2, 1, 5), (2, 1, 3))),
    ),
    refusal(
        "attend_with_cache", "ValueError: the cache refuses `key` and `value`",
        ("there are 4 rows and 6 more for a capacity of 9",
         attends_with((2, 6, 5), (2, 6, 5), (2, 6, 3))),
        ("the batch was 2, and is 3 now", attends_with((3, 1, 5), (3, 1, 5), (3, 1, 3))),
        ("values were 3 wide, and `value` is 4 wide",
         attends_with((2, 1, 5), (2, 1, 5), (2, 1, 4))),
        ("there is 1 key and 2 values", attends_with((2, 1, 5), (2, 1, 5), (2, 2, 3))),
    ),
    refusal(
        "CachedAttention", "ValueError: `n_heads` is below 1 or does not divide d_model.",
        *((f"`n_heads` is {n_heads} and `d_model` is {d_model}",
           lambda a, _, sizes=(d_model, n_heads): a.CachedAttention(*sizes))
          for d_model, n_heads in ((8, 3), (24, 5), (6, 12), (24, 0), (24, -2))),
        ("`n_heads` is -2, `d_model` is 24 and `n_kv_heads` is 2",
         lambda a, _: a.CachedAttention(24, -2, 2)),
    ),
    refusal(
        "CachedAttention", "ValueError: d_model / n_heads is odd.",
        *((f"`d_model` is {d_model}, `n_heads` is {n_heads} and d_head is {d_model // n_heads}",
           lambda a, _, sizes=(d_model, n_heads): a.CachedAttention(*sizes))
          for d_model, n_heads in ((15, 3), (5, 5), (7, 1))),
    ),
    refusal(
        "CachedAttention", "ValueError: `n_kv_heads` is below 1 or does not divide n_heads.",
        *((f"`n_kv_heads` is {n_kv_heads} and `n_heads` is 6",
           lambda a, _, n_kv_heads=n_kv_heads: a.CachedAttention(24, 6, n_kv_heads))
          for n_kv_heads in (4, 5, 12, 0, -2)),
    ),
    refusal(
        "CachedAttention", "ValueError: `window` is below 1.",
        ("`window` is 0", lambda a, d: built(a, d, window=0)),
        ("`window` is -3", lambda a, d: built(a, d, window=-3)),
    ),
    refusal(
        "CachedAttention", "ValueError: `x` has fewer than two dimensions.",
        ("`x` is [24], with 1 dimension", lambda a, d: built(a, d)(d(24))),
        ("`x` is [24], with 1 dimension, and there is a cache",
         lambda a, d: built(a, d)(d(24), a.KeyValueCache(9))),
    ),
    refusal(
        "CachedAttention", "ValueError: `x` is not d_model wide.",
        *((f"`x` is {wide} wide and d_model is 24",
           lambda a, d, wide=wide: built(a, d)(d(2, 5, wide))) for wide in (9, 25)),
        ("`x` is 8 wide, as wide as the keys, and d_model is 24",
         lambda a, d: built(a, d)(d(2, 5, 8), a.KeyValueCache(9))),
    ),
    refusal(
        "CachedAttention", "ValueError: the cache has no room for `x`",
        ("the cache holds 4 rows and has room for 9, and `x` has 6", read_after((2, 6, 24))),
        ("the cache has a batch of 2, and `x` of 3", read_after((3, 1, 24))),
        ("the cache has a batch of 2, and `x` of 1", read_after((1, 1, 24))),
        ("the cache has a batch of 2, and `x` has none", read_after((1, 24))),
    ),
]  # fmt: skip
EXPLAINS = {
    "KeyValueCache": ("The buffers are made",),
    "CachedAttention": (),
}
OWN_WORDS = ("KeyValueCache", "differ in shape", "`window`", "n_heads")
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(REFUSALS, *OWN_WORDS), costs=COSTS))


# The cache: what it holds, and what it leaves alone


def holds_rows(answer, cache, length):
    equal(answer.attribute(cache, "length"), length, label="`length`")


@check("KeyValueCache")
def test_cache_by_hand(answer, draw):
    cache = answer.KeyValueCache(6)
    rows = draw.tensor([[1, 2], [3, 4], [5, 6], [7, 8]])
    values = draw.tensor([[10], [20], [30], [40]])
    for begin, end in ((0, 3), (3, 4)):
        got = answer.method(cache, "update", rows[begin:end], values[begin:end])
        same(got, (rows[:end], values[:end]))


@check("KeyValueCache", cites="The attribute `length`")
def test_cache_counts_its_rows(answer, draw):
    cache = answer.KeyValueCache(6)
    holds_rows(answer, cache, 0)
    for m, length in ((3, 3), (0, 3), (1, 4), (2, 6)):
        answer.method(cache, "update", draw(m, 5), draw(m, 3))
        holds_rows(answer, cache, length)


@check("KeyValueCache", about="calls", cites="They are views")
def test_cache_gives_earlier_rows_again(answer, draw):
    cache = answer.KeyValueCache(9)
    pieces = [(draw(2, m, 5), draw(2, m, 4)) for m in (3, 1, 4)]
    for key, value in pieces:
        answer.method(cache, "update", key, value)
    got = answer.method(cache, "update", draw(2, 0, 5), draw(2, 0, 4))
    same(got, tuple(whole(*parts) for parts in zip(*pieces, strict=True)))


@check("KeyValueCache", about="calls", cites="Caches share")
def test_cache_shares_nothing(answer, draw):
    one, other = answer.KeyValueCache(5), answer.KeyValueCache(5)
    rows = [(draw(2, m, 5), draw(2, m, 3)) for m in (2, 3, 1)]
    answer.method(one, "update", *rows[0])
    holds_rows(answer, other, 0)
    same(answer.method(other, "update", *rows[1]), rows[1], label="the rows of a second cache")
    got = answer.method(one, "update", *rows[2])
    same(got, tuple(whole(*parts) for parts in zip(rows[0], rows[2], strict=True)),
         label="the rows of the first cache, after a second one was filled")  # fmt: skip


@check("KeyValueCache", about="gradients", cites="No gradients go through a cache")
def test_cache_cuts_gradients(answer, draw):
    """Of the rows that want gradients the numbers are kept, and not how they were worked out."""
    cache = answer.KeyValueCache(9)
    rows = [(draw(2, m, 5).requires_grad_(), draw(2, m, 3).requires_grad_()) for m in (3, 1)]
    for place, piece in enumerate(rows, 1):
        got = answer.method(cache, "update", *piece)
        for said, one in zip(("keys", "values"), got, strict=True):
            equal(one.requires_grad, False, label=f"`requires_grad` of the {said}, update {place}")
    same(got, tuple(whole(*parts).detach() for parts in zip(*rows, strict=True)))


@check("KeyValueCache", about="calls", cites="Forget all rows")
def test_cache_begins_again(answer, draw):
    """After a reset rows of another kind may come, as many as there is room for."""
    cache = cache_of(answer, draw, 4, 3)
    answer.method(cache, "reset")
    holds_rows(answer, cache, 0)
    for dtype, shape in ((draw.dtype, (2, 4)), (torch.float64, (3, 1, 4)), (torch.float16, (4,))):
        kind = draw.using(dtype)
        rows = kind(*shape, 7), kind(*shape, 2)
        with situation(f"rows {list(rows[0].shape)} of {dtype}".replace("torch.", "")):
            same(answer.method(cache, "update", *rows), rows)
            holds_rows(answer, cache, 4)
            answer.method(cache, "reset")


def refuses(answer, cache, key, value):
    """Let an update be refused; that it is has a check of its own."""
    with contextlib.suppress(ValueError):
        answer.method(cache, "update", key, value)


def stays_as_it_was(answer, draw, capacity, rows, *misfits):
    """Hold a cache against what it was before it refused something."""
    cache = answer.KeyValueCache(capacity)
    answer.method(cache, "update", *rows)
    for key, value in misfits:
        said = f"after {list(key.shape)} and {list(value.shape)} of {key.dtype} were refused"
        with situation(said.replace("torch.", "")):
            refuses(answer, cache, key, value)
            holds_rows(answer, cache, rows[0].shape[-2])
    more = draw(2, 2, 5), draw(2, 2, 3)
    want = tuple(whole(*parts) for parts in zip(rows, more, strict=True))
    same(answer.method(cache, "update", *more), want)


@check("KeyValueCache", about="edges", cites=FULL)
def test_cache_that_is_full_stays_as_it_was(answer, draw):
    rows = draw(2, 4, 5), draw(2, 4, 3)
    stays_as_it_was(answer, draw, 6, rows, (draw(2, 3, 5), draw(2, 3, 3)))
    cache, other = answer.KeyValueCache(6), (draw(3, 2, 4), draw(3, 2, 7))
    refuses(answer, cache, draw(2, 7, 5), draw(2, 7, 3))
    with situation("a first update, after 7 rows were refused by an empty cache"):
        same(answer.method(cache, "update", *other), other)


@check("KeyValueCache", about="edges", cites=OTHERS)
def test_cache_that_refuses_stays_as_it_was(answer, draw):
    rows, other = (draw(2, 4, 5), draw(2, 4, 3)), draw.using(torch.float64)
    stays_as_it_was(
        answer, draw, 6, rows, (draw(3, 1, 5), draw(3, 1, 3)), (draw(2, 1, 5), draw(2, 1, 4)),
        (draw(2, 1, 4), draw(2, 1, 3)), (other(2, 1, 5), other(2, 1, 3)),
        (draw(2, 1, 5), other(2, 1, 3)),
    )  # fmt: skip


# Attention through the cache


@check("attend_with_cache", cites=READY_MADE)
def test_attend_with_cache_is_your_own(answer, draw):
    your_own(answer, draw, READY_ATTENTION, [ATTENDING, ATTENDING.at(2), ATTENDING.at(2, 3)])


def by_hand(draw):
    """Draw nothing: the four words of the text."""
    key = draw.tensor([1, 3, 4, 8]).double().log().to(draw.dtype)[:, None]
    return draw.tensor([[1]] * 4), key, draw.tensor([8, 16, 24, 1])[:, None]


@check("attend_with_cache")
@vary("sizes", [(3, 1), (4,)])
def test_attend_with_cache_by_hand(answer, draw, sizes):
    pieces = zip(*(part.split(list(sizes)) for part in by_hand(draw)), strict=True)
    got = attends(answer, 6, list(pieces))
    same(got, list(draw.tensor([8, 14, 19, 10])[:, None].split(list(sizes))))


@check("attend_with_cache", cites="One mixture")
def test_attend_with_cache_by_index(answer, draw):
    """Let all keys be alike and each value be one-hot: the output is whom each word sees."""
    n, sizes = 7, [3, 1, 2, 1]
    value = torch.eye(n, dtype=draw.dtype, device=draw.device)
    sees = looking_back(n, None, draw.device).to(draw.dtype)
    parts = draw(n, 4), draw(1, 4).expand(n, 4).contiguous(), value
    got = attends(answer, n, list(zip(*(one.split(sizes) for one in parts), strict=True)))
    same(got, list((sees / sees.sum(-1, keepdim=True)).split(sizes)))


@check("attend_with_cache", about="calls", cites="The keys and values of the new ones")
def test_attend_with_cache_fills_the_cache(answer, draw):
    (query, key, value), cache = (draw(2, 4, 5) for _ in range(3)), answer.KeyValueCache(9)
    answer.attend_with_cache(query, key, value, cache)
    holds_rows(answer, cache, 4)
    same(answer.method(cache, "update", key[:, :0], value[:, :0]), (key, value))


@check("attend_with_cache", about="edges", cites="ValueError: `query` and `key` differ in shape")
def test_attend_with_cache_that_refuses_leaves_the_cache(answer, draw):
    cache = cache_of(answer, draw, 9, 4)
    for shape in ((2, 1, 4), (2, 2, 5), (3, 1, 5), (1, 5)):
        with situation(f"`query` is {list(shape)} and `key` is [2, 1, 5]"):
            with contextlib.suppress(ValueError):
                answer.attend_with_cache(draw(*shape), draw(2, 1, 5), draw(2, 1, 3), cache)
            holds_rows(answer, cache, 4)


@check("attend_with_cache", about="edges", cites="ValueError: the cache refuses")
def test_attend_with_cache_adds_all_or_nothing(answer, draw):
    cache = cache_of(answer, draw, 9, 4)
    with contextlib.suppress(ValueError):
        answer.attend_with_cache(draw(2, 6, 5), draw(2, 6, 5), draw(2, 6, 3), cache)
    with situation("6 more words, and room for 5"):
        holds_rows(answer, cache, 4)


@check("attend_with_cache", about="gradients", cites="Gradients reach the queries")
def test_attend_with_cache_gives_the_queries_gradients(answer, draw):
    """No gradients go through a cache, but the queries do not go into it."""
    _, pieces = words_in(3, 2, 1, batch=(2,))(draw)
    cache = answer.KeyValueCache(9)
    for query, key, value in pieces[:-1]:
        answer.attend_with_cache(query, key, value, cache)
    query, key, value = pieces[-1]
    asks = leaf(query)
    got = answer.attend_with_cache(asks, key, value, cache)

    def compute():
        twin = leaf(query.double())
        want = last_rows(None, [*map(exact, pieces[:-1]), (twin, *map(exact, (key, value)))])
        pull = draw.apart("pull")(*want.shape)
        (slope,) = pulled(want, [twin], pull)
        return want.detach(), slope.to(query.dtype), pull

    want, slope, pull = worked_out("gradient", compute)
    same(got, want, like=query)
    gradients_match(got, [("query", asks)], [slope], pull)


# The module


@check("CachedAttention", cites=READY_MADE)
def test_module_is_your_own(answer, draw):
    your_own(answer, draw, READY_ATTENTION, [LAYER, WINDOW, READING, READING.at(2, 3)])


@check(
    "CachedAttention",
    cites=["Each head is d_head", "The module has four layers", "w_q:", "w_k:", "w_v:", "w_o:"],
)
@vary("sizes", [(24, 6, 2), (60, 15, 3), (16, 4, 1), (12, 3, 3)])
def test_module_has_narrow_keys(answer, draw, sizes):
    LAYER.make(answer, (sizes, weights_for(draw, *sizes)))


@check("CachedAttention", about="edges", cites="None: all of them")
def test_module_without_a_window(answer, draw):
    made, weights, (x,) = a_layer(draw, 2)
    for said, more in (("without a window", ()), ("window=None", (None,)), ("window=99", (99,))):
        with situation(said):
            layer = LAYER.make(answer, ((*made, *more), weights))
            same(layer(x), layer_output(exact(weights), exact(x), made=made), like=x)


@check("CachedAttention", about="calls", cites="Those of `x` are added")
def test_module_keeps_nothing(answer, draw):
    """Let two texts take turns, each with its cache, and a third one without."""
    made, weights, (x,) = a_layer(draw, 2, n=7)
    other, third = (draw(*x.shape, scale=small(draw)) for _ in range(2))
    layer, wide = LAYER.make(answer, (made, weights)), exact(weights)
    texts = [(text, answer.KeyValueCache(7), layer_output(wide, exact(text), made=made))
             for text in (x, other)]  # fmt: skip
    for begin, end in ((0, 3), (3, 4), (4, 7)):
        for number, (text, cache, want) in enumerate(texts):
            with situation(f"tokens {begin} to {end - 1} of text {number}, two texts by turns"):
                same(layer(text[:, begin:end], cache), want[:, begin:end], like=x)
                holds_rows(answer, cache, end)
        with situation("a third text without a cache, between the others"):
            same(layer(third), layer_output(wide, exact(third), made=made), like=x)


@check("CachedAttention", about="calls", cites="None: `x` is the whole")
def test_module_takes_no_cache(answer, draw):
    made, weights, (x,) = a_layer(draw, 2)
    layer = LAYER.make(answer, (made, weights))
    for said, ask in (("without a cache", lambda: layer(x)), ("None", lambda: layer(x, None))):
        with situation(said):
            same(ask(), layer_output(exact(weights), exact(x), made=made), like=x)


@check("CachedAttention", about="calls", cites="Those of `x` are added")
def test_module_goes_on_after_rows_of_others(answer, draw):
    """Hand it a cache that was filled by hand: its positions go on from there."""
    made = 12, 3, 3
    weights = weights_for(draw, *made)
    x, pad = draw(5, 12, scale=small(draw)), draw(2, 12, scale=small(draw))
    layer, cache = LAYER.make(answer, (made, weights)), answer.KeyValueCache(7)
    filled_by_hand(answer, cache, made, weights, pad)
    want = layer_output(exact(weights), exact(whole(pad, x)), made=made)
    same(layer(x, cache), want[2:], like=x)
