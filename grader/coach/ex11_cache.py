"""The coach of chapter 11."""

from __future__ import annotations

import torch
from torch import nn

from grader.coach import UNWRITTEN, Task, card
from grader.coach.common import Common
from grader.coach.rows_so_far import RowsSoFar
from grader.pictures.drawings import draws
from grader.suite.costs import NAMES as COSTS

TRACK = "beyond"

KEPT = 'chapter 11, The formula: "Of them only the keys and the values are needed."'
FORMULA = 'chapter 11, The formula: "new query i sees key j    where  j <= n + i"'
HANDED_OVER = 'the stub of attend_with_cache: "what each new word hands over [*batch, m, d_v]"'
PIECES = 'chapter 11, The formula: "In which pieces a text comes must make no difference"'
GO_ON = 'chapter 11, The formula: "Their positions go on from n, the length of the cache"'
TURNED_ONCE = 'chapter 11, The formula: "Keys are turned once, by their own positions"'
ROWS = 'chapter 11, Shapes: "A dot is a row that nobody has written yet."'
ONCE = 'chapter 11, Where the rows lie: "So this cache makes its memory once"'
OBVIOUS = 'chapter 11, Where the rows lie: "The obvious cache is torch.cat([keys, key], -2)"'
SLICE = 'chapter 11, Where the rows lie: "What comes back are the first rows of the buffer"'
ONE_ROW = 'chapter 11, Where the rows lie: "A mask has the same trap."'
FILLED = (
    'chapter 11, What papers and libraries disagree on: "Here what comes back is what is filled, '
    'and no more."'
)
CORNER = 'chapter 11, What papers and libraries disagree on: "Which corner."'
ANEW = 'chapter 11, What papers and libraries disagree on: "Where positions begin."'
BEFORE_IT = 'chapter 11, What papers and libraries disagree on: "Before the turn or after it."'
THROWN = 'chapter 11, What papers and libraries disagree on: "What a window throws away."'
HOLDS = 'the stub of KeyValueCache: "The attribute `length` says how many rows it holds"'
AT_FIRST = 'the stub of KeyValueCache: "The buffers are made at the first update"'
SHARE = 'the stub of KeyValueCache: "each has buffers of its own"'
NO_GRADIENTS = 'the stub of KeyValueCache: "No gradients go through a cache."'
NO_ROWS = 'the stub of KeyValueCache: "With 0 rows, m = 0, nothing is added"'
ALL_SO_FAR = 'the stub of KeyValueCache: "All keys so far and all values so far, a tuple"'
STAY = 'the stub of KeyValueCache: "stay as they are when later rows come"'
DIFFERS = 'the stub of KeyValueCache: "differs from the first update in batch, width, dtype"'
NO_ROOM = 'the stub of KeyValueCache: "there is no room for m more rows"'
FORGET = 'the stub of KeyValueCache: "the next update is a first one"'
ADDED = 'the stub of attend_with_cache: "The keys and values of the new ones are added to it."'
SEES = 'the stub of attend_with_cache: "a word sees itself and what came before it"'
LEFT = 'the stub of attend_with_cache: "the cache is left as it was then"'
LAYERS = 'the stub of CachedAttention: "The module has four layers and no other weights"'
AS_MANY = 'the stub of CachedAttention: "None: as many as n_heads."'
ITSELF = 'the stub of CachedAttention: "the module keeps nothing itself"'
TURNS = 'the stub of CachedAttention: "`rotate_pairs` has turned queries and keys of each head"'
OUTPUT = 'the stub of CachedAttention: "w_o: the output projection"'
COUNTED = 'chapter 10, The formula: "its own counted"'
NEIGHBOURS = 'chapter 9, Which heads share: "Papers and libraries mean neighbours"'
MIXING = 'chapter 5, The formula: "attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V"'
KEYS = (
    'chapter 4, The formula: "The softmax runs over the keys, so each query has a row of '
    'weights of its own."'
)
SCALE = 'chapter 2, The formula: "scaled = Q K^T / sqrt(d_k)"'
ANY_BATCH, DEVICE = card("batch"), card("device")

key_value_cache = Task(
    "KeyValueCache",
    points=4,
    difficulty=3,
    minutes=20,
    hints=(
        "What is known when the cache is made is only how many rows it may hold. How wide they "
        "are, and what batch there is, the first update tells.",
        "Keep the length and two buffers, none at first. An update checks everything, makes the "
        "buffers if there are none, writes the new rows behind the old ones, moves the length, and "
        "gives back the part that is filled.",
        "`key.new_empty(*key.shape[:-2], capacity, key.shape[-1])` has the dtype and the device of "
        "`key`; `buffer[..., n : n + m, :] = key.detach()` writes m rows; "
        "`buffer[..., : n + m, :]` is a view of all. `reset` sets the length to 0 and takes the "
        "buffers away.",
    ),
)


class _Cache:
    """Right; each slip overrides one step."""

    def __init__(self, capacity):
        if capacity < 1:
            raise ValueError(f"a capacity of {capacity}")
        self.capacity = capacity
        self.reset()

    def reset(self):
        self.length, self.buffers = 0, None

    def fits(self, key, value):
        if min(key.dim(), value.dim()) < 2 or key.shape[:-1] != value.shape[:-1]:
            raise ValueError(f"do not fit: {tuple(key.shape)} and {tuple(value.shape)}")

    def has_room(self, m):
        if self.length + m > self.capacity:
            raise ValueError(f"{self.length} rows and {m} more for {self.capacity}")

    def like_the_first(self, buffer, rows):
        shapes = (*buffer.shape[:-2], rows.shape[-2], buffer.shape[-1]), tuple(rows.shape)
        kinds = (buffer.dtype, buffer.device), (rows.dtype, rows.device)
        if shapes[0] != shapes[1] or kinds[0] != kinds[1]:
            raise ValueError(f"not like the first: {shapes} {kinds}")

    def make(self, rows):
        return rows.new_empty(*rows.shape[:-2], self.capacity, rows.shape[-1])

    def write(self, buffer, rows):
        buffer[..., self.length : self.length + rows.shape[-2], :] = rows.detach()

    def counted(self, m):
        return self.length + m

    def gives(self, key, value):
        return tuple(buffer[..., : self.length, :] for buffer in self.buffers)

    def update(self, key, value):
        self.fits(key, value)
        self.has_room(key.shape[-2])
        if self.buffers is None:
            self.buffers = [self.make(key), self.make(value)]
        for buffer, rows in zip(self.buffers, (key, value), strict=True):
            self.like_the_first(buffer, rows)
        for buffer, rows in zip(self.buffers, (key, value), strict=True):
            self.write(buffer, rows)
        self.length = self.counted(key.shape[-2])
        return self.gives(key, value)


@key_value_cache.slip(ALL_SO_FAR)
class new_rows_only(_Cache):
    """The rows that just came are given back: all so far are asked for, the old ones first."""

    def gives(self, key, value):
        return key, value


@key_value_cache.slip(FILLED)
class whole_buffers_given_back(_Cache):
    """The whole buffer comes back, also the rows that nobody has written yet, as from the
    StaticCache of transformers: give back the part that is filled, `buffer[..., :length, :]`."""

    def make(self, rows):
        return torch.full_like(super().make(rows), UNWRITTEN)

    def gives(self, key, value):
        return tuple(self.buffers)


@key_value_cache.slip(ROWS)
class written_at_the_start(_Cache):
    """Each piece is written over the first rows: the new rows go behind the old ones, to
    `length` and what follows."""

    def make(self, rows):
        return torch.full_like(super().make(rows), UNWRITTEN)

    def write(self, buffer, rows):
        buffer[..., : rows.shape[-2], :] = rows.detach()


@key_value_cache.slip(ROWS)
class filled_from_the_end(_Cache):
    """The buffer is filled from its end, so that what came last stands first: the new rows stand
    last."""

    def write(self, buffer, rows):
        end = self.capacity - self.length
        buffer[..., end - rows.shape[-2] : end, :] = rows.detach()

    def gives(self, key, value):
        return tuple(buffer[..., self.capacity - self.length :, :] for buffer in self.buffers)


@key_value_cache.slip(STAY)
class rows_that_move(_Cache):
    """The values are right when they come, but the rows in the buffer move with each update, and
    what came back before changes: write the new rows behind the old ones, and leave these."""

    def write(self, buffer, rows):
        m = rows.shape[-2]
        buffer.copy_(torch.cat([buffer[..., m:, :], rows.detach()], -2))

    def gives(self, key, value):
        return tuple(buffer[..., self.capacity - self.length :, :] for buffer in self.buffers)


@key_value_cache.slip(ALL_SO_FAR)
class keys_and_values_swapped(_Cache):
    """Values and keys come back in the wrong order: the keys first."""

    def gives(self, key, value):
        return super().gives(key, value)[::-1]


@key_value_cache.slip(ALL_SO_FAR)
class keys_given_twice(_Cache):
    """The keys come back twice, and the values not at all."""

    def gives(self, key, value):
        return super().gives(key, value)[:1] * 2


@key_value_cache.slip(ALL_SO_FAR)
class keys_and_values_in_one(_Cache):
    """Keys and values come back side by side, in one tensor: a tuple of two is asked for."""

    def gives(self, key, value):
        return torch.cat(super().gives(key, value), -1)


@key_value_cache.slip(HOLDS)
class updates_counted(_Cache):
    """`length` counts the updates: it counts rows, and a piece may have several."""

    def make(self, rows):
        return torch.zeros_like(super().make(rows))

    def counted(self, m):
        return self.length + 1


@key_value_cache.slip(HOLDS)
class last_piece_counted(_Cache):
    """`length` is the size of the last piece: add it to what there was."""

    def make(self, rows):
        return torch.zeros_like(super().make(rows))

    def counted(self, m):
        return m


@key_value_cache.slip(HOLDS)
class length_as_a_tensor(_Cache):
    """`length` is right, but a tensor: an int is asked for."""

    def counted(self, m):
        return torch.tensor(int(self.length) + m)


@key_value_cache.slip(HOLDS)
class length_of_the_capacity(_Cache):
    """`length` says how many rows there is room for: it says how many are filled, 0 at first."""

    def reset(self):
        self.filled, self.buffers = 0, None

    @property
    def length(self):
        return self.capacity

    def has_room(self, m):
        if self.filled + m > self.capacity:
            raise ValueError(f"{self.filled} rows and {m} more for {self.capacity}")

    def write(self, buffer, rows):
        buffer[..., self.filled : self.filled + rows.shape[-2], :] = rows.detach()

    def gives(self, key, value):
        return tuple(buffer[..., : self.filled, :] for buffer in self.buffers)

    def update(self, key, value):
        self.fits(key, value)
        self.has_room(key.shape[-2])
        if self.buffers is None:
            self.buffers = [self.make(key), self.make(value)]
        for buffer, rows in zip(self.buffers, (key, value), strict=True):
            self.like_the_first(buffer, rows)
        for buffer, rows in zip(self.buffers, (key, value), strict=True):
            self.write(buffer, rows)
        self.filled += key.shape[-2]
        return self.gives(key, value)


class _Oldest(_Cache):
    def has_room(self, m):
        if m > self.capacity:
            super().has_room(m)


@key_value_cache.slip(NO_ROOM)
class oldest_thrown_away(_Oldest):
    """Where there is no more room, the oldest rows are thrown away, as by a buffer that rolls: here
    it is refused."""

    def update(self, key, value):
        more = self.length + key.shape[-2] - self.capacity
        if self.buffers is not None and more > 0:
            self.fits(key, value)
            for buffer, rows in zip(self.buffers, (key, value), strict=True):
                self.like_the_first(buffer, rows)
                buffer[..., : self.length - more, :] = buffer[..., more : self.length, :].clone()
            self.length -= more
        return super().update(key, value)


@key_value_cache.slip(NO_ROOM)
class buffers_that_grow(_Cache):
    """Where there is no more room, your buffers grow: `capacity` is the most that is ever kept.
    Refuse it, and name both numbers."""

    def has_room(self, m):
        pass

    def update(self, key, value):
        self.fits(key, value)
        more = self.length + key.shape[-2] - self.capacity
        if more > 0:
            self.capacity += more
            if self.buffers is not None:
                self.buffers = [torch.cat([one, self.make(one)[..., :more, :]], -2)
                                for one in self.buffers]  # fmt: skip
        return super().update(key, value)


@key_value_cache.slip(NO_ROOM)
class last_row_left_free(_Cache):
    """You refuse to fill the cache to its last row: `capacity` rows fit, one more does not."""

    def has_room(self, m):
        super().has_room(m + 1 if m else 0)


@key_value_cache.slip(NO_ROOM)
class rest_cut_off(_Cache):
    """Where not all new rows fit, those that do are taken, in silence: refuse all of them."""

    def update(self, key, value):
        m = self.capacity - self.length
        return super().update(key[..., :m, :], value[..., :m, :])


@key_value_cache.slip(NO_ROOM)
class made_then_refused(_Cache):
    """The buffers are made before you see whether there is room, so a first update that is refused
    has fixed batch and widths: look first, and make them afterwards."""

    def update(self, key, value):
        self.fits(key, value)
        if self.buffers is None:
            self.buffers = [self.make(key), self.make(value)]
        return super().update(key, value)


@key_value_cache.slip(NO_ROOM)
class counted_then_refused(_Cache):
    """What is refused has moved `length` already: check first, and change afterwards."""

    def has_room(self, m):
        length = self.length
        self.length += m
        if self.length > self.capacity:
            raise ValueError(f"{length} rows and {m} more for {self.capacity}")
        self.length = length


@key_value_cache.slip(DIFFERS)
class keys_written_values_refused(_Cache):
    """The keys are written, or counted, before the values are looked at: check both, and change
    afterwards."""

    def update(self, key, value):
        self.fits(key, value)
        self.has_room(key.shape[-2])
        if self.buffers is None:
            self.buffers = [self.make(key), self.make(value)]
        begin, self.length = self.length, self.counted(key.shape[-2])
        for buffer, rows in zip(self.buffers, (key, value), strict=True):
            self.like_the_first(buffer, rows)
            buffer[..., begin : self.length, :] = rows.detach()
        return self.gives(key, value)


@key_value_cache.slip(DIFFERS)
class other_dtypes_taken(_Cache):
    """Rows of another dtype are taken, and turned into that of the buffer in silence: refuse
    them."""

    def like_the_first(self, buffer, rows):
        super().like_the_first(buffer, rows.to(buffer.dtype))


@key_value_cache.slip(DIFFERS)
class dtype_of_the_keys_alone(_Cache):
    """Only the keys are asked for their dtype, and values of another one are turned in silence:
    refuse them, too."""

    def like_the_first(self, buffer, rows):
        of_keys = buffer is self.buffers[0]
        super().like_the_first(buffer, rows if of_keys else rows.to(buffer.dtype))


@key_value_cache.slip(DIFFERS)
class repeated_to_fit(_Cache):
    """A batch of 1, or rows of width 1, are repeated until they fill the buffer, as assigning to a
    slice does it in silence: compare the shapes, and refuse them."""

    def like_the_first(self, buffer, rows):
        wanted = (*buffer.shape[:-2], rows.shape[-2], buffer.shape[-1])
        try:
            rows = rows.expand(wanted)
        except RuntimeError as problem:
            raise ValueError(f"{tuple(rows.shape)} and {wanted}") from problem
        super().like_the_first(buffer, rows)


@key_value_cache.slip(DIFFERS)
class numbers_repeated_to_fit(_Cache):
    """One key serves for several values, or one value for several keys: as many of both are asked
    for. Compare the shapes, all but the width."""

    def fits(self, key, value):
        batches = key.shape[:-2] != value.shape[:-2] or min(key.dim(), value.dim()) < 2
        if batches or (key.shape[-2] != value.shape[-2] and value.shape[-2] != 1):
            raise ValueError(f"do not fit: {tuple(key.shape)} and {tuple(value.shape)}")

    def like_the_first(self, buffer, rows):
        super().like_the_first(buffer, rows)

    def write(self, buffer, rows):
        end = self.length + self.m
        buffer[..., self.length : end, :] = rows.detach()

    def update(self, key, value):
        self.m = key.shape[-2] if key.dim() > 1 else 0
        return super().update(key, value)


@key_value_cache.slip(AT_FIRST)
class buffers_of_float32(_Cache):
    """Your buffers have the default dtype: they have that of the first rows. Use new_empty of the
    rows, or pass their dtype."""

    def make(self, rows):
        return torch.empty(*rows.shape[:-2], self.capacity, rows.shape[-1], device=rows.device)

    def like_the_first(self, buffer, rows):
        self.dtypes = getattr(self, "dtypes", None) or rows.dtype
        if rows.dtype != self.dtypes:
            raise ValueError(f"{rows.dtype} after {self.dtypes}")
        super().like_the_first(buffer, rows.to(buffer.dtype))

    def reset(self):
        super().reset()
        self.dtypes = None


@key_value_cache.slip(DEVICE)
class buffers_on_the_cpu(_Cache):
    """Your buffers are on the CPU, wherever the rows are: make them with new_empty of the rows, or
    pass device=."""

    def make(self, rows):
        return torch.empty(*rows.shape[:-2], self.capacity, rows.shape[-1], dtype=rows.dtype)

    def like_the_first(self, buffer, rows):
        super().like_the_first(buffer, rows.to(buffer.device))


@key_value_cache.slip(ALL_SO_FAR)
class values_as_wide_as_keys(_Cache):
    """The buffer of the values is as wide as that of the keys: values have a width of their own."""

    def update(self, key, value):
        if self.buffers is None and key.shape[-1:] != value.shape[-1:]:
            self.fits(key, value)
            self.has_room(key.shape[-2])
            self.make(key)[..., : value.shape[-2], :] = value.detach()
        return super().update(key, value)


@key_value_cache.slip(ANY_BATCH)
class one_batch_unpacked(_Cache):
    """`batch, m, d = key.shape` works for exactly three dimensions, but there may be no batch, or
    several: write `*batch, m, d = key.shape`."""

    def update(self, key, value):
        _batch, _m, _d = key.shape
        return super().update(key, value)


@key_value_cache.slip(ANY_BATCH)
class rows_along_dimension_one(_Cache):
    """The rows are written and cut along dimension 1, which is theirs with exactly one batch
    dimension. Count from the end: `buffer[..., n : n + m, :]`."""

    def write(self, buffer, rows):
        buffer[:, self.length : self.length + rows.shape[-2]] = rows.detach()

    def gives(self, key, value):
        return tuple(buffer[:, : self.length] for buffer in self.buffers)


class _Shared(_Cache):
    rows = None

    def reset(self):
        self.length = 0
        type(self).rows = None

    @property
    def buffers(self):
        return type(self).rows

    @buffers.setter
    def buffers(self, made):
        type(self).rows = made


@key_value_cache.slip(SHARE)
class buffers_of_the_class(_Shared):
    """Your buffers belong to the class, so all caches share them: set them with `self.` in
    __init__."""

    def update(self, key, value):
        if self.length == 0:
            type(self).rows = None
        return super().update(key, value)


@key_value_cache.slip(NO_GRADIENTS)
class rows_with_their_gradients(_Cache):
    """The rows are kept with all that they were worked out from, so gradients go through the cache:
    write rows.detach(), or write them under torch.no_grad()."""

    def write(self, buffer, rows):
        buffer[..., self.length : self.length + rows.shape[-2], :] = rows


@key_value_cache.slip(FORGET)
class reset_keeps_the_buffers(_Cache):
    """`reset` sets the length to 0 and keeps the buffers, so other rows are refused afterwards:
    take the buffers away as well."""

    def reset(self):
        self.length = 0
        self.buffers = getattr(self, "buffers", None)


@key_value_cache.slip(FORGET)
class reset_keeps_the_length(_Cache):
    """`reset` takes the buffers away and keeps the length: set it to 0 as well."""

    def reset(self):
        self.length, self.buffers = getattr(self, "length", 0), None


@key_value_cache.slip(NO_ROWS)
class nothing_for_no_rows(_Cache):
    """An update with 0 rows gives nothing back: all rows so far come back then, too."""

    def gives(self, key, value):
        return super().gives(key, value) if key.shape[-2] else (key, value)


@key_value_cache.slip(NO_ROWS)
class no_rows_refused(_Cache):
    """You refuse an update with 0 rows: nothing is added then, and all rows so far come back."""

    def fits(self, key, value):
        super().fits(key, value)
        if key.shape[-2] == 0:
            raise ValueError(f"no rows: {tuple(key.shape)}")


attend_with_cache = Task(
    "attend_with_cache",
    points=4,
    difficulty=3,
    minutes=15,
    hints=(
        "The cache gives back all keys and values; the queries are those of the new words alone.",
        "First update the cache, so that the new words see themselves and each other. Then it is "
        "chapter 5's attention, with a mask in which the queries are the last of the keys.",
        "`update` gives [*batch, n, d_k] and [*batch, n, d_v]; `causal_mask_at(m, n, device=...)` "
        "of chapter 10 is the mask [m, n].",
    ),
)


def _queries_fit(query, key, value, cache):
    if query.shape != key.shape:
        raise ValueError(f"do not fit: {tuple(query.shape)} and {tuple(key.shape)}")


_attend_slip = attend_with_cache.refusing(_queries_fit)


def _seen(query, key, sees):
    """Make a mask [m, n] of what the i-th new query, at position p, may see of the keys j."""
    m, n = query.shape[-2], key.shape[-2]
    j = torch.arange(n, device=query.device)
    return sees(j, torch.arange(n - m, n, device=query.device)[:, None])


def _mix(query, key, value, sees=lambda j, p: j <= p, **how):
    return _under(_seen(query, key, sees), query, key, value, **how)


def _under(mask, query, key, value, *, scale=None, dim=-1):
    """Mix under a mask, which may not fit."""
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    closed = ~mask.to(query.device)
    return scores.masked_fill(closed, -torch.inf).softmax(dim).nan_to_num(0) @ value


@_attend_slip(KEPT)
def piece_attends_to_itself(query, key, value, cache):
    """The new words attend to each other only: use the keys and values that the update gives back,
    and a mask that leaves what came before the piece open."""
    cache.update(key, value)
    return _mix(query, key, value)


@_attend_slip(CORNER)
def mask_of_the_piece_alone(query, key, value, cache):
    """Your mask is made for the new words alone, [m, m]: it has a column for each key that the
    update gives back, [m, n]."""
    m = key.shape[-2]
    return _under(torch.ones(m, m).tril().bool(), query, *cache.update(key, value))


@_attend_slip(CORNER)
def piece_counted_twice(query, key, value, cache):
    """The new words are counted twice: after the update the length has them already, so your mask
    has m columns too many."""
    keys, values = cache.update(key, value)
    m, n = key.shape[-2], keys.shape[-2]
    return _under(torch.ones(m, n + m).tril(n).bool(), query, keys, values)


@_attend_slip(FORMULA)
def piece_without_a_mask(query, key, value, cache):
    """The words of a piece see those that come after them: there is no mask. For a single word that
    is right, and for a piece it is not."""
    keys, values = cache.update(key, value)
    return _mix(query, keys, values, lambda j, p: j >= 0 * p)


@_attend_slip(FORMULA)
def first_piece_masked_alone(query, key, value, cache):
    """Only the first piece has a mask: in a later piece of several words, too, no word may see
    those after it. causal_mask_at of chapter 10 is right for all pieces."""
    first = cache.length == 0
    rows = cache.update(key, value)
    return _mix(query, *rows, (lambda j, p: j <= p) if first else (lambda j, p: j >= 0))


@_attend_slip(CORNER)
def masked_at_the_top_left(query, key, value, cache):
    """Your mask is aligned at the top left, as is_causal=True of PyTorch: new query 0 sees key 0
    alone. The new queries are the last positions, so query i sees key j where j <= n + i."""
    keys, values = cache.update(key, value)
    past = keys.shape[-2] - key.shape[-2]
    return _mix(query, keys, values, lambda j, p: j <= p - past)


@_attend_slip(CORNER)
def triangle_before_the_past(query, key, value, cache):
    """The triangle of the new words stands on the left, before the open part of the old ones: the
    old keys come first, so the open part does."""
    keys, values = cache.update(key, value)
    m, past = key.shape[-2], keys.shape[-2] - key.shape[-2]
    return _mix(query, keys, values, lambda j, p: (j >= m) | (j <= p - past))


@_attend_slip(KEYS)
def past_and_piece_averaged(query, key, value, cache):
    """You attend to the old words and to the new ones by themselves, and average the two by how
    many words there are: it is one softmax over all of them."""
    past, m = cache.length, key.shape[-2]
    keys, values = cache.update(key, value)
    new = _mix(query, keys[..., past:, :], values[..., past:, :])
    if not past:
        return new
    old = _mix(query, keys[..., :past, :], values[..., :past, :], lambda j, p: j >= 0 * p)
    seen = torch.arange(1, m + 1, device=query.device, dtype=query.dtype)[:, None]
    return (past * old + seen * new) / (past + seen)


@_attend_slip(SEES)
def not_itself(query, key, value, cache):
    """A new word does not see itself: j <= n + i, not j < n + i."""
    keys, values = cache.update(key, value)
    return _mix(query, keys, values, lambda j, p: j < p)


@_attend_slip(SEES)
def one_word_ahead(query, key, value, cache):
    """Each word sees one word of the future: j <= n + i, where n is the length before the
    update."""
    keys, values = cache.update(key, value)
    return _mix(query, keys, values, lambda j, p: j <= p + 1)


@_attend_slip(ADDED)
def asked_before_the_update(query, key, value, cache):
    """You attend to what was in the cache before, and add the new words afterwards: a word sees
    itself, and what of its piece came before it. Update first."""
    keys, values = cache.update(key[..., :0, :], value[..., :0, :])
    cache.update(key, value)
    scores = query @ keys.mT * query.shape[-1] ** -0.5
    return scores.softmax(-1).nan_to_num(0) @ values


@_attend_slip(ADDED)
def never_added(query, key, value, cache):
    """The new words are never added to the cache, so the next piece does not see them: call
    `cache.update`."""
    keys, values = cache.update(key[..., :0, :], value[..., :0, :])
    return _mix(query, torch.cat([keys, key], -2), torch.cat([values, value], -2))


@_attend_slip(ADDED)
def added_behind_what_comes_back(query, key, value, cache):
    """The new words are seen twice: what `cache.update` gives back has them already."""
    keys, values = cache.update(key, value)
    m, past = key.shape[-2], keys.shape[-2] - key.shape[-2]
    twice = torch.cat([keys, key], -2), torch.cat([values, value], -2)
    j = torch.arange(past + 2 * m, device=query.device)
    place = torch.where(j < past + m, j, j - m)
    return _mix(query, *twice, lambda _, p: place <= p - m)


@_attend_slip(ADDED)
def cache_forgotten_first(query, key, value, cache):
    """You reset the cache in each call: it has to hold the words of the calls before."""
    cache.reset()
    return _mix(query, *cache.update(key, value))


@_attend_slip(MIXING)
def keys_mixed(query, key, value, cache):
    """You mixed the keys: the weights are for the values."""
    keys, _ = cache.update(key, value)
    return _mix(query, keys, keys)


@_attend_slip(SCALE)
def not_scaled(query, key, value, cache):
    """The scores are not divided by the square root of d_k."""
    return _mix(query, *cache.update(key, value), scale=1)


@_attend_slip(KEYS)
def softmax_over_the_new_words(query, key, value, cache):
    """The softmax ran over the queries, dim -2: each query has a row of weights of its own, over
    the keys, dim -1."""
    return _mix(query, *cache.update(key, value), dim=-2)


@_attend_slip(PIECES)
def single_words_only(query, key, value, cache):
    """You refuse a piece of several words, or it ends in an error: m may be any number, as in a
    prefill."""
    if query.shape[-2] > 1:
        raise ValueError(f"one word at a time, not {tuple(query.shape)}")
    return _mix(query, *cache.update(key, value))


@_attend_slip(HANDED_OVER)
def values_of_another_width_refused(query, key, value, cache):
    """You refuse values that are not as wide as the keys: d_v may be any width, and it is the
    cache that looks at values."""
    if value.shape != key.shape:
        raise ValueError(f"do not fit: {tuple(key.shape)} and {tuple(value.shape)}")
    return _mix(query, *cache.update(key, value))


@attend_with_cache.slip(LEFT)
def refused_after_the_update(query, key, value, cache):
    """What is refused is in the cache already: compare `query` and `key` before the update."""
    keys, values = cache.update(key, value)
    _queries_fit(query, key, value, cache)
    return _mix(query, keys, values)


@attend_with_cache.slip(LEFT)
def one_query_for_several_keys(query, key, value, cache):
    """Other queries than keys are taken: the new words have one query and one key each, of the same
    width and batch. Compare the shapes, and refuse it."""
    if query.shape[-1] != key.shape[-1] or query.dim() < 2 or query.shape[-2] > key.shape[-2]:
        _queries_fit(query, key, value, cache)
    return _mix(query, *cache.update(key, value))


cached_attention = Task(
    "CachedAttention",
    points=6,
    difficulty=4,
    minutes=30,
    hints=(
        "Without a cache it is chapter 9's module with a causal mask, and its queries and keys "
        "turned. With a cache three things are other: where the positions begin, which keys and "
        "values there are, and where in the mask the queries stand.",
        "Ask the cache for its length before the update: there the positions begin. Split, turn "
        "queries and keys of each head, update the cache with turned keys and with values, and "
        "attend with a mask in which the queries are the last of the keys. The values are not "
        "turned.",
        "positions [m] = `torch.arange(begin, begin + m, device=...)`; `rotary_angles(positions, "
        "d_head)` is [m, d_head / 2], and `rotate_pairs` takes [*batch, h, m, d_head]. After the "
        "update keys are [*batch, g, n, d_head]; `window_mask(m, n, window)`, with n for a window "
        "of None; `grouped_attention`, `merge_heads`, w_o.",
    ),
)


def _split(x, heads):
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(-3, -2)


def _merge(x):
    return x.transpose(-3, -2).flatten(-2)


def _angles(positions, d):
    even = torch.arange(0, d, 2, dtype=torch.float32, device=positions.device)
    return positions.float()[:, None] * 10000.0 ** (-even / d)


def _turned(x, positions, base=1.0):
    angles = base * _angles(positions, x.shape[-1])
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = angles.to(wide).cos(), angles.to(wide).sin()
    u, v = x.to(wide).unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((u * cos - v * sin, u * sin + v * cos), -1).flatten(-2).to(x.dtype)


def _turned_halves(x, positions):
    angles = _angles(positions, x.shape[-1])
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = angles.to(wide).cos(), angles.to(wide).sin()
    u, v = x.to(wide).chunk(2, -1)
    return torch.cat((u * cos - v * sin, u * sin + v * cos), -1).to(x.dtype)


class _Layer(nn.Module):
    """Right; each slip overrides one step."""

    bias = False

    def __init__(self, d_model, n_heads, n_kv_heads=None, window=None):
        super().__init__()
        n_kv_heads = self.groups(n_heads) if n_kv_heads is None else n_kv_heads
        if n_heads < 1 or d_model % n_heads or n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"do not fit: {d_model}, {n_heads} and {n_kv_heads}")
        if window is not None and window < 1:
            raise ValueError(f"a window of {window}")
        if d_model // n_heads % 2:
            raise ValueError(f"odd heads: {d_model} and {n_heads}")
        self.d_model, self.n_heads, self.n_kv_heads = d_model, n_heads, n_kv_heads
        self.window = window
        narrow = n_kv_heads * (d_model // n_heads)
        for name, width in (("w_q", d_model), ("w_k", narrow), ("w_v", narrow), ("w_o", d_model)):
            setattr(self, name, nn.Linear(d_model, width, bias=self.bias))

    def groups(self, n_heads):
        return n_heads

    def begins(self, cache):
        return 0 if cache is None else cache.length

    def turn(self, query, key, value, begin):
        at = torch.arange(begin, begin + query.shape[-2], device=query.device)
        return _turned(query, at), _turned(key, at), value

    def keep(self, key, value, cache):
        return (key, value) if cache is None else cache.update(key, value)

    def sees(self, j, p, m):
        return (j <= p) & (p - j < (self.window or p.max() + 1))

    def share(self, x):
        return x.repeat_interleave(self.n_heads // self.n_kv_heads, -3)

    def finish(self, mixed):
        return self.w_o(_merge(mixed))

    def parts(self, x, begin):
        query = _split(self.w_q(x), self.n_heads)
        key, value = (_split(made(x), self.n_kv_heads) for made in (self.w_k, self.w_v))
        return self.turn(query, key, value, begin)

    def forward(self, x, cache=None):
        if x.dim() < 2 or x.shape[-1] != self.d_model:
            raise ValueError(f"{tuple(x.shape)} is not {self.d_model} wide")
        query, key, value = self.parts(x, self.begins(cache))
        key, value = self.keep(key, value, cache)
        m = query.shape[-2]
        return self.finish(
            _mix(query, self.share(key), self.share(value), lambda j, p: self.sees(j, p, m))
        )


@cached_attention.slip(ANEW)
class positions_from_0_in_each_call(_Layer):
    """Positions begin at 0 in each call: they go on from `cache.length`."""

    def begins(self, cache):
        return 0


@cached_attention.slip(GO_ON)
class positions_from_the_new_length(_Layer):
    """Your positions begin at the length that the cache has after the update: ask for it before."""

    def forward(self, x, cache=None):
        self.more = x.shape[-2] if cache is not None else 0
        return super().forward(x, cache)

    def turn(self, query, key, value, begin):
        at = torch.arange(begin, begin + query.shape[-2], device=query.device)
        return _turned(query, at + self.more), _turned(key, at), value


@cached_attention.slip(GO_ON)
class positions_from_1(_Layer):
    """Your positions begin at 1: by itself the module cannot notice, but a cache that others have
    filled begins at 0."""

    def begins(self, cache):
        return super().begins(cache) + 1


@cached_attention.slip(BEFORE_IT)
class cached_before_the_turn(_Layer):
    """With a cache, keys go into it as they are, and only the query is turned: turn the keys first,
    and cache what comes out."""

    def forward(self, x, cache=None):
        self.cached = cache is not None
        return super().forward(x, cache)

    def turn(self, query, key, value, begin):
        turned, both, _ = super().turn(query, key, value, begin)
        return turned, key if self.cached else both, value


@cached_attention.slip(TURNED_ONCE)
class turned_again_in_each_step(_Layer):
    """Keys that come out of the cache are turned once more: they were turned before they went in,
    and never move again."""

    def keep(self, key, value, cache):
        if cache is None:
            return key, value
        keys, values = cache.update(key, value)
        return _turned(keys, torch.arange(keys.shape[-2], device=keys.device)), values


@cached_attention.slip(BEFORE_IT)
class all_keys_turned_in_each_step(cached_before_the_turn):
    """Keys go into the cache as they are, and all of them are turned in each step: the cache is to
    hold turned ones, which are turned once."""

    keep = turned_again_in_each_step.keep


@cached_attention.slip(ITSELF)
class positions_counted_in_the_module(_Layer):
    """The module counts the positions itself, so they go on from one cache to the next: they begin
    at the `length` of the cache that it is handed."""

    counted = 0

    def begins(self, cache):
        return 0 if cache is None else self.counted

    def forward(self, x, cache=None):
        out = super().forward(x, cache)
        self.counted += 0 if cache is None else x.shape[-2]
        return out


@cached_attention.slip(TURNS)
class values_turned_too(_Layer):
    """The values were turned as well: queries and keys only."""

    def turn(self, query, key, value, begin):
        query, key, _ = super().turn(query, key, value, begin)
        return query, key, super().turn(value, value, value, begin)[0]


@cached_attention.slip(TURNS)
class turned_as_halves(_Layer):
    """You turned features that are half the width apart, `rotate_halves`: here it is
    `rotate_pairs`, features (2i, 2i + 1)."""

    def turn(self, query, key, value, begin):
        at = torch.arange(begin, begin + query.shape[-2], device=query.device)
        return _turned_halves(query, at), _turned_halves(key, at), value


@cached_attention.slip(TURNS)
class not_turned(_Layer):
    """Nothing is turned: the module does not know where a word stands."""

    def turn(self, query, key, value, begin):
        return query, key, value


@cached_attention.slip(TURNS)
class queries_not_turned(_Layer):
    """The keys are turned, but the queries are not: the scores then know the place of the key, and
    not the distance."""

    def turn(self, query, key, value, begin):
        return query, super().turn(query, key, value, begin)[1], value


@cached_attention.slip(TURNS)
class keys_not_turned(_Layer):
    """The queries are turned, but the keys never are: the scores then know the place of the query,
    and not the distance."""

    def turn(self, query, key, value, begin):
        return super().turn(query, key, value, begin)[0], key, value


@cached_attention.slip(TURNS)
class turned_the_wrong_way(_Layer):
    """The queries are turned the other way than the keys: both the same way."""

    def turn(self, query, key, value, begin):
        at = torch.arange(begin, begin + query.shape[-2], device=query.device)
        return _turned(query, at, -1.0), _turned(key, at), value


@cached_attention.slip(TURNS)
class turned_before_the_split(_Layer):
    """You turned rows of d_model features and split them into heads afterwards: each head is turned
    by itself, by the angles of its own width."""

    def parts(self, x, begin):
        at = torch.arange(begin, begin + x.shape[-2], device=x.device)
        query, key = _turned(self.w_q(x), at), _turned(self.w_k(x), at)
        groups = self.n_kv_heads
        return _split(query, self.n_heads), _split(key, groups), _split(self.w_v(x), groups)


@cached_attention.slip(PIECES)
class cache_not_used(_Layer):
    """The cache is ignored: update it, and attend to what it gives back."""

    def keep(self, key, value, cache):
        return key, value


@cached_attention.slip(KEPT)
class tokens_cached(_Layer):
    """The cache holds the tokens, and their keys and values are made again in each step: it holds
    turned keys, and values."""

    def forward(self, x, cache=None):
        if cache is None or x.dim() < 2 or x.shape[-1] != self.d_model:
            return super().forward(x)
        begin = cache.length
        every, _ = cache.update(x, x)
        at = torch.arange(begin, begin + x.shape[-2], device=x.device)
        query = _turned(_split(self.w_q(x), self.n_heads), at)
        _, key, value = self.parts(every, 0)
        m = x.shape[-2]
        return self.finish(
            _mix(query, self.share(key), self.share(value), lambda j, p: self.sees(j, p, m))
        )


@cached_attention.slip(ITSELF)
class keeps_what_it_saw(_Layer):
    """The module keeps keys and values itself, so another text sees those of the one before: what
    is kept belongs into the cache that it is handed."""

    kept = None

    def keep(self, key, value, cache):
        if cache is None:
            return key, value
        new = cache.length == 0 and self.kept is None
        cache.update(key, value)
        before = () if new else self.kept
        self.kept = tuple(
            torch.cat([*([before[i]] if before else []), rows.detach()], -2)
            for i, rows in enumerate((key, value))
        )
        return self.kept


@cached_attention.slip(FORMULA)
class without_a_mask(_Layer):
    """Words see those that come after them: the mask is missing."""

    def sees(self, j, p, m):
        near = p - j < (self.window or p.max() + 1)
        return near | (j > p)


@cached_attention.slip(FORMULA)
class masked_without_a_cache_only(_Layer):
    """With a cache there is no mask, as if each piece were a single word: the words of a prefill
    see what came before them, and no more."""

    def forward(self, x, cache=None):
        self.cached = cache is not None
        return super().forward(x, cache)

    def sees(self, j, p, m):
        near = p - j < (self.window or p.max() + 1)
        return near & (self.cached | (j <= p))


@cached_attention.slip(CORNER)
class module_masked_at_the_top_left(_Layer):
    """Your mask is aligned at the top left: new query 0 sees key 0 alone. It stands at position
    `cache.length`, and the last query sees all keys."""

    def sees(self, j, p, m):
        return super().sees(j, p - p.min(), m)


@cached_attention.slip(COUNTED)
class window_one_too_long(_Layer):
    """The window shows one position too many: its own counts, p - j < window."""

    def sees(self, j, p, m):
        return (j <= p) & (p - j < (self.window or p.max() + 1) + 1)


@cached_attention.slip(COUNTED)
class window_ignored(_Layer):
    """The window is ignored: each word sees all that came before it."""

    def sees(self, j, p, m):
        return j <= p


@cached_attention.slip(THROWN)
class window_without_a_cache_only(_Layer):
    """With a cache the window is ignored: a prefill and steps see all that came before, and give
    other rows than the whole pass."""

    def forward(self, x, cache=None):
        self.cached = cache is not None
        return super().forward(x, cache)

    def sees(self, j, p, m):
        return j <= p if self.cached else super().sees(j, p, m)


@cached_attention.slip(THROWN)
class window_forgotten_for_a_single_word(_Layer):
    """A word that comes alone gets no mask, as it sees no future, and so it looks back past its
    window: that has to hold for single words, too."""

    def sees(self, j, p, m):
        return j <= p if m == 1 else super().sees(j, p, m)


@cached_attention.slip(THROWN)
class window_from_the_start_of_the_piece(_Layer):
    """The back edge of the window is counted from the first word of the piece, as triu and tril
    count, so later pieces look back too far: new word i stands at position n + i."""

    def sees(self, j, p, m):
        return (j <= p) & (p - p.min() - j < (self.window or p.max() + 1))


@cached_attention.slip(THROWN)
class window_cut_before_the_mask(_Layer):
    """Only the last `window` keys are kept for the whole piece, so its first words lose keys that
    they still have to see: cut nothing off, the window is in the mask."""

    def sees(self, j, p, m):
        return super().sees(j, p, m) & (p.max() - j < (self.window or p.max() + 1))


@cached_attention.slip(THROWN)
class older_keys_cut_for_the_whole_piece(_Layer):
    """Of all keys so far you keep as many as the window or the piece has, whichever is more: the
    first words of the piece lose keys that they still have to see. Cut nothing off, the window is
    in the mask."""

    def sees(self, j, p, m):
        kept = max(self.window, m) if self.window else p.max() + 1
        return super().sees(j, p, m) & (p.max() - j < kept)


@cached_attention.slip(NEIGHBOURS)
class heads_dealt_out(_Layer):
    """Head j uses keys and values j % n_kv_heads: neighbours share, j // (n_heads / n_kv_heads)."""

    def share(self, x):
        return torch.cat([x] * (self.n_heads // self.n_kv_heads), -3)


@cached_attention.slip(AS_MANY)
class one_head_of_keys_by_default(_Layer):
    """n_kv_heads=None makes one head of keys: it means as many as n_heads."""

    def groups(self, n_heads):
        return 1


@cached_attention.slip(LAYERS)
class layers_with_biases(_Layer):
    """The layers have biases: none of them has one, bias=False."""

    bias = True


@cached_attention.slip(LAYERS)
class values_made_by_w_k(_Layer):
    """The values are made by w_k: w_v makes them."""

    def parts(self, x, begin):
        query, key, _ = super().parts(x, begin)
        return query, key, _split(self.w_k(x), self.n_kv_heads)


@cached_attention.slip(OUTPUT)
class without_w_o(_Layer):
    """w_o is left out: it is applied to the joined heads."""

    def finish(self, mixed):
        return _merge(mixed)


@cached_attention.slip(OUTPUT)
class joined_by_a_reshape(_Layer):
    """The heads are right, but the rows mix several tokens before w_o: swap heads and tokens back
    before the reshape, as merge_heads does."""

    def finish(self, mixed):
        *batch, h, m, d = mixed.shape
        return self.w_o(mixed.reshape(*batch, m, h * d))


# What the chapter's own differences show


def _by_length(found, power):
    cost = found.kind == "cost" and found.at.startswith("length=")
    return cost and found.detail.endswith(power)


FINDINGS = (
    Common(
        "copies_all_rows",
        lambda found: _by_length(found, "not at all"),
        "The rows are right, but an update makes anew what was there before, as torch.cat, "
        "torch.stack and clone() do. Write the new rows into a buffer that is made once, and give "
        "back a slice of it.",
        OBVIOUS,
    ),
    Common(
        "writes_a_whole_buffer",
        lambda found: found.kind == "cost" and found.at.startswith("capacity="),
        "The rows are right, but each update makes another whole buffer, with room for all rows, "
        "as torch.where, index_copy and cat with zeros do. Write into the one that there is.",
        ONCE,
    ),
    Common(
        "works_out_all_pairs",
        lambda found: _by_length(found, "as `length` does") and found.label == COSTS["made"],
        "The numbers are right, but one more word makes a number for each pair of words: all "
        "scores again, or a mask of all positions of which one row is used. One query has n + 1 "
        "scores.",
        ONE_ROW,
    ),
)


# What `grader show` draws


def _rows_by_update(kind, rows):
    """Put each row into a cache; what comes back each time is one row, and zeros where none is."""
    cache, out = kind(len(rows)), torch.zeros(len(rows), len(rows))
    for i, row in enumerate(rows):
        keys, _ = cache.update(row[None], row[None])
        out[i, : keys.shape[-2]] = keys[:, 0]
    return out


@draws(key_value_cache)
def draw_key_value_cache(sketch):
    """One row for each update: the keys so far stay where they are, and one more comes."""
    words = sketch.words or ["I", "do", "not", "like", "it"]
    keys = torch.arange(1.0, len(words) + 1)[:, None]
    sketch.row(f"capacity = {len(words)}; the key of each word is its number, from 1")
    made = sketch.use("KeyValueCache", lambda kind, args: _rows_by_update(kind, args[0]), keys)
    updates = [f"update {i}" for i in range(len(words))]
    sketch.draw("keys that come back", made, updates, words, scale="plain", digits=0)


def _in_pieces(ask, sizes, rows):
    """Ask with one piece after the other, and put what comes below each other."""
    cache = RowsSoFar()
    pieces = zip(*(one.split(sizes, -2) for one in rows), strict=True)
    return torch.cat([ask(*piece, cache) for piece in pieces], -2)


@draws(attend_with_cache)
def draw_attend_with_cache(sketch):
    """Each value is one-hot, so a row of the output is a row of weights: in whichever pieces the
    words come, it is the same triangle."""
    words = sketch.words or ["I", "do", "not", "like", "it"]
    n = len(words)
    x, one_hot = 1.5 * sketch.embedded(words, 4), torch.eye(n)
    for sizes in ([n], [max(1, n - 2), *[1] * min(2, n - 1)]):
        sketch.row(f"pieces of {', '.join(map(str, sizes))}")
        made = sketch.use(
            "attend_with_cache", lambda ask, rows, sizes=sizes: _in_pieces(ask, sizes, rows),
            x, x.flip(-1), one_hot,
        )  # fmt: skip
        sketch.draw("weights", made, words, words, scale="weights")


@draws(cached_attention)
def draw_cached_attention(sketch):
    """What each word gets of the first one, feature 2, and how far ahead it looks on the whole,
    feature 3: the same in one piece and word by word."""
    words = sketch.words or ["I", "do", "not", "like", "it"]
    n, eye = len(words), torch.eye(4)
    x = torch.tensor([[1.0, 0.0, float(i == 0), float(i)] for i in range(n)])
    weights = {"w_q": 2 * eye[[0, 1, 1, 1]], "w_k": eye[[0, 1, 1, 1]], "w_v": eye, "w_o": eye}

    def output(kind, args):
        layer = kind(4, 1)
        with torch.no_grad():
            for name, weight in weights.items():
                getattr(layer, name).weight.copy_(weight)
            return _in_pieces(layer, args[0], [x])

    for sizes in ([n], [1] * n):
        sketch.row(f"pieces of {', '.join(map(str, sizes))}; feature 3 of word i is i")
        sketch.draw("output", sketch.use("CachedAttention", output, sizes), words, "feature")
