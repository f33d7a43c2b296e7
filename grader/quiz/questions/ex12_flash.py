"""Questions on chapter 12."""

from __future__ import annotations

import math
from random import Random

from grader.quiz.asked import Asked, choice, entries, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import size


@asks("partial_attention")
def shapes_of_a_part(draw: Random) -> Asked:
    batch, q, k = draw.choice([2, 3]), draw.choice([5, 7]), draw.choice([11, 13])
    d_k, d_v = draw.choice([4, 8]), draw.choice([6, 9])
    return shape(
        f"partial_attention gets a query {size(batch, q, d_k)}, keys {size(batch, k, d_k)} and "
        f"values {size(batch, k, d_v)}. What is the shape of log_sum?",
        (batch, q),
        why="There is one number for each query: the logarithm of what its row was divided by.",
        wrong={
            "The sum runs over the keys: one number is left for each query.": (batch, q, k),
            "It has no dimension of 1 at its end.": (batch, q, 1),
            "That is the output.": (batch, q, d_v),
            "Each query has a sum, not each key.": (batch, k),
        },
    )


@asks("partial_attention")
def log_sum_of_zeros(draw: Random) -> Asked:
    k, closed = draw.choice([(10, 3), (12, 4), (9, 2), (14, 5)])
    return number(
        f"A query of zeros attends to {k} keys, {closed} of which are closed by the mask. What is "
        "its log_sum, to three decimals?",
        math.log(k - closed),
        why=f"All scores are 0, so each open key adds exp(0) = 1: log {k - closed}.",
        wrong={
            "A closed key adds exp of minus infinity, which is 0.": math.log(k),
            "It is the logarithm of the sum of exp, not the sum of the scores.": 0.0,
            "That is the sum: the logarithm is asked for.": float(k - closed),
            "The natural logarithm is asked for, not that to the base 2.": math.log2(k - closed),
        },
        digits=3,
    )


# two parts: the output and the sum of powers of each, whose mixtures come out whole
PARTS = [(12, 4, 8, 12), (20, 2, 4, 6), (6, 3, 14, 9), (30, 5, 10, 15)]


@asks("merge_partials")
def two_parts_merged(draw: Random) -> Asked:
    a, sum_a, b, sum_b = draw.choice(PARTS)
    whole = sum_a + sum_b
    return number(
        f"One part has the output {a} and a log_sum of log {sum_a}, another one {b} and log "
        f"{sum_b}. What is the output of both together?",
        (a * sum_a + b * sum_b) / whole,
        why=f"Their shares are {sum_a}/{whole} and {sum_b}/{whole}.",
        wrong={
            "Parts count by what they weigh: it is not the mean.": (a + b) / 2,
            "The shares are swapped.": (a * sum_b + b * sum_a) / whole,
            "Both are divided already: they are not added.": a + b,
            "Only the new part was multiplied by its share.": a + b * sum_b / whole,
        },
    )


@asks("merge_partials")
def mean_by_hand(draw: Random) -> Asked:
    del draw
    return number(
        "The chapter's example by hand: part a has the output 12 and log_sum log 4, part b has 8 "
        "and log 12. What would the mean of the two parts be?",
        10,
        why="(12 + 8) / 2. Right is 9, since part b weighs three times as much.",
        wrong={
            "So they are merged by what they weigh.": 9,
            "Then the shares would be swapped.": 11,
            "That is their sum.": 20,
        },
    )


@asks("merge_partials")
def closed_by_hand(draw: Random) -> Asked:
    del draw
    return number(
        "The chapter's example by hand: both parts together have the output 9 and log_sum log 16. "
        "A third part comes whose keys are all closed. What is the output of all three?",
        9,
        why="Its log_sum is minus infinity and its share is exp of that, 0. That of the others is "
        "1.",
        wrong={
            "A closed part does not count as much as the others.": 4.5,
            "Its zeros have no share at all.": 6,
            "Where one part is closed, it is the other one.": 0,
        },
    )


@asks("flash_attention")
def tiles_of_all(draw: Random) -> Asked:
    n, block = draw.choice([(1000, 64), (500, 64), (300, 32), (700, 128)])
    blocks = -(-n // block)
    return number(
        f"flash_attention gets {n} queries and {n} keys, and block is {block}. Into how many tiles "
        f"are the pairs cut, if queries and keys are both cut into blocks?",
        blocks**2,
        why=f"{n} positions are {blocks} blocks, of which the last one is short: {blocks} * "
        f"{blocks}.",
        wrong={
            "The last block is short, and counts.": (n // block) ** 2,
            "So many blocks of queries there are; each meets all blocks of keys.": blocks,
            "So many are left with causal=True.": blocks * (blocks + 1) // 2,
        },
    )


@asks("flash_attention")
def tiles_that_are_left(draw: Random) -> Asked:
    blocks = draw.choice([4, 6, 8, 10])
    block = draw.choice([32, 64])
    return number(
        f"With causal=True there are {blocks * block} queries and as many keys, in blocks of "
        f"{block}. How many tiles are worked out?",
        blocks * (blocks + 1) // 2,
        why=f"The first block of queries sees one block of keys, the last one {blocks}: 1 + ... + "
        f"{blocks}.",
        wrong={
            "Tiles wholly in the future are left out.": blocks**2,
            "The tiles on the diagonal are open in part: they are needed.": blocks
            * (blocks - 1)
            // 2,
            "That is one for each block of queries.": blocks,
        },
    )


@asks("flash_attention")
def blocks_of_keys_seen(draw: Random) -> Asked:
    block = draw.choice([2, 3])
    q, k = draw.choice([(6, 12), (6, 18), (12, 18)])
    last = k - q + block - 1
    return entries(
        f"There are {q} queries and {k} keys, causal, in blocks of {block}. Which blocks of keys "
        "does the first block of queries see? Blocks are counted from 0.",
        range(last // block + 1),
        why=f"Its last query stands at position {k} - {q} + {block - 1} = {last}, which is in "
        f"block {last // block}.",
        wrong={
            "The queries are the last positions, not the first.": range(1),
            "The later blocks are in the future.": range(k // block),
            "The block of its own positions is seen, too.": range(last // block),
        },
    )


@asks_why("partial_attention")
def why_log_sum(draw: Random) -> Asked:
    k = draw.choice([32, 64, 128, 256, 512])
    return choice(
        f"Attention over {k} keys gives an output for each query. Why is log_sum needed, too, to "
        "merge it with attention over other keys?",
        "the output was divided by the sum, and does not say any more how much its keys weigh",
        {
            "the output is not yet divided": "It is: its weights sum to 1.",
            "it says which keys were open": "It says how much they weigh together, not which.",
            "it makes the output more exact": "It changes nothing of the output of its part.",
        },
        why="Scores that are all larger by 5 give the same output, and weigh exp(5) times as much.",
    )


@asks_why("merge_partials")
def why_not_exp(draw: Random) -> Asked:
    about = draw.choice([200, 500, 1000, 3000, 10000])
    return choice(
        f"Two parts have log_sums of about {about}, in float32. What comes out if the shares are "
        "worked out as exp(log_sum_a) / (exp(log_sum_a) + exp(log_sum_b))?",
        "nan: infinity is divided by infinity",
        {
            "the right shares": f"exp({about}) is more than float32 can hold.",
            "zeros": f"That would be of about -{about}, where exp is 0, and 0 / 0 is nan as well.",
            "one half each": "Nothing says so: infinity over infinity is no number.",
        },
        why="float32 ends near exp(88). Take the larger one of the two away first.",
    )


@asks_why("flash_attention")
def why_again(draw: Random) -> Asked:
    n = draw.choice([2048, 4096, 8192])
    return choice(
        f"On the way back the scores of {n} x {n} pairs are worked out a second time. Why is that "
        "better than to keep them?",
        f"{n * n:,} numbers need not be kept, and one for each query, log_sum, is enough",
        {
            "the scores have changed by then": "They are the same: nothing has changed.",
            "it takes less work": "It takes more: all scores are made twice.",
            "autograd cannot keep so much": "It does keep them, as long as there is memory.",
        },
        why="Work is cheap and memory is not: moving numbers takes longer than working them out.",
    )


@asks("flash_attention")
def where_d_comes_from(draw: Random) -> Asked:
    n = draw.choice([64, 100, 256, 1000])
    return choice(
        f"D is sum_j P_ij (dO_i . v_j), over all {n} keys. Why can it be known before the first "
        "tile of the way back?",
        "sum_j P_ij v_j is the output O_i, so D_i is dO_i . O_i",
        {
            "the weights of a row sum to 1": "They do, but each is multiplied by another number.",
            "log_sum says it": "log_sum says by what a row was divided, and knows no values.",
            "it is 0": "The gradients of the scores of a row sum to 0, D need not.",
        },
        why="The product with dO_i can be taken after the sum as well as before it.",
    )
