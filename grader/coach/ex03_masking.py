"""The coach of chapter 3."""

from __future__ import annotations

import torch

from grader.coach import Task, card
from grader.coach.common import Common
from grader.pictures.drawings import draws

TRACK = "core"
DIRECTION = 'chapter 3, Shapes: "Rows are queries, columns are keys."'
BOOLEAN = 'chapter 3, The formula: "A mask holds booleans, and True means "may attend""'
ITSELF = (
    'chapter 3, The formula: "a token may look at itself, too" (after document 000, "Masked '
    'Self-Attention")'
)
CAUSAL = 'the stub of causal_mask: "entry (i, j) is True where j <= i"'
PADDING = 'the stub of padding_mask: "entry (b, j) is True where j < lengths[b]"'
REAL = 'chapter 3, Shapes: "`lengths` says how many tokens of each one are real"'
DECODER = 'the stub of decoder_mask: "entry (b, i, j) is True where j <= i and j < lengths[b]"'
QUERIES = 'chapter 3, Shapes: "mask[:, None, :] makes it [batch, 1, n]"'
KEYS_ONLY = 'the stub of decoder_mask: "Padding is masked as a key only"'
MINUS_INFINITY = 'chapter 3, The formula: "exp(minus infinity) is exactly 0"'
FAIR = 'chapter 3, The formula: "A score of 0 would not mask anything"'
LARGE = 'the stub of apply_mask: "A large negative number such as -1e9 is not minus infinity"'
MASKING = (
    'the stub of apply_mask: "minus infinity where the mask is False" (after document 002, "Key '
    'and Query Vectors")'
)
NEW = 'the stub of apply_mask: "a new tensor"'
ROW = 'the stub of apply_mask: "A row may be masked entirely."'
SMALLER = 'the stub of apply_mask: "The mask may be smaller than the scores"'
BROADCASTING = card("broadcasting")
DEVICE = card("device")
VIEW = card("view")
LENGTHS = "exercises/RULES.md, lengths"
NUMBER = 'the stub of causal_mask: "n: the number of positions, 0 or more."'
EMPTY = 'the stub of causal_mask: "With 0 positions it is empty."'
SHAPE = 'the stub of padding_mask: "The mask [batch, n], boolean"'

causal_mask = Task(
    "causal_mask",
    points=3,
    difficulty=2,
    minutes=5,
    hints=(
        "Row i belongs to the query at position i, column j to the key at position j. It is True "
        "where j <= i: the triangle below the diagonal, and the diagonal itself.",
        "Number the positions once. Along a row they are the keys, down a column they are the "
        "queries; comparing the two gives booleans for all pairs. Or cut the triangle out of a "
        "matrix that is all True.",
        "`torch.arange`, with the device, is [n]; with `[:, None]` it is a column, [n, 1]; "
        "comparing the two gives [n, n], boolean. The other way: `torch.ones` with "
        "dtype=torch.bool, then `tril`.",
    ),
)


def _keys(n, device):
    return torch.arange(n, device=device)


def _queries(n, device):
    return torch.arange(n, device=device)[:, None]


def _causal(n, device):
    return _keys(n, device) <= _queries(n, device)


@causal_mask.slip(DIRECTION)
def looks_ahead(n, device=None):
    """Your queries look ahead instead of back: rows and columns are swapped, or you used triu
    instead of tril."""
    return _keys(n, device) >= _queries(n, device)


@causal_mask.slip(DEVICE)
def device_ignored(n, device=None):
    """`device` is not used, so the mask is made on the CPU: pass it to torch.arange or
    torch.ones."""
    return _causal(n, None)


@causal_mask.slip(BOOLEAN)
def turned_round(n, device=None):
    """True and False are swapped: True means "may attend", and you marked the keys to keep out."""
    return _keys(n, device) > _queries(n, device)


@causal_mask.slip(ITSELF)
def not_itself(n, device=None):
    """The diagonal is False: a token may look at itself, so compare with j <= i, not j < i."""
    return _keys(n, device) < _queries(n, device)


@causal_mask.slip(ITSELF)
def first_row_repaired(n, device=None):
    """Only the first token sees itself: every one may, so compare with j <= i, not j < i."""
    return (_keys(n, device) < _queries(n, device)) | (_queries(n, device) + _keys(n, device) == 0)


@causal_mask.slip(CAUSAL)
def one_step_ahead(n, device=None):
    """Each query sees one token of the future: the edge of your triangle is one place too far to
    the right."""
    return _keys(n, device) <= _queries(n, device) + 1


@causal_mask.slip(CAUSAL)
def only_itself(n, device=None):
    """Only the diagonal is True: a token also looks back, at every token before it."""
    return torch.eye(n, dtype=torch.bool, device=device)


@causal_mask.slip(CAUSAL)
def only_what_is_near(n, device=None):
    """Your queries see only one token before them: they may look at all earlier ones."""
    return _causal(n, device) & (_keys(n, device) >= _queries(n, device) - 1)


@causal_mask.slip(CAUSAL)
def everything_open(n, device=None):
    """It is True everywhere: the future, j > i, has to be False."""
    return torch.ones(n, n, dtype=torch.bool, device=device)


@causal_mask.slip(EMPTY)
def list_of_no_rows(n, device=None):
    """With 0 positions your list has no rows, and torch makes a float tensor of shape [0] of it:
    build the mask from tensors, or treat n = 0 by itself."""
    return _causal(n, device) if n else torch.tensor([], device=device)


@causal_mask.slip(CAUSAL)
def mirrored(n, device=None):
    """The triangle is mirrored: the first query should see one key, and the last one all of
    them."""
    return _causal(n, device).flip(0)


@causal_mask.slip(ITSELF)
def all_but_itself(n, device=None):
    """Only the diagonal is False: compare with j <= i, which leaves out the future and keeps the
    token itself."""
    return _keys(n, device) != _queries(n, device)


@causal_mask.slip(BOOLEAN)
def ones_and_zeros(n, device=None):
    """The triangle is right, but it holds floats, 1.0 and 0.0: a mask holds booleans."""
    return torch.tril(torch.ones(n, n, device=device))


@causal_mask.slip(BOOLEAN)
def whole_numbers(n, device=None):
    """The triangle is right, but it holds the integers 1 and 0: a mask holds booleans."""
    return _causal(n, device).long()


@causal_mask.slip(BOOLEAN)
def ones_for_the_future(n, device=None):
    """These are floats, and the ones mark the future: a mask is boolean, with True where a query
    may look."""
    return torch.triu(torch.ones(n, n, device=device), diagonal=1)


@causal_mask.slip(BOOLEAN)
def ready_to_be_added(n, device=None):
    """This is 0 and minus infinity, made to be added to scores: here a mask holds booleans."""
    return torch.zeros(n, n, device=device).masked_fill(~_causal(n, device), -torch.inf)


@causal_mask.slip(NUMBER)
def always_three(n, device=None):
    """Your mask is 3 x 3 whatever n is: use n, not the 3 of the example."""
    return _causal(3, device)


@causal_mask.slip(NUMBER)
def cut_from_a_block_of_128(n, device=None):
    """Your mask is cut from one of 128 positions: for more of them it is too small. Make it of
    n."""
    return _causal(min(n, 128), device)


@causal_mask.slip(CAUSAL)
def with_a_batch(n, device=None):
    """There is one dimension too many: the mask is [n, n], it broadcasts to a batch by itself."""
    return _causal(n, device)[None]


@causal_mask.slip(EMPTY)
def no_shape_of_nothing(n, device=None):
    """With n = 0 there are no rows to put into a list, and the shape is lost: it has to be
    [0, 0]."""
    return _causal(n, device) if n else torch.zeros(0, dtype=torch.bool, device=device)


padding_mask = Task(
    "padding_mask",
    points=3,
    difficulty=2,
    minutes=10,
    hints=(
        "Sequences are padded at their end, and positions count from 0. A sequence of length 2 has "
        "real tokens at the positions 0 and 1: wherever the position is smaller than the length.",
        "Compare every position with every length, at once. For that, the positions must run along "
        "the rows and the lengths down a column. The number of positions is n, not the longest "
        "length.",
        "`torch.arange(n, device=...)` is [n], `lengths[:, None]` is [batch, 1]: a comparison of "
        "the two is [batch, n], boolean. Take the device of `lengths`.",
    ),
)


def _real(lengths, n):
    return torch.arange(n, device=lengths.device).lt(lengths[:, None])


def _up_to_the_last(lengths, n):
    if lengths.dim() != 1:  # it is the subtraction that is wrong, and not what it refuses
        raise ValueError(f"lengths is {list(lengths.shape)}")
    return torch.arange(n, device=lengths.device) <= lengths[:, None] - 1


@padding_mask.slip(BOOLEAN)
def marks_the_padding(lengths, n):
    """True and False are swapped: True is for the real tokens, and you marked the padding."""
    return ~_real(lengths, n)


@padding_mask.slip(BOOLEAN)
def marks_what_lies_beyond(lengths, n):
    """The comparison is the wrong way round, > instead of <: True is for the real tokens."""
    return torch.arange(n, device=lengths.device) > lengths[:, None]


@padding_mask.slip(PADDING)
def only_the_first_padding(lengths, n):
    """Only the place after the last real token is True: compare with <, not with ==."""
    return torch.arange(n, device=lengths.device) == lengths[:, None]


@padding_mask.slip(PADDING)
def all_but_the_first_padding(lengths, n):
    """Only the place after the last real token is False: compare with <, not with !=."""
    return torch.arange(n, device=lengths.device) != lengths[:, None]


@padding_mask.slip(PADDING)
def one_token_too_many(lengths, n):
    """One padding token too many is True: positions count from 0, so compare with <, not <=."""
    return _real(lengths + 1, n)


@padding_mask.slip(PADDING)
def at_least_one_token(lengths, n):
    """A sequence of length 0 got a token: it has none, so its row is all False."""
    return _real(lengths.clamp_min(1), n)


@padding_mask.slip(PADDING)
def one_token_too_few(lengths, n):
    """The last real token is left out: positions count from 0, so the last one is lengths - 1."""
    return _real(lengths - 1, n)


@padding_mask.slip(REAL)
def padded_at_the_start(lengths, n):
    """Your real tokens are at the end of the row: they come first, and the padding follows."""
    return _real(lengths, n).flip(-1)


@padding_mask.slip(REAL)
def marked_at_the_last_word(lengths, n):
    """You marked the last real token, at length - 1, and a sequence of length 0 has none: compare
    the positions with the length."""
    last = torch.nn.functional.one_hot(lengths.long().cpu() - 1, n)  # a GPU would break of -1
    return last.flip(-1).cumsum(-1).flip(-1).bool().to(lengths.device)


@padding_mask.slip(REAL)
def no_padding_at_all(lengths, n):
    """Every position is True: the lengths are not used."""
    return torch.ones(len(lengths), n, dtype=torch.bool, device=lengths.device)


@padding_mask.slip(REAL)
def longest_for_all(lengths, n):
    """Every sequence is masked as if it were the longest: each row has a length of its own."""
    return _real(lengths.amax().expand(len(lengths)), n)


@padding_mask.slip(PADDING)
def full_rows_emptied(lengths, n):
    """A sequence without padding lost everything: the slice [-0:] is the whole row, not an empty
    one."""
    return _real(lengths.masked_fill(lengths == n, 0), n)


@padding_mask.slip(LENGTHS)
def length_of_0_wraps(lengths, n):
    """For a uint8 length of 0, lengths - 1 is 255, not -1: compare with <, without subtracting."""
    return _up_to_the_last(lengths, n)


@padding_mask.slip(PADDING)
def only_the_last_token(lengths, n):
    """Only the last real token is marked: every one before it is real, too."""
    return torch.arange(n, device=lengths.device) == lengths[:, None] - 1


@padding_mask.slip(PADDING)
def lengths_as_numbers_of_rows(lengths, n):
    """You used each length as its row number, too: loop over rows and lengths, with enumerate."""
    mask = torch.zeros(len(lengths), n, dtype=torch.bool, device=lengths.device)
    for length in lengths.tolist():
        mask[length, :length] = True
    return mask


@padding_mask.slip(SHAPE)
def as_wide_as_the_longest(lengths, n):
    """Your mask is as wide as the longest length: the number of positions is n."""
    return _real(lengths, int(lengths.max()))


@padding_mask.slip(SHAPE)
def positions_before_sequences(lengths, n):
    """This is [n, batch]: each row belongs to one sequence, each column to one position."""
    return _real(lengths, n).T


@padding_mask.slip(BROADCASTING)
def lengths_along_the_row(lengths, n):
    """The lengths [batch] meet the positions [n] in the same dimension: make the lengths a column,
    [batch, 1]."""
    return torch.arange(n, device=lengths.device) < lengths


@padding_mask.slip(QUERIES)
def room_for_queries(lengths, n):
    """There is one dimension too many: the mask is [batch, n], and whoever uses it adds one for the
    queries."""
    return _real(lengths, n)[:, None]


@padding_mask.slip(QUERIES)
def one_row_per_query(lengths, n):
    """This is [batch, n, n], with a row for each query: a padding mask has no queries."""
    return _real(lengths, n)[:, None].expand(-1, n, n)


@padding_mask.slip(BOOLEAN)
def floats(lengths, n):
    """The places are right, but as floats, 1.0 and 0.0: a mask holds booleans."""
    return _real(lengths, n).float()


@padding_mask.slip(BOOLEAN)
def integers(lengths, n):
    """The places are right, but as the integers 1 and 0: a mask holds booleans."""
    return _real(lengths, n).long()


decoder_mask = Task(
    "decoder_mask",
    points=4,
    difficulty=3,
    minutes=10,
    hints=(
        "True only where both masks of this chapter say so. Padding is about keys alone: whether a "
        "query is padded does not matter here.",
        "The causal mask is [n, n], the same for each sequence. The padding mask is [batch, n], "
        "the same row for each query. Give each the dimension that it lacks, then join them.",
        "With `[:, None, :]` the padding mask is [batch, 1, n]; `&` with [n, n] gives [batch, n, "
        "n]. The causal mask takes the device of `lengths`.",
    ),
)


@decoder_mask.slip(DECODER)
def padding_forgotten(lengths, n):
    """This is the causal mask alone: the padding is still a key."""
    return _causal(n, lengths.device).expand(len(lengths), n, n)


@decoder_mask.slip(QUERIES)
def masks_of_other_sequences(lengths, n):
    """The padding of one sequence landed on another: a mask repeated and cut anew gets out of
    order. Give it a dimension for the queries, [batch, 1, n]."""
    real = _real(lengths, n).repeat(n, 1).reshape(len(lengths), n, n)
    return _causal(n, lengths.device) & real


@decoder_mask.slip(DECODER)
def causal_mask_as_it_is(lengths, n):
    """This is the causal mask alone, [n, n]: join it with the padding of each sequence, [batch, n,
    n]."""
    return _causal(n, lengths.device)


@decoder_mask.slip(DECODER)
def first_key_always_open(lengths, n):
    """The first key stays True even where the length is 0: such a sequence has no real key
    at all."""
    return _causal(n, lengths.device) & _real(lengths.clamp_min(1), n)[:, None, :]


@decoder_mask.slip(LENGTHS)
def empty_sequence_wraps(lengths, n):
    """For a uint8 length of 0, lengths - 1 is 255, not -1: compare with <, without subtracting."""
    return _causal(n, lengths.device) & _up_to_the_last(lengths, n)[:, None]


@decoder_mask.slip(DECODER)
def future_forgotten(lengths, n):
    """This is the padding mask alone: the queries see the future."""
    return _real(lengths, n)[:, None].expand(-1, n, n)


@decoder_mask.slip(DECODER)
def padding_mask_as_it_is(lengths, n):
    """This is the padding mask alone, [batch, 1, n]: join it with the causal mask, [batch,
    n, n]."""
    return _real(lengths, n)[:, None]


@decoder_mask.slip(DECODER)
def either_will_do(lengths, n):
    """It is True where either mask is True: both have to be, so use &, not |."""
    return _causal(n, lengths.device) | _real(lengths, n)[:, None]


@decoder_mask.slip(DECODER)
def one_but_not_both(lengths, n):
    """It is True where exactly one mask is True: both have to be, so use &, not ^."""
    return _causal(n, lengths.device) ^ _real(lengths, n)[:, None]


@decoder_mask.slip(KEYS_ONLY)
def padded_queries_emptied(lengths, n):
    """You emptied the rows of the padded queries: padding is masked as a key, in the last
    dimension, and the row of a padded query stays."""
    return _causal(n, lengths.device) & _real(lengths, n)[:, :, None]


@decoder_mask.slip(QUERIES)
def no_room_for_queries(lengths, n):
    """You joined the padding mask [batch, n] without a dimension for the queries: torch lines the
    batch up with them."""
    return _causal(n, lengths.device) & _real(lengths, n)


@decoder_mask.slip(KEYS_ONLY)
def padded_queries_see_themselves(lengths, n):
    """Your padded queries see themselves: padding is masked as a key for everyone."""
    own = torch.eye(n, dtype=torch.bool, device=lengths.device)
    return own | _causal(n, lengths.device) & _real(lengths, n)[:, None]


@decoder_mask.slip(KEYS_ONLY)
def padded_queries_see_all(lengths, n):
    """Your padded queries see everything: their rows follow the same two rules as all the
    others."""
    real = _real(lengths, n)
    return _causal(n, lengths.device) & real[:, None] | ~real[:, :, None]


@decoder_mask.slip(REAL)
def nothing_to_see_sees_all(lengths, n):
    """You made a row without any True all True: leave it False, chapter 4 handles such rows."""
    allowed = _causal(n, lengths.device) & _real(lengths, n)[:, None]
    return allowed | ~allowed.any(-1, keepdim=True)


@decoder_mask.slip(BOOLEAN)
def masked_ones_marked(lengths, n):
    """True and False are swapped: True means "may attend"."""
    return ~(_causal(n, lengths.device) & _real(lengths, n)[:, None])


@decoder_mask.slip(DIRECTION)
def decoder_looks_ahead(lengths, n):
    """The padding is right, but your queries look ahead instead of back."""
    return _causal(n, lengths.device).T & _real(lengths, n)[:, None]


@decoder_mask.slip(ITSELF)
def decoder_not_itself(lengths, n):
    """The padding is right, but a token may look at itself, so compare with j <= i, not j < i."""
    strictly = _keys(n, lengths.device) < _queries(n, lengths.device)
    return strictly & _real(lengths, n)[:, None]


@decoder_mask.slip(PADDING)
def only_the_padding_seen(lengths, n):
    """It is causal, but it masks the real tokens and leaves the padding visible."""
    return _causal(n, lengths.device) & ~_real(lengths, n)[:, None]


@decoder_mask.slip(PADDING)
def one_padding_token_open(lengths, n):
    """It is causal, but one padding token too many is True: compare with j < lengths[b], not <=."""
    return _causal(n, lengths.device) & _real(lengths + 1, n)[:, None]


@decoder_mask.slip(PADDING)
def last_real_token_closed(lengths, n):
    """It is causal, but the last real token is left out: compare with j < lengths[b], counting from
    0."""
    return _causal(n, lengths.device) & _real(lengths - 1, n)[:, None]


@decoder_mask.slip(DIRECTION)
def pages_turned(lengths, n):
    """The mask of each sequence is transposed: rows are queries, columns are keys."""
    return (_causal(n, lengths.device) & _real(lengths, n)[:, None]).mT


@decoder_mask.slip(VIEW)
def one_page_for_all(lengths, n):
    """All sequences are cut at the shortest length: after `expand` they share one memory, so what
    you write for one is written for all. Join two masks with &, or use `repeat`."""
    longest = _real(lengths.amin().expand(len(lengths)), n)
    return _causal(n, lengths.device) & longest[:, None]


@decoder_mask.slip(BOOLEAN)
def product_of_floats(lengths, n):
    """The entries are right, but as floats, 1.0 and 0.0: join booleans with &, not with *."""
    return _causal(n, lengths.device).float() * _real(lengths, n)[:, None]


@decoder_mask.slip(BOOLEAN)
def product_of_integers(lengths, n):
    """The entries are right, but as the integers 1 and 0: join booleans with &, not with *."""
    return _causal(n, lengths.device).long() * _real(lengths, n)[:, None]


@decoder_mask.slip(DECODER)
def room_for_heads(lengths, n):
    """There is one dimension too many, as if for heads: here the mask is [batch, n, n]."""
    return (_causal(n, lengths.device) & _real(lengths, n)[:, None])[:, None]


@decoder_mask.slip(DECODER)
def row_of_the_last_token(lengths, n):
    """For a sequence of length 0 you look up position -1, which is the last one: nothing is real
    there. Compare positions with lengths instead."""
    return _causal(n, lengths.device) & _causal(n, lengths.device)[lengths.long() - 1][:, None]


apply_mask = Task(
    "apply_mask",
    points=4,
    difficulty=3,
    minutes=15,
    hints=(
        "The scores become powers of e later on, and exp of minus infinity is exactly 0: no other "
        "number masks a score in every dtype.",
        "Replace the scores where the mask is False, in a new tensor; there is nothing to add or "
        "multiply. Before that, make sure that the mask fits: it may broadcast to the scores, but "
        "the scores must not broadcast to it.",
        "`expand` of the mask, to the shape of the scores, gives [*batch, q, k] or a RuntimeError, "
        "which you turn into a ValueError that names both shapes. Then `masked_fill` (it fills "
        "where its mask is True) or `torch.where`.",
    ),
)


def _closed(scores, mask, fill):
    return scores.masked_fill(~mask.expand(scores.shape), fill)


@apply_mask.slip(MASKING)
def filled_where_allowed(scores, mask):
    """You filled where the mask is True, which means "may attend": fill where it is False."""
    return _closed(scores, ~mask, -torch.inf)


@apply_mask.slip(FAIR)
def closed_with_zero(scores, mask):
    """Masked scores became 0, by filling or by multiplying: 0 is a score like any other, and exp(0)
    is 1."""
    return _closed(scores, mask, 0.0)


@apply_mask.slip(BROADCASTING)
def new_dimensions_in_the_middle(scores, mask):
    """New dimensions of the mask were put in at place 1: sizes line up from the right, so they
    belong in front, and torch puts them there by itself."""
    while mask.dim() < scores.dim():
        mask = mask.unsqueeze(min(1, mask.dim()))
    return _closed(scores, mask, -torch.inf)


@apply_mask.slip(SMALLER)
def queries_taken_for_sequences(scores, mask):
    """A mask [q, k] was taken for one of [batch, k], as there are as many queries as sequences: it
    is the same for all sequences. Sizes line up from the right."""
    if mask.dim() == 2 and scores.dim() > 2 and len(mask) == len(scores):
        mask = mask.reshape(-1, *[1] * (scores.dim() - 2), mask.shape[-1])
    return _closed(scores, mask, -torch.inf)


@apply_mask.slip(LARGE)
def closed_with_1e9(scores, mask):
    """Filled with -1e9: that is a score like any other, and float16 cannot hold it. Use minus
    infinity."""
    return _closed(scores, mask, -1e9)


@apply_mask.slip(LARGE)
def closed_with_1e4(scores, mask):
    """Filled with -10000: that is a score like any other, and where all keys are masked, they share
    the weight. Use minus infinity."""
    return _closed(scores, mask, -1e4)


@apply_mask.slip(LARGE)
def closed_with_the_smallest_number(scores, mask):
    """Filled with the smallest number of the dtype: where all keys are masked, they all get weight
    again. Use minus infinity."""
    return _closed(scores, mask, torch.finfo(scores.dtype).min)


@apply_mask.slip(MINUS_INFINITY)
def closed_with_plus_infinity(scores, mask):
    """Filled with plus infinity: such a key would get all the weight. The minus sign is missing."""
    return _closed(scores, mask, torch.inf)


@apply_mask.slip(MINUS_INFINITY)
def closed_with_nan(scores, mask):
    """Masked scores became NaN, and NaN spreads to the whole row: fill with minus infinity."""
    return _closed(scores, mask, torch.nan)


@apply_mask.slip(MASKING)
def infinity_times_zero(scores, mask):
    """The scores that may stay became NaN: 0 * infinity has no value. Fill the masked scores, do
    not multiply."""
    return scores + torch.where(mask.expand(scores.shape), torch.nan, -torch.inf).to(scores)


@apply_mask.slip(MASKING)
def mask_added(scores, mask):
    """You added the mask itself: True counts as 1, so the visible scores grew by 1 and nothing is
    masked."""
    return scores + mask.expand(scores.shape)


@apply_mask.slip(MASKING)
def closed_mask_added(scores, mask):
    """The masked scores only shrank by 1, which masks nothing: fill them with minus infinity."""
    return scores - (~mask).expand(scores.shape).to(scores)


@apply_mask.slip(MASKING)
def mask_ignored(scores, mask):
    """The scores came back as they were: the result of masked_fill is a new tensor, return it. If
    you do, an `except` of yours may hide what went wrong before."""
    return _closed(scores, torch.ones_like(mask), 0.0)


@apply_mask.slip(MASKING)
def only_the_mask(scores, mask):
    """This is 0 and minus infinity alone: the scores themselves are missing."""
    return _closed(scores * 0, mask, -torch.inf)


@apply_mask.slip(DIRECTION)
def mask_on_its_side(scores, mask):
    """The mask was transposed: its rows are queries, its columns are keys."""
    return _closed(scores, mask.mT, -torch.inf)


@apply_mask.slip(ROW)
def empty_rows_left_open(scores, mask):
    """You left a row unmasked although all of it is masked: it becomes minus infinity, too."""
    return _closed(scores, mask | ~mask.any(-1, keepdim=True), -torch.inf)


@apply_mask.slip(ROW)
def empty_rows_of_zeros(scores, mask):
    """A row of which all is masked became zeros: it becomes minus infinity like the others, and
    what to do with it is for the softmax to decide."""
    closed = _closed(scores, mask, -torch.inf)
    return closed.masked_fill((closed == -torch.inf).all(-1, keepdim=True), 0.0)


@apply_mask.slip(NEW)
def hands_back_the_scores(scores, mask):
    """Where nothing is masked you returned the scores themselves, so changing one changes the
    other: return a new tensor."""
    return scores if mask.all() else _closed(scores, mask, -torch.inf)


@apply_mask.slip(MASKING)
def mask_of_its_own(scores, mask):
    """You applied a causal mask of your own: only `mask` says where."""
    mask.expand(scores.shape)
    return _closed(scores, _causal(max(scores.shape[-2:]), scores.device)[
        : scores.shape[-2], : scores.shape[-1]
    ], -torch.inf)  # fmt: skip


@apply_mask.slip(FAIR)
def scores_of_zero_closed(scores, mask):
    """A score that happened to be 0 was masked, too: let the mask, not the product, decide where to
    fill."""
    product = scores * mask.expand(scores.shape)
    return product.masked_fill(product == 0, -torch.inf)


@apply_mask.slip(BROADCASTING)
def index_with_the_mask(scores, mask):
    """scores[~mask] needs a mask of the same shape as the scores: masked_fill and torch.where let
    it broadcast."""
    if len(mask.shape) > len(scores.shape):
        raise ValueError(f"{tuple(mask.shape)} and {tuple(scores.shape)}")
    closed = scores.clone()
    closed[~mask] = -torch.inf
    return closed


@apply_mask.slip(SMALLER)
def smaller_masks_refused(scores, mask):
    """You refuse a mask that is smaller than the scores: it fits if it broadcasts to them, as [q,
    k] and [batch, 1, k] do."""
    if mask.shape != scores.shape:
        raise ValueError(f"{tuple(mask.shape)} and {tuple(scores.shape)}")
    return _closed(scores, mask, -torch.inf)


@apply_mask.slip(SMALLER)
def masks_of_keys_refused(scores, mask):
    """You refuse a mask with one row for all queries: [batch, 1, k] fits, too: it broadcasts."""
    if mask.shape[-2:] != scores.shape[-2:]:
        raise ValueError(f"{tuple(mask.shape)} and {tuple(scores.shape)}")
    return _closed(scores, mask, -torch.inf)


@apply_mask.slip(BROADCASTING)
def dimension_put_in(scores, mask):
    """You added a dimension that the mask does not need: a mask [q, k] lines up with the scores by
    itself, from the right."""
    if len(mask.shape) < len(scores.shape):
        mask = mask.unsqueeze(-2)
    return _closed(scores, mask, -torch.inf)


# What the chapter's own differences show

FINDINGS = (
    Common(
        "mask_of_numbers",
        lambda found: found.kind == "dtype" and found.expected.dtype == torch.bool,
        "A mask is boolean, True where a query may attend. The numbers 0 and 1 are not a mask: "
        "compare, or use dtype=torch.bool.",
    ),
)


# What `grader show` draws


@draws(causal_mask)
def draw_causal_mask(sketch):
    """Who may look at whom: a row for each query; T may be looked at, a dot may not."""
    words = sketch.words or ["t_0", "t_1", "t_2"]
    sketch.row("" if sketch.words else "Document 002, three tokens.")
    mask = sketch.call("causal_mask", len(words))
    sketch.draw("causal mask", mask, words, words, scale="mask",
                printed=None if sketch.words else sketch.three().printed["mask"])  # fmt: skip


PADDED = [["write", "a", "poem"], ["not", "like"], ["poem"]]


def _padded(sketch):
    phrases = [sketch.words, *PADDED[1:]] if sketch.words else PADDED
    lengths = torch.tensor([len(words) for words in phrases])
    # one wider than the longest: a mask as wide as that, or turned, would look right
    return phrases, lengths, int(lengths.max()) + 1


@draws(padding_mask)
def draw_padding_mask(sketch):
    """Which places hold real tokens: a row for each sequence; T is real, a dot is padding."""
    phrases, lengths, n = _padded(sketch)
    sketch.row(f"Sequences of {', '.join(map(str, lengths.tolist()))} tokens, padded to {n}.")
    mask = sketch.call("padding_mask", lengths, n)
    rows = [" ".join(words) for words in phrases]
    sketch.draw("padding mask", mask, rows, [f"place {i}" for i in range(n)], scale="mask")


@draws(decoder_mask)
def draw_decoder_mask(sketch):
    """Looking back, but never at padding: one mask for each sequence, a row for each query."""
    phrases, lengths, n = _padded(sketch)
    sketch.row()
    mask = sketch.call("decoder_mask", lengths, n)
    for place, words in enumerate(phrases):
        labels = [*words, *["(pad)"] * (n - len(words))]
        sketch.draw(" ".join(words), mask.at(place), labels, labels, scale="mask")


@draws(apply_mask)
def draw_apply_mask(sketch):
    """Masked: the scores of keys that may not be looked at become minus infinity."""
    it = sketch.three()
    sketch.row(it.title)
    sketch.draw("scaled", it.scaled, it.words, it.words)
    sketch.draw("mask", it.mask, it.words, it.words, scale="mask", join="where",
                printed=it.printed.get("mask"))  # fmt: skip
    masked = sketch.call("apply_mask", it.scaled, it.mask)
    sketch.draw("masked", masked, it.words, it.words, join="->", printed=it.printed.get("masked"))
