"""The coach of chapter 7."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from grader.coach import Task, card
from grader.coach.common import Common
from grader.coach.downhill import Downhill
from grader.coach.error_slips import error_like
from grader.coach.ex06_heads import head_maps, right_maps
from grader.pictures.drawings import draws

TRACK = "core"
WAVES = (
    'the stub of positional_encoding: "With i = 0, 1, 2, ... feature 2i of position p is sin(p '
    '/ 10000^(2i / d_model))"'
)
PAIRS = (
    'the stub of positional_encoding: "Features come in pairs of one frequency: a sine, and the '
    'cosine of the same angle."'
)
FROM_0 = 'the stub of positional_encoding: "positions are counted from 0"'
ENCODING = 'the stub of positional_encoding: "The encoding [n, d_model]"'
ODD = 'the stub of positional_encoding: "An odd d_model ends on a sine, whose cosine is left out."'
ROWS = 'the stub of positional_encoding: "n: how many positions, 0 or more."'
ORDER = (
    'chapter 7, The formula: "Without the positional encoding this model cannot tell "not like" '
    'from "like not"." (after document 001, "The Main Ideas Behind Transformers and Attention")'
)
LOOK_UP = (
    'the stub of encode_words: "in the order of the words" (after document 004, "Word embedding '
    'to sequence matrix")'
)
WORD_IDS = 'the stub of encode_words: "The ids [n], torch.long, on the CPU"'
UNKNOWN = 'the stub of encode_words: "A word that the vocabulary lacks is an error, not an id."'
AVERAGE = (
    'chapter 7, The formula: "Z1 = mean of H\'s rows" (after document 004, "Input neural network")'
)
POOLED = 'the stub of mean_pool: "One vector per sequence [batch, d]"'
PADDING = 'chapter 7, Shapes: "The padding must be kept out twice"'
ANY_ID = 'chapter 7, Shapes: "the padding may hold any id of the vocabulary"'
LENGTHS = 'chapter 7, Shapes: "lengths [batch] says how many tokens are real"'
FORMULA = 'chapter 7, The formula: "logits = Z1 W + b"'
CONTEXT = 'chapter 7, The formula: "the words, each with its context"'
QUERIES = 'chapter 3, Shapes: "mask[:, None, :] makes it [batch, 1, n]"'
TRUE = 'chapter 3, The formula: "A mask holds booleans, and True means "may attend""'
MEMORY = 'the stub of MultiHeadAttention: "memory: the tokens looked at"'
RAW = 'the stub of NextWordModel: "raw scores, with no softmax after `head`"'
SCORES = 'the stub of NextWordModel: "The logits [batch, vocab_size]"'
SUBMODULES = 'the stub of NextWordModel: "The model has three parts and no other weights"'
NUMBER_OF_HEADS = 'the stub of NextWordModel: "n_heads: how many heads"'
POSITIONS = (
    'the stub of NextWordModel: "positions: whether the positional encoding is added to the '
    'embeddings."'
)
VOCABULARY = (
    'the stub of NextWordModel: "head: nn.Linear(d_model, vocab_size)." (after document 004, '
    '"Map to vocabulary space")'
)
INSIDE = (
    'chapter 7, The formula: "F.cross_entropy computes this loss from the logits, with the '
    'softmax inside"'
)
LOSS = 'chapter 7, The formula: "loss = -log softmax(logits)[target]"'
TRAINING = 'the stub of train: "The loss before each step, a list of `steps` Python floats"'
NUMBER_OF_STEPS = (
    'the stub of train: "steps: how many times the weights are changed. With 0 nothing changes."'
)
IN_PLACE = 'the stub of train: "all of its weights that the loss depends on change"'
FRESH = 'the stub of train: "Each step starts from fresh gradients, and the steps lower the loss."'
RATE = 'the stub of train: "lr: the learning rate."'
ARGMAX = (
    'the stub of predict: "The word of the vocabulary whose logit is largest." (after document '
    '004, "Select maximum output logit")'
)
ANSWER = 'the stub of predict: "Name the word that the model expects after `words`."'
ALL_WORDS = (
    'the stub of predict: "words: the words so far, at least one." (after document 004, "Simple '
    'language modeling in the self-attention mechanism.")'
)
ANY_ORDER = 'the stub of predict: "vocabulary: the id of each word, in any order."'
NO_TRACE = (
    'the stub of predict: "The weights of the model, their gradients and its training flags are '
    'as they were before."'
)
NO_WORDS = 'the stub of predict: "ValueError: there are 0 words."'
AGAIN = 'chapter 7, The formula: "Document 004 gives two pairs, and two more complete the table"'
INPUTS = "exercises/RULES.md, inputs"
DEVICE = card("device")
DTYPE = card("dtype")
GRADIENT = card("gradient")
BROADCASTING = card("broadcasting")

positional_encoding = Task(
    "positional_encoding",
    points=4,
    difficulty=3,
    minutes=10,
    hints=(
        "Two neighbouring features share one frequency: the even one is the sine of an angle, the "
        "odd one the cosine of the same angle. The angle is the position times the frequency.",
        "First the even feature numbers 0, 2, 4, ...: divided by d_model they are the exponents. "
        "Then all angles at once, one row per position. Then sines and cosines in turn; for an odd "
        "d_model, drop the last cosine.",
        "`arange(n)` as a column [n, 1], divided by 10000 to the power of `arange(0, d_model, 2) / "
        "d_model`, broadcasts to [n, pairs]. torch.stack on a new last dimension gives [n, pairs, "
        "2]; flatten it and keep d_model columns.",
    ),
)


def _places_and_even(n, d_model, device, first=0):
    place = torch.arange(first, first + n, device=device)[:, None]
    return place, torch.arange(0, d_model, step=2, device=device)


def _angles(n, d_model, device, divide=None, base=10000.0, first=0):
    place, even = _places_and_even(n, d_model, device, first)
    exponent = even / d_model if divide is None else divide(even)
    return place / base**exponent


def _in_turn(one, other, d_model):
    return torch.stack((one, other), -1).flatten(1)[:, :d_model]


def _waves(angles, d_model):
    return _in_turn(angles.sin(), angles.cos(), d_model)


def _encoding(n, d_model, device=None):
    return _waves(_angles(n, d_model, device), d_model)


@positional_encoding.slip(DEVICE)
def device_ignored(n, d_model, device=None):
    """`device` is not used, so the table is made on the CPU: pass it to torch.arange."""
    return _encoding(n, d_model)


@positional_encoding.slip(PAIRS)
def sine_and_cosine_swapped(n, d_model, device=None):
    """Sine and cosine are swapped: even features are sines, so position 0 starts 0, 1, 0, 1."""
    angles = _angles(n, d_model, device)
    return _in_turn(angles.cos(), angles.sin(), d_model)


@positional_encoding.slip(PAIRS)
def all_sines_first(n, d_model, device=None):
    """All sines come first and all cosines after them: they should take turns, sine, cosine, sine
    ..."""
    angles = _angles(n, d_model, device)
    return torch.cat((angles.sin(), angles.cos()), -1)[:, :d_model]


@positional_encoding.slip(WAVES)
def half_the_exponent(n, d_model, device=None):
    """The exponent is i / d_model, half of what it should be: it is 2i / d_model for pair i."""
    return _waves(_angles(n, d_model, device, lambda even: even / 2 / d_model), d_model)


@positional_encoding.slip(WAVES)
def twice_the_exponent(n, d_model, device=None):
    """The exponent is twice too large: 0, 2, 4, ... is 2i already, do not double it again."""
    return _waves(_angles(n, d_model, device, lambda even: 2 * even / d_model), d_model)


@positional_encoding.slip(WAVES)
def feature_taken_for_pair(n, d_model, device=None):
    """Your `i` counts features, but in 2i / d_model it counts pairs: feature j is in pair j // 2,
    so both features of a pair have the exponent 2 * (j // 2) / d_model."""
    angles = _angles(n, d_model, device, lambda even: 2 * even / d_model)
    odd = _angles(n, d_model, device, lambda even: 2 * (even + 1) / d_model)
    return _in_turn(angles.sin(), odd.cos(), d_model)


@positional_encoding.slip(WAVES)
def exponent_not_divided(n, d_model, device=None):
    """The exponent is 2i alone: divide it by d_model, so that it stays below 1."""
    return _waves(_angles(n, d_model, device, lambda even: even * 1.0), d_model)


@positional_encoding.slip(WAVES)
def exponent_up_to_one(n, d_model, device=None):
    """Your exponents run from 0 to 1, with 1 included: divide 2i by d_model, not by the last value
    of 2i."""
    return _waves(
        _angles(n, d_model, device, lambda even: even / max(1, int(even.max()))), d_model
    )  # fmt: skip


@positional_encoding.slip(PAIRS)
def a_frequency_for_each_feature(n, d_model, device=None):
    """Sine and cosine of a pair have different frequencies: feature 2i + 1 takes 2i, too."""
    angles = _angles(n, d_model, device)
    odd = _angles(n, d_model, device, lambda even: (even + 1) / d_model)
    return _in_turn(angles.sin(), odd.cos(), d_model)


@positional_encoding.slip(PAIRS)
def one_frequency(n, d_model, device=None):
    """All your pairs are alike: the power of 10000 is missing, or // made its exponent 0."""
    return _waves(_angles(n, d_model, device, lambda even: even * 0.0), d_model)


@positional_encoding.slip(WAVES)
def frequencies_rise(n, d_model, device=None):
    """You multiply by the power of 10000: divide by it, or give the exponent a minus sign."""
    return _waves(_angles(n, d_model, device, lambda even: -even / d_model), d_model)


@positional_encoding.slip(WAVES)
def powers_of_e(n, d_model, device=None):
    """These are powers of e: with exp, the exponent has to be multiplied by log(10000)."""
    return _waves(_angles(n, d_model, device, base=2.718281828459045), d_model)


@positional_encoding.slip(WAVES)
def log10_for_log(n, d_model, device=None):
    """You took log10(10000), which is 4: exp goes with the natural logarithm, math.log."""
    return _waves(_angles(n, d_model, device, base=54.598150033144236), d_model)


@positional_encoding.slip(WAVES)
def base_1000(n, d_model, device=None):
    """The base is 1000: a zero is missing, it should be 10000."""
    return _waves(_angles(n, d_model, device, base=1000.0), d_model)


@positional_encoding.slip(WAVES)
def base_100000(n, d_model, device=None):
    """The base is 100000: there is one zero too many, it should be 10000."""
    return _waves(_angles(n, d_model, device, base=100000.0), d_model)


@positional_encoding.slip(FROM_0)
def counted_from_one(n, d_model, device=None):
    """Your positions start at 1: the first one has to be 0, so that its row is 0, 1, 0, 1, ..."""
    return _waves(_angles(n, d_model, device, first=1), d_model)


@positional_encoding.slip(ENCODING)
def features_as_rows(n, d_model, device=None):
    """Your positions are columns: they should be rows, [n, d_model]."""
    return _encoding(n, d_model, device).T


@positional_encoding.slip(ENCODING)
def with_a_batch(n, d_model, device=None):
    """There is one dimension too many: return [n, d_model], without a batch."""
    return _encoding(n, d_model, device)[None]


@positional_encoding.slip(PAIRS)
def sines_only(n, d_model, device=None):
    """All your features are sines: the odd ones are cosines."""
    angles = _angles(n, d_model, device)
    return _in_turn(angles.sin(), angles.sin(), d_model)


@positional_encoding.slip(PAIRS)
def cosines_only(n, d_model, device=None):
    """All your features are cosines: the even ones are sines."""
    angles = _angles(n, d_model, device)
    return _in_turn(angles.cos(), angles.cos(), d_model)


@positional_encoding.slip(WAVES)
def exponents_odd(n, d_model, device=None):
    """Your exponents are 1, 3, 5, ... over d_model: they should be 0, 2, 4, ..., those of the even
    features."""
    return _waves(_angles(n, d_model, device, lambda even: (even + 1) / d_model), d_model)


@positional_encoding.slip(WAVES)
def power_forgotten(n, d_model, device=None):
    """You multiply 10000 by 2i / d_model: 2i / d_model is the exponent, 10000 ** (2i / d_model)."""
    place, even = _places_and_even(n, d_model, device)
    return _waves(place / (10000 * even / d_model), d_model)


@positional_encoding.slip(WAVES)
def times_instead_of_power(n, d_model, device=None):
    """You divide by 10000 and multiply by 2i / d_model: it is the exponent of 10000."""
    place, even = _places_and_even(n, d_model, device)
    return _waves(place / 10000 * (even / d_model), d_model)


@positional_encoding.slip(WAVES)
def angles_only(n, d_model, device=None):
    """These are the angles themselves: sine and cosine are missing."""
    angles = _angles(n, d_model, device)
    return _in_turn(angles, angles, d_model)


@positional_encoding.slip(WAVES)
def in_degrees(n, d_model, device=None):
    """You treated the angles as degrees: torch.sin takes radians, so leave them as they are."""
    return _waves(_angles(n, d_model, device).deg2rad(), d_model)


@positional_encoding.slip(WAVES)
def position_as_a_share(n, d_model, device=None):
    """The position was divided by n: a row must not depend on how many rows there are."""
    return _waves(_angles(n, d_model, device) / max(n, 1), d_model)


@positional_encoding.slip(ODD)
def no_place_for_an_odd_feature(n, d_model, device=None):
    """An odd d_model has one cosine fewer than sines: drop one before you put them in."""
    angles = _angles(n, d_model, device)
    table = torch.zeros((n, d_model), device=device)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


@positional_encoding.slip(ODD)
def one_feature_too_many(n, d_model, device=None):
    """For an odd d_model you return one feature too many: the last cosine is left out."""
    return _waves(_angles(n, d_model, device), d_model + 1)


@positional_encoding.slip(ODD)
def one_feature_too_few(n, d_model, device=None):
    """For an odd d_model you return one feature too few: it ends on a sine of its own."""
    return _waves(_angles(n, d_model, device), d_model // 2 * 2)


@positional_encoding.slip(ODD)
def last_feature_left_at_zero(n, d_model, device=None):
    """For an odd d_model your last feature stays 0: it has to be a sine like every even feature."""
    return F.pad(_waves(_angles(n, d_model, device), d_model // 2 * 2), (0, d_model % 2))


@positional_encoding.slip(WAVES)
def odd_width_made_even(n, d_model, device=None):
    """For an odd d_model you divide by d_model + 1: make room for a whole pair, but divide by
    d_model."""
    width = d_model + d_model % 2
    return _waves(_angles(n, d_model, device, lambda even: even / width), d_model)


@positional_encoding.slip(WAVES)
def odd_width_made_smaller(n, d_model, device=None):
    """For an odd d_model you divide by d_model - 1, perhaps by 2 * (d_model // 2): use d_model."""
    width = max(1, d_model // 2 * 2)
    return _waves(_angles(n, d_model, device, lambda even: even / width), d_model)


@positional_encoding.slip(WAVES)
def width_plus_one(n, d_model, device=None):
    """You divided the exponent by d_model + 1: it should be 2i / d_model."""
    return _waves(_angles(n, d_model, device, lambda even: even / (d_model + 1)), d_model)


encode_words = Task(
    "encode_words",
    points=1,
    difficulty=1,
    minutes=5,
    hints=(
        "The vocabulary knows the id of each word. A dict that lacks a key raises a KeyError by "
        "itself, if you use square brackets, and the error names the key.",
        "Look up the words one after the other, in their order, and make one tensor of the ids. "
        "Mind the empty list: torch cannot guess a dtype from it.",
        "A list comprehension over the words, put into `torch.tensor(..., dtype=torch.long)`, "
        "gives [n].",
    ),
)


def _ids(words, vocabulary, dtype=torch.long):
    return torch.tensor([vocabulary[word] for word in words], dtype=dtype)


@encode_words.slip(UNKNOWN)
def unknown_becomes_zero(words, vocabulary):
    """An unknown word becomes 0, and that is another word's id: let the KeyError happen."""
    return torch.tensor([vocabulary.get(word, 0) for word in words], dtype=torch.long)


@encode_words.slip(UNKNOWN)
def unknown_becomes_minus_one(words, vocabulary):
    """An unknown word becomes -1, which no embedding knows: let the KeyError happen."""
    return torch.tensor([vocabulary.get(word, -1) for word in words], dtype=torch.long)


@encode_words.slip(UNKNOWN)
def unknown_is_left_out(words, vocabulary):
    """An unknown word is left out, and the sentence gets shorter: let the KeyError happen."""
    return _ids([word for word in words if word in vocabulary], vocabulary)


@encode_words.slip(UNKNOWN)
def unknown_is_added(words, vocabulary):
    """An unknown word gets a new id, which no embedding knows: let the KeyError happen."""
    for word in words:
        vocabulary.setdefault(word, len(vocabulary))
    return _ids(words, vocabulary)


@encode_words.slip(UNKNOWN)
def refused_with_another_error(words, vocabulary):
    """An unknown word is refused, but not with a KeyError: vocabulary[word] raises one itself."""
    for word in words:
        if word not in vocabulary:
            raise ValueError(f"{word} is not in the vocabulary")
    return _ids(words, vocabulary)


@encode_words.slip(UNKNOWN)
def refused_without_the_word(words, vocabulary):
    """Your KeyError does not say which word is unknown: put the word into it."""
    if any(word not in vocabulary for word in words):
        raise KeyError("there is an unknown word")
    return _ids(words, vocabulary)


@encode_words.slip(WORD_IDS)
def ids_as_floats(words, vocabulary):
    """Your ids are floats: an embedding takes whole numbers, dtype torch.long."""
    return _ids(words, vocabulary, torch.float32)


@encode_words.slip(WORD_IDS)
def number_for_a_single_word(words, vocabulary):
    """A single word became a number, []: return a tensor with one id, [1]."""
    return _ids(words, vocabulary).squeeze()


@encode_words.slip(WORD_IDS)
def ids_as_int32(words, vocabulary):
    """Your ids are int32: they have to be torch.long, that is int64."""
    return _ids(words, vocabulary, torch.int32)


@encode_words.slip(WORD_IDS)
def float_where_there_are_no_words(words, vocabulary):
    """Without words your tensor is float32: torch cannot guess, so say dtype=torch.long."""
    return torch.tensor([vocabulary[word] for word in words])


@encode_words.slip(WORD_IDS)
def a_list_of_ids(words, vocabulary):
    """The ids are right, but in a list: make a tensor of them."""
    return [vocabulary[word] for word in words]


@encode_words.slip(WORD_IDS)
def ids_with_a_batch(words, vocabulary):
    """There is one dimension too many: return [n], the batch comes later."""
    return _ids(words, vocabulary)[None]


@encode_words.slip(WORD_IDS)
def one_hot_rows(words, vocabulary):
    """These are one-hot rows: nn.Embedding wants the ids themselves."""
    return F.one_hot(_ids(words, vocabulary), max(vocabulary.values()) + 1)


@encode_words.slip(LOOK_UP)
def ids_in_order_of_size(words, vocabulary):
    """Your ids are sorted: they keep the order of the words."""
    return _ids(words, vocabulary).sort().values


@encode_words.slip(LOOK_UP)
def words_in_order_of_the_alphabet(words, vocabulary):
    """The words were sorted before they were looked up: they keep their order."""
    return _ids(sorted(words), vocabulary)


@encode_words.slip(LOOK_UP)
def words_from_the_end(words, vocabulary):
    """The words were taken from the end, as `pop()` does: they keep their order."""
    return _ids(words[::-1], vocabulary)


@encode_words.slip(LOOK_UP)
def every_word_once(words, vocabulary):
    """A repeated word is lost, as in a set or dict: each word gives an id each time."""
    return _ids(list(dict.fromkeys(words)), vocabulary)


@encode_words.slip(LOOK_UP)
def in_order_of_the_vocabulary(words, vocabulary):
    """You went through the vocabulary and kept the words that occur: go through the words
    instead."""
    missing = [word for word in words if word not in vocabulary]
    return _ids([word for word in vocabulary if word in words] + missing, vocabulary)


@encode_words.slip(LOOK_UP)
def places_in_the_sentence(words, vocabulary):
    """These are the places of the words in the sentence: look the words up in the vocabulary."""
    _ids(words, vocabulary)
    return torch.arange(len(words))


@encode_words.slip(LOOK_UP)
def places_in_the_vocabulary(words, vocabulary):
    """These are the places of the words in the dict: the id is the value stored under the word."""
    _ids(words, vocabulary)
    return torch.tensor([list(vocabulary).index(word) for word in words], dtype=torch.long)


@encode_words.slip(INPUTS)
def uses_up_the_list(words, vocabulary):
    """The caller's list is empty after the call: `pop` removed its words. Use a for loop."""
    ids = []
    while words:
        ids.append(vocabulary[words.pop(0)])
    return torch.tensor(ids).long()


@encode_words.slip(UNKNOWN)
def small_letters_only(words, vocabulary):
    """The words were changed to lower case: the vocabulary may hold both "Like" and "like"."""
    return _ids([word.lower() for word in words], vocabulary)


mean_pool = Task(
    "mean_pool",
    points=3,
    difficulty=2,
    minutes=5,
    hints=(
        "A mean is a sum divided by a count. With lengths, both change: only the first "
        "lengths[b] rows are added up, and the count is lengths[b].",
        "Without lengths, average over the tokens, which are the middle dimension. With lengths, "
        "first compare their shape with the batch, then set the padding to 0, add up, divide by "
        "the lengths.",
        "`padding_mask` is [batch, n]; give it a last dimension [batch, n, 1] and it lines up "
        "with x. After the sum over dim 1 there is [batch, d], and the lengths, as a column "
        "[batch, 1], divide it.",
    ),
)


def _checked(x, lengths):
    if not x.ndim == 3:
        raise ValueError(f"{tuple(x.shape)} is not [batch, n, d]")
    if lengths is None:
        return torch.full((x.shape[0],), x.shape[1], device=x.device)
    if lengths.shape != x.shape[:1]:
        raise ValueError(f"{tuple(lengths.shape)} lengths for {tuple(x.shape)}")
    return lengths


def _real(x, lengths):
    return torch.arange(x.shape[1], device=x.device) < lengths[:, None]


def _kept(x, lengths, closed=0.0):
    return x.masked_fill(~_real(x, lengths)[:, :, None], closed)


def _mean(x, lengths=None):
    lengths = _checked(x, lengths)
    return _kept(x, lengths).sum(1) / lengths[:, None]


@mean_pool.slip(POOLED)
def longest_first(x, lengths=None):
    """The means are right, but in the order of the lengths: put them back in the order of the
    batch."""
    return _mean(x, lengths)[_checked(x, lengths).argsort(descending=True, stable=True)]


@mean_pool.slip(PADDING)
def padding_counted(x, lengths=None):
    """The sum leaves the padding out, but you divide by n: divide by each sequence's length."""
    return _kept(x, _checked(x, lengths)).mean(1)


@mean_pool.slip(PADDING)
def lengths_not_used(x, lengths=None):
    """`lengths` changes nothing: the padding is averaged as if it were words."""
    _checked(x, lengths)
    return x.mean(dim=1)


@mean_pool.slip(PADDING)
def equal_lengths_taken_for_no_padding(x, lengths=None):
    """Where all lengths are equal you average all rows: equal sequences have padding, too, if they
    are shorter than n."""
    lengths = _checked(x, lengths)
    return x.mean(1) if (lengths == lengths[:1]).all() else _mean(x, lengths)


@mean_pool.slip(PADDING)
def padding_added_up(x, lengths=None):
    """You divide by the lengths, but the sum still includes the padding: set it to 0 first."""
    return x.sum(1) / _checked(x, lengths)[:, None]


@mean_pool.slip(PADDING)
def padding_instead(x, lengths=None):
    """You averaged the padding and left the words out: the mask is inverted."""
    if lengths is None:
        return x.mean(dim=1)
    padding = ~_real(x, _checked(x, lengths))
    return (x * padding[:, :, None]).sum(1) / padding.sum(1)[:, None].clamp_min(1)


@mean_pool.slip(PADDING)
def padding_over_the_lengths(x, lengths=None):
    """The mask is inverted: the padding was added up and the words were left out."""
    lengths = _checked(x, lengths)
    return (x * ~_real(x, lengths)[:, :, None]).sum(1) / lengths[:, None]


@mean_pool.slip(AVERAGE)
def mean_rounded_down(x, lengths=None):
    """The mean was rounded down to a whole number: divide with `/`, not `//`."""
    lengths = _checked(x, lengths)
    return _kept(x, lengths).sum(1) // lengths[:, None]


@mean_pool.slip(PADDING)
def one_token_too_many(x, lengths=None):
    """One row of padding is averaged, too: compare with <, not <=; counting starts at 0."""
    return _mean(x, (_checked(x, lengths) + 1).clamp_max(x.shape[1]))


@mean_pool.slip(PADDING)
def one_row_too_many_in_the_sum(x, lengths=None):
    """The sum includes one row of padding: compare with <, not <=; counting starts at 0."""
    lengths = _checked(x, lengths)
    return _kept(x, lengths + 1).sum(1) / lengths[:, None]


@mean_pool.slip(PADDING)
def one_token_too_few(x, lengths=None):
    """The last word of each sequence is left out: lengths[b] rows are real."""
    if lengths is None:
        return x.mean(dim=1)
    return _mean(x, (_checked(x, lengths) - 1).clamp_min(1))


@mean_pool.slip(LENGTHS)
def one_length_for_all(x, lengths=None):
    """Every sequence is averaged over the longest length: each has a length of its own."""
    lengths = _checked(x, lengths)
    return x[:, : int(lengths.max())].mean(1)


@mean_pool.slip(LENGTHS)
def first_length_for_all(x, lengths=None):
    """Every sequence is averaged over the first one's length: each has a length of its own."""
    lengths = _checked(x, lengths)
    return x[:, : int(lengths[0])].mean(1)


@mean_pool.slip(PADDING)
def padding_in_front(x, lengths=None):
    """You averaged the last rows of each sequence: the words come first, the padding is at
    the end."""
    lengths = _checked(x, lengths)
    return _mean(x.flip(1), lengths)


@mean_pool.slip(AVERAGE)
def over_the_features(x, lengths=None):
    """You averaged over the features, dim 2: the tokens are dim 1."""
    return _kept(x, _checked(x, lengths)).mean(2)


@mean_pool.slip(AVERAGE)
def over_the_features_kept(x, lengths=None):
    """You averaged over the features, dim 2, and kept that dimension: average over the tokens, dim
    1, without keepdim."""
    return _kept(x, _checked(x, lengths)).mean(2, keepdim=True)


@mean_pool.slip(AVERAGE)
def over_the_batch(x, lengths=None):
    """You averaged over the sequences, dim 0: the tokens are dim 1."""
    return _kept(x, _checked(x, lengths)).mean(0)


@mean_pool.slip(AVERAGE)
def over_everything(x, lengths=None):
    """One number came out: average over the tokens only, dim 1."""
    lengths = _checked(x, lengths)
    return _kept(x, lengths).sum() / (lengths.sum() * x.shape[2])


@mean_pool.slip(AVERAGE)
def one_number_for_each_sequence(x, lengths=None):
    """With lengths, one number came out for each sequence, as from `.mean()` without a dimension:
    average over the rows, dim 0 of x[b], and keep the features apart."""
    if lengths is None:
        return x.mean(dim=1)
    lengths = _checked(x, lengths)
    return _kept(x, lengths).sum((1, 2)) / lengths / x.shape[2]


@mean_pool.slip(AVERAGE)
def all_tokens_of_the_batch(x, lengths=None):
    """You divided by the number of tokens in the whole batch: each sequence has its own number."""
    if lengths is None:
        return x.mean(dim=1)
    lengths = _checked(x, lengths)
    return _kept(x, lengths).sum(1) / lengths.sum()


@mean_pool.slip(AVERAGE)
def sum_without_a_division(x, lengths=None):
    """This is the sum of the tokens: divide by how many there are."""
    return _kept(x, _checked(x, lengths)).sum(1)


@mean_pool.slip(AVERAGE)
def largest_instead(x, lengths=None):
    """This is the largest value of each feature, max pooling: return the mean."""
    return _kept(x, _checked(x, lengths), -torch.inf).amax(1)


@mean_pool.slip(PADDING)
def padding_subtracted(x, lengths=None):
    """The padding was added and then subtracted: where it is large, rounding loses the words. Set
    it to 0 instead."""
    lengths = _checked(x, lengths)
    padding = x.masked_fill(_real(x, lengths)[:, :, None], 0)
    return (x.sum(1) - padding.sum(1)) / lengths[:, None]


@mean_pool.slip(LENGTHS)
def rows_of_zeros_not_counted(x, lengths=None):
    """You counted the rows that are not all 0: a real word may be a row of zeros. Divide by
    `lengths`."""
    kept = x.masked_fill(~_real(x, _checked(x, lengths))[:, :, None], 0)
    return kept.sum(1) / (kept != 0).any(-1).sum(1, keepdim=True).clamp(min=1)


@mean_pool.slip(PADDING)
def over_the_features_with_lengths(x, lengths=None):
    """With lengths you average over the features, dim 2: the tokens are dim 1, as without
    lengths."""
    if lengths is None:
        return x.mean(dim=1)
    return _kept(x, _checked(x, lengths)).mean(2)


@mean_pool.slip(PADDING)
def features_added_up_with_lengths(x, lengths=None):
    """With lengths you add up the features, dim 2: sum over the tokens, dim 1, and then divide."""
    if lengths is None:
        return x.mean(dim=1)
    return _kept(x, _checked(x, lengths)).sum(2) / lengths[:, None]


@mean_pool.slip(PADDING)
def real_tokens_run_together(x, lengths=None):
    """x[mask] puts the real tokens of all sequences into one list, and reshaping it back mixes
    sequences: set the padding to 0 where it is, and sum over dim 1."""
    if lengths is None:
        return x.mean(dim=1)
    lengths = _checked(x, lengths)
    return x[_real(x, lengths)].reshape(len(x), -1, x.shape[2]).mean(1)


@mean_pool.slip(PADDING)
def batch_added_up_with_lengths(x, lengths=None):
    """With lengths you add up the sequences, dim 0: the tokens are dim 1."""
    if lengths is None:
        return x.mean(dim=1)
    return _kept(x, _checked(x, lengths)).sum(0) / lengths.sum()


@mean_pool.slip(AVERAGE)
def largest_of_the_real_ones(x, lengths=None):
    """With lengths you take the largest value, max pooling: take the mean there, too."""
    if lengths is None:
        return x.mean(dim=1)
    return _kept(x, _checked(x, lengths), -torch.inf).amax(1)


@mean_pool.slip(AVERAGE)
def largest_with_padding_at_zero(x, lengths=None):
    """This is the largest value, and the padding, set to 0, is included: return the mean of the
    real tokens."""
    if lengths is None:
        return x.mean(dim=1)
    return _kept(x, _checked(x, lengths)).amax(1)


@mean_pool.slip(AVERAGE)
def largest_without_lengths(x, lengths=None):
    """Without lengths you take the largest value, max pooling: take the mean there, too."""
    return x.amax(1) if lengths is None else _mean(x, lengths)


@mean_pool.slip(AVERAGE)
def largest_padding_and_all(x, lengths=None):
    """This is the largest value of each feature, padding included: return the mean of the real
    tokens."""
    _checked(x, lengths)
    return x.amax(1)


@mean_pool.slip(POOLED)
def token_dimension_kept_with_lengths(x, lengths=None):
    """With lengths the tokens' dimension is still there, with size 1: leave out keepdim."""
    return x.mean(1) if lengths is None else _mean(x, lengths)[:, None]


@mean_pool.slip(POOLED)
def token_dimension_kept_in_the_sum(x, lengths=None):
    """The sum kept its dim 1 (keepdim), so the division by [batch, 1] makes it larger: leave out
    keepdim."""
    if lengths is None:
        return x.mean(dim=1)
    return _kept(x, _checked(x, lengths)).sum(1, keepdim=True) / lengths[:, None]


@mean_pool.slip(BROADCASTING)
def lengths_as_a_row(x, lengths=None):
    """`lengths` lines up with the features: make it a column, lengths[:, None], so that it lines up
    with the batch."""
    if lengths is None:
        return x.mean(dim=1)
    return _kept(x, _checked(x, lengths)).sum(1) / lengths


@mean_pool.slip(BROADCASTING)
def mask_without_features(x, lengths=None):
    """The mask [batch, n] lines up with [n, d]: give it a last dimension, [batch, n, 1]."""
    if lengths is None:
        return x.mean(dim=1)
    lengths = _checked(x, lengths)
    return (x * _real(x, lengths)).sum(1) / lengths[:, None]


@mean_pool.slip(AVERAGE)
def last_token_instead(x, lengths=None):
    """This is each sequence's last token: return the mean of all its tokens."""
    lengths = _checked(x, lengths)
    return x[torch.arange(len(x), device=x.device), lengths.long() - 1]


@mean_pool.slip(AVERAGE)
def first_token_instead(x, lengths=None):
    """This is each sequence's first token: return the mean of all its tokens."""
    _checked(x, lengths)
    return x[:, 0]


@mean_pool.slip(POOLED)
def token_dimension_kept(x, lengths=None):
    """The tokens' dimension is still there, with size 1: leave out keepdim."""
    return _mean(x, lengths)[:, None]


@mean_pool.slip(POOLED)
def squeezed(x, lengths=None):
    """`squeeze` also removes a batch of 1: name the dimension, squeeze(1), or leave it out."""
    return _mean(x, lengths).squeeze()


@mean_pool.slip(PADDING)
def padding_has_a_say_when_large(x, lengths=None):
    """You made the padding small, but did not remove it: where it is large, it still counts."""
    real = _real(x, _checked(x, lengths))[:, :, None]
    share = torch.where(real, 1.0, 1e-5).to(x.dtype)
    return (x * share).sum(1) / share.sum(1)


NextWordModel = Task(
    "NextWordModel",
    points=5,
    difficulty=4,
    minutes=20,
    hints=(
        "You have built every part: an embedding turns ids into tokens, your multi-head attention "
        "gives them context, your mean turns them into one vector, and a linear layer scores the "
        "words.",
        "Make the three submodules in __init__, under exactly the names of the docstring. In "
        "forward, go through them in order. With lengths, one mask keeps the padding out of the "
        "attention, and the same lengths keep it out of the mean.",
        "ids [batch, n] -> [batch, n, d_model]; positions are [n, d_model] and broadcast, once "
        "they have the embedding's dtype; the mask is `padding_mask`, [batch, n], with a "
        "dimension for the queries, [batch, 1, n]; pooled [batch, d_model] -> [batch, vocab_size].",
    ),
)


def _expanded(mask, *shape):
    """Refuse a mask that does not fit as multi_head does."""
    try:
        return mask.expand(shape)
    except RuntimeError as error:
        raise ValueError(f"mask {tuple(mask.shape)} does not fit {shape}") from error


class _Attention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        self.n_heads = n_heads
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=bias))

    def forward(self, x, memory=None, mask=None):
        query, key, value = (self.heads(layer(x)) for layer in (self.w_q, self.w_k, self.w_v))
        scores = query @ key.mT / query.shape[-1] ** 0.5
        if mask is not None:
            mask = _expanded(mask, len(x), x.shape[1], x.shape[1])
            scores = scores.masked_fill(~mask[:, None], -torch.inf)
        mixed = scores.softmax(-1).nan_to_num(0.0) @ value
        return self.w_o(mixed.transpose(1, 2).flatten(2))

    def heads(self, x):
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


class _Model(nn.Module):
    """A right model in steps; each slip changes one."""

    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"{n_heads} heads cannot share {d_model} features")
        self.positions = positions
        self.make(vocab_size, d_model, n_heads)

    def make(self, vocab_size, d_model, n_heads):
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = _Attention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids, lengths=None):
        if ids.ndim != 2 or (lengths is not None and lengths.shape != ids.shape[:1]):
            sizes = None if lengths is None else tuple(lengths.shape)
            raise ValueError(f"{sizes} lengths for ids {tuple(ids.shape)}")
        x = self.embed(ids)
        return self.score(self.pool(self.attend(x, self.mask(ids, lengths)), lengths))

    def embed(self, ids):
        x = self.embedding(ids)
        return x + self.waves(x).to(x.dtype) if self.positions else x

    def waves(self, x):
        return _encoding(x.shape[1], x.shape[2], x.device)

    def mask(self, ids, lengths):
        return None if lengths is None else _real(ids, lengths)[:, None, :]

    def attend(self, x, mask):
        return self.attention(x, mask=mask)

    def pool(self, x, lengths):
        return _mean(x, lengths)

    def score(self, pooled):
        return self.head(pooled)


@NextWordModel.slip(ORDER)
class positions_left_out(_Model):
    """positions=True changes nothing: the encoding is not added to the embeddings."""

    def embed(self, ids):
        return self.embedding(ids)


@NextWordModel.slip(POSITIONS)
class positions_always_added(_Model):
    """The positions are added whether they are asked for or not: look at `positions` first."""

    def embed(self, ids):
        x = self.embedding(ids)
        return x + self.waves(x).to(x.dtype)


@NextWordModel.slip(DTYPE)
class positions_not_cast(_Model):
    """The encoding has the default dtype: cast it to the embedding's dtype before you add it."""

    def embed(self, ids):
        x = self.embedding(ids)
        return x + self.waves(x) if self.positions else x


@NextWordModel.slip(ORDER)
class positions_instead_of_words(_Model):
    """With positions the words are lost: add the encoding to the embedding, do not replace it."""

    def embed(self, ids):
        x = self.embedding(ids)
        return self.waves(x).to(x.dtype).expand_as(x) if self.positions else x


@NextWordModel.slip(ORDER)
class positions_added_twice(_Model):
    """The positions are added twice: once, to the embeddings, is enough."""

    def embed(self, ids):
        x = self.embedding(ids)
        return x + 2 * self.waves(x).to(x.dtype) if self.positions else x


@NextWordModel.slip(ORDER)
class positions_taken_off(_Model):
    """The encoding was subtracted: add it to the embeddings."""

    def embed(self, ids):
        x = self.embedding(ids)
        return x - self.waves(x).to(x.dtype) if self.positions else x


@NextWordModel.slip(ORDER)
class positions_multiplied(_Model):
    """The embedding was multiplied by the encoding: add it."""

    def embed(self, ids):
        x = self.embedding(ids)
        return x * self.waves(x).to(x.dtype) if self.positions else x


@NextWordModel.slip(ORDER)
class as_many_positions_as_sequences(_Model):
    """You made as many positions as there are sequences, ids.shape[0]: make one for each word,
    ids.shape[1]."""

    def waves(self, x):
        return _encoding(x.shape[0], x.shape[2], x.device)


@NextWordModel.slip(ORDER)
class positions_along_the_batch(_Model):
    """The encoding counts the sequences, not the words of each: n is ids.shape[1]."""

    def embed(self, ids):
        x = self.embedding(ids)
        waves = _encoding(len(x), x.shape[2], x.device).to(x.dtype)[:, None]
        return x + waves if self.positions else x


@NextWordModel.slip(ORDER)
class positions_after_the_attention(_Model):
    """The positions come after the attention: it must see them, so add them to the embedding."""

    def embed(self, ids):
        return self.embedding(ids)

    def attend(self, x, mask):
        x = self.attention(x, None, mask)
        return x + self.waves(x).to(x.dtype) if self.positions else x


@NextWordModel.slip(FORMULA)
class embedding_scaled(_Model):
    """The embedding was multiplied by the root of d_model, as in the 2017 paper: leave that out
    here."""

    def embed(self, ids):
        x = self.embedding(ids) * self.embedding.embedding_dim**0.5
        return x + self.waves(x).to(x.dtype) if self.positions else x


@NextWordModel.slip(SUBMODULES)
class head_is_the_embedding(_Model):
    """The head shares the weight of the embedding: it is a layer with a weight of its own."""

    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__(vocab_size, d_model, n_heads, positions)
        self.head.weight = self.embedding.weight


@NextWordModel.slip(POSITIONS)
class positions_run_out(_Model):
    """The positions were made once, for so many tokens and no more: make as many as the input
    has, in `forward`."""

    def embed(self, ids):
        x = self.embedding(ids)
        return x + self.waves(x[:, :50]).to(x.dtype) if self.positions else x


@NextWordModel.slip(FORMULA)
class embedding_scaled_for_positions(_Model):
    """With positions the embedding was multiplied by the root of d_model, as in the 2017 paper:
    leave that out here."""

    def embed(self, ids):
        x = self.embedding(ids)
        return x * x.shape[-1] ** 0.5 + self.waves(x).to(x.dtype) if self.positions else x


@NextWordModel.slip(FORMULA)
class attention_left_out(_Model):
    """The attention was left out: the words go to the mean without their context."""

    def attend(self, x, mask):
        return x


@NextWordModel.slip(FORMULA)
class mean_before_attention(_Model):
    """The mean comes before the attention: one vector alone has nothing to look at."""

    def forward(self, ids, lengths=None):
        pooled = self.pool(self.embed(ids), lengths)
        return self.score(self.attention(pooled[:, None])[:, 0])


@NextWordModel.slip(NUMBER_OF_HEADS)
class one_head_whatever_is_asked(_Model):
    """n_heads changes nothing: pass it on to MultiHeadAttention."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, 1)


@NextWordModel.slip(FORMULA)
class input_added_again(_Model):
    """The tokens were added to the attention's result, a residual connection: leave that out
    here."""

    def attend(self, x, mask):
        return x + self.attention(x, mask=mask)


@NextWordModel.slip(FORMULA)
class normalised(_Model):
    """There is a layer norm after the attention: this model has none."""

    def attend(self, x, mask):
        return F.layer_norm(self.attention(x, mask=mask), x.shape[-1:])


@NextWordModel.slip(FORMULA)
class normalised_with_residual(_Model):
    """Residual and layer norm, as in a whole Transformer block: this model has neither."""

    def attend(self, x, mask):
        return F.layer_norm(x + self.attention(x, mask=mask), x.shape[-1:])


@NextWordModel.slip(CONTEXT)
class cannot_look_ahead(_Model):
    """A causal mask hides the later words: here every word may look at every other one."""

    def mask(self, ids, lengths):
        n = ids.shape[1]
        earlier = torch.ones(1, n, n, dtype=torch.bool, device=ids.device).tril()
        return earlier if lengths is None else earlier & _real(ids, lengths)[:, None, :]


@NextWordModel.slip(PADDING)
class lengths_left_out(_Model):
    """`lengths` changes nothing: pass it to the attention, as a mask, and to the mean."""

    def forward(self, ids, lengths=None):
        if lengths is not None and lengths.shape != ids.shape[:1]:
            raise ValueError(f"{tuple(lengths.shape)} lengths for ids {tuple(ids.shape)}")
        return super().forward(ids)


@NextWordModel.slip(PADDING)
class padding_attended_to(_Model):
    """Words still look at the padding: mask its keys with a mask [batch, 1, n], not [batch, n, 1].

    The mean is right; it is the attention that has no mask, or one for the queries.
    """

    def mask(self, ids, lengths):
        return None


@NextWordModel.slip(PADDING)
class padding_averaged(_Model):
    """The attention leaves the padding out, but the mean does not: pass `lengths` to mean_pool."""

    def pool(self, x, lengths):
        return x.mean(dim=1)


@NextWordModel.slip(PADDING)
class padding_counted_in_the_mean(_Model):
    """The padding is 0 in your mean, but still counted: divide by the lengths, not by n."""

    def pool(self, x, lengths):
        return x.mean(1) if lengths is None else _kept(x, lengths).mean(1)


@NextWordModel.slip(PADDING)
class padding_made_zero(_Model):
    """The padding was set to 0, but a zero is still a key that gets weight: use a mask."""

    def forward(self, ids, lengths=None):
        if lengths is None:
            return super().forward(ids)
        if lengths.shape != ids.shape[:1]:
            raise ValueError(f"{tuple(lengths.shape)} lengths for ids {tuple(ids.shape)}")
        x = self.attention(_kept(self.embed(ids), lengths))
        return self.score(self.pool(x, lengths))


@NextWordModel.slip(QUERIES)
class mask_without_queries(_Model):
    """The padding mask [batch, n] has no dimension for the queries: make it [batch, 1, n]."""

    def mask(self, ids, lengths):
        return None if lengths is None else _real(ids, lengths)


@NextWordModel.slip(QUERIES)
class mask_with_the_axis_in_front(_Model):
    """Your mask is [1, batch, n]: the batch comes first, and the new dimension is in the middle."""

    def mask(self, ids, lengths):
        return None if lengths is None else _real(ids, lengths)[None]


@NextWordModel.slip(QUERIES)
class mask_with_heads(_Model):
    """The mask has one dimension too many: [batch, 1, n] is enough, MultiHeadAttention adds the one
    for the heads."""

    def mask(self, ids, lengths):
        return None if lengths is None else _real(ids, lengths)[:, None, None, :]


@NextWordModel.slip(MEMORY)
class mask_as_memory(_Model):
    """The mask was passed as `memory`, the second argument: pass it by name, mask=mask."""

    def attend(self, x, mask):
        if mask is None:
            return self.attention(x)
        self.attention(x, mask)
        raise ValueError("a mask is no memory")


class _ById(_Model):
    """Word 0 is taken for padding."""

    always, pooled = True, True

    def applies(self, lengths):
        return self.always or lengths is not None

    def forward(self, ids, lengths=None):
        self.words = ids != 0
        return super().forward(ids, lengths)

    def mask(self, ids, lengths):
        return self.words[:, None, :] if self.applies(lengths) else None

    def pool(self, x, lengths):
        if not (self.pooled and self.applies(lengths)):
            return _mean(x, lengths)
        return _kept_words(x, self.words) / self.words.sum(1)[:, None].clamp_min(1)


def _kept_words(x, words):
    return (x * words[:, :, None]).sum(1)


@NextWordModel.slip(ANY_ID)
class word_zero_left_out(_ById):
    """Words of id 0 are left out as if they were padding: `lengths` says what is padding."""


@NextWordModel.slip(ANY_ID)
class word_zero_not_attended_to(_ById):
    """The attention takes id 0 for padding: id 0 is a word, make the mask from `lengths`."""

    pooled = False


@NextWordModel.slip(ANY_ID)
class padding_by_id_zero(_ById):
    """With lengths you take id 0 for padding, in the mask and in the mean: use `lengths`."""

    always = False


@NextWordModel.slip(ANY_ID)
class mask_by_id_zero(_ById):
    """Your mask takes id 0 for padding, whatever `lengths` says: make it from `lengths`."""

    always = pooled = False


@NextWordModel.slip(ANY_ID)
class mean_by_id_zero(_ById):
    """Your mean takes id 0 for padding, whatever `lengths` says: pass `lengths` to mean_pool."""

    always = False

    def mask(self, ids, lengths):
        return None if lengths is None else _real(ids, lengths)[:, None, :]


@NextWordModel.slip(ANY_ID)
class lengths_counted_from_ids(_Model):
    """You count the ids that are not 0 to get lengths: id 0 is a word; without lengths all are."""

    def forward(self, ids, lengths=None):
        counted = (ids != 0).sum(1).clamp_min(1) if lengths is None else lengths
        return super().forward(ids, counted)


@NextWordModel.slip(ANY_ID)
class lengths_always_counted_from_ids(_Model):
    """`lengths` is replaced by a count of the ids that are not 0, but id 0 is a word: use
    `lengths`."""

    def forward(self, ids, lengths=None):
        if lengths is not None and lengths.shape != ids.shape[:1]:
            raise ValueError(f"{tuple(lengths.shape)} lengths for ids {tuple(ids.shape)}")
        return super().forward(ids, (ids != 0).sum(1).clamp_min(1))


@NextWordModel.slip(ROWS)
class positions_of_fixed_number(_Model):
    """Your table of positions has a fixed number of rows: make it for ids.shape[1] of them.

    Call positional_encoding in forward, where n is known.
    """

    def waves(self, x):
        return _encoding(10, x.shape[2], x.device)[: x.shape[1]]


@NextWordModel.slip(ORDER)
class positions_learned(_Model):
    """The positions have an nn.Embedding of their own: add `positional_encoding` instead, which is
    not learned."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.places = nn.Embedding(512, d_model) if self.positions else None

    def waves(self, x):
        return self.places(torch.arange(x.shape[1], device=x.device))


@NextWordModel.slip(TRUE)
class mask_turned_round(_Model):
    """The mask is inverted, so words see the padding only: True means "may attend"."""

    def mask(self, ids, lengths):
        return None if lengths is None else ~_real(ids, lengths)[:, None, :]


@NextWordModel.slip(AVERAGE)
class last_word_only(_Model):
    """Only the last word reaches the head: give it the mean of all words."""

    def pool(self, x, lengths):
        last = _checked(x, lengths).long() - 1
        return x[torch.arange(len(x), device=x.device), last]


@NextWordModel.slip(AVERAGE)
class first_word_only(_Model):
    """Only the first word reaches the head: give it the mean of all words."""

    def pool(self, x, lengths):
        return x[:, 0]


@NextWordModel.slip(AVERAGE)
class largest_of_each_feature(_Model):
    """The largest value of each feature reaches the head, max pooling: give it the mean."""

    def pool(self, x, lengths):
        return _kept(x, _checked(x, lengths), -torch.inf).amax(1)


@NextWordModel.slip(AVERAGE)
class sum_of_the_words(_Model):
    """The sum of the words reaches the head: give it their mean."""

    def pool(self, x, lengths):
        return _kept(x, _checked(x, lengths)).sum(1)


@NextWordModel.slip(AVERAGE)
class logits_for_every_word(_Model):
    """There are logits for every word of the sequence: the mean before the head is missing."""

    def pool(self, x, lengths):
        return x


@NextWordModel.slip(RAW)
class probabilities(_Model):
    """These are probabilities: return the logits, without a softmax after the head."""

    def score(self, pooled):
        return self.head(pooled).softmax(-1)


@NextWordModel.slip(RAW)
class logarithms_of_probabilities(_Model):
    """These are logarithms of probabilities: leave out the log_softmax and return the logits."""

    def score(self, pooled):
        return self.head(pooled).log_softmax(-1)


@NextWordModel.slip(RAW)
class sigmoid_of_the_logits(_Model):
    """There is a sigmoid after the head: return the logits as they are."""

    def score(self, pooled):
        return self.head(pooled).sigmoid()


@NextWordModel.slip(FORMULA)
class relu_after_the_head(_Model):
    """No logit is below 0: there is a ReLU after the head. Return the logits as they are."""

    def score(self, pooled):
        return self.head(pooled).relu()


@NextWordModel.slip(FORMULA)
class relu_before_the_head(_Model):
    """There is a ReLU before the head: logits = Z1 W + b, with nothing in between."""

    def score(self, pooled):
        return self.head(pooled.relu())


@NextWordModel.slip(SCORES)
class the_winner_only(_Model):
    """You return the id of the best word: return all logits, the argmax comes in predict."""

    def score(self, pooled):
        return self.head(pooled).argmax(-1)


@NextWordModel.slip(VOCABULARY)
class head_not_called(_Model):
    """You return the mean itself, d_model wide: the head that maps it to the words is missing."""

    def score(self, pooled):
        return pooled


@NextWordModel.slip(VOCABULARY)
class embedding_used_as_head(_Model):
    """You scored the words with the embedding's weights: use `head`, which has weights of
    its own."""

    def score(self, pooled):
        return F.linear(pooled, self.embedding.weight)


@NextWordModel.slip(SUBMODULES)
class embedding_used_as_head_with_bias(_Model):
    """The head's bias is used with the embedding's weights: `head` has weights of its own."""

    def score(self, pooled):
        return F.linear(pooled, self.embedding.weight, self.head.bias)


@NextWordModel.slip(SCORES)
class batch_of_one_squeezed(_Model):
    """`squeeze` removes a batch of 1: logits are [batch, vocab_size] for every batch."""

    def score(self, pooled):
        return self.head(pooled).squeeze()


@NextWordModel.slip(SCORES)
class words_before_batch(_Model):
    """Your logits are [vocab_size, batch]: return one row for each sequence."""

    def score(self, pooled):
        return self.head(pooled).T


@NextWordModel.slip(SUBMODULES)
class head_without_bias(_Model):
    """The head was made with bias=False: it needs its bias."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size, bias=False)


@NextWordModel.slip(SUBMODULES)
class head_turned_round(_Model):
    """The head goes from vocab_size to d_model: nn.Linear takes the width of its input first,
    d_model."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.head = nn.Linear(vocab_size, d_model)


@NextWordModel.slip(SUBMODULES)
class head_as_wide_as_the_tokens(_Model):
    """The head gives d_model numbers: it must give one for each word of the vocabulary."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.head = nn.Linear(d_model, d_model)


@NextWordModel.slip(SUBMODULES)
class embedding_turned_round(_Model):
    """The embedding was made with d_model first: nn.Embedding takes the number of words first."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.embedding = nn.Embedding(d_model, vocab_size)


@NextWordModel.slip(SUBMODULES)
class attention_without_bias(_Model):
    """The attention was made with bias=False: here all projections have biases."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.attention = _Attention(d_model, n_heads, bias=False)


@NextWordModel.slip(SUBMODULES)
class other_names(_Model):
    """The embedding has another name: the names in the docstring are part of the task."""

    def make(self, vocab_size, d_model, n_heads):
        self.embed_tokens = nn.Embedding(vocab_size, d_model)
        self.attn = _Attention(d_model, n_heads)
        self.fc = nn.Linear(d_model, vocab_size)


@NextWordModel.slip(SUBMODULES)
class head_under_another_name(_Model):
    """The last layer has another name: it has to be called `head`."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.fc = self.head
        del self.head


@NextWordModel.slip(SUBMODULES)
class attention_under_another_name(_Model):
    """The attention has another name: it has to be called `attention`."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.attn = self.attention
        del self.attention


@NextWordModel.slip(SUBMODULES)
class head_in_several_layers(_Model):
    """`head` is a Sequential: it has to be one nn.Linear."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.head = nn.Sequential(nn.Linear(d_model, d_model), nn.ReLU(), self.head)


@NextWordModel.slip(ANY_ID)
class word_zero_as_padding(_Model):
    """Word 0 never learns: padding_idx=0 stops its gradient, but `lengths` says what is padding."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.embedding = nn.Embedding(vocab_size, d_model, padding_idx=0)


@NextWordModel.slip(IN_PLACE)
class embedding_frozen(_Model):
    """The embedding cannot learn, its requires_grad is off: train it like all the rest."""

    def make(self, vocab_size, d_model, n_heads):
        super().make(vocab_size, d_model, n_heads)
        self.embedding.weight.requires_grad_(False)


@NextWordModel.slip(SUBMODULES)
class super_init_forgotten(_Model):
    """`super().__init__()` is missing: it must come before the first submodule is made."""

    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        self.positions = positions
        self.make(vocab_size, d_model, n_heads)


train = Task(
    "train",
    points=3,
    difficulty=3,
    minutes=10,
    hints=(
        "Every step has the same four parts: logits, loss, gradients, a change of the weights. "
        "Gradients add up in `.grad` until you clear them.",
        "Make the optimiser once, before the loop, over all parameters. In the loop: call the "
        "model with ids and lengths, take the cross-entropy of the raw logits, keep it as a float, "
        "clear the old gradients, go backward, take a step.",
        "`F.cross_entropy` takes logits [batch, vocab_size] and targets [batch] and averages over "
        "the batch. `.item()` makes a float of its []; the list has `steps` of them.",
    ),
)


def _loss(model, ids, targets, lengths=None, measure=F.cross_entropy):
    if targets.shape != ids.shape[:1]:
        raise ValueError(f"{tuple(targets.shape)} targets for ids {tuple(ids.shape)}")
    logits = model(ids) if lengths is None else model(ids, lengths)
    return measure(logits, targets)


def _train(model, ids, targets, steps, lr, lengths, measure=F.cross_entropy, weights=None):
    downhill = Downhill(model.parameters() if weights is None else weights, lr)
    losses = []
    for _ in range(steps):
        loss = _loss(model, ids, targets, lengths, measure)
        losses.append(loss.detach().item())
        downhill.step(loss)
    return losses


@train.slip(TRAINING)
def loss_after_the_step(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """You took each loss after its step: keep the loss that the step was computed from."""
    losses, downhill = [], Downhill(model.parameters(), lr)
    for _ in range(steps):
        downhill.step(_loss(model, ids, targets, lengths))
        losses.append(_loss(model, ids, targets, lengths).item())
    return losses


@train.slip(LOSS)
def every_target_for_every_row(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Each row was asked for the targets of all rows, as p[:, targets] does: row i is asked for its
    own, p[torch.arange(len(targets)), targets]. F.cross_entropy does that by itself."""

    def measure(logits, targets):
        return -logits.log_softmax(-1)[:, targets].mean()

    return _train(model, ids, targets, steps, lr, lengths, measure)


@train.slip(LOSS)
def labels_smoothed(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The targets were smoothed (label_smoothing), as in the 2017 paper: use the plain
    cross-entropy."""

    def measure(logits, targets):
        return F.cross_entropy(logits, targets, label_smoothing=0.1)

    return _train(model, ids, targets, steps, lr, lengths, measure)


@train.slip(TRAINING)
def last_loss_only(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Only one number came back: put each step's loss into a list and return the list."""
    losses = _train(model, ids, targets, steps, lr, lengths)
    return losses[-1] if losses else 0.0


@train.slip(TRAINING)
def losses_as_one_tensor(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """A tensor came back: return a list of Python floats."""
    return torch.tensor(_train(model, ids, targets, steps, lr, lengths))


@train.slip(TRAINING)
def model_and_losses(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Several things came back: return the losses alone, the model is trained in place."""
    return model, _train(model, ids, targets, steps, lr, lengths)


@train.slip(TRAINING)
def losses_as_tensors(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The losses are tensors, and each may keep its whole graph in memory: use `.item()`."""
    losses, downhill = [], Downhill(model.parameters(), lr)
    for _ in range(steps):
        losses.append(_loss(model, ids, targets, lengths))
        downhill.step(losses[-1])
    return losses


@train.slip(NUMBER_OF_STEPS)
def one_step_too_many(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """There is one loss too many: keep one before each step, and none after the last."""
    return _train(model, ids, targets, steps + 1, lr, lengths)


@train.slip(NUMBER_OF_STEPS)
def one_step_too_few(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """There is one loss too few: use range(steps), not range(1, steps) or range(steps - 1)."""
    return _train(model, ids, targets, steps - 1, lr, lengths)


@train.slip(TRAINING)
def nothing_collected(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The list stays empty: append the loss in each step."""
    return _train(model, ids, targets, steps, lr, lengths)[:0]


@train.slip(NUMBER_OF_STEPS)
def returns_inside_the_loop(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The `return` is inside the loop and ends it after one step: indent it less."""
    return _train(model, ids, targets, 1, lr, lengths) if steps else None


@train.slip(NUMBER_OF_STEPS)
def returns_before_the_step(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The `return` is inside the loop, before any weight is changed: put it after the loop."""
    return [_loss(model, ids, targets, lengths).item()] if steps else None


@train.slip(TRAINING)
def list_made_anew(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Only the last loss is in the list: make the list before the loop, not inside it."""
    return _train(model, ids, targets, steps, lr, lengths)[-1:]


@train.slip(NUMBER_OF_STEPS)
def always_200_steps(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """`steps` is not used: you always take 200 steps."""
    return _train(model, ids, targets, 200, lr, lengths)


@train.slip(NUMBER_OF_STEPS)
def at_least_one_step(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """With 0 steps there is still a loss: compute nothing before the loop."""
    return _train(model, ids, targets, max(steps, 1), lr, lengths)


@train.slip(NUMBER_OF_STEPS)
def stops_when_good(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Training ends early when the loss is small: take all `steps`."""
    losses, downhill = [], Downhill(model.parameters(), lr)
    for _ in range(steps):
        loss = _loss(model, ids, targets, lengths)
        losses.append(loss.detach().item())
        if losses[-1] < 1e-2:
            break
        downhill.step(loss)
    return losses


@train.slip(LOSS)
def loss_added_up(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The loss is a sum over the batch, reduction="sum": use the mean."""

    def measure(logits, targets):
        return F.cross_entropy(logits, targets, reduction="sum")

    return _train(model, ids, targets, steps, lr, lengths, measure)


@train.slip(INSIDE)
def softmax_before_the_loss(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The logits went through a softmax first: F.cross_entropy has one inside, give it the
    logits."""

    def measure(logits, targets):
        return F.cross_entropy(logits.softmax(-1), targets)

    return _train(model, ids, targets, steps, lr, lengths, measure)


@train.slip(INSIDE)
def nll_of_logits(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """F.nll_loss takes logarithms of probabilities: give it log_softmax, or use cross_entropy."""
    return _train(model, ids, targets, steps, lr, lengths, F.nll_loss)


@train.slip(INSIDE)
def nll_of_probabilities(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """F.nll_loss was given probabilities, so the logarithm is missing: use F.cross_entropy."""

    def measure(logits, targets):
        return F.nll_loss(logits.softmax(-1), targets)

    return _train(model, ids, targets, steps, lr, lengths, measure)


@train.slip(LOSS)
def softmax_over_the_batch(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The softmax of your loss ran over the batch: it has to share 1 among the words, dim -1."""

    def measure(logits, targets):
        return F.nll_loss(logits.log_softmax(0), targets)

    return _train(model, ids, targets, steps, lr, lengths, measure)


@train.slip(LOSS)
def squared_error_of_probabilities(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """This is a squared error of the probabilities: use the cross-entropy."""

    def measure(logits, targets):
        wanted = F.one_hot(targets, logits.shape[1]).to(logits.dtype)
        return F.mse_loss(logits.softmax(-1), wanted)

    return _train(model, ids, targets, steps, lr, lengths, measure)


@train.slip(LOSS)
def squared_error_of_logits(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """This is a squared error of the logits: use the cross-entropy."""

    def measure(logits, targets):
        return F.mse_loss(logits, F.one_hot(targets, logits.shape[1]).to(logits.dtype))

    return _train(model, ids, targets, steps, lr, lengths, measure)


@train.slip(LOSS)
def each_word_on_its_own(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """This is a binary cross-entropy, every word on its own: use one softmax over all words."""

    def measure(logits, targets):
        wanted = F.one_hot(targets, logits.shape[1]).to(logits.dtype)
        return F.binary_cross_entropy_with_logits(logits, wanted)

    return _train(model, ids, targets, steps, lr, lengths, measure)


@train.slip(LOSS)
def last_word_as_target(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The model learns to repeat its last word: `targets` is not used in the loss."""
    _loss(model, ids, targets, lengths)
    return _train(model, ids, ids[:, -1], steps, lr, lengths)


@train.slip(LOSS)
def one_sequence_at_a_time(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Each step sees one sequence only: use the whole batch in every step."""
    losses, downhill = [], Downhill(model.parameters(), lr)
    for step in range(0, steps):
        _loss(model, ids, targets, lengths)
        one = slice(step % len(ids), step % len(ids) + 1)
        loss = _loss(model, ids[one], targets[one], None if lengths is None else lengths[one])
        losses.append(loss.detach().item())
        downhill.step(loss)
    return losses


@train.slip(NUMBER_OF_STEPS)
def last_step_left_out(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The loop ends after the last loss and before its step: the weights change once for each
    loss, so `steps` times."""
    losses, downhill = [], Downhill(model.parameters(), lr)
    for step in range(steps):
        loss = _loss(model, ids, targets, lengths)
        losses.append(loss.detach().item())
        if step < steps - 1:
            downhill.step(loss)
    return losses


@train.slip(GRADIENT)
def no_backward(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """No gradient is computed, so no weight moves: `loss.backward()` is missing, or the optimiser's
    step."""
    return [_loss(model, ids, targets, lengths).item() for _ in range(steps)]


@train.slip(IN_PLACE)
def model_does_not_move(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The gradients come, but no weight moves.

    In a loop of your own: `p = p - lr * p.grad` makes a new tensor, and the weight stays; change
    it in place, `p -= lr * p.grad`, under torch.no_grad(). With an optimiser: `optimizer.step()`
    is missing, or the gradients are cleared between `backward()` and the step.
    """
    losses = []
    for _ in range(steps):
        loss = _loss(model, ids, targets, lengths)
        losses.append(loss.detach().item())
        torch.autograd.grad(loss, list(model.parameters()))
    return losses


@train.slip(IN_PLACE)
def starts_anew(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Your training draws new weights first: start from those that the model has."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.rand_like(weight) - 0.5)
    return _train(model, ids, targets, steps, lr, lengths)


@train.slip(IN_PLACE)
def a_copy_is_trained(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """You trained a copy, and the model itself is unchanged: train it in place."""
    return _train(copy.deepcopy(model), ids, targets, steps, lr, lengths)


@train.slip(IN_PLACE)
def weights_replaced(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Each step makes new Parameters: change the existing ones in place, under torch.no_grad()."""
    losses = []
    for _ in range(steps):
        loss = _loss(model, ids, targets, lengths)
        losses.append(loss.detach().item())
        names, weights = zip(*model.named_parameters(), strict=True)
        for name, weight, slope in zip(
            names, weights, torch.autograd.grad(loss, weights), strict=True
        ):
            owner, last = name.rsplit(".", 1)
            new = nn.Parameter((weight - lr * slope).detach())
            setattr(model.get_submodule(owner), last, new)
    return losses


@train.slip(IN_PLACE)
def head_trained_alone(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Only the head learns: give the optimiser all of model.parameters()."""
    weights = [w for name, w in model.named_parameters() if name.startswith("head")]
    return _train(model, ids, targets, steps, lr, lengths, weights=weights)


@train.slip(IN_PLACE)
def embedding_left_out(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The embedding is not trained: give the optimiser all of model.parameters()."""
    weights = [w for name, w in model.named_parameters() if not name.startswith("embedding")]
    return _train(model, ids, targets, steps, lr, lengths, weights=weights)


@train.slip(IN_PLACE)
def attention_left_out_of_training(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The attention is not trained: give the optimiser all of model.parameters()."""
    weights = [w for name, w in model.named_parameters() if not name.startswith("attention")]
    return _train(model, ids, targets, steps, lr, lengths, weights=weights)


@train.slip(IN_PLACE)
def head_left_out(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The head is not trained: give the optimiser all of model.parameters()."""
    weights = [w for name, w in model.named_parameters() if not name.startswith("head")]
    return _train(model, ids, targets, steps, lr, lengths, weights=weights)


@train.slip(IN_PLACE)
def biases_left_out(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The biases do not learn: give the optimiser all of model.parameters()."""
    weights = [weight for weight in model.parameters() if weight.ndim > 1]
    return _train(model, ids, targets, steps, lr, lengths, weights=weights)


@train.slip(GRADIENT)
def uphill(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The loss rises: move the weights against the gradient, by minus lr times the gradient."""
    return _train(model, ids, targets, steps, -lr, lengths)


@train.slip(FRESH)
def gradients_pile_up(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The gradients of all steps add up in `.grad`: clear them in each step, with zero_grad."""
    losses = []
    for _ in range(steps):
        loss = _loss(model, ids, targets, lengths)
        losses.append(loss.detach().item())
        loss.backward()
        with torch.no_grad():
            for weight in model.parameters():
                weight.sub_(weight.grad, alpha=lr)
    return losses


@train.slip(RATE)
def rate_not_used(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """`lr` is not used: the optimiser uses its own rate. Pass lr on to it."""
    return _train(model, ids, targets, steps, 0.05, lengths)


@train.slip(RATE)
def rate_cut(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """A large `lr` is cut to a smaller one: hand it on as it is."""
    return _train(model, ids, targets, steps, min(lr, 0.1), lengths)


@train.slip(PADDING)
def lengths_not_handed_on(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """`lengths` does not reach the model: it learns from the padding, too."""
    return _train(model, ids, targets, steps, lr, None)


@train.slip(TRAINING)
def losses_rounded(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """The losses were rounded: round what you print, not what you return."""
    return [round(loss, 2) for loss in _train(model, ids, targets, steps, lr, lengths)]


@train.slip(TRAINING)
def running_mean_of_losses(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """These are means of all losses so far: return each loss itself."""
    losses = _train(model, ids, targets, steps, lr, lengths)
    return [sum(losses[: i + 1]) / (i + 1) for i in range(len(losses))]


@train.slip(TRAINING)
def every_loss_the_first(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """All losses are the first one: compute the loss anew in each step, inside the loop."""
    return _train(model, ids, targets, steps, lr, lengths)[:1] * steps


predict = Task(
    "predict",
    points=2,
    difficulty=2,
    minutes=5,
    hints=(
        "The model scores all words; the answer is the one word whose logit is largest. Nothing is "
        "learned here, so the model must be the same afterwards.",
        "Words to ids, as a batch of one, on the model's device; logits without a graph; the index "
        "of the largest; then back from the index to the word, whatever the dict's order. If you "
        "switch to eval mode, switch back to what was there.",
        "`encode_words` gives [n], the model takes [1, n] and returns [1, vocab_size]. Under "
        "torch.no_grad, `argmax` over the last dimension gives the id; look for the word that has "
        "this id as its value.",
    ),
)


def _logits(model, words, vocabulary):
    if not words:
        raise ValueError("there are 0 words")
    device = next(model.parameters()).device
    with torch.no_grad():
        return model(_ids(words, vocabulary).to(device)[None])[0]


def _word(vocabulary, index):
    return next(word for word, number in vocabulary.items() if number == index)


def _best(model, words, vocabulary):
    return _word(vocabulary, int(_logits(model, words, vocabulary).argmax()))


@predict.slip(ARGMAX)
def smallest_logit(model, words, vocabulary):
    """This is the word of the smallest logit: take the largest, with argmax."""
    return _word(vocabulary, int(_logits(model, words, vocabulary).argmin()))


@predict.slip(ARGMAX)
def only_above_zero(model, words, vocabulary):
    """No word came back where all logits are negative: the search for the largest began at 0."""
    logits = _logits(model, words, vocabulary)
    best = int(logits.argmax())
    return _word(vocabulary, best) if logits[best] > 0 else ""


@predict.slip(ARGMAX)
def second_best(model, words, vocabulary):
    """This is the word of the second largest logit: take the largest."""
    return _word(vocabulary, int(_logits(model, words, vocabulary).topk(2).indices[1]))


@predict.slip(ARGMAX)
def loudest_either_way(model, words, vocabulary):
    """This is the word whose logit is furthest from 0: a large negative logit speaks against its
    word."""
    return _word(vocabulary, int(_logits(model, words, vocabulary).abs().argmax()))


@predict.slip(ARGMAX)
def drawn_by_chance(model, words, vocabulary):
    """The word was drawn at random, torch.multinomial: the largest logit decides, argmax."""
    shares = _logits(model, words, vocabulary).softmax(-1)
    return _word(vocabulary, int(torch.multinomial(shares, 1)))


@predict.slip(ARGMAX)
def the_id(model, words, vocabulary):
    """This is the id: return the word that has this id in the vocabulary."""
    return int(_logits(model, words, vocabulary).argmax())


@predict.slip(ARGMAX)
def the_id_as_a_tensor(model, words, vocabulary):
    """This is the id, as a tensor: return the word that has this id in the vocabulary."""
    return _logits(model, words, vocabulary).argmax()


@predict.slip(ARGMAX)
def the_largest_logit(model, words, vocabulary):
    """This is the largest logit itself, from max instead of argmax: return the word."""
    return _logits(model, words, vocabulary).max().item()


@predict.slip(ANSWER)
def word_in_a_list(model, words, vocabulary):
    """The word came back in a list: return the word itself, a str."""
    return [_best(model, words, vocabulary)]


@predict.slip(ANSWER)
def word_with_the_sentence(model, words, vocabulary):
    """The whole sentence came back: return only the word that follows."""
    return " ".join([*words, _best(model, words, vocabulary)])


@predict.slip(ANY_ORDER)
def order_of_the_dict(model, words, vocabulary):
    """The id was used as a position in the dict: look for the word that has it as its value."""
    return list(vocabulary)[int(_logits(model, words, vocabulary).argmax())]


@predict.slip(ANY_ORDER)
def order_of_the_alphabet(model, words, vocabulary):
    """The id was used as a position among the sorted words: look for the word that has it as its
    value."""
    return sorted(vocabulary)[int(_logits(model, words, vocabulary).argmax())]


@predict.slip(ARGMAX)
def argmax_over_the_batch(model, words, vocabulary):
    """argmax, or a softmax before it, ran over the batch, which has one row: use dim -1."""
    return _word(vocabulary, int(_logits(model, words, vocabulary)[None].argmax(0)[0]))


@predict.slip(ARGMAX)
def argmax_over_the_batch_as_a_tensor(model, words, vocabulary):
    """argmax ran over the batch, which has one row, so all is 0: use dim -1, then the word."""
    return _logits(model, words, vocabulary)[None].argmax(0)


@predict.slip(ARGMAX)
def argmax_over_the_batch_as_an_id(model, words, vocabulary):
    """argmax ran over the batch, so it is always 0: use dim -1, and return the word, not the id."""
    return int(_logits(model, words, vocabulary)[None].argmax(0)[0])


@predict.slip(ARGMAX)
def argmax_over_the_batch_as_one_number(model, words, vocabulary):
    """argmax ran over the batch and gave a number per word, too many for `.item()`: use dim -1."""
    return _word(vocabulary, _logits(model, words, vocabulary)[None].argmax(0).item())


@predict.slip(ARGMAX)
def argmax_over_the_batch_compared(model, words, vocabulary):
    """argmax ran over the batch and gave a number per word, too many for one `==`: use dim -1."""
    return _word(vocabulary, _logits(model, words, vocabulary)[None].argmax(0))


@predict.slip(ANY_ORDER)
def vocabulary_asked_by_id(model, words, vocabulary):
    """You looked up an id in the vocabulary, but its keys are words: find the word whose value is
    the id, in `vocabulary.items()`."""
    return vocabulary[int(_logits(model, words, vocabulary).argmax())]


@predict.slip(ARGMAX)
def always_first_of_the_dict(model, words, vocabulary):
    """The dict's first word came back: argmax ran over the batch, and an id is not a position in
    the dict."""
    return list(vocabulary)[int(_logits(model, words, vocabulary)[None].argmax(0)[0])]


@predict.slip(ALL_WORDS)
def last_word_alone(model, words, vocabulary):
    """The model saw only the last word: all words are one sequence, [1, n], not [n, 1]."""
    _ids(words, vocabulary)
    return _best(model, words[-1:], vocabulary)


@predict.slip(ALL_WORDS)
def first_word_alone(model, words, vocabulary):
    """The model saw only the first word: all words are one sequence, [1, n], not [n, 1]."""
    _ids(words, vocabulary)
    return _best(model, words[:1], vocabulary)


@predict.slip(ALL_WORDS)
def last_two_words_alone(model, words, vocabulary):
    """The model saw only the last two words: there may be more, and all of them count."""
    _ids(words, vocabulary)
    return _best(model, words[-2:], vocabulary)


@predict.slip(LOOK_UP)
def words_turned_round(model, words, vocabulary):
    """The words were taken from the end: for a model that sees the order, that is another
    question."""
    return _best(model, words[::-1], vocabulary)


@predict.slip(LOOK_UP)
def words_sorted(model, words, vocabulary):
    """The words were sorted before the model got them: they keep their order."""
    return _best(model, sorted(words), vocabulary)


@predict.slip(LOOK_UP)
def said_twice_heard_once(model, words, vocabulary):
    """A repeated word is lost, as in a set or dict: each word counts each time."""
    return _best(model, list(dict.fromkeys(words)), vocabulary)


@predict.slip(AGAIN)
def never_says_a_word_again(model, words, vocabulary):
    """You ruled out the words of the sentence: "do like" may well be followed by "like"."""
    logits = _logits(model, words, vocabulary).index_fill(
        0, _ids(words, vocabulary).to(next(model.parameters()).device), -torch.inf
    )
    return _word(vocabulary, int(logits.argmax()))


@predict.slip(ARGMAX)
def repeats_the_last_word(model, words, vocabulary):
    """The last word came back: call the model."""
    _ids(words, vocabulary)
    return words[-1]


@predict.slip(NO_TRACE)
def stays_in_eval_mode(model, words, vocabulary):
    """The model stays in eval mode: keep the flag of each part, `model.modules()`, and put it
    back."""
    model.eval()
    return _best(model, words, vocabulary)


@predict.slip(NO_TRACE)
def always_ends_in_train_mode(model, words, vocabulary):
    """The model is always in train mode after the call: put back what was there."""
    model.eval()
    word = _best(model, words, vocabulary)
    model.train()
    return word


@predict.slip(NO_TRACE)
def one_flag_for_all_parts(model, words, vocabulary):
    """`model.train(flag)` gives all parts of the model the same flag, but they had flags of their
    own: put each one back, or leave the flags alone."""
    before = model.training
    model.eval()
    word = _best(model, words, vocabulary)
    model.train(before)
    return word


@predict.slip(NO_TRACE)
def clears_the_gradients(model, words, vocabulary):
    """The model's gradients are gone: predicting needs no zero_grad."""
    model.zero_grad()
    return _best(model, words, vocabulary)


@predict.slip(NO_TRACE)
def leaves_gradients(model, words, vocabulary):
    """The call left gradients: there is nothing to learn here, so leave out backward."""
    device = next(model.parameters()).device
    logits = model(_ids(words, vocabulary).to(device)[None])[0]
    logits.max().backward()
    return _word(vocabulary, int(logits.argmax()))


@predict.slip(NO_TRACE)
def gradients_off_for_good(model, words, vocabulary):
    """You switched gradients off or on for good: use `with torch.no_grad():`, which puts back at
    its end what was before."""
    torch.set_grad_enabled(False)
    return _best(model, words, vocabulary)


@predict.slip(NO_TRACE)
def weights_frozen(model, words, vocabulary):
    """You switched off requires_grad of the weights for good: use torch.no_grad instead."""
    model.requires_grad_(False)
    return _best(model, words, vocabulary)


@predict.slip(UNKNOWN)
def unknown_word_taken_for_zero(model, words, vocabulary):
    """An unknown word is treated as word 0: `encode_words` raises the KeyError for you."""
    known = {**dict.fromkeys(words, 0), **vocabulary}
    return _word(vocabulary, int(_logits(model, words, known).argmax()))


@predict.slip(UNKNOWN)
def unknown_word_skipped(model, words, vocabulary):
    """An unknown word is skipped: let the KeyError happen."""
    return _best(model, [word for word in words if word in vocabulary], vocabulary)


@predict.slip(NO_WORDS)
def answers_to_no_words(model, words, vocabulary):
    """There were no words, but a word came back: the mean of 0 words is NaN. Refuse an empty list
    with a ValueError."""
    if words:
        return _best(model, words, vocabulary)
    device = next(model.parameters()).device
    with torch.no_grad():
        logits = model(_ids(words, vocabulary).to(device)[None])[0]
    return _word(vocabulary, int(logits.argmax()))


@predict.slip(INPUTS)
def sentence_goes_on(model, words, vocabulary):
    """The new word was added to the caller's list: leave `words` as it is."""
    word = _best(model, words, vocabulary)
    words.append(word)
    return word


# What the chapter's own errors and differences show

ERRORS = (
    error_like(
        "loss_made_with_its_inputs",
        r"Boolean value of Tensor|CrossEntropyLoss",
        "nn.CrossEntropyLoss is a class: make one first, then call it, "
        "nn.CrossEntropyLoss()(logits, targets). F.cross_entropy(logits, targets) does both at "
        "once.",
        line=r"\w+Loss\(\s*[^)\s]",
    ),
    error_like(
        "loss_arguments_swapped",
        r"log_softmax.*not implemented for 'Long'|class probabilities, got Long",
        "cross_entropy takes the logits first and the targets second.",
    ),
    error_like(
        "targets_are_floats",
        r"expected target dtype to be Long",
        "The targets of cross_entropy are ids, torch.long: here they are floats.",
    ),
    error_like(
        "loss_of_another_batch",
        r"to match target batch_size|Expected target size",
        "cross_entropy takes one row of logits for each target, [batch, vocab_size] and [batch]: "
        "here their numbers differ.",
    ),
    error_like(
        "targets_with_a_dimension_too_many",
        r"0D or 1D target tensor expected",
        "The targets of cross_entropy have one dimension too many: one id for each row of logits, "
        "[batch]. Or did you pass the ids instead of the targets?",
    ),
    error_like(
        "nothing_to_train",
        r"optimizer got an empty parameter list",
        "The optimiser got no weights: give it model.parameters(). Note that a generator can be "
        "used only once.",
    ),
    error_like(
        "weights_for_the_optimiser",
        r"params argument given to the optimizer",
        "An optimiser takes all weights at once, model.parameters().",
    ),
    error_like(
        "words_for_ids",
        r"too many dimensions 'str'",
        "A tensor cannot hold words: look up each word's id in the vocabulary first.",
    ),
    error_like(
        "list_of_words_to_the_model",
        r"argument 'indices'.*must be Tensor, not (list|str)",
        "The model was called with a list: it takes a tensor of ids, [batch, n].",
    ),
    error_like(
        "ids_without_a_batch",
        r"the model is asked with ids \[batch, n\]",
        "The model takes a batch: one sequence is ids[None], [1, n].",
    ),
    error_like(
        "no_such_word",
        r"^KeyError: ",
        "The dict on that line has no such key. The keys of a vocabulary are words, its values are "
        "ids: to find the word of an id, go through its items.",
    ),
    error_like(
        "id_out_of_range",
        r"index out of range in self|Target \d+ is out of bounds",
        "An id is as large as the table, or larger: the embedding and the head have one row for "
        "each word of the vocabulary, counted from 0.",
    ),
    error_like(
        "model_for_its_parts",
        r"'(\w*Model|Caller|\w*Attention)' (object (is not|cannot be)|has no len)",
        "The model itself was used as a list, a dict or a number: call it with ids; its weights "
        "are model.parameters().",
    ),
    error_like(
        "ids_not_whole",
        r"(to be|scalar types?:?) Long",
        "Ids and targets are whole numbers, torch.long: leave their dtype as it is.",
    ),
)
FINDINGS = (
    Common(
        "returns_words",
        lambda found: (
            found.kind == "type"
            and isinstance(found.actual, list)
            and any(isinstance(one, str) for one in found.actual)
        ),
        "Words came back instead of numbers: look each one up in the vocabulary.",
    ),
    Common(
        "unknown_word_not_refused",
        lambda found: found.kind == "not refused" and found.expected == "KeyError",
        "A word that the vocabulary does not have was accepted in silence: raise KeyError.",
    ),
    Common(
        "refusal_names_no_word",
        lambda found: found.kind == "refused badly" and found.detail == "word",
        "It is refused, but the error does not say which word: put the word into it.",
    ),
    Common(
        "not_a_key_error",
        lambda found: found.kind == "refused badly" and found.expected == "KeyError",
        "It does stop, but with another error: do not catch the dictionary's KeyError, it names "
        "the word.",
    ),
)


# What `grader show` draws

IDS = {"not": 0, "do": 1, "like": 2, "hate": 3}
TABLE = {"not like": "hate", "do like": "like", "not hate": "like", "do hate": "hate"}
IN_004 = ("not like", "do like")
STEPS, ROUNDS, HEADS = 200, 3, 4


@draws(positional_encoding)
def draw_positional_encoding(sketch):
    """A row of waves for each position, sines and cosines: fast on the left, slow on the right."""
    rows = sketch.words or [f"position {i}" for i in range(10)]
    sketch.row()
    waves = sketch.call("positional_encoding", len(rows), 8)
    sketch.draw("encoding", waves, rows, ["sin", "cos"] * 4)


@draws(encode_words)
def draw_encode_words(sketch):
    """Words as the embedding knows them: one id for each."""
    said = [sketch.words] if sketch.words else [phrase.split() for phrase in TABLE]
    known = {w: i for i, w in enumerate(dict.fromkeys(sketch.words))} if sketch.words else IDS
    sketch.row(f"The vocabulary: {', '.join(f'{word} {i}' for word, i in known.items())}.")
    for words in said:
        ids = sketch.call("encode_words", list(words), dict(known))
        sketch.draw(" ".join(words), ids, ["id"], words, scale="plain")


@draws(mean_pool)
def draw_mean_pool(sketch):
    """Many vectors become one: the mean of the real tokens."""
    x = torch.tensor([[[1.0, -2.0], [3.0, 0.0]], [[1.0, 1.0], [9.0, 9.0]]])
    pooled = sketch.call("mean_pool", x, torch.tensor([2, 1]))
    for place, words in enumerate((["not", "like"], ["do", "(pad)"])):
        title = "The chapter's numbers." if place == 0 else "One real token, the other is padding."
        sketch.row(title)
        sketch.draw("tokens", x[place], words, range(2), made="H", digits=2)
        sketch.draw("mean", pooled.at(place), ["Z1"], range(2), join="->", digits=2)


def _lesson():
    ids = torch.tensor([[IDS[word] for word in phrase.split()] for phrase in TABLE])
    return ids, torch.tensor([IDS[word] for word in TABLE.values()])


def _right(model, ids, targets):
    with torch.no_grad():
        return int((model(ids).argmax(-1) == targets).sum())


def _model(sketch, seed):
    """Make a model: the answer's, or the kit's where there is none yet."""

    def build(make):
        torch.manual_seed(seed)
        model = make(len(IDS), 16, n_heads=HEADS)
        model(_lesson()[0])
        # what the picture looks into has to be there
        attention = model.attention
        parts = [attention.w_q, attention.w_k, attention.w_v, attention.w_o, model.head]
        assert all(isinstance(part.weight, nn.Parameter) for part in [model.embedding, *parts])
        return model

    done = sketch.attempt("NextWordModel", build)
    if not done.missing:
        return done.result
    model = sketch.instead("NextWordModel", build, done.missing)
    sketch.say(f"The model is the kit's: {done.missing}.")
    return model


def _taught(sketch, model):
    """Train a model round by round; return the losses, and why it was not trained if it was not."""
    ids, targets = _lesson()
    losses, said = [], set()

    def teach(train):
        return train(model, ids, targets, steps=STEPS)

    for _ in range(ROUNDS):
        done = sketch.attempt("train", teach)
        missing, round_losses = done.missing, done.result
        if not missing and not _floats(round_losses):
            missing = f"your train gave back {type(done.result).__name__}, not {STEPS} losses"
        if missing and sketch.comes_before("train"):
            round_losses = sketch.instead("train", teach, missing)
            said.add(f"Trained by the kit: {missing}.")
        elif missing:
            return losses, missing
        losses += [float(loss) for loss in round_losses]
        if _right(model, ids, targets) == len(ids):
            break
    for text in said:
        sketch.say(text)
    return losses, ""


def _floats(losses):
    return isinstance(losses, list) and len(losses) == STEPS


def _learn(sketch):
    """Make a model and train it, and once more from another start if it was an unlucky one.

    Gives the model, and what it was before.
    """
    for seed in range(2):
        model = _model(sketch, seed)
        before = copy.deepcopy(model)
        losses, missing = _taught(sketch, model)
        if missing:
            sketch.differs("train")
            sketch.row(f"Not trained: {missing}. What the model says is chance.")
            return model, before
        if _right(model, *_lesson()) == len(TABLE):
            break
    model.eval()
    last = len(losses) - 1
    shown = [*(step for step in (0, 5, 10, 20, 50, 100) if step < last), last]
    right = _right(model, *_lesson())
    if right < len(TABLE):
        sketch.differs("train")
    sketch.row(
        f"Trained for {len(losses)} steps, on {len(TABLE)} pairs: {right} of them are right."
    )
    sketch.draw("loss", torch.tensor([losses[i] for i in shown]), ["before step"], shown)
    return model, before


def _phrases(sketch):
    if not sketch.words:
        return list(TABLE)
    said = dict.fromkeys(sketch.words)
    strange = ", ".join(word for word in said if word not in IDS)
    if not strange:
        return [" ".join(sketch.words)]
    known = ", ".join(word for word in said if word in IDS) or "none"
    # before all else: the picture is not the one that was asked for
    sketch.row(
        f"Unknown words: {strange}. Known: {known}. The model's vocabulary is {', '.join(IDS)}; "
        f"drawn are the chapter's own phrases."
    )
    return list(TABLE)


def _asked(sketch, model, phrases):
    """Ask a model for its logits, [phrases, words]."""

    def ask(model, phrase):
        ids = torch.tensor([[IDS[word] for word in phrase.split()]])
        with torch.no_grad():
            return model(ids)[0]

    def known():
        right = sketch.reference("NextWordModel")(len(IDS), 16, n_heads=HEADS)
        right.load_state_dict(model.state_dict(), strict=False)
        return torch.stack([ask(right, phrase) for phrase in phrases])

    return sketch.use(
        "NextWordModel",
        lambda _, __: sketch.stack([ask(model, p) for p in phrases]),
        want=sketch.of_this_answer(known),
    )


def _prediction(sketch, model, phrase, logits):
    """Say what follows a phrase, beneath its maps."""
    done = sketch.attempt("predict", lambda ask: ask(model, phrase.split(), dict(IDS)))
    largest = list(IDS)[int(logits.argmax())]
    word, by = done.result, "your predict"
    if done.missing:
        word, by = largest, f"the largest logit; {done.missing}"
    elif word != largest:
        sketch.differs("predict")
        by += f"; the largest logit is that of {largest}"
    right = TABLE.get(phrase)
    if right is not None:
        by += f"; {'document 004' if phrase in IN_004 else 'the table'} says {right}"
    differs = "" if right in (None, word) else "   <- differs"
    sketch.note(f"prediction: {word}   ({by}){differs}")


def _heads(sketch, model, phrase):
    """One map for each head, the tokens above, the values beneath."""
    words = phrase.split()
    layer = model.attention
    x = model.embedding(torch.tensor([IDS[word] for word in words])).detach()
    attend = "ex06_heads.multi_head"
    want = sketch.of_this_answer(lambda: right_maps(sketch.reference(attend), layer, x, HEADS))

    def read(_, __):
        maps = head_maps(layer, x, HEADS)
        return want if maps is None else maps

    # the kit's own model has layers there, and nothing that can be called
    if type(layer) is nn.Module:
        maps = sketch.kits(want)
    elif read(None, None) is None:
        sketch.note("The layer does not call its `w_v`, so its heads cannot be looked into.")
        return
    else:
        maps = sketch.use("NextWordModel", read, want=want)
    values = layer.w_v(x).detach().unflatten(-1, (HEADS, -1))  # [n, n_heads, d_head]
    for head in range(HEADS):
        sketch.draw(f"head {head}", maps.at(head), words, words, scale="weights", digits=2)
        features = range(values.shape[-1])
        sketch.draw("values", values[:, head].T, features, words, digits=1, under=True)


def _draw_model(sketch):
    phrases = _phrases(sketch)
    model, _ = _learn(sketch)
    logits = _asked(sketch, model, phrases)
    for place, phrase in enumerate(phrases):
        sketch.row(f'"{phrase}"')
        _heads(sketch, model, phrase)
        _prediction(sketch, model, phrase, logits.want[place])
    sketch.row("The largest logit names the word.")
    sketch.draw("logits", logits, phrases, list(IDS))


@draws(NextWordModel)
def draw_next_word_model(sketch):
    """Your model at work: the weights of each head; beneath, a column of values for each word."""
    _draw_model(sketch)


@draws(train)
def draw_train(sketch):
    """What training does: the loss on its way, and the logits before and after it."""
    phrases = _phrases(sketch)
    model, before = _learn(sketch)
    for title, one in (("before", before), ("after", model)):
        logits = _asked(sketch, one, phrases)
        if title == "before":
            sketch.row("The logits; the largest names the word.")
        sketch.draw(title, logits, phrases, list(IDS), join="->" if title == "after" else "")


@draws(predict)
def draw_predict(sketch):
    """From words to a word: what each head looks at, the logits, and the largest of them."""
    _draw_model(sketch)
