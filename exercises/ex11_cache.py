"""Chapter 11. The cache: one word at a time.

The question
    The model of chapter 7 predicts one word. Put that word behind the others, ask again, and it
    writes a text. But so far each new word costs a whole pass: to write word n + 1, the model works
    out the queries, keys and values of all n words again, and all their scores. For a text of 1000
    words one head makes 333,833,500 scores in the end, and nearly all of them were there before.
    What of all this is really new when one word is added?

The formula
    keys   = keys so far,   then K_new             [*batch, n + m, d_k]
    values = values so far, then V_new             [*batch, n + m, d_v]
    output = attention(Q_new, keys, values)        new query i sees key j    where  j <= n + i

    No word sees a later one. So what the earlier words got does not change when another comes, and
    their queries are never asked again. Of them only the keys and the values are needed. Keep
    these: that is the cache. A step works out one query, one key and one value, and n + 1 scores
    for each head: 500,500 for the text above.

    m may be more than 1. The words of the question that a model is asked all come at once, m of
    them, which is called the prefill. Then the answer comes with m = 1. In which pieces a text
    comes must make no difference: each row is that of the whole text.

    The new words do not stand at the start. Their positions go on from n, the length of the cache:
    n, n + 1, ..., n + m - 1. The mask needs that, and so do the turns of chapter 8. Keys are turned
    once, by their own positions, before they go into the cache. They never move again.

Shapes
    A cache of capacity 6. A dot is a row that nobody has written yet.

    rows                                 0  1  2  3  4  5      length      comes back
    made, and a first piece of 3         a  b  c  .  .  .        3         a b c
    a piece of 1                         a  b  c  d  .  .        4         a b c d
    a piece of 0                         a  b  c  d  .  .        4         a b c d
    a piece of 3                         ValueError              4         4 + 3 are more than 6
    a piece of 2                         a  b  c  d  e  f        6         a b c d e f

    CachedAttention, a piece of m words after n of them, with h = n_heads and g = n_kv_heads:

    x                [*batch, m, d_model]
    query            [*batch, h, m, d_head]          turned by positions n, ..., n + m - 1
    key, value       [*batch, g, m, d_head]          the keys turned as well, then both cached
    keys, values     [*batch, g, n + m, d_head]      what the cache gives back
    mask             [m, n + m]                      bottom right, as in chapter 10
    output           [*batch, m, d_model]

Where the rows lie
    The obvious cache is torch.cat([keys, key], -2): right, and each step copies all rows that there
    are, in every layer, only to add one. After 1000 steps that are half a million rows. Memory that
    grows step by step is also never where it was.

    So this cache makes its memory once, when it sees the first rows and knows their shape, their
    dtype and their device: one buffer of `capacity` rows for the keys, and one for the values. An
    update writes the new rows into it. What comes back are the first rows of the buffer, a slice,
    which is a view and copies nothing. An update then makes nothing that grows with the length.

    A mask has the same trap. causal_mask(n) has a row for each word, and a step uses the last one:
    n * n numbers for n. `causal_mask_at` of chapter 10 can make just the rows that are asked for.
    If yours makes all and cuts, it is right there, and too much work in a step here: mend it.

    The cache is for writing, not for learning: no gradients go through it. Write into the buffer
    without their graph, as by detach(), or the graph of all steps is kept alive.

What papers and libraries disagree on
    Whether to copy. The DynamicCache of the transformers library calls torch.cat in each step; its
    StaticCache makes a buffer for the longest text and gives back all of it, also the rows that
    nobody has written, and leaves it to the mask to close them. Here what comes back is what is
    filled, and no more.

    Which corner. With one query, torch.nn.functional.scaled_dot_product_attention(...,
    is_causal=True) is aligned at the top left, and the newest word sees the first key and nothing
    else. causal_mask(1) of chapter 3, or a mask of the piece alone, does the same to every piece
    but the first.

    Where positions begin. A model that makes them anew in each call, as arange(m), lets every word
    that comes alone stand at 0. Nothing crashes. The scores then know no distance.

    Before the turn or after it. Most cache keys that were turned. The code of StreamingLLM caches
    them before, since it moves the words to new places as old ones are thrown away, and has to turn
    all keys in each step. Here words stay where they are. Whoever caches keys before the turn, and
    turns the query only, has two that do not fit.

    What a window throws away. Mistral's buffer has as many rows as the window, and writes the
    newest over the oldest. A piece of several words then writes over keys that its own first words
    still have to see. Here the buffer has a row for each word, and the window is only in the mask;
    so a prefill and single steps give what the uncached pass gives.

By hand
    The numbers are ours. There are 4 words, all 1 wide, and every query is 1. The keys are 0,
    log 3 = 1.0986, log 4 = 1.3863 and log 8 = 2.0794, so that the powers of the scores are 1, 3, 4
    and 8. The values are 8, 16, 24 and 1. Three words come at once, and then one:

        piece 1    word 0 sees 0              8                                            = 8
                   word 1 sees 0 and 1        8 * 1/4 + 16 * 3/4                           = 14
                   word 2 sees 0, 1 and 2     8 * 1/8 + 16 * 3/8 + 24 * 4/8                = 19
                                              the cache holds 3 keys and 3 values
        piece 2    word 3 sees all of them    8/16 + 16 * 3/16 + 24 * 4/16 + 1 * 8/16      = 10

    All four at once give the same: 8, 14, 19, 10. What would word 3 get from a mask that is aligned
    at the top left? And what would word 0 get if the first piece came without any mask?
    Answers, with reasons, and more questions: `python -m grader quiz ex11_cache`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as view or device, are in CARDS.md. Two things are different here. No
    gradients go through a cache; without one CachedAttention has them, as any module. And a promise
    of cost is counted at sequences longer than 131.

May be used
    new_empty, slices, and writing into a slice; torch.arange; your own chapters 3 to 6 and 8 to 10.
    Not a ready-made attention: not scaled_dot_product_attention, not flex_attention, nor what lies
    under them.

If you want the sources
    Shazeer, 2019, "Fast Transformer Decoding: One Write-Head is All You Need", section 2.3. Pope
    and others, 2022, "Efficiently Scaling Transformer Inference", section 3. Buffers that roll:
    Jiang and others, 2023, "Mistral 7B", section 2.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads
from ex08_positions import rotary_angles, rotate_pairs
from ex09_groups import grouped_attention
from ex10_window import causal_mask_at, window_mask


class KeyValueCache:
    """Keep the keys and values of the words so far, in memory that is made once.

    Difficulty 3 of 5, about 20 minutes.

    The attribute `length` says how many rows it holds: an int, 0 at first. The buffers are made at
    the first update, for `capacity` rows, in the dtype and on the device of what comes. So an
    update after the first makes nothing that grows with `length`, or with `capacity`. Caches share
    nothing: each has buffers of its own. No gradients go through a cache.

    Args:
        capacity: how many rows there is room for; at least 1.

    Raises:
        ValueError: `capacity` is below 1.

    Source: Pope and others 2022, section 3.

    Example:
        >>> cache = KeyValueCache(capacity=3)
        >>> keys, values = cache.update(torch.tensor([[1.0], [2.0]]), torch.tensor([[5.0], [6.0]]))
        >>> keys, values = cache.update(torch.tensor([[3.0]]), torch.tensor([[7.0]]))
        >>> keys.flatten(), values.flatten(), cache.length
        (tensor([1., 2., 3.]), tensor([5., 6., 7.]), 3)
    """

    def __init__(self, capacity: int) -> None:
        raise NotImplementedError("ex11_cache.KeyValueCache")

    def update(
        self, key: Float[Tensor, "*batch m d_k"], value: Float[Tensor, "*batch m d_v"]
    ) -> tuple[Float[Tensor, "*batch n d_k"], Float[Tensor, "*batch n d_v"]]:
        """Take in the rows of some more words.

        Args:
            key: the new keys [*batch, m, d_k]. With 0 rows, m = 0, nothing is added, and all rows
                so far come back.
            value: their values, as many [*batch, m, d_v].

        Returns:
            All keys so far and all values so far, a tuple [*batch, n, d_k] and [*batch, n, d_v]
            with n = `length`, the new rows last. They are views of the buffers, and stay as they
            are when later rows come.

        Raises:
            ValueError: `key` or `value` has fewer than two dimensions.
            ValueError: `key` and `value` differ in number or in their batch.
            ValueError: `key` or `value` differs from the first update in batch, width, dtype or
                device; nothing is changed then.
            ValueError: there is no room for m more rows; nothing is changed then.
        """
        raise NotImplementedError("ex11_cache.KeyValueCache")

    def reset(self) -> None:
        """Forget all rows; the next update is a first one, and may bring another shape."""
        raise NotImplementedError("ex11_cache.KeyValueCache")


def attend_with_cache(
    query: Float[Tensor, "*batch m d_k"],
    key: Float[Tensor, "*batch m d_k"],
    value: Float[Tensor, "*batch m d_v"],
    cache: KeyValueCache,
) -> Float[Tensor, "*batch m d_v"]:
    """Let some new words attend to all words so far, and to each other.

    Difficulty 3 of 5, about 15 minutes.

    Call it with the pieces of a text, one after the other: however it was cut, each row is that of
    the whole text. A step of one word works out one score for each word so far, so its work grows
    as the length of the cache does, and not as the square.

    Args:
        query: what each new word asks [*batch, m, d_k].
        key: what each new word offers [*batch, m, d_k].
        value: what each new word hands over [*batch, m, d_v].
        cache: holds the words before. The keys and values of the new ones are added to it.

    Returns:
        One mixture of values per new word [*batch, m, d_v]: the attention of the m queries over all
        keys and values that the cache then holds, where a word sees itself and what came before it.
        Gradients reach the queries; none go through the cache.

    Raises:
        ValueError: `query` and `key` differ in shape; the cache is left as it was then.
        ValueError: the cache refuses `key` and `value`; it is left as it was then.

    Source: Shazeer 2019, section 2.3.

    Example:
        >>> cache, query = KeyValueCache(capacity=4), torch.zeros(2, 1)
        >>> value = torch.tensor([[8.0], [16.0]])
        >>> attend_with_cache(query, torch.zeros(2, 1), value, cache).flatten()
        tensor([ 8., 12.])
        >>> one = torch.zeros(1, 1)
        >>> attend_with_cache(one, one, torch.tensor([[36.0]]), cache).flatten()
        tensor([20.])
    """
    raise NotImplementedError("ex11_cache.attend_with_cache")


class CachedAttention(nn.Module):
    """Causal self-attention with rotary positions, of a whole text or piece by piece.

    Difficulty 4 of 5, about 30 minutes.

    Each head is d_head = d_model / n_heads wide, those of keys and values as well, and heads share
    keys as in chapter 9. The module has four layers and no other weights, each an nn.Linear without
    a bias:
        w_q: makes the queries, d_model to d_model.
        w_k: makes the keys, d_model to n_kv_heads * d_head.
        w_v: makes the values, d_model to n_kv_heads * d_head.
        w_o: the output projection, d_model to d_model, applied to the joined heads.

    Args:
        d_model: the width of the tokens, in and out.
        n_heads: how many heads of queries; at least 1, and it divides d_model into an even d_head.
        n_kv_heads: how many heads of keys and values; at least 1, and it divides n_heads. None: as
            many as n_heads.
        window: how many positions a word looks back at, its own counted; at least 1, and it may be
            larger than any text. None: all of them.

    Raises:
        ValueError: `n_heads` is below 1 or does not divide d_model.
        ValueError: d_model / n_heads is odd.
        ValueError: `n_kv_heads` is below 1 or does not divide n_heads.
        ValueError: `window` is below 1.

    Source: the attention of Llama and of Mistral 7B.

    Example:
        >>> layer, cache = CachedAttention(d_model=12, n_heads=6, n_kv_heads=2), KeyValueCache(9)
        >>> layer(torch.zeros(3, 5, 12), cache).shape, cache.length
        (torch.Size([3, 5, 12]), 5)
        >>> layer(torch.zeros(3, 1, 12), cache).shape, cache.length
        (torch.Size([3, 1, 12]), 6)
    """

    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int | None = None, window: int | None = None
    ) -> None:
        raise NotImplementedError("ex11_cache.CachedAttention")

    def forward(
        self, x: Float[Tensor, "*batch m d_model"], cache: KeyValueCache | None = None
    ) -> Float[Tensor, "*batch m d_model"]:
        """Let each token look at itself and at what came before it.

        Args:
            x: the new tokens, as rows [*batch, m, d_model], in the dtype of the weights.
            cache: holds the turned keys and the values of the tokens before, which stand at
                positions 0 to `cache.length` - 1. Those of `x` are added to it, and the module
                keeps nothing itself. None: `x` is the whole text, and begins at position 0.

        Returns:
            One new row per token of `x` [*batch, m, d_model]: w_o of the joined heads of
            `grouped_attention`, causal or under the window, where `rotate_pairs` has turned queries
            and keys of each head by their positions, with base 10000. The rows are the same in
            whichever pieces a text comes. A step's work grows as the length does, and not as its
            square.

        Raises:
            ValueError: `x` has fewer than two dimensions.
            ValueError: `x` is not d_model wide.
            ValueError: the cache has no room for `x`, or has rows of another batch.
        """
        raise NotImplementedError("ex11_cache.CachedAttention")
