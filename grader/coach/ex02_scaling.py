"""The coach of chapter 2."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from grader.coach import Task, card
from grader.coach.common import Common
from grader.pictures.drawings import draws

TRACK = "core"
FORMULA = (
    'chapter 2, The formula: "scaled = Q K^T / sqrt(d_k)" (after document 001, "The Matrix Math")'
)
ROOT = 'the stub of scale_scores: "neither the width itself nor its square"'
WIDTH = 'chapter 2, The formula: "d_k is the width of the keys, not their number."'
SPREAD = 'chapter 2, The formula: "the score has variance d_k, and standard deviation sqrt(d_k)"'
NORMAL = 'chapter 2, The formula: "with mean 0 and variance 1"'
INDEPENDENT = 'chapter 2, The formula: "Let the entries of q and k be independent"'
PRODUCTS = 'chapter 2, The formula: "each product q_i k_i has mean 0 and variance 1 as well"'
FOUR = 'chapter 2, The formula: "in document 002 the tokens are 5 wide and the keys 4"'
READ = 'the stub of scaled_scores: "it is the last dimension of the keys"'
DEVIATION = 'the stub of score_spread: "The standard deviation of the dot products"'
MEASURED = 'the stub of score_spread: "draw `pairs` queries and as many keys"'
GENERATOR = 'the stub of score_spread: "Every number is drawn with `generator`, on its device"'
PRODUCT = 'chapter 1, The formula: "a single matrix product gives all of them"'
ONE_ROW = 'chapter 1, Shapes: "one row for each query and one column for each key"'
ANY = 'chapter 1, Shapes: "*batch stands for any number of dimensions before them"'
SUM = 'chapter 1, The formula: "score(a, b) = a . b"'
SOFTMAX = 'chapter 4, The formula: "the division makes each row sum to 1"'
BATCH = card("batch")

scale_scores = Task(
    "scale_scores",
    points=2,
    difficulty=1,
    minutes=5,
    hints=(
        "When keys are d_k wide, the scores have a standard deviation of about sqrt(d_k). Divide "
        "by it.",
        "The divisor is one number for the whole tensor and comes from `d_k` alone; the shape of "
        "the scores does not matter. Make a new tensor: the caller keeps the old one.",
        "[*batch, q, k] divided by a Python number keeps shape, dtype and device. A root is a "
        "power of 0.5: mind the brackets if you write the half as 1 / 2.",
    ),
)


@scale_scores.slip(ROOT)
def divided_by_the_width(scores, d_k):
    """You divided by d_k, or by its root twice: divide once, by the square root of d_k."""
    return scores / d_k


@scale_scores.slip(FORMULA)
def rows_standardised(scores, d_k):
    """You gave each row mean 0 and spread 1: only divide, by the square root of d_k, and let the
    mean be."""
    off = scores - scores.mean(-1, keepdim=True)
    return off / scores.std(-1, keepdim=True, unbiased=False)


@scale_scores.slip(ROOT)
def divided_by_the_square(scores, d_k):
    """You divided by the square of d_k, as document 001 says: it means the square root."""
    return scores / d_k**2


@scale_scores.slip(FORMULA)
def times_the_root(scores, d_k):
    """You multiplied by the square root of d_k: divide by it, or multiply by d_k ** -0.5."""
    return scores * d_k**0.5


@scale_scores.slip(ROOT)
def half_the_width(scores, d_k):
    """You divided by half of d_k: `d_k ** 1 / 2` is (d_k ** 1) / 2, write d_k ** 0.5."""
    return scores / (d_k**1 / 2)


@scale_scores.slip(ROOT)
def divided_by_twice_the_width(scores, d_k):
    """You divided by d_k and by 2: in `scores / d_k ** 1 / 2` the power comes before the division,
    so put the half in brackets."""
    return scores / (d_k * 2)


@scale_scores.slip(FORMULA)
def infinity_made_finite(scores, d_k):
    """Minus infinity became a finite number, as nan_to_num makes it: a score that is masked already
    stays as it is when it is divided."""
    return (scores / d_k**0.5).nan_to_num()


@scale_scores.slip(FORMULA)
def scores_as_they_came(scores, d_k):
    """The scores came back as they were: divide them by the square root of d_k."""
    return 1 * scores


@scale_scores.slip(FOUR)
def always_halved(scores, d_k):
    """You always divide by 2: that is sqrt(4), right only where d_k is 4. Here d_k is another
    number."""
    return scores / 2


@scale_scores.slip(WIDTH)
def root_of_the_number_of_keys(scores, d_k):
    """You divided by the root of the number of keys: d_k is the width of the keys, and it is an
    argument."""
    return scores / scores.shape[-1] ** 0.5


@scale_scores.slip(WIDTH)
def root_of_the_number_of_queries(scores, d_k):
    """You divided by the root of the number of queries: d_k is the width of the keys, and it is an
    argument."""
    return scores / scores.shape[-2] ** 0.5


@scale_scores.slip(FORMULA)
def root_cut_to_a_whole_number(scores, d_k):
    """The root was cut to a whole number: `int`, `//` and math.isqrt drop the decimals."""
    return scores / math.isqrt(d_k)


@scale_scores.slip(FORMULA)
def quotients_cut(scores, d_k):
    """Your scores are whole numbers: `//` drops the decimals, divide with `/`."""
    return (scores / d_k**0.5).floor() + 0 * scores


@scale_scores.slip(FORMULA)
def root_of_the_scores(scores, d_k):
    """You took the root of the scores too, sqrt(scores / d_k): only d_k is under the root."""
    return (scores / d_k).sqrt()


@scale_scores.slip(FORMULA)
def root_subtracted(scores, d_k):
    """You subtracted the square root of d_k: divide by it."""
    return scores - d_k**0.5


@scale_scores.slip(SOFTMAX)
def scaled_and_softmaxed(scores, d_k):
    """These are weights, each row sums to 1: stop at the scaled scores, the softmax comes in
    chapter 4."""
    return torch.softmax(scores / d_k**0.5, -1)


@scale_scores.slip(WIDTH)
def divided_by_their_own_spread(scores, d_k):
    """You divided by the standard deviation of these scores: the divisor depends on d_k alone."""
    return scores / scores.std()


@scale_scores.slip(WIDTH)
def divided_by_their_length(scores, d_k):
    """You scaled every row to length 1: the divisor depends on d_k alone, not on the scores."""
    return scores / scores.norm(dim=-1, keepdim=True)


@scale_scores.slip(ROOT)
def logarithm_for_root(scores, d_k):
    """You divided by the logarithm of d_k: it is the square root."""
    return scores / math.log(d_k) if d_k > 1 else scores * torch.inf


scaled_scores = Task(
    "scaled_scores",
    points=2,
    difficulty=2,
    minutes=5,
    hints=(
        "You have both parts: the scores of chapter 1, and the scale. Only d_k is not given here.",
        "Both tensors have d_k: it is how wide each query and each key is, the size that "
        "disappears in the product. So read it from them, not from the scores.",
        "`dot_product_scores` gives [*batch, q, k] and refuses what does not fit; the last size "
        "of `key`, [*batch, k, d_k], goes to `scale_scores`.",
    ),
)


def _pair_fits(query, key):
    if query.shape[:-2] != key.shape[:-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"do not fit: {tuple(query.shape)} and {tuple(key.shape)}")


_scaled_slip = scaled_scores.refusing(_pair_fits)


def _raw(query, key):
    return query @ key.transpose(-1, -2)


@_scaled_slip(PRODUCT)
def keys_with_themselves(query, key):
    """You scored the keys against themselves: score queries against keys, [*batch, q, k]."""
    return _raw(key, key) / key.shape[-1] ** 0.5


@_scaled_slip(WIDTH)
def divided_by_the_root_of_dim(query, key):
    """You divided by the root of `key.dim()`, the number of dimensions: d_k is their width,
    key.shape[-1]."""
    return _raw(query, key) / key.dim() ** 0.5


@_scaled_slip(PRODUCT)
def queries_with_themselves(query, key):
    """You scored the queries against themselves: score queries against keys, [*batch, q, k]."""
    return _raw(query, query) / key.shape[-1] ** 0.5


@_scaled_slip(FORMULA)
def d_k_over_the_scores(query, key):
    """You divided d_k by the root of the scores: `scale_scores` takes the scores first, d_k
    second."""
    return key.shape[-1] / _raw(query, key) ** 0.5


@_scaled_slip(FORMULA)
def not_scaled(query, key):
    """The scale is missing: divide the scores by the square root of d_k."""
    return _raw(query, key)


@_scaled_slip(ROOT)
def divided_by_d_k(query, key):
    """You divided by d_k, or by its root twice, as when q and k are both scaled: divide once."""
    return _raw(query, key) / key.shape[-1]


@_scaled_slip(ROOT)
def divided_by_d_k_squared(query, key):
    """You divided by the square of d_k, as document 001 says: it means the square root."""
    return _raw(query, key) / key.shape[-1] ** 2


@_scaled_slip(FORMULA)
def times_root_d_k(query, key):
    """You multiplied by the square root of d_k: divide by it."""
    return _raw(query, key) * key.shape[-1] ** 0.5


@_scaled_slip(ROOT)
def scores_divided_by_their_spread(query, key):
    """You divided by the standard deviation of these very scores: that is another number for each
    input. It is the square root of d_k, whatever the scores are."""
    scores = _raw(query, key)
    return scores / scores.std(unbiased=False)


@_scaled_slip(ROOT)
def scores_divided_by_their_sample_spread(query, key):
    """You divided by the standard deviation of these very scores, torch.std: that is another number
    for each input. It is the square root of d_k, whatever the scores are."""
    scores = _raw(query, key)
    return scores / (scores.std() if scores.numel() > 1 else float("nan"))


@_scaled_slip(ROOT)
def half_of_d_k(query, key):
    """You divided by half of d_k: `d_k ** 1 / 2` is (d_k ** 1) / 2, write d_k ** 0.5."""
    return _raw(query, key) / (key.shape[-1] ** 1 / 2)


@_scaled_slip(ROOT)
def twice_d_k(query, key):
    """You divided by d_k and by 2: in `scores / d_k ** 1 / 2` the power comes before the division,
    so put the half in brackets."""
    return _raw(query, key) / (key.shape[-1] * 2)


@_scaled_slip(READ)
def divisor_of_another_call(query, key):
    """Right for keys that are 3 wide, and wrong for others: you kept the divisor of an earlier
    call, or wrote a number. Work it out in each call, from the width of the keys."""
    return _raw(query, key) / 3**0.5


@_scaled_slip(READ)
def scaled_by_number_of_keys(query, key):
    """You scaled by the number of keys: it is the width of a key, its last dimension."""
    return _raw(query, key) / key.shape[-2] ** 0.5


@_scaled_slip(READ)
def scaled_by_number_of_queries(query, key):
    """You scaled by the number of queries: it is the width of a key, its last dimension."""
    return _raw(query, key) / query.shape[-2] ** 0.5


@_scaled_slip(READ)
def scaled_by_first_size_of_query(query, key):
    """You scaled by the first size of `query`, its batch if it has one: d_k is its last size."""
    return _raw(query, key) / query.shape[0] ** 0.5


@_scaled_slip(READ)
def scaled_by_first_size_of_key(query, key):
    """You scaled by the first size of `key`, its batch if it has one: d_k is its last size."""
    return _raw(query, key) / key.shape[0] ** 0.5


@_scaled_slip(READ)
def scaled_by_size_one(query, key):
    """You read d_k as shape[1]: right without a batch, but with one that is another size. Use
    shape[-1]."""
    return _raw(query, key) / key.shape[1] ** 0.5


@_scaled_slip(READ)
def scaled_by_size_one_of_query(query, key):
    """You read d_k as query.shape[1]: with a batch that is another size. Use query.shape[-1]."""
    return _raw(query, key) / query.shape[1] ** 0.5


@_scaled_slip(FOUR)
def scaled_by_two(query, key):
    """You always divide by 2: that is sqrt(4), right only where d_k is 4. Read d_k from the
    tensors."""
    return _raw(query, key) / 2


@_scaled_slip(FORMULA)
def root_cut(query, key):
    """The root was cut to a whole number: `int`, `//` and math.isqrt drop the decimals."""
    return _raw(query, key) / math.isqrt(key.shape[-1])


@_scaled_slip(ONE_ROW)
def keys_before_queries(query, key):
    """This is K Q^T, with the keys first: each row must belong to one query."""
    return _raw(key, query) / key.shape[-1] ** 0.5


@_scaled_slip(PRODUCT)
def keys_not_turned(query, key):
    """The transpose is missing: queries are rows, so the keys must be columns."""
    return query @ key / key.shape[-1] ** 0.5


@_scaled_slip(BATCH)
def turns_the_batch_too(query, key):
    """Right for one sequence, but with a batch `.T` and transpose(0, 1) swap the wrong dimensions:
    use `.mT`."""
    return query @ key.permute(*reversed(range(key.dim()))) / key.shape[-1] ** 0.5


@_scaled_slip(BATCH)
def turned_with_t(query, key):
    """Right for one sequence, but `.t()` takes no batch: use `.mT` or transpose(-2, -1)."""
    return query @ key.t() / key.shape[-1] ** 0.5


@_scaled_slip(SOFTMAX)
def softmaxed_already(query, key):
    """These are weights, each row sums to 1: stop at the scaled scores, the softmax comes in
    chapter 4."""
    return torch.softmax(_raw(query, key) / key.shape[-1] ** 0.5, -1)


@_scaled_slip(SOFTMAX)
def attention_already(query, key):
    """These are mixed keys, [q, d_k]: scaled_dot_product_attention is the whole attention. Return
    only its scores, [q, k]."""
    return F.scaled_dot_product_attention(query, key, key)


@_scaled_slip(ANY)
def scores_squeezed(query, key):
    """`squeeze` removed dimensions of size 1 that belong to the batch, a query or a key."""
    return (_raw(query, key) / key.shape[-1] ** 0.5).squeeze()


score_spread = Task(
    "score_spread",
    points=4,
    difficulty=3,
    minutes=15,
    hints=(
        "It is an experiment: make many scores of random queries and keys, and see how far apart "
        "they are. The result is near sqrt(d_k), and a little different each time.",
        "Draw all queries and all keys at once, one pair per row, from `generator` and on its "
        "device. Multiply each query with its own key only, and take one deviation over all pairs.",
        "`torch.randn` takes `generator=` and `device=`: twice [pairs, d_k]. Their product, summed "
        "over the last dimension, is [pairs], and `std` turns that into [].",
    ),
)


def _drawn(d_k, pairs, generator, make=torch.randn):
    device = None if generator is None else generator.device
    return [make(pairs, d_k, generator=generator, device=device) for _ in range(2)]


def _products(d_k, pairs, generator, make=torch.randn):
    query, key = _drawn(d_k, pairs, generator, make)
    return (query * key).sum(-1)


@score_spread.slip(DEVIATION)
def variance(d_k, pairs, generator=None):
    """This is the variance, near d_k: the standard deviation is its square root."""
    return _products(d_k, pairs, generator).var()


@score_spread.slip(DEVIATION)
def root_of_the_deviation(d_k, pairs, generator=None):
    """You took one root too many: `std` is the square root of the variance already."""
    return _products(d_k, pairs, generator).std().sqrt()


@score_spread.slip(SPREAD)
def scaled_products(d_k, pairs, generator=None):
    """Your spread is 1 at every width: you scaled the products. Measure the unscaled ones."""
    return (_products(d_k, pairs, generator) / d_k**0.5).std()


@score_spread.slip(SUM)
def products_not_added(d_k, pairs, generator=None):
    """Your spread is 1 at every width: the products of entries were never added up to dot products,
    or the dot products were scaled."""
    query, key = _drawn(d_k, pairs, generator)
    return (query * key).std()


@score_spread.slip(MEASURED)
def from_the_formula(d_k, pairs, generator=None):
    """This is sqrt(d_k) from the formula: draw vectors and measure, the result will be near it."""
    device = None if generator is None else generator.device
    return torch.tensor(float(d_k), device=device).sqrt()


@score_spread.slip(NORMAL)
def numbers_from_0_to_1(d_k, pairs, generator=None):
    """You drew evenly from 0 to 1 with `rand`: unit-normal numbers come from `randn`."""
    return _products(d_k, pairs, generator, torch.rand).std()


@score_spread.slip(NORMAL)
def numbers_from_minus_1_to_1(d_k, pairs, generator=None):
    """You drew evenly from -1 to 1: unit-normal numbers come from `randn`."""

    def even(*shape, **options):
        return 2 * torch.rand(*shape, **options) - 1

    return _products(d_k, pairs, generator, even).std()


@score_spread.slip(DEVIATION)
def mean_of_the_sizes(d_k, pairs, generator=None):
    """This is the mean of the products without their signs: use the standard deviation, `std`."""
    return _products(d_k, pairs, generator).abs().mean()


@score_spread.slip(DEVIATION)
def mean_of_the_products(d_k, pairs, generator=None):
    """This is the mean of the products, near 0: how far apart they are is their standard
    deviation."""
    return _products(d_k, pairs, generator).mean()


@score_spread.slip(DEVIATION)
def not_divided_by_the_pairs(d_k, pairs, generator=None):
    """Your spread grows with the number of pairs: the squares were added up, not averaged."""
    products = _products(d_k, pairs, generator)
    return ((products - products.mean()) ** 2).sum().sqrt()


@score_spread.slip(INDEPENDENT)
def one_vector_twice(d_k, pairs, generator=None):
    """You multiplied each vector by itself: draw query and key independently."""
    query, _ = _drawn(d_k, pairs, generator)
    return (query * query).sum(-1).std()


@score_spread.slip(SUM)
def summed_over_the_pairs(d_k, pairs, generator=None):
    """You summed over the pairs, or swapped d_k and pairs: each dot product adds up d_k numbers."""
    query, key = _drawn(d_k, pairs, generator)
    sums = (query * key).sum(0)
    return sums.std() if d_k > 1 else sums.norm()


@score_spread.slip(PRODUCTS)
def one_vector_summed(d_k, pairs, generator=None):
    """You drew one vector per pair and added up its numbers: a score is the dot product of two
    vectors."""
    return _drawn(d_k, pairs, generator)[0].sum(-1).std()


@score_spread.slip(MEASURED)
def every_query_with_every_key(d_k, pairs, generator=None):
    """You took every query with every key, pairs * pairs products: each query has one key only."""
    query, key = _drawn(d_k, pairs, generator)
    return (query @ key.T).std()


@score_spread.slip(MEASURED)
def one_query_for_all(d_k, pairs, generator=None):
    """You used one vector for all pairs: every pair has a query and a key of its own."""
    query, key = _drawn(d_k, pairs, generator)
    return (key @ query[0]).std()


@score_spread.slip(MEASURED)
def products_averaged(d_k, pairs, generator=None):
    """You took the mean over the features: a dot product is their sum."""
    return (_products(d_k, pairs, generator) / d_k).std()


@score_spread.slip(MEASURED)
def one_pair_only(d_k, pairs, generator=None):
    """One product has no deviation, it is NaN: draw as many queries and keys as `pairs` says."""
    return _products(d_k, 1, generator).sum() * torch.nan


@score_spread.slip(MEASURED)
def number_of_pairs_fixed(d_k, pairs, generator=None):
    """`pairs` is not used: you always took the same number of products."""
    return _products(d_k, 5000, generator).std()


@score_spread.slip(DEVIATION)
def mean_not_taken_off(d_k, pairs, generator=None):
    """You took the root of the mean square: for a deviation, subtract the mean first."""
    return (_products(d_k, pairs, generator) ** 2).mean().sqrt()


@score_spread.slip(GENERATOR)
def generator_ignored(d_k, pairs, generator=None):
    """`generator` is not used: pass it to `randn`, or nobody can repeat your measurement."""
    device = None if generator is None else generator.device
    query, key = (torch.randn(pairs, d_k, device=device) for _ in range(2))
    return torch.std((query * key).sum(-1))


@score_spread.slip(GENERATOR)
def generator_for_one_of_two(d_k, pairs, generator=None):
    """Only one of the two draws uses `generator`: queries and keys both come from it."""
    device = None if generator is None else generator.device
    query = torch.randn((pairs, d_k), generator=generator, device=device)
    return (query * torch.randn(pairs, d_k, device=device)).sum(-1).std()


@score_spread.slip(GENERATOR)
def seed_set_inside(d_k, pairs, generator=None):
    """You set a seed inside, so it measures the same each time: the seed is the caller's choice."""
    torch.manual_seed(0)
    return generator_ignored(d_k, pairs, generator)


@score_spread.slip(GENERATOR)
def seed_of_the_generator(d_k, pairs, generator=None):
    """You seeded torch's own generator from `generator`: draw with `generator` itself."""
    if generator is not None:
        torch.manual_seed(generator.initial_seed())
    return generator_ignored(d_k, pairs, generator)


@score_spread.slip(GENERATOR)
def starts_anew_without_generator(d_k, pairs, generator=None):
    """Without `generator` you always start from the same seed: leave it None, torch has a generator
    of its own."""
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    return _products(d_k, pairs, generator).std()


@score_spread.slip(DEVIATION)
def products_themselves(d_k, pairs, generator=None):
    """These are the products themselves, [pairs]: return their standard deviation, one number."""
    return _products(d_k, pairs, generator)


@score_spread.slip(DEVIATION)
def one_spread_for_each_pair(d_k, pairs, generator=None):
    """You took a deviation within each pair, [pairs]: add up first, then take one over all
    pairs."""
    query, key = _drawn(d_k, pairs, generator)
    return (query * key).std(-1) if d_k > 1 else (query * key)[:, 0] * torch.nan


@score_spread.slip(DEVIATION)
def one_spread_for_each_entry(d_k, pairs, generator=None):
    """You took a deviation for each entry, [d_k]: add the entries up first, then take it."""
    query, key = _drawn(d_k, pairs, generator)
    return (query * key).std(0)


# What the chapter's own differences show

FINDINGS = (
    Common(
        "torchs_own_generator_moved",
        lambda found: found.label == "torch's own generator",
        "You seeded torch's own generator, or drew from it, though one was handed over: draw every "
        "number with `generator=generator`.",
        GENERATOR,
    ),
)


# What `grader show` draws


@draws(scale_scores)
def draw_scale_scores(sketch):
    """The same scores on a smaller scale: colours fade, and the order stays."""
    for it in sketch.both():
        d_k = it.key.shape[1]
        sketch.row(it.title)
        sketch.draw("scores", it.scores, it.words, it.words, made="Q K^T")
        scaled = sketch.call("scale_scores", it.scores, d_k)
        sketch.draw("scaled", scaled, it.words, it.words, join=f"/ sqrt({d_k}) =",
                    printed=it.printed.get("scaled"))  # fmt: skip


@draws(scaled_scores)
def draw_scaled_scores(sketch):
    """From queries and keys to scores, and from scores to scaled ones."""
    for it in sketch.both():
        width = range(it.query.shape[1])
        sketch.row(it.title)
        sketch.draw("queries", it.query, it.words, width, made="Q")
        sketch.draw("keys", it.key, it.words, width, made="K")
        sketch.row()
        scores = sketch.call("dot_product_scores", it.query, it.key)
        sketch.draw("scores", scores, it.words, it.words, made="Q K^T",
                    printed=it.printed.get("scores"))  # fmt: skip
        scaled = sketch.call("scaled_scores", it.query, it.key)
        sketch.draw("scaled", scaled, it.words, it.words, join=f"/ sqrt({len(width)}) =",
                    printed=it.printed.get("scaled"))  # fmt: skip


@draws(score_spread)
def draw_score_spread(sketch):
    """How far apart unscaled scores are, at five widths: it grows like sqrt(d_k)."""
    widths = [1, 4, 16, 64, 256]
    roots = torch.tensor(widths).sqrt()

    def measured(spread, _):
        generators = [torch.Generator().manual_seed(d_k) for d_k in widths]
        return sketch.stack([spread(d, 4000, g) for d, g in zip(widths, generators, strict=True)])

    columns = [f"d_k {d_k}" for d_k in widths]
    sketch.row("4000 pairs for each width, random but always the same.")
    spread = sketch.use("score_spread", measured, want=roots, within=0.15)
    sketch.draw("spread", spread, ["measured"], columns)
    sketch.draw("sqrt(d_k)", roots, ["foreseen"], columns, under=True)
    sketch.draw("spread / sqrt(d_k)", spread.over(roots), ["scaled"], columns, under=True)
