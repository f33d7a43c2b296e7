"""Chapter 1. Scores: how well two tokens match.

The question
    Every token is a vector, a list of d numbers. A token that wants to know which other tokens
    matter to it needs one number for each of them: large where the two belong together. Which
    number could that be, and how do you get all of them at once?

The formula
    score(a, b) = a . b = a_0 b_0 + a_1 b_1 + ... + a_(d-1) b_(d-1)

    If you compare the tokens themselves, each one mostly finds itself, because one vector then has
    to say both what a token is and what it is looking for. So every token gets two vectors: a
    query, which says what it is looking for, and a key, which says what it has to offer. Both are
    projections: the token times a learned matrix, plus a bias if there is one. The score (i, j) is
    the dot product of query i and key j, and a single matrix product gives all of them:

    Q = X W_Q + b_Q,    K = X W_K + b_K,    S = Q K^T

Shapes
    A projection can be written in three ways. All three give the same numbers:

    tokens are    you have                             you compute    you get
    rows          x [n, d_in]  weight [d_in, d_out]    x W + b        [n, d_out]  project_rows
    rows          x [n, d_in]  weight [d_out, d_in]    x W^T + b      [n, d_out]  project_linear
    columns       x [d_in, n]  weight [d_out, d_in]    W x + b 1^T    [d_out, n]  project_columns

    Check which weight you have: a square one fits either way round, and the wrong product does not
    crash, it only gives wrong numbers.

    In a signature, Float[Tensor, "*batch n d"] is only a note: a tensor of floats whose last two
    sizes are called n and d. *batch stands for any number of dimensions before them, including
    none: [5, 3], [2, 5, 3] and [4, 2, 5, 3] are all [*batch, n, d].

    `.mT` and transpose(-2, -1) swap the last two dimensions, whatever comes before them; `.T`
    reverses all of them. After a transpose the numbers lie in memory in another order: `view` then
    fails, `reshape` works.

    Then the scores, one row for each query and one column for each key:

                                            key 0  key 1  key 2
      query [q, d_k]                query 0 [ -2.6    8.8   -7.0 ]
        key [k, d_k]  -Q K^T->      query 1 [  1.5   -4.6   -4.3 ]     scores [q, k]
                                    query 2 [ -2.2   -0.2   -6.6 ]

By hand
    Document 002 has the tokens t_0 = (0.3367, 0.1288, 0.2345, 0.2303, -1.1229) and
    t_1 = (-0.1863, 2.2082, -0.6380, 0.4617, 0.2674). Their naive score is
    -0.0627 + 0.2844 - 0.1496 + 0.1063 - 0.3003 = -0.1219 (-0.1217 with all the digits). Swap the
    two and it is the same. Query 0 is (-1.6964, 1.3355, -0.5133, 0.0674) and key 0 is
    (0.6023, -0.7260, 1.1799, 0.2383). Their score is
    -1.0217 - 0.9696 - 0.6056 + 0.0161 = -2.5808 (printed: -2.5809). Now try query 0 with key 1,
    (-0.6521, 4.4224, -3.7460, -1.2657): it should be near 8.85. Is query 1 with key 0 the same?
    Answers, with reasons, and more questions: `python -m grader quiz ex01_scores`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file:
    dtypes, devices, gradients, memory, refusals. A word that is new to you may have a card in
    CARDS.md: batch, broadcasting, device, dtype, gradient, strides, view. Or print one with
    `python -m grader hint strides`.

May be used
    Anything in torch: torch.dot, torch.matmul or its short form @, transpose or .mT, sum.
    torch.nn.functional.linear is project_linear ready-made: compare yours with it once yours works.

If you have the documents
    They put the weight on different sides, and all are right: 002 as in project_rows, 001 as in
    project_linear, 003 and 004 as in project_columns.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    """Measure how well two vectors match: multiply entry by entry, add everything up.

    Difficulty 1 of 5, about 5 minutes.

    It grows with the lengths of the vectors: it is not the cosine. Return a tensor, not a Python
    number, so that gradients can flow back through it.

    Args:
        a: a vector [d].
        b: another one [d].

    Returns:
        The sum of the products, entry by entry: a tensor without dimensions, [].

    Raises:
        ValueError: `a` or `b` is not a vector.
        ValueError: `a` and `b` differ in length.

    Source: document 002, "Naive Attention".

    Example:
        >>> dot_product(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0, 6.0]))
        tensor(32.)
    """
    raise NotImplementedError("ex01_scores.dot_product")


def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    """Score every token against every token of its own sequence, without projections.

    Difficulty 1 of 5, about 5 minutes.

    So the scores are symmetric, and the diagonal holds the squared lengths. One matrix product
    does it; two loops over the tokens would be right but far too slow.

    Args:
        tokens: one token per row [*batch, n, d].

    Returns:
        The scores [*batch, n, n]: entry (i, j) is the dot product of token i and token j.

    Raises:
        ValueError: `tokens` has fewer than two dimensions.

    Source: document 002, "Naive Attention".

    Example:
        >>> naive_scores(torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
        tensor([[1., 1.],
                [1., 2.]])
    """
    raise NotImplementedError("ex01_scores.naive_scores")


def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    """Map every token, one per row, to a new vector: x W + b.

    Difficulty 2 of 5, about 10 minutes.

    Every token is multiplied by the same weight and gets the same bias, whatever its position. The
    weight is one matrix for the whole batch.

    Args:
        x: tokens as rows [*batch, n, d_in].
        weight: one matrix [d_in, d_out].
        bias: a vector [d_out]. None: no bias.

    Returns:
        The projected tokens, x W + b [*batch, n, d_out].

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `weight` is not a matrix with d_in rows.
        ValueError: `bias` is not a vector of d_out numbers.

    Source: document 002, "Key and Query Vectors"; document 000, "Query, Key and Value Vectors".

    Example:
        >>> weight = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
        >>> project_rows(torch.tensor([[1.0, 2.0]]), weight)
        tensor([[1., 2., 3.]])
        >>> project_rows(torch.tensor([[1.0, 2.0]]), weight, torch.tensor([0.0, 0.0, 10.0]))
        tensor([[ 1.,  2., 13.]])
    """
    raise NotImplementedError("ex01_scores.project_rows")


def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    """Map every token, one per row, with a weight as nn.Linear stores it: x W^T + b.

    Difficulty 2 of 5, about 5 minutes.

    nn.Linear stores one row of its weight for each number of the output. Mind a square weight: it
    fits without the transpose too, but the answer is wrong.

    Args:
        x: tokens as rows [*batch, n, d_in].
        weight: one matrix [d_out, d_in].
        bias: a vector [d_out]. None: no bias.

    Returns:
        The projected tokens, x W^T + b [*batch, n, d_out]. With `layer.weight` and `layer.bias`
        they are what `layer(x)` gives.

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `weight` is not a matrix with d_in columns.
        ValueError: `bias` is not a vector of d_out numbers.

    Source: document 001, "The Matrix Math", the note on the transpose.

    Example:
        >>> weight = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> project_linear(torch.tensor([[1.0, 2.0]]), weight)
        tensor([[1., 2., 3.]])
    """
    raise NotImplementedError("ex01_scores.project_linear")


def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    """Map every token, one per column, to a new vector: W x + b 1^T.

    Difficulty 2 of 5, about 10 minutes.

    Textbooks often write it so: each token is a column, and the weight comes from the left. The
    row of ones in the formula only says that every column gets the whole bias. Mind n = d_out:
    then the bias also fits in the wrong direction, and the answer is wrong.

    Args:
        x: tokens as columns [*batch, d_in, n].
        weight: one matrix [d_out, d_in].
        bias: a vector [d_out]. None: no bias.

    Returns:
        The projected tokens, W x + b 1^T, still as columns [*batch, d_out, n].

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `weight` is not a matrix with d_in columns.
        ValueError: `bias` is not a vector of d_out numbers.

    Source: document 004, "Query projections with bias".

    Example:
        >>> weight = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> tokens = torch.tensor([[1.0, 3.0], [2.0, 4.0]])
        >>> project_columns(tokens, weight, torch.tensor([0.0, 0.0, 10.0]))
        tensor([[ 1.,  3.],
                [ 2.,  4.],
                [13., 17.]])
    """
    raise NotImplementedError("ex01_scores.project_columns")


def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    """Score every query against every key: Q K^T.

    Difficulty 2 of 5, about 10 minutes.

    There may be more keys than queries, or fewer. Every sequence of a batch has its own queries
    and its own keys: batches of different sizes do not fit, not even a batch of one.

    Args:
        query: what each position asks for [*batch, q, d_k].
        key: what each position offers [*batch, k, d_k].

    Returns:
        The scores [*batch, q, k]: entry (i, j) is the dot product of query i and key j.

    Raises:
        ValueError: `query` or `key` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `query` and `key` differ in their batch.

    Source: document 002, "Key and Query Vectors"; document 003, "Attention scores"; document 000,
        "Self-Attention Mechanism".

    Example:
        >>> query = torch.tensor([[1.0, 2.0]])
        >>> dot_product_scores(query, torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[11.,  2.]])
    """
    raise NotImplementedError("ex01_scores.dot_product_scores")
