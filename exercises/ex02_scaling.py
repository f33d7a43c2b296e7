"""Chapter 2. Scaling: why scores are divided by sqrt(d_k).

The question
    A dot product adds up d_k products. The wider the keys, the further apart the scores are, and
    the softmax of chapter 4 reacts to differences: when scores are far apart, one key takes
    everything, and nothing is left to learn from. How far apart are they, and how do you bring them
    back together?

The formula
    scaled = Q K^T / sqrt(d_k)

    Let the entries of q and k be independent, with mean 0 and variance 1. Then each product q_i k_i
    has mean 0 and variance 1 as well. Variances of independent numbers add up, so the score has
    variance d_k, and standard deviation sqrt(d_k). Divide by that, and the spread is 1 whatever the
    width. You need not take this on trust: score_spread measures it.

    d_k is the width of the keys, not their number. It need not be the width of the tokens: in
    document 002 the tokens are 5 wide and the keys 4.

Shapes
    query [q, d_k]                             spread about sqrt(d_k)       spread about 1
      key [k, d_k]    -dot_product_scores->    scores [q, k]    -/ sqrt(d_k)->    scaled [q, k]

    d_k        1      4      16     64     256
    spread     1      2      4      8      16      what score_spread finds, nearly

By hand
    In document 002 the keys are 4 wide, so sqrt(d_k) = 2. The first row of scores,
    (-2.5809, 8.8498, -6.9600), becomes (-1.2905, 4.4249, -3.4800). Go on with the second row,
    (1.5185, -4.5739, -4.2686). In document 001 d_k is 2, so the scores are divided by 1.4142. What
    would the first row have been, had you divided by d_k? And what is sqrt(d_k) for keys 512 wide?
    Answers, with reasons, and more questions: `python -m grader quiz ex02_scaling`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as dtype or device, are in CARDS.md.

May be used
    Anything in torch and math, and your own chapter 1. torch.randn draws numbers from the unit
    normal distribution: mean 0, variance 1.

If you have the documents
    001 speaks of "the square of the dimension", 004 of the embeddings' dimension: it is the square
    root of d_k.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    """Divide scores by sqrt(d_k), which brings them back to a spread of about 1.

    Difficulty 1 of 5, about 5 minutes.

    The divisor is the square root of the keys' width, not of the number of keys, and neither the
    width itself nor its square. Do not divide in place: the caller still needs the scores.

    Args:
        scores: any scores [*batch, q, k].
        d_k: the width of the keys that made the scores, at least 1.

    Returns:
        The scores divided by sqrt(d_k) [*batch, q, k]. Minus infinity stays minus infinity.

    Source: document 001, "The Matrix Math"; document 002, "Key and Query Vectors".

    Example:
        >>> scale_scores(torch.tensor([[6.0, -3.0, 0.0]]), 9)
        tensor([[ 2., -1.,  0.]])
    """
    raise NotImplementedError("ex02_scaling.scale_scores")


def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    """Score every query against every key, on the same scale at any width: Q K^T / sqrt(d_k).

    Difficulty 2 of 5, about 5 minutes.

    d_k is read from the tensors: it is the last dimension of the keys, never their number and
    never the size of the batch.

    Args:
        query: what each position asks for [*batch, q, d_k].
        key: what each position offers [*batch, k, d_k].

    Returns:
        The scores Q K^T divided by the square root of d_k [*batch, q, k].

    Raises:
        ValueError: `query` or `key` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `query` and `key` differ in their batch.

    Source: document 001, "The Matrix Math".

    Example:
        >>> query = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
        >>> scaled_scores(query, torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 1.0]]))
        tensor([[5.0000, 0.5000]])
    """
    raise NotImplementedError("ex02_scaling.scaled_scores")


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    """Measure the spread of unscaled scores when the keys are d_k wide.

    Difficulty 3 of 5, about 15 minutes.

    An experiment: draw `pairs` queries and as many keys, all of unit-normal numbers, and take the
    dot product of each query with its own key. The result is measured, so it is near sqrt(d_k),
    not equal to it.

    Args:
        d_k: the width of queries and keys, at least 1.
        pairs: how many dot products to take, at least 2.
        generator: where the random numbers come from. None: torch's own generator.

    Returns:
        The standard deviation of the dot products, a floating-point tensor without dimensions, [];
        dividing by `pairs` and dividing by `pairs` - 1 are both fine. Every number is drawn with
        `generator`, on its device: the same state gives the same answer, another state another
        one. With `generator`, no other generator is seeded or drawn from.

    Source: the reason for the scale in document 001, "The Matrix Math".

    Example:
        >>> spread = score_spread(16, 10000, torch.Generator().manual_seed(0))
        >>> bool(3.8 < spread < 4.2)
        True
    """
    raise NotImplementedError("ex02_scaling.score_spread")
