"""Chapter 6. Heads: several attentions side by side.

The question
    One softmax gives a token one way to spread its attention. But "like" may want to know who
    likes, what is liked, and whether there is a "not" before it. How does a token ask several
    questions at once, without several times the work?

The formula
    MultiHead(Q, K, V) = Concat(head_0, ..., head_(h-1)) W_O
    head_i = attention(Q W_Q^i, K W_K^i, V W_V^i)

    Every head has projections of its own, but they are not computed one by one. One wide projection
    holds them all: the i-th block of its features belongs to W_Q^i. So project once, split the
    features into heads, run the attention of chapter 5 with the heads as one more batch dimension,
    merge the heads again, and let W_O mix their answers.

    Each head has its own softmax over the keys, and its scores are divided by the square root of
    the width of one head's keys, d_model / n_heads.

Shapes
    Two tokens, four features, two heads. A head owns columns, never tokens:

               head 0 | head 1                        head 0      head 1
    token 0  [  1   2 |  3   4 ]   -split_heads->    [ 1  2 ]    [ 3  4 ]
    token 1  [  5   6 |  7   8 ]   <-merge_heads-    [ 5  6 ]    [ 7  8 ]
              [n, d_model]                          [n_heads, n, d_head], d_head = d_model / n_heads

    In between, the features are cut into two dimensions, and then the heads move in front of the
    tokens:

    [*batch, n, d_model]  ->  [*batch, n, n_heads, d_head]  ->  [*batch, n_heads, n, d_head]

    A mask [*batch, q, k] has no dimension for the heads. The scores are [*batch, n_heads, q, k], so
    the mask needs one more dimension, in the right place: [*batch, 1, q, k].

By hand
    Document 000 prints no numbers, so these are ours. Split the table above without looking, then
    try the shortcut: read 1 2 3 4 5 6 7 8 straight into [n_heads, n, d_head]. It gives [1 2],
    [3 4] to one head and [5 6], [7 8] to the other: the right shape, but each "head" is one token
    cut in two. Nothing crashes.
    Now let every token of the table be its own query, key and value, with two heads. What is
    head 0's score of token 0 for token 1? 1 * 5 + 2 * 6 = 17, over sqrt(2), not over sqrt(4).
    Answers, with reasons, and more questions: `python -m grader quiz ex06_heads`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as view or strides, are in CARDS.md.

May be used
    reshape, unflatten, flatten, transpose, permute, expand, unsqueeze; nn.Linear; torch.softmax;
    your own attention.
    Not a ready-made attention: not scaled_dot_product_attention, not nn.MultiheadAttention, nor
    what lies under them.

If you have the documents
    000 writes W_0 for W_O, the output projection. Where it speaks of picking h tokens: each head
    spreads its weights over all of them.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex05_mixing import attention


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    """Split each token into one piece per head.

    Difficulty 3 of 5, about 10 minutes.

    With d_model 6 and 2 heads, head 0 owns features 0 to 2 and head 1 features 3 to 5. The heads
    come before the tokens, so that each head looks like a sequence of its own.

    Args:
        x: the tokens as rows [*batch, n, d_model].
        n_heads: how many heads; at least 1, and it divides d_model.

    Returns:
        The pieces [*batch, n_heads, n, d_model / n_heads]: head i owns the i-th block of
        consecutive features of every token.

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `n_heads` is below 1 or does not divide d_model.

    Source: document 000, "Implementation Details".

    Example:
        >>> split_heads(torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]), 2)
        tensor([[[1., 2.],
                 [5., 6.]],
        <BLANKLINE>
                [[3., 4.],
                 [7., 8.]]])
    """
    raise NotImplementedError("ex06_heads.split_heads")


def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    """Put the pieces of each token side by side again: undo `split_heads`.

    Difficulty 3 of 5, about 10 minutes.

    Args:
        x: one sequence of pieces per head [*batch, n_heads, n, d_head].

    Returns:
        The tokens [*batch, n, n_heads * d_head]: each row holds the pieces of one token, head 0
        first. Merging what was split gives the tokens back.

    Raises:
        ValueError: `x` has fewer than three dimensions.

    Source: document 000, "Implementation Details".

    Example:
        >>> merge_heads(torch.tensor([[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]))
        tensor([[1., 2., 3., 4.],
                [5., 6., 7., 8.]])
    """
    raise NotImplementedError("ex06_heads.merge_heads")


def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    """Run one attention per head, each on its own features, and join the answers.

    Difficulty 3 of 5, about 10 minutes.

    The inputs are already projected. The heads never see each other: each has its own softmax over
    the keys, of scores divided by the square root of its own width.

    Args:
        query: what each position asks for [*batch, q, d_model].
        key: what each position offers [*batch, k, d_model].
        value: what each position hands over [*batch, k, d_model].
        n_heads: how many heads; at least 1, and it divides d_model.
        mask: True where the query may attend, the same for every head; broadcasts to
            [*batch, q, k], which has no dimension for the heads. None: everywhere.

    Returns:
        The answers of the heads side by side [*batch, q, d_model]: head i is the attention of the
        i-th block of features. A query that may attend to nothing gets a row of zeros, and finite
        gradients.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than two dimensions.
        ValueError: `query`, `key` and `value` differ in width.
        ValueError: `key` and `value` differ in number.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `n_heads` is below 1 or does not divide d_model.
        ValueError: `mask` does not broadcast to [*batch, q, k].

    Source: document 000, "Multi-Head Attention" and "Implementation Details".

    Example:
        >>> query, key = torch.tensor([[90.0, 0.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]])
        >>> value = torch.tensor([[2.0, 2.0], [4.0, 4.0]])
        >>> multi_head(query, key, value, n_heads=2)
        tensor([[2., 3.]])
        >>> multi_head(query, key, value, n_heads=2, mask=torch.tensor([False, True]))
        tensor([[4., 4.]])
    """
    raise NotImplementedError("ex06_heads.multi_head")


class MultiHeadAttention(nn.Module):
    """Multi-head attention with its projections: MultiHead(Q, K, V) = Concat(head_i) W_O.

    Difficulty 4 of 5, about 20 minutes.

    With the same weights it gives what torch.nn.MultiheadAttention(batch_first=True) gives. The
    module has four layers and no other weights, each an nn.Linear(d_model, d_model):
        w_q: makes the queries.
        w_k: makes the keys.
        w_v: makes the values.
        w_o: the output projection, applied to the joined heads.

    Args:
        d_model: the width of the tokens, in and out.
        n_heads: how many heads; at least 1, and it divides d_model.
        bias: whether the four layers have a bias. False: none of them has one.

    Raises:
        ValueError: `n_heads` is below 1 or does not divide d_model.

    Source: document 000, "Multi-Head Attention"; document 004, "Apply output projection".

    Example:
        >>> layer = MultiHeadAttention(d_model=8, n_heads=2)
        >>> layer(torch.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])
        >>> layer(torch.zeros(3, 5, 8), memory=torch.zeros(3, 7, 8)).shape
        torch.Size([3, 5, 8])
        >>> sorted(name for name, _ in layer.named_children())
        ['w_k', 'w_o', 'w_q', 'w_v']
    """

    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        raise NotImplementedError("ex06_heads.MultiHeadAttention")

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        """Let the tokens of `x` look at `memory`, or at each other where there is none.

        Args:
            x: the tokens that look, as rows [*batch, q, d_model], in the dtype of the weights.
            memory: the tokens looked at, as rows [*batch, k, d_model]; it makes the keys and the
                values. None: `x` itself.
            mask: True where the query may attend, the same for every head; broadcasts to
                [*batch, q, k]. None: everywhere.

        Returns:
            One new row per token of `x` [*batch, q, d_model]: w_o of the joined heads. A query that
            may attend to nothing gets the bias of `w_o`, and finite gradients.

        Raises:
            ValueError: `x` or `memory` has fewer than two dimensions.
            ValueError: `x` or `memory` is not d_model wide.
            ValueError: `x` and `memory` differ in their batch.
            ValueError: `mask` does not broadcast to [*batch, q, k].
        """
        raise NotImplementedError("ex06_heads.MultiHeadAttention")
