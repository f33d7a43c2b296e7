"""The coach of chapter 13."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grader.coach import Task
from grader.coach.common import Common
from grader.coach.downhill import Downhill
from grader.coach.rows_so_far import RowsSoFar
from grader.pictures.drawings import draws

TRACK = "beyond"

NORM = 'chapter 13, The formula: "rms_norm(x) = x / sqrt(mean(x^2) + eps) * weight"'
BLOCK = 'chapter 13, The formula: "x = x + attention(rms_norm_1(x))"'
GATED = 'chapter 13, The formula: "x = x + down( silu(gate(h)) * up(h) )"'
DECODER = 'chapter 13, The formula: "logits = head(rms_norm(x))"'
LOSS = 'chapter 13, The formula: "-log softmax(logits at i)[id at i + 1]"'
DRAWN = 'chapter 13, The formula: "softmax(logits of the last word / temperature)"'
RESIDUAL = 'chapter 13, Why it is built like this: "Why a residual."'
BEFORE = 'chapter 13, Why it is built like this: "Why the norm comes before."'
WHY_RMS = 'chapter 13, Why it is built like this: "Why RMS."'
IN_FLOAT32 = 'chapter 13, Why it is built like this: "So it is worked out in float32 at least."'
GATE = 'chapter 13, Why it is built like this: "What the gate is for."'
ONE_MORE = 'chapter 13, Why it is built like this: "Why one more id."'
LAST_ROW = 'chapter 13, Why it is built like this: "it is the one that writes."'
FED = 'chapter 13, Shapes: "What the model is fed, and what its caches hold then"'
WHOLE_TEXT = 'chapter 13, Shapes: "Whoever feeds the whole text in each step"'
OWN_CACHE = 'chapter 13, Shapes: "each block may have a cache of its own"'
EPS = 'chapter 13, What papers and libraries disagree on: "Where eps stands."'
WEIGHT = 'chapter 13, What papers and libraries disagree on: "What weight is."'
PLACES = 'chapter 13, What papers and libraries disagree on: "Where the norm is."'
TIED = 'chapter 13, What papers and libraries disagree on: "Whether the head is the embedding."'
WIDE = 'chapter 13, What papers and libraries disagree on: "How wide d_hidden is."'
SHIFTS = 'chapter 13, What papers and libraries disagree on: "Who shifts the ids."'
AT_0 = 'chapter 13, What papers and libraries disagree on: "What temperature 0 means."'
EACH_ROW = 'the stub of rms_norm: "with a mean over each row"'
BLOCK_PARTS = 'the stub of DecoderBlock: "The block has these parts and no other weights"'
IN_PIECES = 'the stub of DecoderBlock: "With a cache the rows are the same"'
MODEL_PARTS = 'the stub of Decoder: "The model has these parts and no other weights."'
LOGITS = 'the stub of Decoder: "The logits [batch, n, vocab_size]"'
CACHES = 'the stub of Decoder: "one for each block, in their order"'
MEAN = 'the stub of next_token_loss: "the mean, over all rows but the last of each text"'
LARGE = 'the stub of next_token_loss: "Large logits do no harm"'
BEHIND = 'the stub of generate: "The prompts with what was written behind them"'
BY_ITSELF = 'the stub of generate: "Each text of a batch is drawn by itself."'
NO_TRACE = 'the stub of generate: "Afterwards the weights of the model"'
SEED = 'the stub of generate: "The same seed writes the same text"'
NOTHING_DRAWN = 'the stub of generate: "0: nothing is drawn"'

rms_norm = Task(
    "rms_norm",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "Every row has one number that it is divided by: the root of the mean of its squares. "
        "Nothing is subtracted.",
        "Go to float32 if the dtype is smaller. Square, take the mean over the last dimension and "
        "keep that dimension, add eps, take the root, divide, multiply by weight, go back.",
        "`torch.promote_types` of the dtype and float32 is the wider one of the two. A mean with "
        "`keepdim=True` is [*batch, 1]; `torch.rsqrt` gives 1 / root, and multiplied by the row "
        "and by `weight` [d] it is [*batch, d] again. `.to(x.dtype)` comes last.",
    ),
)


def _weight_fits(x, weight, eps=1e-6):
    if x.dim() < 1 or weight.shape != x.shape[-1:]:
        raise ValueError(f"do not fit: {tuple(x.shape)} and {tuple(weight.shape)}")


_norm_slip = rms_norm.refusing(_weight_fits)


def _wide(x):
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _squares(x):
    return _wide(x).square().mean(-1, keepdim=True)


@_norm_slip(WHY_RMS)
def mean_taken_away(x, weight, eps):
    """The mean was taken away first: that is LayerNorm. RMSNorm divides, and does nothing else."""
    wide = _wide(x)
    wide = wide - wide.mean(-1, keepdim=True)
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * weight).to(x.dtype)


@_norm_slip(WHY_RMS)
def divided_by_the_spread(x, weight, eps):
    """You divided by the spread around the mean, as `std` and `var` give it: the squares of the
    numbers themselves are asked for."""
    wide = _wide(x)
    spread = (wide - wide.mean(-1, keepdim=True)).square().mean(-1, keepdim=True)
    return (wide * torch.rsqrt(spread + eps) * weight).to(x.dtype)


@_norm_slip(EPS)
def eps_outside(x, weight, eps):
    """eps was added to the root: it goes inside, to the mean of the squares."""
    return (_wide(x) / (_squares(x).sqrt() + eps) * weight).to(x.dtype)


@_norm_slip(EPS)
def eps_left_out(x, weight, eps):
    """eps was left out: add it to the mean, before the root."""
    return (_wide(x) * torch.rsqrt(_squares(x)) * weight).to(x.dtype)


@_norm_slip(EPS)
def eps_of_its_own(x, weight, eps):
    """eps is always 1e-5, or what you wrote there: use the argument, 1e-6 if none is given."""
    return (_wide(x) * torch.rsqrt(_squares(x) + 1e-5) * weight).to(x.dtype)


@_norm_slip(EPS)
def eps_squared(x, weight, eps):
    """You added eps * eps to the mean: eps itself."""
    return (_wide(x) * torch.rsqrt(_squares(x) + eps * eps) * weight).to(x.dtype)


@_norm_slip(EPS)
def eps_as_a_floor(x, weight, eps):
    """You brought the mean up to eps, and added nothing where it is larger: eps is always added."""
    return (_wide(x) * torch.rsqrt(_squares(x).clamp_min(eps)) * weight).to(x.dtype)


@_norm_slip(NORM)
def length_cut_off(x, weight, eps):
    """Forward it is right, but no gradient goes through the root of the mean: what a row is divided
    by depends on the row."""
    return (_wide(x) * torch.rsqrt(_squares(x) + eps).detach() * weight).to(x.dtype)


@_norm_slip(NORM)
def sum_of_squares(x, weight, eps):
    """You divided by the length of the row, the root of the sum of its squares: it is the root of
    their mean."""
    squares = _wide(x).square().sum(-1, keepdim=True)
    return (_wide(x) * torch.rsqrt(squares + eps) * weight).to(x.dtype)


@_norm_slip(NORM)
def without_the_root(x, weight, eps):
    """You divided by the mean of the squares: by its root."""
    return (_wide(x) / (_squares(x) + eps) * weight).to(x.dtype)


@_norm_slip(NORM)
def mean_of_sizes(x, weight, eps):
    """You divided by the mean of the absolute values: by the root of the mean of the squares."""
    return (_wide(x) / (_wide(x).abs().mean(-1, keepdim=True) + eps) * weight).to(x.dtype)


@_norm_slip(EACH_ROW)
def mean_of_everything(x, weight, eps):
    """You took one mean of all rows together: each row has a mean of its own, over its features."""
    squares = _wide(x).square().mean()
    return (_wide(x) * torch.rsqrt(squares + eps) * weight).to(x.dtype)


@_norm_slip(EACH_ROW)
def mean_over_the_rows(x, weight, eps):
    """You took the mean over the rows, feature by feature: over the features, dimension -1."""
    squares = _wide(x).square()
    squares = squares.mean(-2, keepdim=True) if x.dim() > 1 else squares
    return (_wide(x) * torch.rsqrt(squares + eps) * weight).to(x.dtype)


@_norm_slip(NORM)
def weight_left_out(x, weight, eps):
    """weight was left out: the features are multiplied by it afterwards."""
    return (_wide(x) * torch.rsqrt(_squares(x) + eps) + 0 * weight).to(x.dtype)


@_norm_slip(WEIGHT)
def one_plus_weight(x, weight, eps):
    """You multiplied by 1 + weight, as Gemma does: by weight."""
    return (_wide(x) * torch.rsqrt(_squares(x) + eps) * (1 + weight)).to(x.dtype)


@_norm_slip(NORM)
def weighed_before(x, weight, eps):
    """You multiplied by weight first, so that it counts in the mean: multiply afterwards."""
    wide = _wide(x) * weight
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype)


@_norm_slip(IN_FLOAT32)
def in_its_own_dtype(x, weight, eps):
    """The squares were worked out in half precision, where 300 * 300 is infinity: go to float32
    before, and come back in the end."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


decoder_block = Task(
    "DecoderBlock",
    points=4,
    difficulty=3,
    minutes=20,
    hints=(
        "There are two branches, one after the other. Each has a norm in front, and what comes out "
        "of it is added to what there was.",
        "Make both norms, the attention and three layers in __init__. In forward: add the attention"
        " of the first norm's rows to x. Take the second norm of that sum, send it through `gate` "
        "and `up`, and add what `down` makes of both.",
        "`self.attention(h, cache)` with h = the first norm's rows, all [*batch, n, d_model]; the "
        "sum is the new x, of which the second norm takes its rows. `F.silu` of what `gate` gives, "
        "times what `up` gives, is [*batch, n, d_hidden], and `down` leads back to [*batch, n, "
        "d_model].",
    ),
)


def _normed(x, weight, eps=1e-6):
    _weight_fits(x, weight, eps)
    return (_wide(x) * torch.rsqrt(_squares(x) + eps) * weight).to(x.dtype)


def _layer_normed(x, weight):
    return F.layer_norm(x, x.shape[-1:], weight, eps=1e-6)


def _turned(x, begin):
    d = x.shape[-1]
    rates = 10000.0 ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(begin, begin + x.shape[-2], device=x.device)[:, None] * rates
    cos, sin = angles.cos(), angles.sin()
    u, v = _wide(x).unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((u * cos - v * sin, u * sin + v * cos), -1).flatten(-2).to(x.dtype)


class _Attention(nn.Module):
    """Right: the attention of chapter 11, for the slips of this one."""

    def __init__(self, d_model, n_heads, n_kv_heads=None):
        super().__init__()
        groups = n_heads if n_kv_heads is None else n_kv_heads
        if n_heads < 1 or d_model % n_heads or d_model // n_heads % 2:
            raise ValueError(f"do not fit: {d_model} and {n_heads}")
        if groups < 1 or n_heads % groups:
            raise ValueError(f"do not fit: {n_heads} and {groups}")
        self.d, self.times = d_model // n_heads, n_heads // groups
        for name, width in (
            ("w_q", d_model), ("w_k", groups * self.d), ("w_v", groups * self.d), ("w_o", d_model)
        ):  # fmt: skip
            setattr(self, name, nn.Linear(d_model, width, bias=False))

    def forward(self, x, cache=None):
        if x.dim() < 2:
            raise ValueError(f"{tuple(x.shape)} has no rows")
        begin = 0 if cache is None else cache.length
        query, key, value = (
            made(x).unflatten(-1, (-1, self.d)).transpose(-3, -2)
            for made in (self.w_q, self.w_k, self.w_v)
        )
        query, key = _turned(query, begin), _turned(key, begin)
        if cache is not None:
            key, value = cache.update(key, value)
        key, value = (one.repeat_interleave(self.times, -3) for one in (key, value))
        scores = query @ key.mT * self.d**-0.5
        m, n = scores.shape[-2:]
        sees = torch.ones(m, n, dtype=torch.bool, device=x.device).tril(n - m)
        mixed = scores.masked_fill(~sees, -torch.inf).softmax(-1) @ value
        return self.w_o(mixed.transpose(-3, -2).flatten(-2))


class _Block(nn.Module):
    """Right; each slip overrides one step."""

    bias = False
    begins = staticmethod(torch.ones)

    def __init__(self, d_model, n_heads, n_kv_heads, d_hidden):
        super().__init__()
        self.norm_1 = nn.Parameter(self.begins(d_model))
        self.norm_2 = nn.Parameter(self.begins(d_model))
        self.attention = _Attention(d_model, n_heads, n_kv_heads)
        self.gate = nn.Linear(d_model, d_hidden, bias=self.bias)
        self.up = nn.Linear(d_model, d_hidden, bias=self.bias)
        self.down = nn.Linear(d_hidden, d_model, bias=self.bias)

    def norm(self, x, weight):
        return _normed(x, weight)

    def first(self, x, cache):
        return x + self.attention(self.norm(x, self.norm_1), cache)

    def gated(self, h):
        return F.silu(self.gate(h)) * self.up(h)

    def second(self, x):
        return x + self.down(self.gated(self.norm(x, self.norm_2)))

    def forward(self, x, cache=None):
        if x.shape[-1:] != self.norm_1.shape:
            raise ValueError(f"{tuple(x.shape)} is not as wide as {tuple(self.norm_1.shape)}")
        return self.second(self.first(x, cache))


@decoder_block.slip(BEFORE)
class norms_after_the_sum(_Block):
    """The norms stand after the sums, as in the model of 2017: here each stands before its branch,
    and the sum goes on as it is."""

    def first(self, x, cache):
        return self.norm(x + self.attention(x, cache), self.norm_1)

    def second(self, x):
        return self.norm(x + self.down(self.gated(x)), self.norm_2)


@decoder_block.slip(PLACES)
class norms_after_the_branch(_Block):
    """Each norm stands behind its branch, x + norm(f(x)): it stands before it, x + f(norm(x))."""

    def first(self, x, cache):
        return x + self.norm(self.attention(x, cache), self.norm_1)

    def second(self, x):
        return x + self.norm(self.down(self.gated(x)), self.norm_2)


@decoder_block.slip(BLOCK)
class first_norm_left_out(_Block):
    """The attention is given x as it is: the first norm stands before it."""

    def first(self, x, cache):
        return x + self.attention(x, cache)


@decoder_block.slip(GATED)
class second_norm_left_out(_Block):
    """The gated network is given x as it is: the second norm stands before it."""

    def second(self, x):
        return x + self.down(self.gated(x))


@decoder_block.slip(GATED)
class up_of_the_rows_before_the_norm(_Block):
    """`up` reads the rows before the second norm: `gate` and `up` both read the normed ones."""

    def second(self, x):
        return x + self.down(F.silu(self.gate(self.norm(x, self.norm_2))) * self.up(x))


@decoder_block.slip(GATED)
class gate_of_the_rows_before_the_norm(_Block):
    """`gate` reads the rows before the second norm: `gate` and `up` both read the normed ones."""

    def second(self, x):
        return x + self.down(F.silu(self.gate(x)) * self.up(self.norm(x, self.norm_2)))


@decoder_block.slip(BLOCK)
class one_norm_for_both(_Block):
    """norm_1 serves both branches: the second one has norm_2."""

    def second(self, x):
        return x + self.down(self.gated(self.norm(x, self.norm_1)))


@decoder_block.slip(BLOCK)
class norms_exchanged(_Block):
    """norm_2 stands before the attention, and norm_1 before the gated network: the other way
    round."""

    def first(self, x, cache):
        return x + self.attention(self.norm(x, self.norm_2), cache)

    def second(self, x):
        return x + self.down(self.gated(self.norm(x, self.norm_1)))


@decoder_block.slip(RESIDUAL)
class attention_without_residual(_Block):
    """What the attention finds takes the place of x: it is added to x."""

    def first(self, x, cache):
        return self.attention(self.norm(x, self.norm_1), cache)


@decoder_block.slip(RESIDUAL)
class network_without_residual(_Block):
    """What the gated network makes takes the place of x: it is added to x."""

    def second(self, x):
        return self.down(self.gated(self.norm(x, self.norm_2)))


@decoder_block.slip(RESIDUAL)
class no_residual(_Block):
    """Nothing is added: both branches are added to what there was."""

    def first(self, x, cache):
        return self.attention(self.norm(x, self.norm_1), cache)

    def second(self, x):
        return self.down(self.gated(self.norm(x, self.norm_2)))


@decoder_block.slip(RESIDUAL)
class x_overwritten_by_its_norm(_Block):
    """x was overwritten by the rows of its norm, so these went on past the attention: give them a
    name of their own, and add the attention to x as it came."""

    def first(self, x, cache):
        rows = self.norm(x, self.norm_1)
        return rows + self.attention(rows, cache)


@decoder_block.slip(RESIDUAL)
class normed_rows_added(x_overwritten_by_its_norm):
    """You added the branch to the rows of the norm: to x as it came."""

    def second(self, x):
        rows = self.norm(x, self.norm_2)
        return rows + self.down(self.gated(rows))


@decoder_block.slip(RESIDUAL)
class second_norm_in_the_sum(_Block):
    """The rows of the second norm take the place of x, and are what the gated network is added to:
    give them a name of their own, and add to x."""

    def second(self, x):
        rows = self.norm(x, self.norm_2)
        return rows + self.down(self.gated(rows))


@decoder_block.slip(GATED)
class side_by_side(_Block):
    """Both branches start from the same x, side by side, as in GPT-J: the gated network starts from
    what the attention was added to."""

    def forward(self, x, cache=None):
        first = self.first(x, cache)
        return first + self.second(x) - x


@decoder_block.slip(GATED)
class second_sum_from_the_start(_Block):
    """The last sum starts from the x that came in, and loses what the attention had added."""

    def forward(self, x, cache=None):
        first = self.first(x, cache)
        return x + self.second(first) - first


@decoder_block.slip(GATE)
class gate_and_up_exchanged(_Block):
    """silu stands on `up`: it stands on `gate`, and `up` goes through as it is."""

    def gated(self, h):
        return self.gate(h) * F.silu(self.up(h))


@decoder_block.slip(GATED)
class silu_of_the_product(_Block):
    """silu stands on the product: it stands on `gate` alone, before the product."""

    def gated(self, h):
        return F.silu(self.gate(h) * self.up(h))


@decoder_block.slip(GATED)
class silu_on_both(_Block):
    """silu stands on both: on `gate` alone."""

    def gated(self, h):
        return F.silu(self.gate(h)) * F.silu(self.up(h))


@decoder_block.slip(GATED)
class no_silu(_Block):
    """There is no silu: it stands on `gate`."""

    def gated(self, h):
        return self.gate(h) * self.up(h)


@decoder_block.slip(GATED)
class sigmoid_for_silu(_Block):
    """A sigmoid stands where silu should: silu(z) is z * sigmoid(z)."""

    def gated(self, h):
        return torch.sigmoid(self.gate(h)) * self.up(h)


@decoder_block.slip(GATE)
class gelu_for_silu(_Block):
    """A gelu stands where silu should, as in Gemma: silu(z) is z * sigmoid(z)."""

    def gated(self, h):
        return F.gelu(self.gate(h)) * self.up(h)


@decoder_block.slip(GATE)
class relu_for_silu(_Block):
    """A relu stands where silu should: silu(z) is z * sigmoid(z)."""

    def gated(self, h):
        return F.relu(self.gate(h)) * self.up(h)


@decoder_block.slip(GATE)
class up_left_out(_Block):
    """`up` is left out: what silu makes of `gate` is multiplied by it."""

    def gated(self, h):
        return F.silu(self.gate(h)) + 0 * self.up(h)


@decoder_block.slip(GATED)
class gate_and_up_added(_Block):
    """`up` is added to the switch: they are multiplied, feature by feature."""

    def gated(self, h):
        return F.silu(self.gate(h)) + self.up(h)


@decoder_block.slip(WHY_RMS)
class layer_norms(_Block):
    """The norms take the mean away, as LayerNorm does: use your `rms_norm`."""

    def norm(self, x, weight):
        return _layer_normed(x, weight)


@decoder_block.slip(EPS)
class norms_of_another_eps(_Block):
    """The norms add another eps, such as the 1e-5 of some Llamas: 1e-6, what `rms_norm` adds if it
    is told nothing."""

    def norm(self, x, weight):
        return _normed(x, weight, 1e-5)


@decoder_block.slip(IN_PIECES)
class cache_not_handed_on(_Block):
    """The cache is not handed on: the attention is given it as its second argument."""

    def first(self, x, cache):
        return super().first(x, None)


@decoder_block.slip(BLOCK_PARTS)
class layers_with_biases(_Block):
    """The layers have biases: none of them has one, bias=False."""

    bias = True


@decoder_block.slip(BLOCK_PARTS)
class heads_of_keys_not_handed_on(_Block):
    """`n_kv_heads` is not handed on to the attention, which has as many heads of keys as of queries
    now: it is the third argument of CachedAttention."""

    def __init__(self, d_model, n_heads, n_kv_heads, d_hidden):
        super().__init__(d_model, n_heads, n_heads, d_hidden)


@decoder_block.slip(WEIGHT)
class norms_of_zeros(_Block):
    """The norms are zeros in a new block, as in Gemma: they begin with ones."""

    begins = staticmethod(torch.zeros)


@decoder_block.slip(BLOCK_PARTS)
class one_parameter_for_both_norms(_Block):
    """`norm_1` and `norm_2` are one and the same parameter: make one for each."""

    def __init__(self, *made):
        super().__init__(*made)
        self.norm_2 = self.norm_1


decoder = Task(
    "Decoder",
    points=3,
    difficulty=3,
    minutes=15,
    hints=(
        "Words become rows, rows go through all blocks, and of each row the head makes a number for"
        " each word.",
        "Look the ids up, give each block its own cache, or None, and hand on what comes out. One "
        "more norm, and then the head.",
        "`embedding` makes [batch, n, d_model] of [batch, n]; `zip(self.blocks, caches)` pairs "
        "them; `rms_norm` with `self.norm` keeps the shape, and `head` makes [batch, n, "
        "vocab_size] of it.",
    ),
)


class _Decoder(nn.Module):
    """Right; each slip overrides one step."""

    wide, bias = 4, False
    begins = staticmethod(torch.ones)

    def __init__(self, vocab_size, d_model, n_layers, n_heads, n_kv_heads=None):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            _Block(d_model, n_heads, n_kv_heads, self.wide * d_model) for _ in range(n_layers)
        )
        self.norm = nn.Parameter(self.begins(d_model))
        self.head = nn.Linear(d_model, vocab_size, bias=self.bias)

    def embed(self, ids):
        return self.embedding(ids)

    def through(self, x, caches):
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, cache)
        return x

    def finish(self, x):
        return self.head(_normed(x, self.norm))

    def forward(self, ids, caches=None):
        if ids.dim() != 2:
            raise ValueError(f"ids are {tuple(ids.shape)}")
        if caches is not None and len(caches) != len(self.blocks):
            raise ValueError(f"{len(caches)} caches for {len(self.blocks)} blocks")
        caches = [None] * len(self.blocks) if caches is None else caches
        return self.finish(self.through(self.embed(ids), caches))


@decoder.slip(DECODER)
class last_norm_left_out(_Decoder):
    """The last norm is left out: it stands before the head."""

    def finish(self, x):
        return self.head(x)


@decoder.slip(DECODER)
class last_norm_after_each_block(_Decoder):
    """The last norm comes after each block: it stands once, behind them all, before the head."""

    def through(self, x, caches):
        for block, cache in zip(self.blocks, caches, strict=True):
            x = _normed(block(x, cache), self.norm)
        return x

    def finish(self, x):
        return self.head(x)


@decoder.slip(WHY_RMS)
class last_norm_a_layer_norm(_Decoder):
    """The last norm takes the mean away, as LayerNorm does: use your `rms_norm`."""

    def finish(self, x):
        return self.head(_layer_normed(x, self.norm))


@decoder.slip(EPS)
class last_norm_of_another_eps(_Decoder):
    """The last norm adds another eps: 1e-6, what `rms_norm` adds if it is told nothing."""

    def finish(self, x):
        return self.head(_normed(x, self.norm, 1e-5))


@decoder.slip(LOGITS)
class shares_for_logits(_Decoder):
    """You put a softmax behind the head: the logits are raw scores, and the loss has the softmax
    inside."""

    def finish(self, x):
        return super().finish(x).softmax(-1)


@decoder.slip(LOGITS)
class logs_of_shares(_Decoder):
    """You put a log_softmax behind the head: the logits are raw scores."""

    def finish(self, x):
        return super().finish(x).log_softmax(-1)


@decoder.slip(LAST_ROW)
class last_row_alone(_Decoder):
    """The logits of the last word come back alone: each row has its own, [batch, n, vocab_size]."""

    def finish(self, x):
        return super().finish(x)[:, -1]


@decoder.slip(LAST_ROW)
class last_row_alone_with_caches(_Decoder):
    """With caches the logits of the last word come back alone: each word of a piece has its own
    row."""

    def forward(self, ids, caches=None):
        logits = super().forward(ids, caches)
        return logits if caches is None else logits[:, -1:]


@decoder.slip(LOGITS)
class one_word_squeezed(_Decoder):
    """Where there is a single word, its dimension is squeezed away: the logits are [batch, n,
    vocab_size] for every n."""

    def finish(self, x):
        return super().finish(x).squeeze(1)


@decoder.slip(LOGITS)
class one_block_again_and_again(_Decoder):
    """The first block works n_layers times: each block once, in their order."""

    def through(self, x, caches):
        for cache in caches:
            x = self.blocks[0](x, cache)
        return x


@decoder.slip(MODEL_PARTS)
class one_block_in_all_places(_Decoder):
    """All blocks are one and the same, as `[block] * n_layers` makes them: make a new one for each
    layer."""

    def __init__(self, *made):
        super().__init__(*made)
        self.blocks = nn.ModuleList([self.blocks[0]] * len(self.blocks))


@decoder.slip(MODEL_PARTS)
class blocks_in_a_plain_list(_Decoder):
    """The blocks are in a plain list, so the model does not know their weights: they are not
    trained, moved or saved. Put them into an nn.ModuleList."""

    def __init__(self, *made):
        super().__init__(*made)
        blocks = list(self.blocks)
        del self.blocks
        self.blocks = blocks


@decoder.slip(MODEL_PARTS)
class as_many_heads_of_keys(_Decoder):
    """`n_kv_heads` is not handed on to the blocks, so each has as many heads of keys as of
    queries."""

    def __init__(self, vocab_size, d_model, n_layers, n_heads, n_kv_heads=None):
        super().__init__(vocab_size, d_model, n_layers, n_heads, n_kv_heads)
        if n_kv_heads is not None:
            super().__init__(vocab_size, d_model, n_layers, n_heads)


@decoder.slip(DECODER)
class positions_added(_Decoder):
    """A positional encoding is added to the embedded words: the attention turns queries and keys
    by their positions already."""

    def embed(self, ids):
        x = self.embedding(ids)
        n, d = x.shape[-2:]
        rates = 10000.0 ** (-torch.arange(0, d, 2, device=x.device) / d)
        angles = torch.arange(n, device=x.device)[:, None] * rates
        return x + torch.stack((angles.sin(), angles.cos()), -1).flatten(-2).to(x.dtype)


@decoder.slip(LOGITS)
class first_block_alone(_Decoder):
    """The first block works alone: each block takes what the one before it has made."""

    def through(self, x, caches):
        return self.blocks[0](x, caches[0])


@decoder.slip(LOGITS)
class each_from_the_embedding(_Decoder):
    """Each block takes the embedded words, and only the last one's rows come out: each takes what
    the one before it has made."""

    def through(self, x, caches):
        made = [block(x, cache) for block, cache in zip(self.blocks, caches, strict=True)]
        return made[-1]


@decoder.slip(LOGITS)
class blocks_backwards(_Decoder):
    """The blocks work from the last one to the first: the first one begins."""

    def through(self, x, caches):
        for block, cache in reversed(list(zip(self.blocks, caches, strict=True))):
            x = block(x, cache)
        return x


@decoder.slip(LOGITS)
class a_sum_too_many(_Decoder):
    """What comes in is added to what a block gives back: a block has added it already."""

    def through(self, x, caches):
        for block, cache in zip(self.blocks, caches, strict=True):
            x = x + block(x, cache)
        return x


@decoder.slip(LOGITS)
class embedding_made_larger(_Decoder):
    """The embedded words are multiplied by the root of d_model, as in the model of 2017 and in
    Gemma: they go in as they are."""

    def embed(self, ids):
        x = self.embedding(ids)
        return x * x.shape[-1] ** 0.5


@decoder.slip(CACHES)
class one_cache_for_all(_Decoder):
    """All blocks write into the first cache: each has one of its own."""

    def through(self, x, caches):
        return super().through(x, [caches[0]] * len(self.blocks))


@decoder.slip(CACHES)
class caches_not_handed_on(_Decoder):
    """The caches are not handed on: each block is given its own as its second argument."""

    def through(self, x, caches):
        return super().through(x, [None] * len(self.blocks))


@decoder.slip(TIED)
class read_by_the_embedding(_Decoder):
    """The logits come of the embedding's matrix, as in GPT-2: the head is a layer of its own."""

    def finish(self, x):
        return _normed(x, self.norm) @ self.embedding.weight.mT + 0 * super().finish(x)


@decoder.slip(TIED)
class head_tied(_Decoder):
    """`head` and `embedding` are one and the same matrix, as in GPT-2: each has its own."""

    def __init__(self, *made):
        super().__init__(*made)
        self.head.weight = self.embedding.weight


@decoder.slip(MODEL_PARTS)
class head_with_a_bias(_Decoder):
    """The head has a bias: bias=False."""

    bias = True


@decoder.slip(WIDE)
class network_too_narrow(_Decoder):
    """d_hidden is not 4 * d_model in your blocks."""

    wide = 2


@decoder.slip(WEIGHT)
class last_norm_of_zeros(_Decoder):
    """`norm` is zeros in a new model: it begins with ones, or all logits are 0."""

    begins = staticmethod(torch.zeros)


next_token_loss = Task(
    "next_token_loss",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "Row i guesses word i + 1. The last row has nothing to guess, and the first word is guessed"
        " by nobody.",
        "Cut the last row off the logits and the first word off the ids, so that both have n - 1. "
        "Then it is the cross-entropy of chapter 7, over all texts.",
        "`[:, :-1]` leaves the last row out, `[:, 1:]` the first word. `F.cross_entropy` wants "
        "[batch * (n - 1), vocab_size] against [batch * (n - 1)]: `flatten(0, 1)` and `flatten()`.",
    ),
)


def _ids_fit(logits, ids):
    if logits.dim() != 3 or logits.shape[:2] != ids.shape or ids.shape[1] < 2:
        raise ValueError(f"do not fit: {tuple(logits.shape)} and {tuple(ids.shape)}")


_loss_slip = next_token_loss.refusing(_ids_fit)


def _each(logits, ids):
    """Work out minus the log of the share of each id: of rows and ids that belong together."""
    return F.cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="none")


@_loss_slip(ONE_MORE)
def not_shifted(logits, ids):
    """Row i was asked for word i itself, which it has seen: it guesses word i + 1."""
    return _each(logits, ids).mean()


@_loss_slip(ONE_MORE)
def both_cut_at_the_end(logits, ids):
    """Row i was asked for word i itself, which it has seen. Cut the last row off the logits, but
    the first word off the ids, ids[:, 1:]: row i guesses word i + 1."""
    return _each(logits[:, :-1], ids[:, :-1]).mean()


@_loss_slip(ONE_MORE)
def shifted_the_wrong_way(logits, ids):
    """Row i was asked for word i - 1: it guesses word i + 1. Cut the last row off the logits, and
    the first word off the ids."""
    return _each(logits[:, 1:], ids[:, :-1]).mean()


@_loss_slip(SHIFTS)
def shifted_twice(logits, ids):
    """Row i was asked for word i + 2: somebody shifted twice."""
    if ids.shape[1] < 3:
        return logits.sum() * 0
    return _each(logits[:, :-2], ids[:, 2:]).mean()


@_loss_slip(ONE_MORE)
def rolled_round(logits, ids):
    """The last row was asked for the first word, as `roll` brings it there: the last row is left
    out."""
    return _each(logits, ids.roll(-1, 1)).mean()


@_loss_slip(ONE_MORE)
def shifted_when_flat(logits, ids):
    """You shifted after you had laid all texts in a row, so the last word of one text guesses the
    first of the next: shift first, in each text."""
    flat = logits.flatten(0, 1)
    return F.cross_entropy(flat[:-1], ids.flatten()[1:])


@_loss_slip(MEAN)
def summed_up(logits, ids):
    """All guesses were summed up: it is their mean."""
    return _each(logits[:, :-1], ids[:, 1:]).sum()


@_loss_slip(MEAN)
def mean_of_sums(logits, ids):
    """You summed up the guesses of each text, and took the mean over the texts: it is the mean over
    all guesses."""
    return _each(logits[:, :-1], ids[:, 1:]).sum() / len(ids)


@_loss_slip(MEAN)
def divided_by_n(logits, ids):
    """You divided by n: a text of n words has n - 1 guesses."""
    return _each(logits[:, :-1], ids[:, 1:]).sum() / ids.numel()


@_loss_slip(MEAN)
def one_for_each_guess(logits, ids):
    """You returned a number for each guess: their mean, one number."""
    return _each(logits[:, :-1], ids[:, 1:])


@_loss_slip(MEAN)
def last_guess_alone(logits, ids):
    """Only the last guess of each text counts: all of them do."""
    return _each(logits[:, -2:-1], ids[:, -1:]).mean()


@_loss_slip(LOSS)
def with_the_sign_of_a_log(logits, ids):
    """The sign is missing: it is minus the log, so that a bad guess costs much."""
    return -_each(logits[:, :-1], ids[:, 1:]).mean()


@_loss_slip(LOSS)
def softmax_before_the_loss(logits, ids):
    """There are two softmaxes: F.cross_entropy takes the logits as they are, and has one inside."""
    return _each(logits[:, :-1].softmax(-1), ids[:, 1:]).mean()


@_loss_slip(LOSS)
def softmax_over_the_rows(logits, ids):
    """The softmax went over the rows: over the words of the vocabulary, the last dimension."""
    logs = logits[:, :-1].log_softmax(1)
    return -logs.gather(-1, ids[:, 1:, None]).mean()


@_loss_slip(LARGE)
def log_after_the_softmax(logits, ids):
    """The softmax came first and its log afterwards: a share so small that it is 0 has a log of
    minus infinity. log_softmax, logsumexp and F.cross_entropy do both at once."""
    shares = logits[:, :-1].softmax(-1)
    return -shares.gather(-1, ids[:, 1:, None]).log().mean()


@_loss_slip(LOSS)
def in_bits(logits, ids):
    """You took the logarithm to base 2: the natural one."""
    return _each(logits[:, :-1], ids[:, 1:]).mean() / 0.6931471805599453


@_loss_slip(LOSS)
def shares_averaged(logits, ids):
    """You took the log of the mean share: the mean of the logs."""
    shares = torch.exp(-_each(logits[:, :-1], ids[:, 1:]).double())
    return -shares.mean().log().to(logits.dtype)


@_loss_slip(LOSS)
def perplexity(logits, ids):
    """You returned the perplexity, exp of the loss: the loss itself."""
    return _each(logits[:, :-1], ids[:, 1:]).mean().exp()


@_loss_slip(MEAN)
def id_0_left_out(logits, ids):
    """Words with the id 0 do not count, as with ignore_index=0 for padding: here every word
    does."""
    each = _each(logits[:, :-1], ids[:, 1:])
    return each[ids[:, 1:].flatten() != 0].mean()


@_loss_slip(LOSS)
def reshaped_for_the_classes(logits, ids):
    """`reshape` brought vocab_size to dimension 1, and mixed up the rows: F.cross_entropy takes
    `transpose(1, 2)` there, or rows laid below each other."""
    batch, n, words = logits[:, :-1].shape
    return F.cross_entropy(logits[:, :-1].reshape(batch, words, n), ids[:, 1:])


generate = Task(
    "generate",
    points=4,
    difficulty=4,
    minutes=25,
    hints=(
        "The caches remember what was fed. So the whole prompt is fed once, and after that only the"
        " word that was just written.",
        "Make one cache for each block, with room for n + steps. In each step: feed what is new, "
        "take the last row of the logits, choose a word, put it behind the text; it is what is new "
        "in the next step. All of it under torch.no_grad().",
        "`[:, -1]` of what the model gives is [batch, vocab_size]; `argmax(-1, keepdim=True)`, or "
        "`torch.multinomial` of the shares with your generator, is [batch, 1], and `torch.cat` "
        "along dimension 1 puts it behind.",
    ),
)


class _Writing:
    """Right; each slip overrides one step."""

    def __init__(self, model, ids, temperature, generator):
        self.model, self.temperature, self.generator = model, temperature, generator
        self.caches, self.text, self.new = self.made(), ids, ids

    def made(self):
        return [RowsSoFar() for _ in self.model.blocks]

    def feeds(self):
        return self.model(self.new, self.caches)

    def row(self, logits):
        return logits[:, -1]

    def shares(self, row):
        return torch.softmax(row / self.temperature, -1)

    def draws(self, shares):
        return torch.multinomial(shares, 1, generator=self.generator)

    def chooses(self, row):
        if self.temperature == 0:
            return row.argmax(-1, keepdim=True)
        return self.draws(self.shares(row))

    def writes(self, steps):
        for _ in range(steps):
            with torch.no_grad():
                row = self.row(self.feeds())
            self.new = self.chooses(row)
            self.text = torch.cat((self.text, self.new), 1)
        return self.text


def _can_write(model, ids, steps, temperature=0.0, generator=None):
    if ids.dim() != 2 or not ids.shape[1] or steps < 0 or temperature < 0:
        raise ValueError(f"{tuple(ids.shape)}, {steps} steps at {temperature}")


def _writing_slip(read):
    """Make a slip of a way of writing."""

    def mark(way):
        def wrong(model, ids, steps, temperature, generator):
            return way(model, ids, temperature, generator).writes(steps)

        wrong.__name__, wrong.__doc__ = way.__name__, way.__doc__
        generate.refusing(_can_write)(read)(wrong)
        return way

    return mark


@_writing_slip(WHOLE_TEXT)
class whole_text_in_each_step(_Writing):
    """The text is right, but the whole of it is fed in each step, without caches: make caches, and
    feed the newest word."""

    def feeds(self):
        return self.model(self.text)


@_writing_slip(FED)
class whole_text_into_the_caches(_Writing):
    """The whole text is fed in each step though the caches remember it, so they hold it again and
    again: feed the newest word."""

    def feeds(self):
        return self.model(self.text, self.caches)


class _WithRoom(_Writing):
    """Caches refuse what they have no room for."""

    def room(self, steps):
        return self.text.shape[1] + steps

    def writes(self, steps):
        self.caches = [_Full(self.room(steps)) for _ in self.model.blocks]
        return super().writes(steps)


class _Full(RowsSoFar):
    def __init__(self, room):
        super().__init__()
        self._room = room

    def update(self, key, value):
        if self.length + key.shape[-2] > self._room:
            raise ValueError(f"there is no room: {self._room}")
        return super().update(key, value)


@_writing_slip(FED)
class whole_text_until_no_room(whole_text_into_the_caches, _WithRoom):
    """The whole text is fed in each step though the caches remember it, so that they run out of
    room: feed the newest word."""


@_writing_slip(FED)
class room_for_one_word(_WithRoom):
    """The caches have room for the prompt and one word: they keep every word that is fed, so it
    takes n + steps."""

    def room(self, steps):
        return self.text.shape[1] + 1


@_writing_slip(FED)
class last_word_twice(_Writing):
    """The prompt is fed first, and then its last word again, as if it were new: the logits of the
    prompt's last word choose the first new one."""

    def writes(self, steps):
        with torch.no_grad():
            self.feeds()
        self.new = self.new[:, -1:]
        return super().writes(steps)


@_writing_slip(FED)
class prompt_twice(_Writing):
    """The prompt is fed twice: once before the loop, and once in its first step."""

    def writes(self, steps):
        with torch.no_grad():
            self.feeds()
        return super().writes(steps)


@_writing_slip(FED)
class last_word_of_the_prompt_alone(_Writing):
    """Only the last word of the prompt is fed: the caches know nothing of the others."""

    def __init__(self, *given):
        super().__init__(*given)
        self.new = self.text[:, -1:]


@_writing_slip(FED)
class caches_made_in_each_step(_Writing):
    """The newest word is fed without caches, or to new ones that are empty, so that the model knows
    nothing of what came before: make them once, before the loop."""

    def feeds(self):
        self.caches = self.made()
        return super().feeds()


@_writing_slip(OWN_CACHE)
class one_cache_for_all_blocks(_Writing):
    """All blocks share one cache, as `[cache] * n_layers` makes it: each needs one of its own."""

    def made(self):
        return [RowsSoFar()] * len(self.model.blocks)


@_writing_slip(LAST_ROW)
class first_row(_Writing):
    """You took the first row of the logits: the last one guesses the new word."""

    def row(self, logits):
        return logits[:, 0]


@_writing_slip(LAST_ROW)
class mean_of_the_rows(_Writing):
    """You took the mean of all rows of logits: the last one guesses the new word."""

    def row(self, logits):
        return logits.mean(1)


@_writing_slip(NOTHING_DRAWN)
class smallest_logit(_Writing):
    """You took the smallest logit: the largest."""

    def chooses(self, row):
        return row.argmin(-1, keepdim=True) if self.temperature == 0 else super().chooses(row)


@_writing_slip(NOTHING_DRAWN)
class one_word_for_all(_Writing):
    """One word is chosen for all texts: the largest logit of each row, argmax(-1)."""

    def chooses(self, row):
        if self.temperature:
            return super().chooses(row)
        return (row.argmax() % row.shape[-1]).expand(len(row), 1)


@_writing_slip(AT_0)
class drawn_at_0(_Writing):
    """At temperature 0 a word is drawn, as if it were 1: the largest logit is taken."""

    def chooses(self, row):
        return super().chooses(row) if self.temperature else self.draws(row.softmax(-1))


@_writing_slip(NOTHING_DRAWN)
class drawn_at_nearly_0(_Writing):
    """For temperature 0 you took a tiny number and drew all the same, which moves the generator on:
    nothing is drawn there, argmax."""

    def chooses(self, row):
        return self.draws(torch.softmax(row.double() / max(self.temperature, 1e-6), -1))


@_writing_slip(DRAWN)
class never_drawn(_Writing):
    """Nothing is ever drawn: above 0 a word is drawn from the softmax."""

    def chooses(self, row):
        return row.argmax(-1, keepdim=True)


@_writing_slip(DRAWN)
class one_number_for_all_texts(_Writing):
    """One random number is drawn in each step, for all texts of the batch, so equal texts go on
    alike: draw for each text by itself."""

    def draws(self, shares):
        point = torch.rand((), generator=self.generator, device=shares.device)
        word = (shares.cumsum(-1) <= point).sum(-1, keepdim=True)
        return word.clamp(max=shares.shape[-1] - 1)


@_writing_slip(DRAWN)
class temperature_ignored(_Writing):
    """The temperature has no influence: divide the logits by it before the softmax."""

    def shares(self, row):
        return row.softmax(-1)


@_writing_slip(DRAWN)
class temperature_multiplied(_Writing):
    """The logits are multiplied by the temperature: they are divided by it, so that a high one
    makes all words alike."""

    def shares(self, row):
        return (row * self.temperature).softmax(-1)


@_writing_slip(DRAWN)
class temperature_twice(_Writing):
    """The logits are divided by the temperature twice: once."""

    def shares(self, row):
        return (row / self.temperature**2).softmax(-1)


@_writing_slip(DRAWN)
class temperature_after_the_softmax(_Writing):
    """The shares were divided by the temperature, after the softmax, which changes nothing once
    they sum to 1 again: divide the logits."""

    def shares(self, row):
        return (row.softmax(-1) / self.temperature).softmax(-1)


@_writing_slip(DRAWN)
class alike_for_all_words(_Writing):
    """All words are drawn alike, whatever their logits are: draw from the softmax."""

    def shares(self, row):
        return torch.ones_like(row)


@_writing_slip(DRAWN)
class softmax_over_the_texts(_Writing):
    """The softmax goes over the texts of the batch: over the words, the last dimension."""

    def shares(self, row):
        return (row / self.temperature).softmax(0)


@_writing_slip(SEED)
class generator_ignored(_Writing):
    """`generator` is ignored: hand it on to what draws."""

    def draws(self, shares):
        return torch.multinomial(shares, 1)


@_writing_slip(SEED)
class seed_of_its_own(_Writing):
    """The draws begin from one and the same seed in each call, whatever `generator` is: draw with
    `generator`, as it stands."""

    def __init__(self, model, ids, temperature, generator):
        super().__init__(model, ids, temperature, torch.Generator(ids.device).manual_seed(0))


@_writing_slip(SEED)
class begins_with_its_seed_in_each_call(_Writing):
    """Each call begins with the seed of `generator` anew, so two calls write the same: draw with
    `generator` as it stands, and it goes on from call to call."""

    def __init__(self, model, ids, temperature, generator):
        if generator is not None:
            own = torch.Generator(ids.device).manual_seed(generator.initial_seed())
            generator = own
        super().__init__(model, ids, temperature, generator)


@_writing_slip(SEED)
class a_fresh_generator_by_default(_Writing):
    """Without `generator` you make a new one, which begins with the same seed in each call: hand
    None on, and torch's own is drawn with."""

    def __init__(self, model, ids, temperature, generator):
        own = torch.Generator(ids.device) if generator is None else generator
        super().__init__(model, ids, temperature, own)


@_writing_slip(DRAWN)
class fifty_words_alone(_Writing):
    """Only the 50 likeliest words are ever drawn, as with a top_k that is left in: any word may
    come."""

    def shares(self, row):
        if row.shape[-1] > 50:
            least = row.topk(50).values[:, -1:]
            row = row.masked_fill(row < least, -torch.inf)
        return super().shares(row)


@_writing_slip(SEED)
class generator_begun_again(_Writing):
    """`generator` is set to its seed again before each word is drawn: draw with it as it stands."""

    def draws(self, shares):
        if self.generator is not None:
            self.generator.manual_seed(self.generator.initial_seed())
        return super().draws(shares)


@_writing_slip(BY_ITSELF)
class drawn_once_for_all(_Writing):
    """One word is drawn for the first text, and serves all: each text draws its own."""

    def draws(self, shares):
        return super().draws(shares[:1]).expand(len(shares), 1)


@_writing_slip(BEHIND)
class prompt_left_out(_Writing):
    """What was written comes back without the prompts: they come first."""

    def writes(self, steps):
        n = self.text.shape[1]
        return super().writes(steps)[:, n:]


@_writing_slip(BEHIND)
class one_step_too_many(_Writing):
    """One word too many is written: `steps` words."""

    def writes(self, steps):
        return super().writes(steps + 1)


@_writing_slip(BEHIND)
class one_step_too_few(_Writing):
    """One word too few is written: `steps` words."""

    def writes(self, steps):
        return super().writes(max(0, steps - 1))


@_writing_slip(BEHIND)
class one_word_at_least(_Writing):
    """With 0 steps a word is written all the same: the first one is a step, too."""

    def writes(self, steps):
        return super().writes(max(1, steps))


@_writing_slip(BEHIND)
class stops_at_id_0(_Writing):
    """The text ends before its time, where id 0 was written: there is no end mark here, `steps`
    words are written."""

    def writes(self, steps):
        n = self.text.shape[1]
        text = super().writes(steps)
        ended = (text[:, n:] == 0).all(0).nonzero().flatten().tolist()
        return text[:, : n + ended[0] + 1] if ended else text


@_writing_slip(NO_TRACE)
class left_in_eval_mode(_Writing):
    """The model is in eval mode afterwards: put its training flags back, each of them."""

    def __init__(self, model, *given):
        super().__init__(model.eval(), *given)


@_writing_slip(NO_TRACE)
class left_in_train_mode(_Writing):
    """The model is in train mode afterwards, whatever it was in before: put its training flags
    back, each of them."""

    def writes(self, steps):
        self.model.eval()
        text = super().writes(steps)
        self.model.train()
        return text


@_writing_slip(NO_TRACE)
class one_flag_for_all(_Writing):
    """All parts of the model have the training flag of the whole afterwards: each had its own."""

    def writes(self, steps):
        flag = self.model.training
        self.model.eval()
        text = super().writes(steps)
        self.model.train(flag)
        return text


@_writing_slip(NO_TRACE)
class left_frozen(_Writing):
    """The weights want no gradients afterwards: use torch.no_grad(), and leave them alone."""

    def writes(self, steps):
        self.model.requires_grad_(False)
        return super().writes(steps)


@_writing_slip(NO_TRACE)
class gradients_thrown_away(_Writing):
    """The gradients that the weights had are gone: leave them alone."""

    def writes(self, steps):
        self.model.zero_grad()
        return super().writes(steps)


# What the chapter's own differences show

FINDINGS = (
    Common(
        "feeds_the_whole_text",
        lambda found: (
            (found.kind == "cost" and found.at.startswith("steps="))
            or found.label == "the words that the model is fed"
        ),
        "The text is right, but in each step more is fed than the newest word. Make caches once, "
        "feed the prompt, and then one word at a time.",
        WHOLE_TEXT,
    ),
    Common(
        "norms_as_modules",
        lambda found: isinstance(found.actual, list) and any(
            f"{norm}.weight" in found.actual and norm not in found.actual
            for norm in ("norm", "norm_1", "norm_2")
        ),
        "Your norms are modules with a weight of their own, as nn.RMSNorm is: here a norm is the "
        "weight itself, an nn.Parameter of d_model ones, which rms_norm is handed.",
        WEIGHT,
    ),
)  # fmt: skip


# What `grader show` draws


@draws(rms_norm)
def draw_rms_norm(sketch):
    """Rows of the same direction become the same row, however long they are, and nothing is
    subtracted: 0 stays 0."""
    x = torch.tensor([[1.0, 7.0, 0.0], [2.0, 14.0, 0.0], [-0.1, -0.7, 0.0], [3.0, 3.0, 3.0]])
    sketch.draw("x", x, "row", "feature")
    made = sketch.call("rms_norm", x, torch.ones(3))
    sketch.draw("with a weight of ones", made, "row", "feature")


def _filled(module, scale=1.0):
    """Give a module weights that are the same in each call."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in module.parameters():
            if weight.dim() > 1:
                drawn = torch.randn(weight.shape, generator=generator)
                weight.copy_(scale * drawn * weight.shape[-1] ** -0.5)
    return module


@draws(decoder_block)
def draw_decoder_block(sketch):
    """What a block adds to each token, with weights that were drawn: only the last token is
    another one in the second picture, and the causal mask leaves all rows before it alone."""
    words = sketch.words or ["I", "do", "not", "like", "it"]
    x = sketch.embedded(words, 4)
    other = x.clone()
    other[-1] += 1

    def added(kind, args):
        with torch.no_grad():
            return _filled(kind(4, 2, 1, 8))(args[0]) - args[0]

    for title, rows in (("added", x), ("added, another last token", other)):
        sketch.draw(title, sketch.use("DecoderBlock", added, rows), words, "feature")


@draws(decoder)
def draw_decoder(sketch):
    """One row for each word: the shares of all words as the next one, from a model that nobody has
    trained."""
    words = sketch.words or ["I", "do", "not", "like", "it"]

    def shares(kind, args):
        with torch.no_grad():
            return _filled(kind(len(words), 4, 2, 2))(args[0])[0].softmax(-1)

    made = sketch.use("Decoder", shares, torch.arange(len(words))[None])
    sketch.draw("shares of the next word", made, words, words, scale="weights")


@draws(next_token_loss)
def draw_next_token_loss(sketch):
    """Row i asks what the loss of a text is if only its word i is guessed well: 0 would be best.
    The last row helps nobody."""
    words = sketch.words or ["I", "do", "not", "like", "it"]
    n = len(words)

    def losses(ask, args):
        made = []
        for i in range(n):
            logits = torch.zeros(1, n, n)
            logits[0, i, (i + 1) % n] = 9
            made.append(ask(logits, args[0]))
        return torch.stack(made)[:, None]

    made = sketch.use("next_token_loss", losses, torch.arange(n)[None])
    sketch.draw("loss", made, words, ["loss"])


class _Rhyme(nn.Module):
    """A model that knows a line by heart, with a doubt about each word."""

    def __init__(self, n):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Identity()])
        self.n = n

    def forward(self, ids, caches=None):
        """Score the next word of the line highest, and its neighbours less."""
        away = (torch.arange(self.n) - ids[..., None] - 1) % self.n
        if caches is not None:
            rows = ids[..., None].float()
            caches[0].update(rows, rows)
        return -1.5 * torch.minimum(away, self.n - away).float()


class _Looks(TorchDispatchMode):
    """Notes what each head looks at: weights over all words so far, of one word that asks."""

    def __init__(self, heads):
        super().__init__()
        self.heads, self.rows = heads, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run an operation, and look whether it makes weights."""
        out = func(*args, **(kwargs or {}))
        for one in tree_leaves(out):
            if isinstance(one, torch.Tensor) and one.is_floating_point() and one.dim():
                rows = one.detach().reshape(-1, one.shape[-1])
                sums = rows.sum(-1) if (rows >= 0).all() else rows.new_zeros(len(rows))
                if len(rows) == self.heads and torch.allclose(sums, torch.ones(self.heads)):
                    self.rows[one.shape[-1]] = rows
        return out

    def shown(self, n):
        """Return the weights of each head [heads, n, n]: one row for each word that asked."""
        found = torch.zeros(self.heads, n, n)
        for keys, rows in self.rows.items():
            if keys <= n:
                found[:, keys - 1, :keys] = rows
        return found


def _learned(kind, n, heads, steps=150):
    """Let a decoder learn the words 0 to n - 1 by heart."""
    ids = torch.arange(n)[None]
    model = _filled(kind(n, 8 * heads, 1, heads))
    downhill = Downhill(model.parameters(), 0.1)
    for _ in range(steps):
        downhill.step(F.cross_entropy(model(ids)[0, :-1], ids[0, 1:]))
    return model


@draws(generate)
def draw_generate(sketch):
    """How often each word comes after the first one, in 200 texts of a model that knows the line by
    heart: sure of itself when it is cold, and of nothing when it is hot. Then the text as it grows,
    from a decoder of yours that has learned the line: each word is fed as it is written, and each
    head looks back at what is in its cache."""
    words = (sketch.words or ["I", "do", "not", "like", "it"])[:12]
    n, heads, kinds = len(words), 2, []

    def counted(write, args):
        rows = []
        for temperature in args:
            drawn = torch.Generator().manual_seed(1)
            text = write(_Rhyme(n), torch.zeros(200, 1).long(), 1, temperature, drawn)
            rows.append(torch.bincount(text[:, 1], minlength=n)[:n] / 200)
        return torch.stack(rows)

    at = (0.0, 0.5, 1.0, 2.0, 10.0)
    sketch.row("shares of the second word, by temperature")
    made = sketch.use("generate", counted, *at)
    sketch.draw("shares", made, [f"{one:g}" for one in at], words, scale="weights")

    def looks(write):
        torch.manual_seed(0)
        model = _learned(kinds[0], n, heads)
        with _Looks(heads) as seen:
            write(model, torch.zeros(1, 1).long(), n)
        return seen.shown(n)

    if n > 1:
        sketch.row("written after the first word, at temperature 0")
        sketch.watch("Decoder", lambda kind: kinds.append(kind) or torch.zeros(1))
        seen = sketch.watch("generate", looks)
        for head in range(heads):
            sketch.draw(f"head {head}", seen.at(head), words, words, scale="weights")
