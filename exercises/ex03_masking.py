"""Chapter 3. Masking: who may look at whom.

The question
    Not every query may look at every key. A decoder that learns to continue a text must not peek
    at the words it has to predict, and no token should look at the padding that fills up a short
    sequence. How do you shut out such keys before the scores become weights?

The formula
    masked_ij = scores_ij         where query i may look at key j
    masked_ij = minus infinity    where it may not

    A key that the query may not look at is called masked. exp(minus infinity) is exactly 0, so a
    masked key gets no weight at all, and the other keys share all of it. A score of 0 would not
    mask anything: it is a score like any other, and exp(0) = 1.

    A mask holds booleans, and True means "may attend":
    causal  [i, j]    is  j <= i
    padding [b, j]    is  j < lengths[b]
    decoder [b, i, j] is  j <= i and j < lengths[b]

    Note the j <= i: a token may look at itself, too. With j < i the first query would have nothing
    to look at.

Shapes
    Three positions, lengths[b] = 2. T: may attend, a dot: may not.

                 keys                    keys                     keys
                0  1  2                 0  1  2                  0  1  2
    query 0   [ T  .  . ]              [ T  T  . ]   query 0   [ T  .  . ]
    query 1   [ T  T  . ]     and                =   query 1   [ T  T  . ]
    query 2   [ T  T  T ]                            query 2   [ T  T  . ]   not emptied
            causal [n, n]         padding [batch, n]      decoder [batch, n, n]

    Rows are queries, columns are keys. Short sequences are padded at their end, so one tensor can
    hold several sequences; `lengths` says how many tokens of each one are real.

    A padding mask has no dimension for queries. mask[:, None, :] makes it [batch, 1, n], which
    broadcasts to scores [batch, q, n]. Without that, torch lines the batch up with the queries.
    (If broadcasting is new to you, read its card in CARDS.md.)

By hand
    The scaled scores of document 002, and what is left when each token may look back but not
    ahead:

        -1.2905   4.4249  -3.4800            -1.2905     -inf     -inf
         0.7593  -2.2869  -2.1343    -->      0.7593  -2.2869     -inf
        -1.1067  -0.0801  -3.3173            -1.1067  -0.0801  -3.3173

    Mask one more key: the last token is padding, so the length is 2. Which number goes? Then fill
    the masked places of the first row with 0 instead: exp gives 0.2751, 1 and 1, so the two tokens
    that query 0 must not see would get 88 % of its weight.
    Answers, with reasons, and more questions: `python -m grader quiz ex03_masking`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as batch or broadcasting, are in CARDS.md.

May be used
    Anything in torch: torch.arange and comparisons, torch.ones, tril, &, masked_fill, where.

If you have the documents
    002 builds its mask from ones and zeros and masks where it is 0: here True is where it has a 1.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    """Let every position look at itself and at earlier positions, never ahead.

    Difficulty 2 of 5, about 5 minutes.

    Rows are queries, columns are keys. So the first row has a single True and the last row is
    all True.

    Args:
        n: the number of positions, 0 or more.
        device: where the mask is made, a torch.device or its name. None: the default device.

    Returns:
        The mask [n, n], boolean: entry (i, j) is True where j <= i. It is on `device`. With 0
        positions it is empty.

    Source: document 000, "Masked Self-Attention"; document 002, "Key and Query Vectors".

    Example:
        >>> causal_mask(2)
        tensor([[ True, False],
                [ True,  True]])
    """
    raise NotImplementedError("ex03_masking.causal_mask")


def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    """Mark the real tokens of sequences that were padded at their end to n positions.

    Difficulty 2 of 5, about 10 minutes.

    A length of n means no padding, a length of 0 nothing but padding.

    Args:
        lengths: how many real tokens each sequence has [batch], from 0 to n.
        n: the number of positions, padding included, 0 or more.

    Returns:
        The mask [batch, n], boolean: entry (b, j) is True where j < lengths[b]. With 0 positions it
        is empty.

    Raises:
        ValueError: `lengths` is not a vector.

    Source: document 004, "Word embedding to sequence matrix".

    Example:
        >>> padding_mask(torch.tensor([1, 3]), 3)
        tensor([[ True, False, False],
                [ True,  True,  True]])
    """
    raise NotImplementedError("ex03_masking.padding_mask")


def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    """Let every position look at itself and at earlier positions, but never at padding.

    Difficulty 3 of 5, about 10 minutes.

    Both masks of this chapter at once. Padding is masked as a key only: a padded query still looks
    at the real tokens before it. What it finds is never used, so its row need not be emptied (set
    to False), and here it must not be.

    Args:
        lengths: how many real tokens each sequence has [batch], from 0 to n.
        n: the number of positions, padding included, 0 or more.

    Returns:
        The mask [batch, n, n], boolean: entry (b, i, j) is True where j <= i and j < lengths[b].
        With 0 positions it is empty.

    Raises:
        ValueError: `lengths` is not a vector.

    Source: document 000, "Masked Self-Attention"; document 004, "Word embedding to sequence
        matrix".

    Example:
        >>> decoder_mask(torch.tensor([1, 2]), 2)
        tensor([[[ True, False],
                 [ True, False]],
        <BLANKLINE>
                [[ True, False],
                 [ True,  True]]])
    """
    raise NotImplementedError("ex03_masking.decoder_mask")


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    """Put minus infinity where the mask is False, and leave the score where it is True.

    Difficulty 3 of 5, about 15 minutes.

    The mask may be smaller than the scores, and then serves several of them: [q, k] serves every
    sequence of a batch, [batch, 1, k] every query. It is never larger: a mask that would repeat
    the scores, or add a dimension to them, does not fit. A large negative number such as -1e9 is
    not minus infinity, and float16 cannot even hold it.

    Args:
        scores: any scores [*batch, q, k].
        mask: True where the query may attend; broadcasts to the shape of `scores`.

    Returns:
        The masked scores [*batch, q, k], a new tensor: minus infinity where the mask is False, the
        score itself where it is True. A row may be masked entirely.

    Raises:
        ValueError: `mask` does not broadcast to the shape of `scores`.

    Source: document 002, "Key and Query Vectors".

    Example:
        >>> apply_mask(torch.zeros(2, 2), torch.tensor([[True, False], [True, True]]))
        tensor([[0., -inf],
                [0., 0.]])
    """
    raise NotImplementedError("ex03_masking.apply_mask")
