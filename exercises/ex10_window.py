"""Chapter 10. Windows: attention that looks back only so far.

The question
    In every chapter so far each word has a score for every word that it may see. With n words these
    are n * n numbers, and then as many weights: twice the text, four times the memory and four
    times the work. For a text of 32768 words one head of one layer makes 1,073,741,824 scores, 2
    GiB in float16. Half of them are masked afterwards. But what a word needs mostly stands close
    before it. Does it need a score for all that came before?

The formula
    p_i = k - q + i                              the position of query i
    query i sees key j    where  j <= p_i   and   ( p_i - j < window   or   j < sinks )

    A window of w shows each position the last w positions, its own counted. So there are at most w
    scores for each query: with a window of 4096, 2^27 in the place of 2^30 in the text above, 256
    MiB. Memory and work grow as n * w.

    What is out of the window is not lost. The layer before has looked back from there already: each
    layer reaches w - 1 positions further, and 32 layers with windows of 4096 reach 131,041 words.

    The queries need not be all positions. A decoder that has 5 words already, and reads 2 more, has
    2 queries and 7 keys: q = 2, k = 7, and its queries stand at positions 5 and 6. The queries are
    the last of the keys.

    Sinks are the first few positions, which every later query sees, too. Trained models put much of
    their weight on the first words, whatever these are: a softmax has to put it somewhere. Take
    these keys away as the window moves on, and the model talks nonsense. Keep four, and it goes on.

Shapes
    q = 3, k = 7, T: may attend, a dot: may not. The queries stand at positions 4, 5 and 6.

                          keys                      keys                      keys
                     0 1 2 3 4 5 6             0 1 2 3 4 5 6             0 1 2 3 4 5 6
    query 0         [T T T T T . .]           [. . T T T . .]           [T . T T T . .]
    query 1         [T T T T T T .]           [. . . T T T .]           [T . . T T T .]
    query 2         [T T T T T T T]           [. . . . T T T]           [T . . . T T T]
                  causal_mask_at(3, 7)      window_mask(3, 7, 3)     and sinks = 1

What papers and libraries disagree on
    Which corner. In the pictures the last query sees the last key: the mask is aligned at the
    bottom right, as flash-attention has it since its version 2.1. PyTorch's own
    scaled_dot_product_attention with is_causal=True aligns it at the top left: with q = 1 and k = 7
    the only query sees the first key, and nothing else. With q = k nobody notices.

    Whether one's own position counts. Here it does, as in the sliding_window of the transformers
    library and in gpt-oss: a window of 1 is the word itself. In flash-attention window_size is a
    pair (left, right), and left counts what comes before: left = window - 1. The paper of Mistral
    writes "between i - W and i", which are W + 1 positions, and draws W of them. transformers
    itself handed its sliding_window to flash-attention as it was, until in 2025 somebody saw that
    one key too many was open.

    Which side. The window of Longformer is half before the word and half after it, since its words
    may look ahead. Here none does.

    And sinks: those of StreamingLLM, 2023, are positions, as here. In gpt-oss the word means one
    more learned number for each head, in the sum that the softmax divides by, and no key.

No n x n tensor
    To mask n * n scores gives the right numbers, and saves nothing. `window_attention` has to do
    without them, and without a mask of that size.

    One way is blocks. Cut the positions into blocks of w. A query looks back w - 1 positions: that
    ends in its own block, or in the one before. So a block of w queries gets 2 w keys:

    n = 5, w = 2       queries of the block       keys and values of it and of the one before
    block 0                 0  1                       -  -  0  1
    block 1                 2  3                       0  1  2  3
    block 2                 4  -                       2  3  4  -

    The blocks are one more dimension of the batch, and `attention` takes any batch. A dash is a row
    of zeros, which is put there so that all blocks are alike. It is a key like any other, with a
    score of 0, so it has to be masked; query 5 is thrown away in the end.

    There are other ways. Give each position keys of its own, [*batch, n, w, d_k]: unfold() makes
    that a view, but a product with it copies, and then keys take w times their memory, n * w * d_k
    numbers in the place of n * 2 w scores. Or go through the blocks in a loop, or through the
    positions: that makes little, and is slow.

By hand
    The numbers are ours. There are 5 positions, all 1 wide, and the window is 2. All queries are 1.
    The keys are 0, L, 0, L, L, with L = log 3 = 1.0986; the values are 8, 16, 40, 4 and 20. The
    scores are the keys, and their powers 1, 3, 1, 3, 3.

        position 0 sees 0          8                                = 8
        position 1 sees 0 and 1    8 * 1/4 + 16 * 3/4  =  2 + 12    = 14
        position 2 sees 1 and 2    16 * 3/4 + 40 * 1/4 = 12 + 10    = 22
        position 3 sees 2 and 3    40 * 1/4 + 4 * 3/4  = 10 + 3     = 13
        position 4 sees 3 and 4    4 * 1/2 + 20 * 1/2  =  2 + 10    = 12

    What would position 2 get if its own place did not count, so that it sees 0, 1 and 2? And what
    would position 0 get in blocks of 2 if nobody masked the two rows of zeros before it?
    Answers, with reasons, and more questions: `python -m grader quiz ex10_window`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as view or broadcasting, are in CARDS.md. One thing is different here: a
    promise of cost is counted at sequences longer than 131.

May be used
    torch.arange and comparisons, tril, triu; nn.functional.pad, unfold, unflatten, flatten;
    torch.einsum; your own chapters 3 to 5.
    Not a ready-made attention: not scaled_dot_product_attention, not flex_attention, nor what lies
    under them.

If you want the sources
    Windows: Jiang and others, 2023, "Mistral 7B", section 2. Blocks: Beltagy and others, 2020,
    "Longformer", section 3. Sinks: Xiao and others, 2023, "Efficient Streaming Language Models with
    Attention Sinks".
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ex03_masking import causal_mask
from ex05_mixing import attention


def causal_mask_at(q: int, k: int, device: torch.device | str | None = None) -> Bool[Tensor, "q k"]:
    """Let the last q of k positions look at themselves and at all positions before them.

    Difficulty 2 of 5, about 5 minutes.

    The positions are those of one sequence: the keys stand at all of them, the queries at the last
    q. So the last query sees all keys. With q = k this is the `causal_mask` of chapter 3.

    Args:
        q: the number of queries, from 0 to k.
        k: the number of keys, 0 or more.
        device: where the mask is made, a torch.device or its name. None: the default device.

    Returns:
        The mask [q, k], boolean: entry (i, j) is True where j <= k - q + i. It is on `device`. With
        0 queries it is empty.

    Raises:
        ValueError: there are more queries than keys.

    Source: the library flash-attention, whose causal mask is aligned at the bottom right.

    Example:
        >>> causal_mask_at(2, 4)
        tensor([[ True,  True,  True, False],
                [ True,  True,  True,  True]])
    """
    raise NotImplementedError("ex10_window.causal_mask_at")


def window_mask(
    q: int, k: int, window: int, sinks: int = 0, device: torch.device | str | None = None
) -> Bool[Tensor, "q k"]:
    """Let the last q of k positions look at the last few positions, and at the first few.

    Difficulty 3 of 5, about 10 minutes.

    The window may be longer than the sequence, and so may the sinks. A position that is in both is
    True as well.

    Args:
        q: the number of queries, from 0 to k.
        k: the number of keys, 0 or more.
        window: how many positions a query looks back at, its own counted; at least 1.
        sinks: how many positions at the start of the keys every later query sees; 0 or more.
        device: where the mask is made, a torch.device or its name. None: the default device.

    Returns:
        The mask [q, k], boolean: the query at position p = k - q + i sees position j where j <= p,
        and p - j < window or j < sinks. It is on `device`. With 0 queries it is empty.

    Raises:
        ValueError: there are more queries than keys.
        ValueError: `window` is below 1.
        ValueError: `sinks` is below 0.

    Source: Jiang and others 2023, section 2; the sinks Xiao and others 2023, section 3.

    Example:
        >>> window_mask(2, 5, window=2)
        tensor([[False, False,  True,  True, False],
                [False, False, False,  True,  True]])
        >>> window_mask(2, 5, window=2, sinks=1)
        tensor([[ True, False,  True,  True, False],
                [ True, False, False,  True,  True]])
    """
    raise NotImplementedError("ex10_window.window_mask")


def window_attention(
    query: Float[Tensor, "*batch n d_k"],
    key: Float[Tensor, "*batch n d_k"],
    value: Float[Tensor, "*batch n d_v"],
    window: int,
) -> Float[Tensor, "*batch n d_v"]:
    """Let each position attend to the last few positions, at the price of those alone.

    Difficulty 4 of 5, about 30 minutes.

    Memory and work grow as n does, and as the window does. So nothing that is made has a number for
    each pair of positions, neither scores nor a mask, also not on the way back.

    Args:
        query: what each position asks [*batch, n, d_k].
        key: what each position offers [*batch, n, d_k].
        value: what each position hands over [*batch, n, d_v].
        window: how many positions each looks back at, its own counted; at least 1, and it may be
            larger than n. It need not divide n.

    Returns:
        One mixture of values per position [*batch, n, d_v]: the attention of the queries over keys
        and values under `window_mask(n, n, window)`.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `query`, `key` and `value` differ in number.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `window` is below 1.

    Source: Jiang and others 2023, section 2; the blocks Beltagy and others 2020, section 3.2.

    Example:
        >>> query, key = torch.zeros(5, 1), torch.zeros(5, 1)
        >>> value = torch.tensor([[8.0], [16.0], [40.0], [4.0], [20.0]])
        >>> window_attention(query, key, value, 2).flatten()
        tensor([ 8., 12., 28., 22., 12.])
    """
    raise NotImplementedError("ex10_window.window_attention")
