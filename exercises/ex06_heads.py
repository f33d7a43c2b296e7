"""Chapter 6 of 7. Heads: the multi-head fold.

The question
    One softmax gives a token one way to spread its attention. But "like" may want to know who
    likes, what is liked, and whether a "not" stands before it. How does a token ask several
    questions at once, without paying several times for the answer?

The formula
    MultiHead(Q, K, V) = Concat(head_0, ..., head_(h-1)) W_O
    head_i = attention(Q W_Q^i, K W_K^i, V W_V^i)

    Every head has projections of its own, but nobody makes them one by one. One wide projection
    holds them all: the i-th block of its features is W_Q^i's. So project once, fold the features
    into heads, run the attention of chapter 5 with the heads as one more batch dimension, unfold,
    and let W_O stir the answers together.

Shapes
    Two tokens, four features, two heads. A head owns columns, never tokens:

               head 0 | head 1                        head 0      head 1
    token 0  [  1   2 |  3   4 ]   -split_heads->    [ 1  2 ]    [ 3  4 ]
    token 1  [  5   6 |  7   8 ]   <-merge_heads-    [ 5  6 ]    [ 7  8 ]
              [n, d_model]                          [n_heads, n, d_head], d_head = d_model / n_heads

    On the way the features are folded in two and the head axis walks past the tokens:

    [*batch, n, d_model]  ->  [*batch, n, n_heads, d_head]  ->  [*batch, n_heads, n, d_head]

    A mask [*batch, q, k] knows nothing of heads. The scores are [*batch, n_heads, q, k], so it
    needs an axis in the right place: [*batch, 1, q, k].

By hand
    Document 000 prints no numbers, so these are ours. Split the table above without looking, then
    try the shortcut: read 1 2 3 4 5 6 7 8 straight into [n_heads, n, d_head]. It gives [1 2],
    [3 4] to one head and [5 6], [7 8] to the other: the right shape, and each "head" is one token
    cut in two. Nothing crashes.
    Now let every token of the table be its own query, key and value, with two heads. What is
    head 0's score of token 0 for token 1? 1 * 5 + 2 * 6 = 17, over sqrt(2), not over sqrt(4).

Where the documents are loose
    Document 000 says that each head's softmax runs "over embedding length / number of heads
    elements". It runs over the keys, once per head; that many features is what a head owns.
    Document 004 scales by the square root of the dimension of the embeddings. With several heads
    it is the width of one head's keys, d_model / n_heads.
    Document 000 says that each token may pick h tokens: each head spreads its weights over all
    of them, and h heads spread h times. It writes W_0 for what is usually W_O, the output
    projection; document 004 has it too, with one head.

The rules
    What every function keeps, whatever its stub says, stands in RULES.md beside this file: dtypes,
    devices, gradients, memory, refusals.

May be used
    reshape, unflatten, flatten, transpose, permute, expand, unsqueeze; nn.Linear; torch.softmax;
    your own attention.
    Not a ready-made attention: not scaled_dot_product_attention, not nn.MultiheadAttention, nor
    what lies under them.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex05_mixing import attention


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    """Fold each token into one piece per head.

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

    The inputs are projected already. The heads never see each other: each has its own softmax over
    the keys, scaled by the width of its own piece.

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
