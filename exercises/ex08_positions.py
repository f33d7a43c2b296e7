"""Chapter 8. Positions: scores that know how far apart two words are.

The question
    Attention does not see order. The model of chapter 7 helps itself with a table: it adds one row
    of numbers to each word, according to its place. Then every score is made of words and places,
    all mixed up, and what "not" means to "like", one place before it, has to be learned anew at
    place 3, at place 4, at place 5. But how far apart two words are matters more than where they
    stand. Can a score know the distance, and nothing else of the places?

The formula
    angle(p, i) = p * base^(-2i / d_head)              i = 0, 1, ..., d_head / 2 - 1

    turned by angle a:    (u, v)  ->  (u cos a - v sin a,  u sin a + v cos a)

    Take the features of a query two by two. Each pair is a point in the plane. Turn it about 0,
    counter-clockwise, by an angle that grows with the position p: pair 0 by 1 radian per place,
    every later pair more slowly. Do the same with the keys, and then score as in chapter 2.

    A turn changes no length, and the dot product of two points depends on their lengths and on the
    angle between them. Turn one by m and the other by n, and the angle between them changes by
    m - n: by the distance, wherever they stand. The first pairs tell neighbours apart and have gone
    full circle after 6.28 places; the last ones hardly move, and tell near from far. Only queries
    and keys are turned: values say what a word is, not where.

    Positions are given, not counted. A word at place 4096 is turned by 4096, also if it is the only
    row of its tensor: so it is in a decoder that works on one new word at a time.

    An angle of 4096 needs its digits: float32 has it to about 0.0002, bfloat16 only to 16. So
    angles, sines and cosines are worked out in float32 or better, whatever the dtype of the
    features is.

Which features make a pair
    Papers and libraries disagree. RoFormer and Meta's own code for Llama take neighbours. GPT-NeoX,
    and Llama as it is in the transformers library, take features that are half the width apart:

    d_head = 6     pairs     (0, 1)  (2, 3)  (4, 5)     rotate_pairs
                   halves    (0, 3)  (1, 4)  (2, 5)     rotate_halves

    Either is right, and each needs weights that were trained for it. The wrong one does not crash:
    the model talks nonsense. But it is only an order of features, and w_q and w_k make them: put
    their rows in another order, and the scores are the same. So Llama's weights were converted.

Shapes
    positions [n]   -rotary_angles->   angles [n, d_head / 2], float32
            x [*batch, n, d_head],     angles   -rotate_pairs->   [*batch, n, d_head]

               pair 0  pair 1  pair 2
    place 0  [  0.0     0.0     0.0   ]     d_head = 6, base 10000: the angles of three places.
    place 1  [  1.0     0.0464  0.0022]     Every word of a place is turned by its row, in each
    place 2  [  2.0     0.0928  0.0043]     sequence of the batch, and in each head.

By hand
    The numbers are ours. Let d_head be 4: the angles of place 2 are 2 and 2 * 10000^(-1/2) = 0.02.
    cos 2 = -0.4161, sin 2 = 0.9093, cos 0.02 = 0.9998, sin 0.02 = 0.0200. Turn (3, 4, 1, 2), as
    pairs (3, 4) and (1, 2):

        3 * -0.4161 - 4 * 0.9093 = -4.8856        1 * 0.9998 - 2 * 0.0200 = 0.9598
        3 * 0.9093 + 4 * -0.4161 =  1.0633        1 * 0.0200 + 2 * 0.9998 = 2.0196

    And as halves the pairs are (3, 1) and (4, 2): what does place 2 make of these?
    Now a query (1, 0) and a key (1, 0), 2 wide, the query at place 5 and the key at place 3. They
    were alike, and are now 2 radians apart: cos 2 / sqrt(2) = -0.4161 / 1.4142 = -0.2943. What is
    the score if the query is at place 105, and the key at 103?
    Answers, with reasons, and more questions: `python -m grader quiz ex08_positions`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as dtype or device, are in CARDS.md. One thing is different here: angles
    are float32, whatever the dtype of the other inputs is.

May be used
    Anything in torch and math, and your own chapter 2. Two numbers (u, v) are also one complex
    number u + vi, and to multiply by cos a + i sin a is to turn.

If you want the sources
    RoFormer: Su and others, 2021, section 3.2. It counts the pairs from 1, and writes
    10000^(-2(i - 1) / d): that is the same. GPT-NeoX: Black and others, 2022.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Num
from torch import Tensor

from ex02_scaling import scaled_scores


def rotary_angles(
    positions: Num[Tensor, " n"], d_head: int, base: float = 10000.0
) -> Float[Tensor, "n d_head/2"]:
    """Say by which angle each pair of features is turned at each position.

    Difficulty 2 of 5, about 10 minutes.

    Positions may come in any order, more than once, below 0, and between two whole numbers.

    Args:
        positions: where the words stand, one number each [n]; int32, int64 or any float dtype.
        d_head: how many features are turned, an even number, at least 2.
        base: above 1; the larger, the slower the later pairs.

    Returns:
        The angles in radians [n, d_head / 2], on the device of `positions`, and float32 whatever
        their dtype is: entry (p, i) is positions[p] * base^(-2i / d_head). Large positions keep the
        digits of float32.

    Raises:
        ValueError: `positions` is not a vector.
        ValueError: `d_head` is odd or below 2.

    Source: Su and others 2021, section 3.2.2; the base of 10000 is chapter 7's.

    Example:
        >>> rotary_angles(torch.tensor([0, 1, 7]), 4)
        tensor([[0.0000, 0.0000],
                [1.0000, 0.0100],
                [7.0000, 0.0700]])
    """
    raise NotImplementedError("ex08_positions.rotary_angles")


def rotate_pairs(
    x: Float[Tensor, "*batch n d_head"], angles: Float[Tensor, "n d_head/2"]
) -> Float[Tensor, "*batch n d_head"]:
    """Turn neighbouring features: the layout of the paper.

    Difficulty 3 of 5, about 10 minutes.

    Turning changes no row's length.

    Args:
        x: queries or keys as rows [*batch, n, d_head], in any float dtype.
        angles: by how much each pair of each row is turned, in radians [n, d_head / 2], float32.

    Returns:
        The turned rows [*batch, n, d_head]: features (2i, 2i + 1) of row p are turned by
        angles[p, i], the first towards the second. It is worked out in float32 at least, which
        is enough for float64, too, and returned in the dtype of `x`.

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `x` has an odd number of features.
        ValueError: `angles` is not [n, d_head / 2].

    Source: Su and others 2021, section 3.2.2, equation 15.

    Example:
        >>> x = torch.tensor([[5.0, 0.0, 0.0, 5.0]])
        >>> rotate_pairs(x, torch.tensor([[0.9273, 0.9273]]))
        tensor([[ 3.0000,  4.0000, -4.0000,  3.0000]])
    """
    raise NotImplementedError("ex08_positions.rotate_pairs")


def rotate_halves(
    x: Float[Tensor, "*batch n d_head"], angles: Float[Tensor, "n d_head/2"]
) -> Float[Tensor, "*batch n d_head"]:
    """Turn features that are half the width apart: the layout of GPT-NeoX, and of transformers.

    Difficulty 2 of 5, about 5 minutes.

    Turning changes no row's length.

    Args:
        x: queries or keys as rows [*batch, n, d_head], in any float dtype.
        angles: by how much each pair of each row is turned, in radians [n, d_head / 2], float32.

    Returns:
        The turned rows [*batch, n, d_head]: features (i, i + d_head / 2) of row p are turned by
        angles[p, i], the first towards the second. It is worked out in float32 at least, which
        is enough for float64, too, and returned in the dtype of `x`.

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `x` has an odd number of features.
        ValueError: `angles` is not [n, d_head / 2].

    Source: Black and others 2022, and the code of GPT-NeoX.

    Example:
        >>> x = torch.tensor([[5.0, 0.0, 0.0, 5.0]])
        >>> rotate_halves(x, torch.tensor([[0.9273, 0.0]]))
        tensor([[3.0000, 0.0000, 4.0000, 5.0000]])
    """
    raise NotImplementedError("ex08_positions.rotate_halves")


def pairs_to_halves(weight: Float[Tensor, "rows d_in"], n_heads: int) -> Float[Tensor, "rows d_in"]:
    """Put the rows of a weight in the order that the other layout needs.

    Difficulty 3 of 5, about 10 minutes.

    A weight that was trained with `rotate_pairs` gives the same scores with `rotate_halves`
    afterwards, if w_q and w_k are both converted. Row r makes feature r of all heads together: the
    first rows / n_heads rows belong to head 0.

    Args:
        weight: of an nn.Linear, which multiplies by its transpose [rows, d_in], with
            rows = n_heads * d_head.
        n_heads: how many heads; at least 1, and each gets an even number of rows.

    Returns:
        The same rows in another order [rows, d_in]: in each head, row i is the old row 2i, and row
        i + d_head / 2 is the old row 2i + 1.

    Raises:
        ValueError: `weight` is not a matrix.
        ValueError: `n_heads` is below 1, or the rows do not make n_heads heads of an even width.

    Source: what was done to Llama's weights for the transformers library.

    Example:
        >>> pairs_to_halves(torch.arange(8.0)[:, None], n_heads=2).flatten()
        tensor([0., 2., 1., 3., 4., 6., 5., 7.])
    """
    raise NotImplementedError("ex08_positions.pairs_to_halves")


def rotary_scores(
    query: Float[Tensor, "*batch q d"],
    key: Float[Tensor, "*batch k d"],
    query_positions: Num[Tensor, " q"],
    key_positions: Num[Tensor, " k"],
    base: float = 10000.0,
) -> Float[Tensor, "*batch q k"]:
    """Score every query against every key, as they stand to each other.

    Difficulty 2 of 5, about 10 minutes.

    The scores know the distance, not the place: move all positions by the same number, and they
    stay as they are.

    Args:
        query: what each position asks for [*batch, q, d].
        key: what each position offers [*batch, k, d].
        query_positions: where the queries stand [q]; int32, int64 or any float dtype.
        key_positions: where the keys stand [k].
        base: above 1; the larger, the slower the later pairs.

    Returns:
        The scores of chapter 2, of what `rotate_pairs` made of queries and keys [*batch, q, k]:
        scaled by the square root of d. Each is turned by the angles of its own positions;
        angles are float32, also where queries and keys are float64.

    Raises:
        ValueError: `query` or `key` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `query` and `key` differ in their batch.
        ValueError: `query` has an odd number of features.
        ValueError: `query_positions` is not [q], or `key_positions` is not [k].

    Source: Su and others 2021, equation 16.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> rotary_scores(x, x, torch.tensor([5, 6]), torch.tensor([3, 4]))
        tensor([[-0.2943,  0.3821],
                [-0.7000, -0.2943]])
    """
    raise NotImplementedError("ex08_positions.rotary_scores")
