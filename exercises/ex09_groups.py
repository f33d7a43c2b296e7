"""Chapter 9. Groups: heads that share their keys.

The question
    In chapter 6 every head has queries, keys and values of its own. A model that writes word after
    word needs the query of the newest word only, once. But it keeps the keys and values of all
    words so far, in every layer, and reads all of them for each new word: long before the sums do,
    this fills the memory. A model of 80 layers, with 64 heads of width 128, keeps 10 GiB for one
    text of 4096 words. Does every head need keys and values of its own?

The formula
    head_j = attention(Q_j, K_i, V_i)        i = j // (h / g)        j = 0, 1, ..., h - 1

    There are h heads of queries, but only g heads of keys and values, and g divides h. Each of
    these serves a group of h / g heads. The heads of a group still ask different questions, so each
    has a softmax of its own. They only look through the same keys, and take from the same values.

    With g = h this is chapter 6. With g = 1 it is called multi-query attention: one head of keys
    for all. What is kept shrinks with g: 8 heads of keys in the place of 64 need 1.25 GiB for the
    10.

    bytes = 2 * layers * g * d_head * words * sequences * bytes of a number

    The 2 is there for keys and values.

Which heads share
    Papers and libraries mean neighbours: with h = 6 and g = 2, heads 0, 1 and 2 share, as
    repeat_interleave() has it. Whoever takes repeat() or tile() deals the heads out, j % g, and
    heads 0, 2 and 4 share. That is the right shape, and nothing crashes: weights that were trained
    for the one order talk nonsense in the other.

    head j             0  1  2  3  4  5
    j // (h / g)       0  0  0  1  1  1     neighbours: this chapter
    j % g              0  1  0  1  0  1     dealt out

    The names are a trap as well. What is g here is n_kv_heads in Llama's own code,
    num_key_value_heads in the transformers library, and the number of query groups in Megatron;
    but num_key_value_groups, in transformers again, is h / g.

Shapes
    query  [*batch, h, q, d_k]        head   0  1  2    3  4  5
                                             +--+--+    +--+--+      h = 6, g = 2
    key    [*batch, g, k, d_k]        keys      0          1
    value  [*batch, g, k, d_v]        values    0          1
    mask   [*batch, q, k]             the same for all heads, as in chapter 6
    output [*batch, h, q, d_v]

Without a copy
    To repeat the keys until every head has some is a fine way to see what is meant, and
    `repeat_heads` does it. But it makes the memory full again that was to be saved. So
    `grouped_attention` is not only right: it never copies keys and values for each head.

    expand() copies nothing. But reshape() after it does. And so does a product of matrices that
    broadcasts: from queries [*batch, g, h / g, q, d_k] and keys [*batch, g, 1, d_k, k] matmul makes
    a copy of the keys for each head, and multiplies then. A loop over the heads copies nothing, if
    each takes its keys as a view; nor does an einsum. And there is a way that needs neither: the
    heads of a group ask the same keys. What does attention know of which head a row of queries
    belongs to?

By hand
    The numbers are ours. There are 6 heads, 2 heads of keys, one query and two keys, all 1 wide.
    Both heads of keys have the keys 0 and 1. The values are 10 and 20 in the first, 30 and 70 in
    the second. The queries of heads 0 to 5 are 0, L, 0, L, 0, L, with L = log 3 = 1.0986.

    A query of 0 weighs both keys alike: 1/2, 1/2. One of L gives scores 0 and L, and their powers
    are 1 and 3: 1/4, 3/4.

        head 0: 10/2 + 20/2 = 15       head 1: 10/4 + 60/4 = 17.5     head 2: 15
        head 3: 30/4 + 210/4 = 60      head 4: 30/2 + 70/2 = 50       head 5: 60

    What would come out if the heads were dealt out, j % g?
    Answers, with reasons, and more questions: `python -m grader quiz ex09_groups`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as view or broadcasting, are in CARDS.md.

May be used
    reshape, unflatten, flatten, expand, repeat_interleave; torch.einsum; nn.Linear; your own
    chapters 5 and 6.
    Not a ready-made attention: not scaled_dot_product_attention, with enable_gqa or without, not
    nn.MultiheadAttention, nor what lies under them.

If you want the sources
    Multi-query attention: Shazeer, 2019, "Fast Transformer Decoding: One Write-Head is All You
    Need". Groups: Ainslie and others, 2023, "GQA", section 2.2.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads


def repeat_heads(
    x: Float[Tensor, "*batch g n d"], times: int
) -> Float[Tensor, "*batch g*times n d"]:
    """Give each head several times, one beside the other.

    Difficulty 2 of 5, about 5 minutes.

    This copies, and `grouped_attention` does without. It is how groups are mostly explained.

    Args:
        x: heads of keys, or of values [*batch, g, n, d].
        times: how many heads share each of them; at least 1.

    Returns:
        The heads [*batch, g * times, n, d]: head j is the head j // times of `x`.

    Raises:
        ValueError: `x` has fewer than three dimensions.
        ValueError: `times` is below 1.

    Source: the code of Llama, where it is called repeat_kv.

    Example:
        >>> repeat_heads(torch.tensor([[[1.0]], [[2.0]]]), 3).flatten()
        tensor([1., 1., 1., 2., 2., 2.])
    """
    raise NotImplementedError("ex09_groups.repeat_heads")


def grouped_attention(
    query: Float[Tensor, "*batch h q d_k"],
    key: Float[Tensor, "*batch g k d_k"],
    value: Float[Tensor, "*batch g k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch h q d_v"]:
    """Let several heads of queries look through the same keys.

    Difficulty 4 of 5, about 20 minutes.

    Keys and values are never copied for each head: as long as all heads together have as many
    queries as before, more heads make no tensor larger.

    Args:
        query: what each head asks at each position [*batch, h, q, d_k].
        key: what each position offers, for a group of heads [*batch, g, k, d_k]; g divides h.
        value: what each position hands over, for the same group [*batch, g, k, d_v].
        mask: True where the query may attend, the same for every head; broadcasts to
            [*batch, q, k], which has no dimension for the heads. None: everywhere.

    Returns:
        The answer of each head [*batch, h, q, d_v]: head j is the attention of its own queries over
        the keys and values j // (h / g). A query that may attend to nothing gets a row of zeros,
        and finite gradients.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than three dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `key` and `value` differ in number.
        ValueError: `key` and `value` differ in their heads.
        ValueError: the heads of `key` do not divide those of `query`.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `mask` does not broadcast to [*batch, q, k].

    Source: Ainslie and others 2023, section 2.2; with one head of keys Shazeer 2019, section 3.

    Example:
        >>> query = torch.zeros(6, 1, 1)
        >>> key = torch.tensor([[[0.0], [1.0]], [[0.0], [1.0]]])
        >>> value = torch.tensor([[[10.0], [20.0]], [[30.0], [70.0]]])
        >>> grouped_attention(query, key, value).flatten()
        tensor([15., 15., 15., 50., 50., 50.])
        >>> grouped_attention(query, key, value, torch.tensor([False, True])).flatten()
        tensor([20., 20., 20., 70., 70., 70.])
    """
    raise NotImplementedError("ex09_groups.grouped_attention")


def cache_bytes(
    n_layers: int,
    n_kv_heads: int,
    d_head: int,
    n: int,
    batch: int = 1,
    dtype: torch.dtype = torch.float16,
) -> int:
    """Say how much memory the keys and values take that a model keeps while it writes.

    Difficulty 1 of 5, about 5 minutes.

    How many heads of queries there are does not matter.

    Args:
        n_layers: how many layers, each with keys and values of its own.
        n_kv_heads: how many heads of keys and values a layer has.
        d_head: the width of a key and of a value.
        n: how many words each sequence has so far; it may be 0.
        batch: how many sequences are written at a time.
        dtype: of the numbers that are kept; floating, or whole as in a quantized cache.

    Returns:
        The bytes of all keys and all values, an int.

    Source: Shazeer 2019, section 2.4; the numbers of the example are those of Llama 2 70B.

    Example:
        >>> cache_bytes(n_layers=80, n_kv_heads=64, d_head=128, n=4096) / 2**30
        10.0
        >>> cache_bytes(n_layers=80, n_kv_heads=8, d_head=128, n=4096) / 2**30
        1.25
    """
    raise NotImplementedError("ex09_groups.cache_bytes")


class GroupedQueryAttention(nn.Module):
    """Multi-head attention whose heads share keys and values.

    Difficulty 3 of 5, about 15 minutes.

    Where n_kv_heads is n_heads, it gives what chapter 6's module gives. Each head is d_head =
    d_model / n_heads wide, those of keys and values as well. The module has four layers and no
    other weights, each an nn.Linear:
        w_q: makes the queries, d_model to d_model.
        w_k: makes the keys, d_model to n_kv_heads * d_head.
        w_v: makes the values, d_model to n_kv_heads * d_head.
        w_o: the output projection, d_model to d_model, applied to the joined heads.

    Args:
        d_model: the width of the tokens, in and out.
        n_heads: how many heads of queries; at least 1, and it divides d_model.
        n_kv_heads: how many heads of keys and values; at least 1, and it divides n_heads.
        bias: whether the four layers have a bias. False: none of them has one.

    Raises:
        ValueError: `n_heads` is below 1 or does not divide d_model.
        ValueError: `n_kv_heads` is below 1 or does not divide n_heads.

    Source: Ainslie and others 2023, section 2.2.

    Example:
        >>> layer = GroupedQueryAttention(d_model=12, n_heads=6, n_kv_heads=2)
        >>> layer(torch.zeros(3, 5, 12)).shape
        torch.Size([3, 5, 12])
        >>> [tuple(weight.shape) for _, weight in sorted(layer.named_parameters())]
        [(4, 12), (12, 12), (12, 12), (4, 12)]
    """

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, bias: bool = False) -> None:
        raise NotImplementedError("ex09_groups.GroupedQueryAttention")

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
            One new row per token of `x` [*batch, q, d_model]: w_o of the joined heads, where head i
            of the keys and values owns the i-th block of what w_k and w_v make. A query that may
            attend to nothing gets the bias of `w_o`, zeros if it has none, and finite gradients.

        Raises:
            ValueError: `x` or `memory` has fewer than two dimensions.
            ValueError: `x` or `memory` is not d_model wide.
            ValueError: `x` and `memory` differ in their batch.
            ValueError: `mask` does not broadcast to [*batch, q, k].
        """
        raise NotImplementedError("ex09_groups.GroupedQueryAttention")
