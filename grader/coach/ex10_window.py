"""The coach of chapter 10."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F

from grader.coach import Task, card
from grader.coach.common import Common
from grader.pictures.drawings import draws
from grader.suite.costs import NAMES as COSTS

TRACK = "beyond"

SEES = 'chapter 10, The formula: "query i sees key j    where  j <= p_i"'
LAST = 'chapter 10, The formula: "The queries are the last of the keys."'
COUNTED = 'chapter 10, The formula: "its own counted"'
FIRST = 'chapter 10, The formula: "Sinks are the first few positions"'
SHAPES = 'chapter 10, Shapes: "The queries stand at positions 4, 5 and 6."'
CORNER = (
    'chapter 10, What papers and libraries disagree on: "the mask is aligned at the bottom right"'
)
OWN_PLACE = (
    'chapter 10, What papers and libraries disagree on: "Whether one\'s own position counts."'
)
SIDE = 'chapter 10, What papers and libraries disagree on: "Which side."'
SAVES = 'chapter 10, No n x n tensor: "gives the right numbers, and saves nothing"'
BEFORE = 'chapter 10, No n x n tensor: "that ends in its own block, or in the one before"'
JOINED = 'chapter 10, No n x n tensor: "The blocks are one more dimension of the batch"'
ZEROS = 'chapter 10, No n x n tensor: "It is a key like any other, with a score of 0"'
THROWN = 'chapter 10, No n x n tensor: "query 5 is thrown away in the end"'
OTHER_WAYS = 'chapter 10, No n x n tensor: "There are other ways."'
AS_AT = 'the stub of causal_mask_at: "entry (i, j) is True where j <= k - q + i"'
AT_LEAST = 'the stub of causal_mask_at: "there are more queries than keys"'
NO_QUERY = 'the stub of causal_mask_at: "With 0 queries it is empty."'
AS_WINDOW = 'the stub of window_mask: "the query at position p = k - q + i sees position j"'
OR = 'the stub of window_mask: "p - j < window or j < sinks"'
IN_BOTH = 'the stub of window_mask: "A position that is in both is True as well."'
SHORT = 'the stub of window_mask: "`window` is below 1"'
NEGATIVE = 'the stub of window_mask: "`sinks` is below 0"'
DIVIDE = 'the stub of window_attention: "It need not divide n."'
LARGER = 'the stub of window_attention: "it may be larger than n"'
NUMBER = 'the stub of window_attention: "`query`, `key` and `value` differ in number"'
GROWS = 'the stub of window_attention: "Memory and work grow as n does, and as the window does."'
UNDER = 'the stub of window_attention: "under `window_mask(n, n, window)`"'
BOOLEAN = 'chapter 3, The formula: "A mask holds booleans, and True means "may attend""'
DIRECTION = 'chapter 3, Shapes: "Rows are queries, columns are keys."'
ITSELF = (
    'chapter 3, The formula: "a token may look at itself, too" (after document 000, "Masked '
    'Self-Attention")'
)
BEFORE_SOFTMAX = (
    'chapter 4, The formula: "In attention the mask and the scale come before the softmax"'
)
KEYS = (
    'chapter 4, The formula: "The softmax runs over the keys, so each query has a row of '
    'weights of its own."'
)
LARGEST_SCORE = 'chapter 4, The formula: "adding the same number to a whole row changes nothing"'
SCALE = 'chapter 2, The formula: "scaled = Q K^T / sqrt(d_k)"'
ANY_BATCH = card("batch")
DEVICE = card("device")


def _places(q, k, device=None):
    """Return the positions of the queries, as a column, and those of the keys."""
    keys = torch.arange(k, device=device)
    return keys[k - q :, None], keys


causal_mask_at = Task(
    "causal_mask_at",
    points=2,
    difficulty=2,
    minutes=5,
    hints=(
        "The queries are the last q of the k positions. So query 0 stands at position k - q, and "
        "query i at k - q + i.",
        "Number the keys from 0 to k - 1. The positions of the queries are the last q of these "
        "numbers. Compare the two as in chapter 3. Or cut a triangle whose diagonal is moved to "
        "the right by k - q.",
        "`torch.arange(k, device=...)` is [k]; its part from k - q on, with `[:, None]`, is "
        "[q, 1]; a comparison gives [q, k], boolean. The other way: `torch.ones(q, k)` with "
        "dtype=torch.bool, then `tril(k - q)`.",
    ),
)


def _as_many(q, k, device=None):
    if q > k:
        raise ValueError(f"{q} queries and {k} keys")


_at_slip = causal_mask_at.refusing(_as_many)


def _causal(q, k, device=None):
    query, key = _places(q, k, device)
    return key <= query


@_at_slip(CORNER)
def aligned_at_the_top_left(q, k, device=None):
    """Your mask is aligned at the top left, as is_causal=True of PyTorch: query 0 sees key 0 alone.
    The queries are the last positions, so query 0 stands at k - q."""
    return _causal(k, k, device)[:q]


@_at_slip(LAST)
def moved_to_the_left(q, k, device=None):
    """The triangle is moved to the wrong side: query i stands at k - q + i, so its diagonal is
    k - q, not q - k."""
    query, key = _places(q, k, device)
    return key <= query - 2 * (k - q)


@_at_slip(SHAPES)
def square_of_the_keys(q, k, device=None):
    """This is the mask of all k positions, [k, k]: there are q queries, the last of them."""
    return _causal(k, k, device)


@_at_slip(SHAPES)
def square_of_the_queries(q, k, device=None):
    """This is chapter 3's mask of q positions, [q, q]: there are k keys, also those before query
    0."""
    return _causal(q, q, device)


@_at_slip(LAST)
def past_is_closed(q, k, device=None):
    """The keys before the first query are closed: each query sees all that came before it."""
    query, key = _places(q, k, device)
    return (key <= query) & (key >= k - q)


@_at_slip(LAST)
def own_positions_first(q, k, device=None):
    """The keys that came before the queries stand on the right: they are the first k - q columns,
    and the queries' own positions follow."""
    return _causal(q, k, device).roll(q, -1)


@_at_slip(DIRECTION)
def looks_ahead_from_there(q, k, device=None):
    """Your queries look ahead instead of back: triu in place of tril, or the comparison the wrong
    way round."""
    query, key = _places(q, k, device)
    return key >= query


@_at_slip(BOOLEAN)
def mask_at_turned_round(q, k, device=None):
    """True and False are swapped: True means "may attend", and you marked the keys to keep out."""
    return ~_causal(q, k, device)


@_at_slip(ITSELF)
def not_its_own_place(q, k, device=None):
    """A query does not see its own position: compare with <=, not <."""
    query, key = _places(q, k, device)
    return key < query


@_at_slip(AS_AT)
def one_key_of_the_future(q, k, device=None):
    """Each query sees one key of the future: the diagonal is k - q, not k - q + 1."""
    query, key = _places(q, k, device)
    return key <= query + 1


@_at_slip(AS_AT)
def all_keys_open(q, k, device=None):
    """It is True everywhere: that is right for the last query only."""
    return torch.ones(q, k, dtype=torch.bool, device=device)


@_at_slip(DIRECTION)
def keys_as_rows(q, k, device=None):
    """Rows and columns are swapped, [k, q]: rows are queries, columns are keys."""
    return _causal(q, k, device).mT


@_at_slip(AS_AT)
def rows_in_reverse(q, k, device=None):
    """The rows are in reverse: the last query sees all keys, the first one fewest."""
    return _causal(q, k, device).flip(0)


@_at_slip(BOOLEAN)
def mask_at_of_floats(q, k, device=None):
    """The mask is right, but it holds floats, 1.0 and 0.0: a mask holds booleans."""
    return torch.ones(q, k, device=device).tril(k - q)


@_at_slip(BOOLEAN)
def mask_at_to_be_added(q, k, device=None):
    """This is 0 and minus infinity, made to be added to scores: here a mask holds booleans."""
    return torch.zeros(q, k, device=device).masked_fill(~_causal(q, k, device), -torch.inf)


@_at_slip(DEVICE)
def mask_at_on_the_cpu(q, k, device=None):
    """`device` is not used, so the mask is made on the CPU: pass it to torch.arange or
    torch.ones."""
    return _causal(q, k)


@_at_slip(NO_QUERY)
def list_without_rows(q, k, device=None):
    """With 0 queries your list has no rows, and torch makes a float tensor of shape [0] of it:
    build the mask from tensors."""
    return _causal(q, k, device) if q else torch.tensor([], device=device)


@_at_slip(NO_QUERY)
def all_rows_for_no_query(q, k, device=None):
    """With 0 queries all rows are there, as [-q:] is [0:]: count from the front, [k - q:]."""
    return _causal(k, k, device)[-q:]


@causal_mask_at.slip(AT_LEAST)
def more_queries_taken(q, k, device=None):
    """More queries than keys are taken, and the first of them see nothing: they stand before the
    first position, where nobody can stand. Refuse it, and name both."""
    return torch.ones(q, k, dtype=torch.bool, device=device).tril(k - q)


window_mask = Task(
    "window_mask",
    points=3,
    difficulty=3,
    minutes=10,
    hints=(
        "Three things are asked of a pair: that the key is not in the future, and that it is near "
        "enough or one of the first.",
        "Write down the position of each query as a column and that of each key as a row. The "
        "difference says how far back a key is: 0 is oneself, window - 1 the last one that is "
        "near. `causal_mask_at` says what is not in the future, and it holds for sinks, too.",
        "past & (near | first), all [q, k]: past from `causal_mask_at`, near is query - key < "
        "window, with the positions of the queries as [q, 1], first is key < sinks, [k], which "
        "broadcasts.",
    ),
)


def _window_fits(q, k, window, sinks=0, device=None):
    _as_many(q, k, device)
    if window < 1 or sinks < 0:
        raise ValueError(f"window {window} and sinks {sinks}")


_window_slip = window_mask.refusing(_window_fits)


def _windowed(q, k, window, sinks=0, device=None):
    query, key = _places(q, k, device)
    return (key <= query) & ((query - key < window) | (key < sinks))


@_window_slip(OWN_PLACE)
def own_place_not_counted(q, k, window, sinks=0, device=None):
    """Your window has one position too many: its own counts, so compare with p - j < window. Where
    it does not count, as in flash-attention's pair (left, right), left is window - 1."""
    return _windowed(q, k, window + 1, sinks, device)


@_window_slip(COUNTED)
def window_too_short(q, k, window, sinks=0, device=None):
    """Your window has one position too few: it is `window` positions, its own counted."""
    return _windowed(q, k, window - 1, sinks, device)


@_window_slip(ITSELF)
def only_those_before(q, k, window, sinks=0, device=None):
    """A query sees the `window` positions before it, and not itself: its own is the last one of
    them."""
    query, key = _places(q, k, device)
    return (key < query) & ((query - key <= window) | (key < sinks))


@_window_slip(OR)
def sinks_not_seen_by_the_first(q, k, window, sinks=0, device=None):
    """Only the queries behind all sinks see them: a query among them sees those that are not in its
    future as well."""
    query, key = _places(q, k, device)
    return ((key <= query) & (query - key < window)) | ((key < sinks) & (query >= sinks))


@_window_slip(SIDE)
def window_on_both_sides(q, k, window, sinks=0, device=None):
    """Your window goes as far ahead as back: never the future, j <= p."""
    query, key = _places(q, k, device)
    return ((query - key).abs() < window) | ((key < sinks) & (key <= query))


@_window_slip(SIDE)
def half_of_it_on_each_side(q, k, window, sinks=0, device=None):
    """Half of your window lies behind the query and half before it, as in Longformer: here all of
    it looks back."""
    query, key = _places(q, k, device)
    return ((query - key).abs() <= window // 2) | ((key < sinks) & (key <= query))


@_window_slip(SIDE)
def window_ahead(q, k, window, sinks=0, device=None):
    """Your window looks ahead: from p on, where it should end with p."""
    query, key = _places(q, k, device)
    return ((key >= query) & (key - query < window)) | ((key < sinks) & (key <= query))


@_window_slip(SEES)
def future_left_open(q, k, window, sinks=0, device=None):
    """The window is closed on the left only: all of the future is open. It takes both, j <= p and
    p - j < window."""
    query, key = _places(q, k, device)
    return (query - key < window) | (key < sinks)


@_window_slip(CORNER)
def window_at_the_top_left(q, k, window, sinks=0, device=None):
    """Query i stands at position i in your mask: the queries are the last positions, so it stands
    at k - q + i."""
    return _windowed(k, k, window, sinks, device)[:q]


@_window_slip(CORNER)
def window_from_the_number_of_the_query(q, k, window, sinks=0, device=None):
    """Your window looks back from i, the number of the query, and not from its position, k - q + i:
    where there are more keys than queries, it is too long."""
    query, key = _places(q, k, device)
    near = query - (k - q) - key < window
    return (key <= query) & (near | (key < sinks))


@_window_slip(AS_WINDOW)
def window_cut_to_the_queries(q, k, window, sinks=0, device=None):
    """A window that is longer than there are queries was cut to their number: it may be as long as
    there are keys."""
    return _windowed(q, k, max(1, min(window, q)), sinks, device)


@_window_slip(AS_WINDOW)
def window_not_used(q, k, window, sinks=0, device=None):
    """The window is ignored: each query sees all that came before it."""
    return _causal(q, k, device)


@_window_slip(AS_WINDOW)
def start_below_0(q, k, window, sinks=0, device=None):
    """A window that begins before the first position is given a negative start, and a slice counts
    that from the end: begin at max(0, p - window + 1)."""
    mask = torch.zeros(q, k, dtype=torch.bool, device=device)
    for i in range(q):
        p = k - q + i
        mask[i, p - window + 1 : p + 1] = True
        mask[i, : min(sinks, p + 1)] = True
    return mask


@_window_slip(AS_WINDOW)
def blocks_in_place_of_a_window(q, k, window, sinks=0, device=None):
    """You cut the positions into blocks, and each query sees its own block only: a window moves on
    with the query."""
    query, key = _places(q, k, device)
    return (key <= query) & ((query // window == key // window) | (key < sinks))


@_window_slip(BOOLEAN)
def window_turned_round(q, k, window, sinks=0, device=None):
    """True and False are swapped: True means "may attend", and you marked the keys to keep out."""
    return ~_windowed(q, k, window, sinks, device)


@_window_slip(SEES)
def sinks_in_the_future(q, k, window, sinks=0, device=None):
    """Queries at the start see sinks that are still to come: j <= p holds for sinks, too."""
    key = torch.arange(k, device=device)
    return _windowed(q, k, window, 0, device) | (key < sinks)


@_window_slip(FIRST)
def sinks_not_used(q, k, window, sinks=0, device=None):
    """The sinks are ignored: the first `sinks` positions stay open when the window has moved on."""
    return _windowed(q, k, window, 0, device)


@_window_slip(FIRST)
def sinks_before_the_window(q, k, window, sinks=0, device=None):
    """Your sinks are the positions just before the window, which only makes it longer: they are the
    first positions of all, and do not move."""
    return _windowed(q, k, window + sinks, 0, device)


@_window_slip(OR)
def sinks_within_the_window_only(q, k, window, sinks=0, device=None):
    """A position has to be near and a sink: one of the two is enough. Join them with |, and both
    with j <= p by &."""
    near = _windowed(q, k, window, 0, device)
    return near & (torch.arange(k, device=device) < sinks) if sinks else near


@_window_slip(OR)
def one_sink_too_many(q, k, window, sinks=0, device=None):
    """There is one sink too many: the first are 0 to sinks - 1, so compare with j < sinks."""
    return _windowed(q, k, window, sinks + 1, device)


@_window_slip(OR)
def one_more_sink(q, k, window, sinks=0, device=None):
    """Where there are sinks, there is one too many: the first are 0 to sinks - 1, so compare with
    j < sinks."""
    return _windowed(q, k, window, sinks + 1 if sinks else 0, device)


@_window_slip(FIRST)
def sinks_at_the_end(q, k, window, sinks=0, device=None):
    """Your sinks are the last `sinks` positions, as a negative slice takes them: they are the first
    ones, and j < sinks says so."""
    query, key = _places(q, k, device)
    return (key <= query) & ((query - key < window) | (key >= k - sinks))


@_window_slip(FIRST)
def sinks_of_one_query(q, k, window, sinks=0, device=None):
    """Only the query whose window has just moved on sees the sinks: they stay open for all that
    come later, however far."""
    query, key = _places(q, k, device)
    return (key <= query) & ((query - key < window) | ((key < sinks) & (query == window)))


@_window_slip(FIRST)
def last_sink_only(q, k, window, sinks=0, device=None):
    """Of the sinks only the last one is open: it is all positions below `sinks`, j < sinks."""
    query, key = _places(q, k, device)
    return (key <= query) & ((query - key < window) | (key == sinks - 1))


@_window_slip(FIRST)
def sinks_by_the_query(q, k, window, sinks=0, device=None):
    """You compare the position of the query with `sinks`, where that of the key belongs: sinks are
    seen, and it is j < sinks."""
    query, key = _places(q, k, device)
    return (key <= query) & ((query - key < window) | (query < sinks))


@_window_slip(FIRST)
def sinks_among_the_queries(q, k, window, sinks=0, device=None):
    """The first queries see all that came before them, and later ones no sink: the sinks are the
    first of the keys, which every later query sees."""
    query, key = _places(q, k, device)
    return (key <= query) & ((query - key < window) | (query - (k - q) < sinks))


@window_mask.slip(FIRST)
def sinks_unasked(q, k, window, sinks=4, device=None):
    """Four sinks are open where nobody asked for any: the default of `sinks` is 0."""
    _window_fits(q, k, window, sinks)
    return _windowed(q, k, window, sinks, device)


@_window_slip(NO_QUERY)
def all_rows_of_a_window_for_no_query(q, k, window, sinks=0, device=None):
    """With 0 queries all rows are there, as [-q:] is [0:]: count from the front, [k - q:]."""
    return _windowed(k, k, window, sinks, device)[-q:]


@_window_slip(FIRST)
def sinks_taken_from_the_window(q, k, window, sinks=0, device=None):
    """Your sinks take their places from the window, as if it were a cache of a fixed size: they
    come on top of it."""
    return _windowed(q, k, max(1, window - sinks), sinks, device)


@_window_slip(IN_BOTH)
def sinks_or_the_window(q, k, window, sinks=0, device=None):
    """A position that is a sink and in the window is closed: you joined the two with ^ or !=, where
    either is enough, |."""
    query, key = _places(q, k, device)
    return (key <= query) & ((query - key < window) ^ (key < sinks))


@_window_slip(IN_BOTH)
def sinks_lost_in_a_long_window(q, k, window, sinks=0, device=None):
    """Where the window is at least as long as there are queries, your sinks are lost: they stay
    open, however long the window is."""
    return _windowed(q, k, window, sinks if window < q else 0, device)


@_window_slip(FIRST)
def sinks_at_the_first_query(q, k, window, sinks=0, device=None):
    """Your sinks begin at the first query: they are the first of the keys, from position 0."""
    query, key = _places(q, k, device)
    first = (key >= k - q) & (key < k - q + sinks)
    return (key <= query) & ((query - key < window) | first)


@_window_slip(BOOLEAN)
def window_of_floats(q, k, window, sinks=0, device=None):
    """The mask is right, but it holds floats, 1.0 and 0.0: a mask holds booleans."""
    return _windowed(q, k, window, sinks, device).float()


@_window_slip(DEVICE)
def window_on_the_cpu(q, k, window, sinks=0, device=None):
    """`device` is not used, so the mask is made on the CPU: pass it to torch.arange and on to
    `causal_mask_at`."""
    return _windowed(q, k, window, sinks)


@window_mask.slip(SHORT)
def window_of_nothing(q, k, window, sinks=0, device=None):
    """A window below 1 is taken, and then a query sees nothing, not even itself: refuse it, and
    name it."""
    _window_fits(q, k, max(1, window), sinks)
    return _windowed(q, k, window, sinks, device)


@window_mask.slip(NEGATIVE)
def sinks_below_0(q, k, window, sinks=0, device=None):
    """A number of sinks below 0 is taken for none: refuse it, and name it."""
    _window_fits(q, k, window, max(0, sinks))
    return _windowed(q, k, window, sinks, device)


window_attention = Task(
    "window_attention",
    points=6,
    difficulty=4,
    minutes=30,
    hints=(
        "Position i needs the keys i - window + 1 to i, and no others. Begin with `attention` "
        "under `window_mask(n, n, window)`: the numbers are right then, and only the cost is not.",
        "Cut the positions into blocks of `window`, with zeros at the end where n does not come "
        "out even. The queries of a block need the keys of the block and of the one before. So "
        "each block is an attention of `window` queries over 2 * window keys, and the blocks are "
        "a dimension of the batch. Which pairs are open is the same in each block, but for the "
        "first: before that there is nothing. Cut off what was put behind.",
        "With b = ceil(n / window): `F.pad(query, (0, 0, 0, rest))`, then `unflatten` dim -2 to "
        "(b, window). Keys and values get `window` rows of zeros in front as well; "
        "`unfold(-2, 2 * window, window)` makes [*batch, b, d, 2 * window] of them, and `.mT` "
        "turns it. The mask of a block is `window_mask(window, 2 * window, window)`, b times, and "
        "in block 0 the first `window` columns are closed. Of the output flatten dims -3 and -2, "
        "and keep n rows.",
    ),
)


def _all_fit(query, key, value, window):
    shapes = f"do not fit: {tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}, {window}"
    same = query.shape[:-1] == key.shape[:-1] == value.shape[:-1]
    if query.dim() < 2 or not same or query.shape[-1] != key.shape[-1] or window < 1:
        raise ValueError(shapes)


_slip = window_attention.refusing(_all_fit)


def _softmax(scores, dim=-1):
    peak = scores.amax(dim, keepdim=True)
    powers = torch.exp(scores - peak.masked_fill(peak == -torch.inf, 0))
    whole = powers.sum(dim, keepdim=True)
    return powers / whole.masked_fill(whole == 0, 1)


def _bare_softmax(scores):
    powers = torch.exp(scores)
    return powers / powers.sum(-1, keepdim=True)


def _attend(query, key, value, mask, *, power=0.5, softmax=_softmax):
    scores = query @ key.mT * query.shape[-1] ** -power
    return softmax(scores.masked_fill(~mask, -torch.inf)) @ value


def _over_all(query, key, value, sees, **how):
    """Attend over all pairs, where `sees(i, j)` is True."""
    n = query.shape[-2]
    return _attend(query, key, value, sees(*_places(n, n, query.device)).expand(n, n), **how)


def _in_blocks(query, key, value, window, *, change=None, attend=_attend, join=None, roll=False):
    """Attend in blocks, right but for what is changed of the mask and of the blocks."""
    n = query.shape[-2]
    window = min(window, n)
    blocks = -(-n // window)

    def cut(x):
        return F.pad(x, (0, 0, 0, blocks * window - n)).unflatten(-2, (blocks, window))

    def with_the_one_before(x):
        before = cut(x).roll(1, -3) if roll else F.pad(cut(x), (0, 0, 0, 0, 1, 0))[..., :-1, :, :]
        return torch.cat([before, cut(x)], -2)

    mask = _windowed(window, 2 * window, window, 0, query.device).repeat(blocks, 1, 1)
    if not roll:
        mask[0, :, :window] = False
    if change is not None:
        mask = change(mask)
    mixed = attend(cut(query), with_the_one_before(key), with_the_one_before(value), mask)
    return mixed.flatten(-3, -2)[..., :n, :] if join is None else join(mixed)


@_slip(SAVES)
def all_pairs_scored(query, key, value, window):
    """The numbers are right, but each query has a score for each key, and the window comes
    afterwards, as a mask of n x n: cut the positions into blocks first, and score what is near."""
    return _over_all(query, key, value, lambda i, j: (j <= i) & (i - j < window))


@_slip(UNDER)
def causal_alone_within_a_block(query, key, value, window):
    """Each block sees enough keys, but within it the mask is only causal: its later queries see
    more than a window. Use `window_mask` for the block."""
    return _over_all(query, key, value, lambda i, j: (j <= i) & (j > i // window * window - window))


@_slip(GROWS)
def each_window_worked_out_whole(query, key, value, window):
    """The numbers are right, but for each position you work out the attention of its whole window,
    window x window scores, and keep one row: score one query against it."""
    n = query.shape[-2]

    def windows(x):
        return F.pad(x, (0, 0, window - 1, 0)).unfold(-2, window, 1).mT

    real = windows(torch.ones(n, 1, device=query.device)).mT > 0
    return _attend(windows(query), windows(key), windows(value), real)[..., -1, :]


@_slip(UNDER)
def queries_filled_up_in_front(query, key, value, window):
    """The queries are filled up with zeros in front, keys and values behind, so they no longer
    stand at the same positions: fill up all three behind."""
    n = query.shape[-2]
    rest = -n % max(1, min(window, n))
    return _in_blocks(F.pad(query, (0, 0, rest, 0))[..., :n, :], key, value, window)


@_slip(UNDER)
def windows_reshaped(query, key, value, window):
    """unfold puts the positions of a window behind the features, [*batch, n, d, window], and you
    brought them back by a reshape, which mixes positions and features: transpose, as `.mT` does."""
    window = min(window, query.shape[-2])

    def windows(x):
        x = F.pad(x, (0, 0, window - 1, 0)).unfold(-2, window, 1)
        return x.reshape(*x.shape[:-2], window, x.shape[-2])

    place = torch.arange(query.shape[-2], device=query.device)[:, None, None]
    real = place + torch.arange(window, device=query.device) >= window - 1
    return _attend(query.unsqueeze(-2), windows(key), windows(value), real).squeeze(-2)


@_slip(UNDER)
def window_left_out(query, key, value, window):
    """The window is ignored: each position attends to all that came before it."""
    return _over_all(query, key, value, lambda i, j: j <= i)


@_slip(OWN_PLACE)
def one_position_too_many(query, key, value, window):
    """Each position attends to one too many: its own counts, so there are window - 1 before it."""
    return _over_all(query, key, value, lambda i, j: (j <= i) & (i - j <= window))


@_slip(COUNTED)
def one_position_too_few(query, key, value, window):
    """Each position attends to one too few: the window is `window` positions, its own counted."""
    return _over_all(query, key, value, lambda i, j: (j <= i) & (i - j < window - 1))


@_slip(ITSELF)
def never_itself(query, key, value, window):
    """Each position attends to those before it, and not to itself: its own is the last one of its
    window."""
    return _over_all(query, key, value, lambda i, j: (j < i) & (i - j <= window))


@_slip(SIDE)
def attends_to_both_sides(query, key, value, window):
    """Each position attends as far ahead as back: never to the future, j <= i."""
    return _over_all(query, key, value, lambda i, j: (i - j).abs() < window)


@_slip(SIDE)
def attends_ahead(query, key, value, window):
    """Each position attends to those after it: the window ends with its own."""
    return _over_all(query, key, value, lambda i, j: (j >= i) & (j - i < window))


@_slip(SEES)
def future_attended_to(query, key, value, window):
    """The future is open: the window is closed on the left only."""
    return _over_all(query, key, value, lambda i, j: i - j < window)


@_slip(SEES)
def future_of_the_block(query, key, value, window):
    """Positions attend to later ones of their block: within a block, too, j <= i."""
    return _over_all(
        query, key, value, lambda i, j: (i - j < window) & (j // window <= i // window)
    )


@_slip(ZEROS)
def zeros_taken_for_padding(query, key, value, window):
    """A word whose value is zeros is masked, as if it were what you filled the block up with: tell
    the padding by where it stands, and not by its numbers."""
    n = query.shape[-2]
    open_ = _windowed(n, n, window, 0, query.device) & (value != 0).any(-1)[..., None, :]
    return _attend(query, key, value, open_)


@_slip(LARGEST_SCORE)
def bare_exponentials(query, key, value, window):
    """exp of a large score is infinity, and infinity by infinity is nan: subtract the largest score
    of each query first, or take your `softmax`."""
    return _over_all(
        query, key, value, lambda i, j: (j <= i) & (i - j < window), softmax=_bare_softmax
    )


@_slip(BEFORE)
def block_before_forgotten(query, key, value, window):
    """Each position attends to its own block only, so the first of a block sees itself alone: a
    window reaches into the block before."""
    return _over_all(query, key, value, lambda i, j: (j <= i) & (j // window == i // window))


@_slip(BEFORE)
def all_of_the_block_before(query, key, value, window):
    """Each position attends to all of the block before: of that only what is less than `window`
    away is open. A block needs a mask of its own."""
    return _over_all(query, key, value, lambda i, j: (j <= i) & (i // window - j // window <= 1))


@_slip(BEFORE)
def all_of_both_blocks(query, key, value, window):
    """Each position attends to all of its block and of the one before, with no mask: what is in the
    future or too far back is open."""
    return _over_all(
        query, key, value,
        lambda i, j: (j // window <= i // window) & (i // window - j // window <= 1),
    )  # fmt: skip


@_slip(BEFORE)
def block_behind_for_the_one_before(query, key, value, window):
    """The keys of a block are joined with those of the block after it, not before: moved by one to
    the wrong side."""
    return _over_all(
        query, key, value,
        lambda i, j: (j // window == i // window) & (j <= i)
        | (j // window == i // window + 1) & (j - window > i - window + i % window),
    )  # fmt: skip


@_slip(BEFORE)
def block_behind_under_the_same_mask(query, key, value, window):
    """In the place of the block before stands the block after, under the mask that is meant for the
    one before: the zeros belong in front of keys and values."""

    def with_the_one_after(x):
        own = x[..., x.shape[-2] // 2 :, :]
        return torch.cat([own, F.pad(own, (0, 0, 0, 0, 0, 1))[..., 1:, :, :]], -2)

    def attend(query, key, value, mask):
        return _attend(query, with_the_one_after(key), with_the_one_after(value), mask)

    return _in_blocks(query, key, value, window, attend=attend)


@_slip(ZEROS)
def values_of_the_next_key(query, key, value, window):
    """The weights are right, but each is that of the key before: put as many zeros in front of the
    values as in front of the keys."""
    return _in_blocks(query, key, F.pad(value, (0, 0, 0, 1))[..., 1:, :], window)


@_slip(ZEROS)
def zeros_attended_to(query, key, value, window):
    """The first positions attend to the zeros that you put before the first key: their scores are
    0, and the softmax gives them weight. Mask them in the first block."""

    def change(mask):
        return mask[-1:].repeat(len(mask), 1, 1) if len(mask) > 1 else _opened(mask)

    return _in_blocks(query, key, value, window, change=change)


def _opened(mask):
    """Open what a single block sees of the zeros before it."""
    window = mask.shape[-2]
    return _windowed(window, 2 * window, window, 0, mask.device)[None]


@_slip(ZEROS)
def last_block_before_the_first(query, key, value, window):
    """The first positions attend to the last ones: roll() brings what falls out at the end back in
    at the front. Put zeros there, and mask them."""
    return _in_blocks(query, key, value, window, roll=True)


@_slip(ZEROS)
def first_block_blind(query, key, value, window):
    """The first block attends to nothing and gives zeros: close what is before the first key, not
    the block itself."""

    def change(mask):
        mask[0] = False
        return mask

    return _in_blocks(query, key, value, window, change=change)


@_slip(UNDER)
def slices_that_begin_below_0(query, key, value, window):
    """A slice from i - window + 1 begins below 0 for the first positions, which counts from the
    end: begin it at max(0, i - window + 1)."""
    rows = []
    for i in range(query.shape[-2]):
        near = slice(i - window + 1, i + 1)
        scores = query[..., i : i + 1, :] @ key[..., near, :].mT * query.shape[-1] ** -0.5
        rows.append(torch.softmax(scores, -1) @ value[..., near, :])
    return torch.cat(rows, -2)


@_slip(DIVIDE)
def last_block_dropped(query, key, value, window):
    """Where the window does not divide n, the positions of the last block are missing: n // window
    leaves them out. Fill it up with zeros, and cut them off in the end."""
    n = query.shape[-2]
    return _in_blocks(query, key, value, window)[..., : n - n % min(window, n), :]


@_slip(DIVIDE)
def last_block_left_empty(query, key, value, window):
    """Where the window does not divide n, the last block is never worked out, and its rows are
    zeros: n // window leaves it out."""
    n = query.shape[-2]
    out = _in_blocks(query, key, value, window)
    done = torch.arange(n, device=query.device) < n - n % min(window, n)
    return out * done[:, None]


@_slip(DIVIDE)
def last_block_alone(query, key, value, window):
    """Where the window does not divide n, the positions left over see each other only: they reach
    into the block before, like those of every block."""
    full = query.shape[-2] - query.shape[-2] % window
    return _over_all(
        query, key, value,
        lambda i, j: (j <= i) & (i - j < window) & ((i < full) | (j >= full)),
    )  # fmt: skip


@_slip(THROWN)
def zeros_not_cut_off(query, key, value, window):
    """There are more rows than positions: the last block was filled up with zeros. Keep the first n
    rows."""
    return _in_blocks(query, key, value, window, join=lambda mixed: mixed.flatten(-3, -2))


@_slip(JOINED)
def blocks_not_joined(query, key, value, window):
    """The blocks are a dimension of their own still, [*batch, blocks, window, d_v]: flatten them
    and keep n rows."""
    return _in_blocks(query, key, value, window, join=lambda mixed: mixed)


@_slip(SCALE)
def windows_not_scaled(query, key, value, window):
    """The scale is missing: divide the scores by the square root of d_k."""
    return _in_blocks(query, key, value, window, attend=functools.partial(_attend, power=0.0))


@_slip(SCALE)
def windows_scaled_twice(query, key, value, window):
    """You divided by d_k, or scaled twice: divide once, by the square root of d_k. Your `attention`
    does that already."""
    return _in_blocks(query, key, value, window, attend=functools.partial(_attend, power=1.0))


@_slip(SCALE)
def windows_scaled_by_the_values(query, key, value, window):
    """You scaled by the square root of d_v, the width of the values: it is d_k, the width of one
    key."""
    return _in_blocks(query * (query.shape[-1] / value.shape[-1]) ** 0.5, key, value, window)


@_slip(SCALE)
def windows_scaled_by_their_length(query, key, value, window):
    """You scaled by the square root of the window: it is d_k, the width of one key."""
    return _in_blocks(query * (query.shape[-1] / window) ** 0.5, key, value, window)


@_slip(UNDER)
def windows_averaged(query, key, value, window):
    """All positions of a window weigh the same: the scores of queries and keys say how much each
    of them counts."""
    return _in_blocks(query * 0, key * 0, value, window)


def _halved(query, key, value, mask, *, seen=False):
    """Attend to each half of the keys by itself, and take the mean; or that of what is seen."""
    parts = (x.unflatten(-2, (2, -1)).unbind(-3) for x in (key, value))
    halves = list(zip(*parts, mask.unflatten(-1, (2, -1)).unbind(-2), strict=True))
    number = sum(half[-1].any(-1, keepdim=True) for half in halves) if seen else 2
    return sum(_attend(query, *half) for half in halves) / number


@_slip(KEYS)
def a_softmax_for_each_block(query, key, value, window):
    """The block before and the own one have a softmax each, and you took the mean: a query has one
    row of weights over all keys that it sees. Join the keys first."""
    return _in_blocks(query, key, value, window, attend=_halved)


@_slip(KEYS)
def mean_of_a_softmax_each(query, key, value, window):
    """The block before and the own one have a softmax each, and where a query sees both you took
    the mean: it has one row of weights over all keys that it sees. Join the keys first."""
    attend = functools.partial(_halved, seen=True)
    return _in_blocks(query, key, value, window, attend=attend)


@_slip(BOOLEAN)
def windows_inside_out(query, key, value, window):
    """The mask is inverted: True means "may attend", and you masked exactly those keys."""
    return _over_all(query, key, value, lambda i, j: (j > i) | (i - j >= window))


@_slip(BEFORE_SOFTMAX)
def windows_after_the_softmax(query, key, value, window):
    """Masked after the softmax: the weights of what is out of the window are lost, the rest sum to
    less than 1. Mask the scores."""
    n = query.shape[-2]
    weights = _softmax(query @ key.mT * query.shape[-1] ** -0.5)
    return (weights * _windowed(n, n, window, 0, query.device)) @ value


@_slip(BEFORE_SOFTMAX)
def scores_of_0_for_the_masked(query, key, value, window):
    """What is out of the window has a score of 0, and so gets weight: fill with minus infinity."""
    n = query.shape[-2]
    scores = query @ key.mT * query.shape[-1] ** -0.5
    return _softmax(scores * _windowed(n, n, window, 0, query.device)) @ value


@_slip(BEFORE_SOFTMAX)
def closed_with_a_large_number(query, key, value, window):
    """What is out of the window is filled with a large negative number, a score like any other:
    where all scores are lower, it gets the weight. Fill with minus infinity."""
    n = query.shape[-2]
    scores = query @ key.mT * query.shape[-1] ** -0.5
    return _softmax(scores.masked_fill(~_windowed(n, n, window, 0, query.device), -1e4)) @ value


@_slip(KEYS)
def softmax_over_the_queries(query, key, value, window):
    """The softmax ran over the queries, dim -2: each query has a row of weights of its own, over
    the keys, dim -1."""
    return _over_all(
        query, key, value, lambda i, j: (j <= i) & (i - j < window),
        softmax=functools.partial(_softmax, dim=-2),
    )  # fmt: skip


@_slip(KEYS)
def keys_mixed(query, key, value, window):
    """You mixed the keys: the weights are for the values."""
    return _in_blocks(query, key, key, window)


@_slip(ANY_BATCH)
def three_dimensions_unpacked(query, key, value, window):
    """`batch, n, d_k = query.shape` works for exactly three dimensions, but there may be no batch,
    or several: write `*batch, n, d_k = query.shape`."""
    _batch, _n, _d_k = query.shape
    return _in_blocks(query, key, value, window)


@_slip(DIVIDE)
def other_windows_refused(query, key, value, window):
    """You refuse an n that the window does not divide: it need not. Fill the last block up."""
    if query.shape[-2] % min(window, query.shape[-2]):
        raise ValueError(f"{window} does not divide {query.shape[-2]}")
    return _in_blocks(query, key, value, window)


@_slip(LARGER)
def long_windows_refused(query, key, value, window):
    """You refuse a window that is larger than n, or it ends in an error: each position then attends
    to all that came before it."""
    if window > query.shape[-2]:
        raise ValueError(f"a window of {window} for {query.shape[-2]} positions")
    return _in_blocks(query, key, value, window)


@window_attention.slip(SHORT)
def attends_to_nothing(query, key, value, window):
    """A window below 1 is taken: then nobody sees anything. Refuse it, and name it."""
    _all_fit(query, key, value, max(1, window))
    return _in_blocks(query, key, value, max(1, window))


@window_attention.slip(NUMBER)
def later_keys_cut_off(query, key, value, window):
    """Where there are more keys and values than queries, the later ones are cut off in silence:
    here all three have the same positions. Refuse it, and name both numbers."""
    if min(query.dim(), key.dim()) > 1 and key.shape[-2] == value.shape[-2] >= query.shape[-2]:
        key, value = (x[..., : query.shape[-2], :] for x in (key, value))
    _all_fit(query, key, value, window)
    return _in_blocks(query, key, value, window)


# What the chapter's own differences show

FINDINGS = (
    Common(
        "grows_with_all_pairs",
        lambda found: (
            found.kind == "cost"
            and found.label in (COSTS["largest"], COSTS["made"])
            and found.at.startswith("n=")
        ),
        "The numbers are right, but there is one for each pair of positions, n x n: scores, "
        "weights or a mask. Give each query the keys that it sees before anything is scored, in "
        "blocks, and make a mask for a block, not for all positions.",
        SAVES,
    ),
    Common(
        "grows_with_the_square_of_the_window",
        lambda found: found.kind == "cost" and found.at.startswith("window="),
        "The numbers are right, but more than `window` scores are worked out for each position: "
        "with a window twice as long there is more than twice the work.",
        GROWS,
    ),
)


# What `grader show` draws


def _numbered(name, numbers):
    return [f"{name} {number}" for number in numbers]


@draws(causal_mask_at)
def draw_causal_mask_at(sketch):
    """The queries are the last positions: the fewer there are, the more rows are cut off above."""
    words = sketch.words or ["I", "do", "not", "like", "it"]
    k = len(words)
    for q in sorted({k, min(3, k), 1}, reverse=True):
        sketch.row(f"q = {q}, k = {k}")
        made = sketch.call("causal_mask_at", q, k)
        sketch.draw("mask", made, words[k - q :], words, scale="mask")


@draws(window_mask)
def draw_window_mask(sketch):
    """A window moves on with the query; sinks stay where they are."""
    words = sketch.words or ["I", "do", "not", "like", "it", "at", "all"]
    k = len(words)
    for sinks in (0, 1):
        sketch.row(f"q = {k}, k = {k}, window = 3, sinks = {sinks}")
        made = sketch.call("window_mask", k, k, 3, sinks)
        sketch.draw("mask", made, words, words, scale="mask")


@draws(window_attention)
def draw_window_attention(sketch):
    """Each value is one-hot, so a row of the output is a row of weights: no further back than 3."""
    words = sketch.words or ["I", "do", "not", "like", "it", "at", "all"]
    x, one_hot = 1.5 * sketch.embedded(words, 4), torch.eye(len(words))
    sketch.row("window = 3")
    made = sketch.call("window_attention", x, x.flip(-1), one_hot, 3)
    sketch.draw("weights", made, words, words, scale="weights")
