"""Chapter 12. Flash: never all scores at once.

The question
    Chapter 10 made attention cheap by looking away: what is out of the window has no score. But
    when every word is to look at every other one, the whole table of scores seems to be needed,
    since a softmax divides by the sum of a whole row. A text of 32768 words makes 2^30 scores for
    one head, and training keeps them for the way back. Can a row of attention be right though its
    scores are never all there at once?

The formula
    Work out a few keys at a time. Of each part of the keys keep two things for a query:

    out     = attention over the keys of this part alone                        [*batch, q, d_v]
    log_sum = log of the sum of exp(score) over the keys of this part           [*batch, q]

    A score is Q K^T / sqrt(d_k), as ever. Two parts a and b over other keys make one:

    log_sum = log( exp(log_sum_a) + exp(log_sum_b) )
    out     = exp(log_sum_a - log_sum) * out_a + exp(log_sum_b - log_sum) * out_b

    What a part divided by is in its log_sum, so it can be undone. The two weights are between 0 and
    1 and sum to 1. That is exact: no approximation, only another order. And it is associative: in
    whatever order parts are merged, the same comes out. So one part can wait for the next, and a
    table of n x n is never needed.

    Never take exp of a log_sum itself: exp(1e4) is infinity, and exp(-1e4) is 0. Take the larger
    one of the two, m, away first: log_sum = m + log( exp(log_sum_a - m) + exp(log_sum_b - m) ).
    Where both are minus infinity, that difference is nan, so it needs a place of its own.

Shapes
    q = 5, k = 7, block = 2, causal. The queries are the last of the keys, as in chapter 10: query 0
    stands at position 2. A tile is a block of queries against a block of keys.

    keys              0 1      2 3      4 5      6
    queries 0, 1      open     mask     .        .          positions 2 and 3
    queries 2, 3      open     open     mask     .          positions 4 and 5
    query   4         open     open     open     open       position 6

    open: every query sees every key, no mask is needed. mask: some pairs are closed. A dot: all of
    it is in the future, and nothing is worked out. The last blocks are short. They may be: nothing
    has to be filled up, and a row of zeros that is filled in is a key with a score of 0.

    one tile        query [2, d_k], key [2, d_k], value [2, d_v]     scores [2, 2]
    what it gives   out [2, d_v], log_sum [2]                        merged from left to right
    in the end      out [5, d_v], log_sum [5]

The way back
    Put into a loop, this gives the right numbers, and forward it needs little. But autograd keeps
    what every step made for the way back, all tiles, which are q x k scores again, and all that was
    merged. So what autograd does has to be written by hand, in a torch.autograd.Function. It
    keeps query, key, value, out and log_sum, and works the scores of each tile out once more:

    P  = exp(scores - log_sum)         the weights of a tile, right at once: log_sum is of all keys
    D  = sum of dO * O over d_v        [q], one number for each query, before the loop
    dV = P^T dO                        summed over the blocks of queries
    dS = P * (dO V^T - D)              one tile
    dQ = dS K / sqrt(d_k)              summed over the blocks of keys
    dK = dS^T Q / sqrt(d_k)            summed over the blocks of queries

    dO is the gradient that comes in, O is the output. Where does D come from? The gradient of a
    softmax takes from each weight's gradient the mean of its row, sum_j P_ij (dO_i . v_j). This sum
    runs over all keys, but sum_j P_ij v_j is O_i, and that is known already.

    A Function has a forward and a backward, both static. Here is one that cubes a number:

        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):             # nothing in here is recorded
                ctx.save_for_backward(x)
                return x * x * x

            @staticmethod
            def backward(ctx, grad):         # one gradient for each argument of forward,
                (x,) = ctx.saved_tensors     # None for those that are no tensors
                return 3 * x * x * grad

        y = Cube.apply(x)

    There is another way: torch.utils.checkpoint.checkpoint forgets what a function made, and calls
    it again on the way back. All that one block of queries does may be such a function: [block, k]
    numbers come back for a moment. A checkpoint around each tile is too little, since the
    results of all tiles are kept: q * d_v numbers for every block of keys.

What it costs
    Counted with torch 2.13 for q = k = 2048, d_k = d_v = 64 in float32, block = 64, not causal:

    in KiB                          largest tensor    alive at once    kept for the way back
    attention of chapter 5                  16,384           49,178                32,778
        its way back                        16,384           99,338
    a loop over blocks of keys                 512           85,132                83,556
        its way back                           512           85,584
    flash_attention                            512              586                     8
        its way back                           512            2,576

    512 is one tensor of [2048, 64]; the largest of chapter 5 is [2048, 2048]. What goes in is not
    counted, nor what comes out in what is kept. The loop merges with autograd watching, and keeps
    more than all scores. With causal=True about half of the tiles are left: forward 23 million
    numbers are worked out and not 44 million. The price: on the way back all scores are worked out
    a second time. On a GPU that is faster all the same, since moving numbers takes longer than
    working them out.

What papers and libraries disagree on
    When to divide. FlashAttention, 2022, keeps an output that is divided already, as parts are
    here. FlashAttention-2 keeps the sum undivided, with the largest score so far, and divides once
    after the last block. Both are right. Dividing in each block what is not multiplied back is not.

    What is kept. FlashAttention keeps the largest score and the sum for each query,
    FlashAttention-2 only log_sum. Triton's tutorial keeps the logarithm to the base 2, since exp2
    is what the hardware has. Here it is the natural logarithm, of scaled scores.

    Which loop is outside. The first version went over the keys outside, so the output of a query
    was written again and again; the second one goes over the queries. Here both are right, and so
    are tiles that are cut in one direction only.

    In which dtype. The libraries return log_sum in float32 whatever goes in. Here it has the dtype
    of the inputs, as any output; but in float16 numbers near 1e4 are 8 apart, and a log_sum that is
    wrong by 1 is a weight that is wrong by a factor of 2.7. So whoever merges many parts does it
    in float32 at least, as `flash_attention` should inside.

    Which corner. flash-attention aligned its causal mask at the top left before version 2.1, and at
    the bottom right since, as chapter 10 does. PyTorch's is_causal is still at the top left.

By hand
    The numbers are ours. One query of 1, four keys, all 1 wide: 0, log 3 = 1.0986, log 3 and
    log 9 = 2.1972, so that the powers of the scores are 1, 3, 3 and 9. The values are 6, 14, 2 and
    10. Two keys at a time:

        part a     keys 0 and 1    6 * 1/4 + 14 * 3/4     = 12        log_sum = log 4  = 1.3863
        part b     keys 2 and 3    2 * 3/12 + 10 * 9/12   = 8         log_sum = log 12 = 2.4849
        merged                     12 * 4/16 + 8 * 12/16  = 9         log_sum = log 16 = 2.7726

        all at once    6 * 1/16 + 14 * 3/16 + 2 * 3/16 + 10 * 9/16 = 9

    And the way back, where 1 comes in: D = 1 * 9. The gradients of the four scores are the weights
    times the values minus D: -3/16, 15/16, -21/16 and 9/16, whose sum is 0, as it has to be.

    What would the mean of the two parts be? And what would be merged if a third part came whose
    keys are all closed?
    Answers, with reasons, and more questions: `python -m grader quiz ex12_flash`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as view or broadcasting, are in CARDS.md. One thing is different here: a
    promise of cost is counted at sequences longer than 131.

May be used
    torch.autograd.Function, torch.utils.checkpoint; torch.logsumexp, torch.logaddexp, exp, tril;
    torch.matmul, torch.einsum; your own chapters 2 to 5 and 10.
    Not a ready-made attention: not scaled_dot_product_attention, not flex_attention, nor what lies
    under them.

If you want the sources
    The running softmax: Milakov and Gimelshein, 2018, "Online normalizer calculation for softmax".
    In blocks, with checkpoints: Rabe and Staats, 2021, "Self-attention Does Not Need O(n^2)
    Memory". With a way back by hand: Dao and others, 2022, "FlashAttention", and Dao, 2023,
    "FlashAttention-2", section 3.1.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask
from ex04_softmax import softmax
from ex05_mixing import mix_values


def partial_attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> tuple[Float[Tensor, "*batch q d_v"], Float[Tensor, "*batch q"]]:
    """Attend to some of the keys, and say how much they weigh together.

    Difficulty 2 of 5, about 10 minutes.

    The output is that of chapter 5's `attention`. The second result is what is needed to merge it
    with attention over other keys.

    Args:
        query: what each position asks for [*batch, q, d_k].
        key: what some positions offer [*batch, k, d_k].
        value: what these positions hand over [*batch, k, d_v].
        mask: True where the query may attend; broadcasts to [*batch, q, k]. None: everywhere.

    Returns:
        A tuple of the attention over these keys alone [*batch, q, d_v], and for each query the
        logarithm of the sum of exp of its scaled scores [*batch, q]. A query that may attend to
        nothing gets a row of zeros and minus infinity, and finite gradients.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `key` and `value` differ in number.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `mask` does not broadcast to [*batch, q, k].

    Source: Rabe and Staats 2021, section 2; the "softmax_lse" of the library flash-attention.

    Example:
        >>> query, key = torch.zeros(1, 1), torch.zeros(4, 1)
        >>> value = torch.tensor([[6.0], [14.0], [2.0], [10.0]])
        >>> partial_attention(query, key, value)
        (tensor([[8.]]), tensor([1.3863]))
        >>> partial_attention(query, key, value, torch.tensor([True, True, False, False]))
        (tensor([[10.]]), tensor([0.6931]))
    """
    raise NotImplementedError("ex12_flash.partial_attention")


def merge_partials(
    out_a: Float[Tensor, "*batch q d_v"],
    log_sum_a: Float[Tensor, "*batch q"],
    out_b: Float[Tensor, "*batch q d_v"],
    log_sum_b: Float[Tensor, "*batch q"],
) -> tuple[Float[Tensor, "*batch q d_v"], Float[Tensor, "*batch q"]]:
    """Make one of two attentions over different keys.

    Difficulty 3 of 5, about 15 minutes.

    In whatever order parts are merged, the same comes out. All of it is right where the logarithms
    are about 1e4, or -1e4.

    Args:
        out_a: attention over some keys [*batch, q, d_v].
        log_sum_a: log of the sum of exp of their scores [*batch, q]; minus infinity where all of
            them are closed, and there `out_a` is zeros.
        out_b: attention over other keys [*batch, q, d_v].
        log_sum_b: the same of their scores [*batch, q].

    Returns:
        A tuple of the attention over all these keys [*batch, q, d_v], and the logarithm of the sum
        of exp of all their scores [*batch, q]. Where one part is closed, it is the other part.
        Where both are, it is zeros and minus infinity, with finite gradients.

    Raises:
        ValueError: `out_a` or `out_b` has fewer than two dimensions.
        ValueError: `out_a` and `out_b` differ in shape.
        ValueError: `log_sum_a` or `log_sum_b` is not [*batch, q].

    Source: Milakov and Gimelshein 2018, section 3.1, equation 4; Dao 2023, section 2.3.

    Example:
        >>> a = torch.tensor([[12.0]]), torch.tensor([4.0]).log()
        >>> b = torch.tensor([[8.0]]), torch.tensor([12.0]).log()
        >>> merge_partials(*a, *b)
        (tensor([[9.]]), tensor([2.7726]))
    """
    raise NotImplementedError("ex12_flash.merge_partials")


def flash_attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    causal: bool = False,
    block: int = 64,
) -> Float[Tensor, "*batch q d_v"]:
    """Work out attention block by block, there and back, and never have all scores at once.

    Difficulty 5 of 5, about 60 minutes.

    The largest tensor grows as the number of positions does, and so does what is kept for the way
    back, and so does all that is alive at once. So nothing of q x k numbers is made or kept, no
    scores, no weights and no mask, in whatever library, also on the way back. Pieces of [block,
    block], of [q, block] and of [block, k] are all small enough. With `causal`, blocks that are
    wholly in the future are not worked out, neither there nor back, so with q = k about half of the
    scores are never made. Gradients of gradients need not be had.

    Args:
        query: what each position asks for [*batch, q, d_k].
        key: what each position offers [*batch, k, d_k].
        value: what each position hands over [*batch, k, d_v].
        causal: whether a query sees only its own position and those before it. The queries are the
            last q of k positions, as in `causal_mask_at` of chapter 10.
        block: how many positions are worked out together; at least 1. It need not divide q or k,
            and may be larger than both.

    Returns:
        One mixture of values per query [*batch, q, d_v]: what `attention` of chapter 5 gives, under
        the causal mask or without one.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `key` and `value` differ in number.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `causal` is True, and there are more queries than keys.
        ValueError: `block` is below 1.

    Source: Dao and others 2022, algorithm 1 and appendix B.4; Dao 2023, algorithms 1 and 2.

    Example:
        >>> query, key = torch.zeros(5, 1), torch.zeros(5, 1)
        >>> value = torch.tensor([[8.0], [16.0], [36.0], [4.0], [26.0]])
        >>> flash_attention(query, key, value, block=2).flatten()
        tensor([18., 18., 18., 18., 18.])
        >>> flash_attention(query, key, value, causal=True, block=2).flatten()
        tensor([ 8., 12., 20., 16., 18.])
    """
    raise NotImplementedError("ex12_flash.flash_attention")
