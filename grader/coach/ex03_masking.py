"""The coach of chapter 3."""

from __future__ import annotations

import torch

from grader.coach import Task
from grader.pictures.drawings import draws

DIRECTION = "the chapter's text, Shapes: rows are queries, columns are keys"
BOOLEAN = "the chapter's text, The formula: a mask holds booleans"
ITSELF = "the chapter's text, Where the documents are loose: the present token, too"
PADDING = "the chapter's text, The formula: padding [b, j] is j < lengths[b]"
DECODER = "the chapter's text, Shapes: causal and padding, one page per sequence"
QUERIES = "the chapter's text, Shapes: mask[:, None, :] makes it [batch, 1, n]"
MINUS_INFINITY = "the chapter's text, The formula: exp(minus infinity) is exactly 0"
MASKING = 'document 002, "Key and Query Vectors": masked_fill with float("-inf")'

causal_mask = Task(
    "causal_mask",
    points=3,
    difficulty=2,
    minutes=5,
    hints=(
        "Row i belongs to the query at position i, column j to the key at position j. It is True "
        "where j <= i: the triangle below the diagonal, and the diagonal itself.",
        "Number the positions once. Laid along a row they are the keys, laid along a column they "
        "are the queries; a comparison of the two gives booleans for all pairs. Or cut the "
        "triangle out of a matrix that is True throughout.",
        "`torch.arange`, told the device, is [n]; with `[:, None]` it is a column, [n, 1]; "
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
    """Your queries look ahead instead of back: rows and columns are swapped, or triu stands
    where tril should."""
    return _keys(n, device) >= _queries(n, device)


@causal_mask.slip("the docstring: device")
def device_ignored(n, device=None):
    """`device` is not used, so the mask is made on the CPU: hand it on to torch.arange or ones."""
    return _causal(n, None)


@causal_mask.slip(BOOLEAN)
def turned_round(n, device=None):
    """True and False are swapped: True means "may attend", you marked what to keep out."""
    return _keys(n, device) > _queries(n, device)


@causal_mask.slip(ITSELF)
def not_itself(n, device=None):
    """The diagonal is False: a token may look at itself, so it is j <= i, not j < i."""
    return _keys(n, device) < _queries(n, device)


@causal_mask.slip(DIRECTION)
def one_step_ahead(n, device=None):
    """Each query sees one token of the future: the edge is one place too far to the right."""
    return _keys(n, device) <= _queries(n, device) + 1


@causal_mask.slip(DIRECTION)
def only_itself(n, device=None):
    """Only the diagonal is True: a token looks back as well, at every token before it."""
    return torch.eye(n, dtype=torch.bool, device=device)


@causal_mask.slip(DIRECTION)
def only_what_is_near(n, device=None):
    """Your queries see one token before them: they may look at all earlier tokens."""
    return _causal(n, device) & (_keys(n, device) >= _queries(n, device) - 1)


@causal_mask.slip(DIRECTION)
def everything_open(n, device=None):
    """It is True everywhere: the future, j > i, has to be False."""
    return torch.ones(n, n, dtype=torch.bool, device=device)


@causal_mask.slip(DIRECTION)
def mirrored(n, device=None):
    """The triangle leans the wrong way: the first query sees one key, the last one sees all."""
    return _causal(n, device).flip(0)


@causal_mask.slip(ITSELF)
def all_but_itself(n, device=None):
    """Only the diagonal is False: it is j <= i, which leaves out the future and keeps the token
    itself."""
    return _keys(n, device) != _queries(n, device)


@causal_mask.slip("the chapter's text, Where the documents are loose")
def ones_and_zeros(n, device=None):
    """The triangle is right, but it holds floats, 1.0 and 0.0: a mask is of booleans."""
    return torch.tril(torch.ones(n, n, device=device))


@causal_mask.slip(BOOLEAN)
def whole_numbers(n, device=None):
    """The triangle is right, but it holds the integers 1 and 0: a mask is of booleans."""
    return _causal(n, device).long()


@causal_mask.slip(BOOLEAN)
def ones_for_the_future(n, device=None):
    """These are floats, and their ones mark the future: a mask is boolean, True where it may
    look."""
    return torch.triu(torch.ones(n, n, device=device), diagonal=1)


@causal_mask.slip(BOOLEAN)
def ready_to_be_added(n, device=None):
    """This is 0 and minus infinity, made to be added to scores: here a mask is of booleans."""
    return torch.zeros(n, n, device=device).masked_fill(~_causal(n, device), -torch.inf)


@causal_mask.slip('document 002, "Key and Query Vectors": there n happens to be 3')
def always_three(n, device=None):
    """Your mask is 3 x 3 whatever n is: the 3 of document 002 is written out."""
    return _causal(3, device)


@causal_mask.slip(DIRECTION)
def with_a_batch(n, device=None):
    """A dimension too many: the mask is [n, n], it broadcasts to a batch by itself."""
    return _causal(n, device)[None]


@causal_mask.slip("the docstring: n")
def no_shape_of_nothing(n, device=None):
    """With n = 0 there are no rows to make a list of, and the shape is lost: it is [0, 0]."""
    return _causal(n, device) if n else torch.zeros(0, dtype=torch.bool, device=device)


padding_mask = Task(
    "padding_mask",
    points=3,
    difficulty=2,
    minutes=10,
    hints=(
        "Sequences are padded at their end, and positions count from 0. A sequence of length 2 has "
        "real tokens at the positions 0 and 1: wherever the position is smaller than the length.",
        "Compare every position with every length, at once. For that the positions have to lie "
        "along the rows and the lengths down the column. How many positions there are says n, not "
        "the longest length.",
        "`torch.arange(n, device=...)` is [n], `lengths[:, None]` is [batch, 1]: a comparison of "
        "the two is [batch, n], boolean. Take the device of `lengths`.",
    ),
)


def _real(lengths, n):
    return torch.arange(n, device=lengths.device).lt(lengths[:, None])


@padding_mask.slip(BOOLEAN)
def marks_the_padding(lengths, n):
    """True and False are swapped: True stands on the real tokens, you marked the padding."""
    return ~_real(lengths, n)


@padding_mask.slip(BOOLEAN)
def marks_what_lies_beyond(lengths, n):
    """The comparison is turned round, it is > where it should be <: True stands on the real
    tokens."""
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
    """One padding token too many is True: positions count from 0, so it is <, not <=."""
    return _real(lengths + 1, n)


@padding_mask.slip(PADDING)
def at_least_one_token(lengths, n):
    """A sequence of length 0 got a token: it has none, and its row is False throughout."""
    return _real(lengths.clamp_min(1), n)


@padding_mask.slip(PADDING)
def one_token_too_few(lengths, n):
    """The last real token is shut out: positions count from 0, so the last is lengths - 1."""
    return _real(lengths - 1, n)


@padding_mask.slip(PADDING)
def padded_at_the_start(lengths, n):
    """Your real tokens stand at the end of the row: they come first, and padding follows."""
    return _real(lengths, n).flip(-1)


@padding_mask.slip(PADDING)
def no_padding_at_all(lengths, n):
    """Every position is True: the lengths are not used."""
    return torch.ones(len(lengths), n, dtype=torch.bool, device=lengths.device)


@padding_mask.slip(PADDING)
def longest_for_all(lengths, n):
    """Every sequence is masked as if it were the longest: each row has a length of its own."""
    return _real(lengths.amax().expand(len(lengths)), n)


@padding_mask.slip(PADDING)
def full_rows_emptied(lengths, n):
    """A sequence without padding lost everything: a slice [-0:] is the whole row, not nothing of
    it."""
    return _real(lengths.masked_fill(lengths == n, 0), n)


@padding_mask.slip("exercises/RULES.md, lengths: uint8 is one of their dtypes")
def length_of_0_wraps(lengths, n):
    """lengths - 1 of a uint8 length of 0 is 255, not -1: compare with <, and nothing is taken
    off."""
    return torch.arange(n, device=lengths.device) <= lengths[:, None] - 1


@padding_mask.slip(PADDING)
def only_the_last_token(lengths, n):
    """Only the last real token is marked: every one before it is real, too."""
    return torch.arange(n, device=lengths.device) == lengths[:, None] - 1


@padding_mask.slip(PADDING)
def lengths_as_numbers_of_rows(lengths, n):
    """Each length was taken as the number of its row, too: loop over both, with enumerate."""
    mask = torch.zeros(len(lengths), n, dtype=torch.bool, device=lengths.device)
    for length in lengths.tolist():
        mask[length, :length] = True
    return mask


@padding_mask.slip("the chapter's text, Shapes: the mask is [batch, n]")
def as_wide_as_the_longest(lengths, n):
    """Your mask is as wide as the longest length: n says how many positions there are."""
    return _real(lengths, int(lengths.max()))


@padding_mask.slip("the chapter's text, Shapes: the mask is [batch, n]")
def positions_before_sequences(lengths, n):
    """This is [n, batch]: each row belongs to one sequence, each column to one position."""
    return _real(lengths, n).T


@padding_mask.slip("the chapter's text, Shapes: the mask is [batch, n]")
def lengths_along_the_row(lengths, n):
    """The lengths [batch] meet the positions [n] in the same dimension: one of them has to stand
    in a column, [batch, 1]."""
    return torch.arange(n, device=lengths.device) < lengths


@padding_mask.slip(QUERIES)
def room_for_queries(lengths, n):
    """A dimension too many: the mask is [batch, n], who uses it puts in one for the queries."""
    return _real(lengths, n)[:, None]


@padding_mask.slip(QUERIES)
def one_row_per_query(lengths, n):
    """This is [batch, n, n], with a row for each query: a padding mask has no queries."""
    return _real(lengths, n)[:, None].expand(-1, n, n)


@padding_mask.slip(BOOLEAN)
def floats(lengths, n):
    """The right places, but as floats, 1.0 and 0.0: a mask is of booleans."""
    return _real(lengths, n).float()


@padding_mask.slip(BOOLEAN)
def integers(lengths, n):
    """The right places, but as the integers 1 and 0: a mask is of booleans."""
    return _real(lengths, n).long()


decoder_mask = Task(
    "decoder_mask",
    points=4,
    difficulty=3,
    minutes=10,
    hints=(
        "True only where both masks of this chapter say so. Padding is about keys alone: "
        "who is a padded query does not matter here.",
        "The causal mask is [n, n], the same page for each sequence. The padding mask is [batch, "
        "n], the same row for each query. Give each the dimension that it lacks, then join them.",
        "With `[:, None, :]` the padding mask is [batch, 1, n]; `&` with [n, n] gives [batch, n, "
        "n]. The causal mask takes the device of `lengths`.",
    ),
)


@decoder_mask.slip(DECODER)
def padding_forgotten(lengths, n):
    """This is the causal mask alone: the padding is still a key."""
    return _causal(n, lengths.device).expand(len(lengths), n, n)


@decoder_mask.slip(DECODER)
def causal_mask_as_it_is(lengths, n):
    """This is the causal mask alone, [n, n]: the padding of each sequence has to be joined to it,
    [batch, n, n]."""
    return _causal(n, lengths.device)


@decoder_mask.slip(DECODER)
def first_key_always_open(lengths, n):
    """The first key stays True even where the length is 0: such a sequence has no real key."""
    return _causal(n, lengths.device) & _real(lengths.clamp_min(1), n)[:, None, :]


@decoder_mask.slip("exercises/RULES.md, lengths: uint8 is one of their dtypes")
def empty_sequence_wraps(lengths, n):
    """lengths - 1 of a uint8 length of 0 is 255, not -1: compare with <, and nothing is taken
    off."""
    real = torch.arange(n, device=lengths.device) <= lengths[:, None] - 1
    return _causal(n, lengths.device) & real[:, None]


@decoder_mask.slip(DECODER)
def future_forgotten(lengths, n):
    """This is the padding mask alone: the queries see the future."""
    return _real(lengths, n)[:, None].expand(-1, n, n)


@decoder_mask.slip(DECODER)
def padding_mask_as_it_is(lengths, n):
    """This is the padding mask alone, [batch, 1, n]: the causal mask has to be joined to it,
    [batch, n, n]."""
    return _real(lengths, n)[:, None]


@decoder_mask.slip(DECODER)
def either_will_do(lengths, n):
    """Open where one of the two masks says so: both have to, so it is & and not |."""
    return _causal(n, lengths.device) | _real(lengths, n)[:, None]


@decoder_mask.slip(DECODER)
def one_but_not_both(lengths, n):
    """Open where just one of the two masks says so: both have to, so it is & and not ^."""
    return _causal(n, lengths.device) ^ _real(lengths, n)[:, None]


@decoder_mask.slip("the chapter's text, Shapes: not emptied")
def padded_queries_emptied(lengths, n):
    """You emptied the rows of the padded queries: padding is masked as a key, in the last
    dimension, and the row of a padded query stays."""
    return _causal(n, lengths.device) & _real(lengths, n)[:, :, None]


@decoder_mask.slip(QUERIES)
def no_room_for_queries(lengths, n):
    """The padding mask [batch, n] was joined without a dimension for the queries: torch lines
    its sequences up with them."""
    return _causal(n, lengths.device) & _real(lengths, n)


@decoder_mask.slip("the chapter's text, Shapes: not emptied")
def padded_queries_see_themselves(lengths, n):
    """Your padded queries see themselves: padding is masked as a key for everyone."""
    own = torch.eye(n, dtype=torch.bool, device=lengths.device)
    return own | _causal(n, lengths.device) & _real(lengths, n)[:, None]


@decoder_mask.slip("the chapter's text, Shapes: not emptied")
def padded_queries_see_all(lengths, n):
    """Your padded queries see everything: their rows follow the same two rules as all others."""
    real = _real(lengths, n)
    return _causal(n, lengths.device) & real[:, None] | ~real[:, :, None]


@decoder_mask.slip("the chapter's text, Shapes: which keys are real")
def nothing_to_see_sees_all(lengths, n):
    """A row without a True was made True throughout: it stays False, chapter 4 knows what to
    do with it."""
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
    """The padding is right, but a token may look at itself, so it is j <= i, not j < i."""
    strictly = _keys(n, lengths.device) < _queries(n, lengths.device)
    return strictly & _real(lengths, n)[:, None]


@decoder_mask.slip(PADDING)
def only_the_padding_seen(lengths, n):
    """It is causal, but it masks the real tokens, and the padding may be looked at."""
    return _causal(n, lengths.device) & ~_real(lengths, n)[:, None]


@decoder_mask.slip(PADDING)
def one_padding_token_open(lengths, n):
    """It is causal, but one padding token too many is True: j < lengths[b], not <=."""
    return _causal(n, lengths.device) & _real(lengths + 1, n)[:, None]


@decoder_mask.slip(PADDING)
def last_real_token_closed(lengths, n):
    """It is causal, but the last real token is shut out: j < lengths[b], counted from 0."""
    return _causal(n, lengths.device) & _real(lengths - 1, n)[:, None]


@decoder_mask.slip(DIRECTION)
def pages_turned(lengths, n):
    """Each page is turned on its side: rows are queries, columns are keys."""
    return (_causal(n, lengths.device) & _real(lengths, n)[:, None]).mT


@decoder_mask.slip("the chapter's text, Shapes: causal and padding, one page per sequence")
def one_page_for_all(lengths, n):
    """All sequences are cut at the shortest length: after `expand` they share one memory, and what
    is written for one is written for all. Join two masks with &, or use `repeat`."""
    longest = _real(lengths.amin().expand(len(lengths)), n)
    return _causal(n, lengths.device) & longest[:, None]


@decoder_mask.slip(BOOLEAN)
def product_of_floats(lengths, n):
    """The right entries, but as floats, 1.0 and 0.0: join booleans with &, not with *."""
    return _causal(n, lengths.device).float() * _real(lengths, n)[:, None]


@decoder_mask.slip(BOOLEAN)
def product_of_integers(lengths, n):
    """The right entries, but as the integers 1 and 0: join booleans with &, not with *."""
    return _causal(n, lengths.device).long() * _real(lengths, n)[:, None]


@decoder_mask.slip("the chapter's text, Shapes: decoder [batch, n, n]")
def room_for_heads(lengths, n):
    """A dimension too many, as heads would need it: here the mask is [batch, n, n]."""
    return (_causal(n, lengths.device) & _real(lengths, n)[:, None])[:, None]


apply_mask = Task(
    "apply_mask",
    points=4,
    difficulty=3,
    minutes=15,
    hints=(
        "The scores become powers of e later on, and exp of minus infinity is exactly 0: no other "
        "number masks a score in every dtype.",
        "Replace the scores where the mask is False, in a new tensor; nothing has to be added or "
        "multiplied. Before that, make sure that the mask fits: it may grow to the scores, the "
        "scores must not grow to it.",
        "`expand` of the mask, to the shape of the scores, gives [*batch, q, k] or a "
        "RuntimeError, which you turn into a ValueError with both shapes. Then `masked_fill` (it "
        "fills where its mask is True) or `torch.where`.",
    ),
)


def _closed(scores, mask, fill):
    return scores.masked_fill(~mask.expand(scores.shape), fill)


@apply_mask.slip(MASKING)
def filled_where_allowed(scores, mask):
    """You filled where the mask is True, which means "may attend": fill where it is False."""
    return _closed(scores, ~mask, -torch.inf)


@apply_mask.slip(MINUS_INFINITY)
def closed_with_zero(scores, mask):
    """Masked scores became 0, by filling or by multiplying: 0 is a fair score, and exp(0) is 1."""
    return _closed(scores, mask, 0.0)


@apply_mask.slip(MINUS_INFINITY)
def closed_with_1e9(scores, mask):
    """Filled with -1e9: that is a score like any other, and float16 cannot hold it. Use minus
    infinity."""
    return _closed(scores, mask, -1e9)


@apply_mask.slip(MINUS_INFINITY)
def closed_with_1e4(scores, mask):
    """Filled with -10000: that is a score like any other, and where all keys are masked they
    share the weight. Use minus infinity."""
    return _closed(scores, mask, -1e4)


@apply_mask.slip(MINUS_INFINITY)
def closed_with_the_smallest_number(scores, mask):
    """Filled with the smallest number of the dtype: where all keys are masked it frees them
    all. Use minus infinity."""
    return _closed(scores, mask, torch.finfo(scores.dtype).min)


@apply_mask.slip(MINUS_INFINITY)
def closed_with_plus_infinity(scores, mask):
    """Filled with plus infinity: such a key would get all the weight. It takes a minus."""
    return _closed(scores, mask, torch.inf)


@apply_mask.slip(MINUS_INFINITY)
def closed_with_nan(scores, mask):
    """Masked scores became NaN, and NaN spreads to the whole row: fill with minus infinity."""
    return _closed(scores, mask, torch.nan)


@apply_mask.slip(MASKING)
def infinity_times_zero(scores, mask):
    """The scores that stay became NaN: 0 * infinity has no value. Fill the masked scores, do not
    multiply."""
    return scores + torch.where(mask.expand(scores.shape), torch.nan, -torch.inf).to(scores)


@apply_mask.slip(MASKING)
def mask_added(scores, mask):
    """You added the mask itself: True counts as 1, so the scores that stay gained 1 and nothing
    is masked."""
    return scores + mask.expand(scores.shape)


@apply_mask.slip(MASKING)
def closed_mask_added(scores, mask):
    """The masked scores only lost 1, and that masks nothing: fill them with minus infinity."""
    return scores - (~mask).expand(scores.shape).to(scores)


@apply_mask.slip(MASKING)
def mask_ignored(scores, mask):
    """The scores came back as they were: the result of masked_fill is a new tensor, return it."""
    return _closed(scores, torch.ones_like(mask), 0.0)


@apply_mask.slip(MASKING)
def only_the_mask(scores, mask):
    """This is 0 and minus infinity alone: the scores themselves are missing."""
    return _closed(scores * 0, mask, -torch.inf)


@apply_mask.slip(DIRECTION)
def mask_on_its_side(scores, mask):
    """The mask was turned on its side: its rows are queries, its columns are keys."""
    return _closed(scores, mask.mT, -torch.inf)


@apply_mask.slip('the docstring: "A row may be masked throughout"')
def empty_rows_left_open(scores, mask):
    """A row that is masked throughout was left open: here it becomes minus infinity, too."""
    return _closed(scores, mask | ~mask.any(-1, keepdim=True), -torch.inf)


@apply_mask.slip('the docstring: "a new tensor"')
def hands_back_the_scores(scores, mask):
    """Where nothing is masked the scores themselves came back: whoever changes one then changes the
    other. It is to be a new tensor."""
    return scores if mask.all() else _closed(scores, mask, -torch.inf)


@apply_mask.slip("the chapter's text, The formula: the mask says where")
def mask_of_its_own(scores, mask):
    """You applied a causal mask of your own: only `mask` says where."""
    mask.expand(scores.shape)
    return _closed(scores, _causal(max(scores.shape[-2:]), scores.device)[
        : scores.shape[-2], : scores.shape[-1]
    ], -torch.inf)  # fmt: skip


@apply_mask.slip("the chapter's text, The formula: a score of 0 is a fair score")
def scores_of_zero_closed(scores, mask):
    """A score that happened to be 0 was masked, too: ask the mask, not the product, where to
    fill."""
    product = scores * mask.expand(scores.shape)
    return product.masked_fill(product == 0, -torch.inf)


@apply_mask.slip('the docstring: "The mask may be smaller than the scores"')
def index_with_the_mask(scores, mask):
    """scores[~mask] needs a mask as large as the scores: masked_fill and torch.where let it
    broadcast."""
    if len(mask.shape) > len(scores.shape):
        raise ValueError(f"{tuple(mask.shape)} and {tuple(scores.shape)}")
    closed = scores.clone()
    closed[~mask] = -torch.inf
    return closed


@apply_mask.slip('the docstring: "The mask may be smaller than the scores"')
def smaller_masks_refused(scores, mask):
    """You refuse a mask that is smaller than the scores: it fits if it can be stretched to them,
    as [q, k] and [batch, 1, k] can."""
    if mask.shape != scores.shape:
        raise ValueError(f"{tuple(mask.shape)} and {tuple(scores.shape)}")
    return _closed(scores, mask, -torch.inf)


@apply_mask.slip('the docstring: "[batch, 1, k] every query"')
def masks_of_keys_refused(scores, mask):
    """You refuse a mask with one row for all queries: [batch, 1, k] fits, too, it is stretched."""
    if mask.shape[-2:] != scores.shape[-2:]:
        raise ValueError(f"{tuple(mask.shape)} and {tuple(scores.shape)}")
    return _closed(scores, mask, -torch.inf)


@apply_mask.slip('the docstring: "[q, k] serves every sequence of a batch"')
def dimension_put_in(scores, mask):
    """A dimension was put into the mask that it does not lack: a mask [q, k] lines up with the
    scores from the right, by itself."""
    if len(mask.shape) < len(scores.shape):
        mask = mask.unsqueeze(-2)
    return _closed(scores, mask, -torch.inf)


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
    """Masked: the scores that may not be looked at become minus infinity."""
    it = sketch.three()
    sketch.row(it.title)
    sketch.draw("scaled", it.scaled, it.words, it.words)
    sketch.draw("mask", it.mask, it.words, it.words, scale="mask", join="where",
                printed=it.printed.get("mask"))  # fmt: skip
    masked = sketch.call("apply_mask", it.scaled, it.mask)
    sketch.draw("masked", masked, it.words, it.words, join="->", printed=it.printed.get("masked"))
