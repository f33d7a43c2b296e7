"""Questions on chapter 9."""

from __future__ import annotations

from random import Random

from grader.quiz.asked import Asked, choice, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import size

# odd groups: heads of queries, and heads of keys
GROUPS = [(6, 2), (15, 3), (10, 2), (12, 4), (21, 3), (15, 5)]


@asks("repeat_heads")
def where_a_head_comes_from(draw: Random) -> Asked:
    g, times = draw.choice([(2, 3), (3, 5), (4, 3), (3, 4), (5, 3)])
    j = draw.choice([j for j in range(g * times) if j // times != j % g])
    return number(
        f"repeat_heads gets {g} heads, and times = {times}. Which of them is head {j} of what "
        "comes out? All are counted from 0.",
        j // times,
        why=f"Each head comes {times} times before the next one does: {j} // {times}.",
        wrong={
            f"Neighbours are alike. {j} % {g} is what repeat() and tile() give.": j % g,
            "There are times * g heads: you divided by g.": j // g,
        },
    )


@asks("grouped_attention")
def who_shares(draw: Random) -> Asked:
    h, g = draw.choice(GROUPS)
    j = draw.choice([j for j in range(h) if j // (h // g) != j % g])
    return number(
        f"There are {h} heads of queries and {g} heads of keys. Which head of keys does head {j} "
        "look through? All are counted from 0.",
        j // (h // g),
        why=f"{h} / {g} = {h // g} neighbours share, and {j} // {h // g} = {j // (h // g)}.",
        wrong={
            f"{j} % {g} deals the heads out: neighbours share.": j % g,
            "You divided by the number of groups, and not by how many heads share.": j // g,
        },
    )


# the chapter's example by hand: heads 0 to 5, as they should be and as they are if dealt out
HALF, QUARTERS = (15, 50), (17.5, 60)


@asks("grouped_attention")
def dealt_out_by_hand(draw: Random) -> Asked:
    j = draw.choice([1, 2, 3, 4])
    kinds = QUARTERS if j % 2 else HALF
    asked = "L" if j % 2 else "0"
    return number(
        "The chapter's example by hand: 6 heads, 2 heads of keys. Both have the keys 0 and 1; the "
        "values are 10 and 20 in the first, 30 and 70 in the second. The queries of heads 0 to 5 "
        f"are 0, L, 0, L, 0, L, with L = log 3. What would come out at head {j} if the heads were "
        "dealt out, j % g?",
        kinds[j % 2],
        digits=1,
        why=f"{j} % 2 = {j % 2}: head {j} takes from the values of head {j % 2}. Its query is "
        f"{asked}, so its weights are {'1/4 and 3/4' if j % 2 else '1/2 and 1/2'}.",
        wrong={
            "That is what comes out where neighbours share.": kinds[j // 3],
            "The weights are those of the other query.": (HALF if j % 2 else QUARTERS)[j % 2],
        },
    )


@asks("grouped_attention")
def shape_of_the_rows(draw: Random) -> Asked:
    h, g = draw.choice(GROUPS)
    q, k, d_k, d_v = draw.sample([4, 7, 8, 11, 13], 4)
    return shape(
        f"Queries {size(h, q, d_k)}, keys {size(g, k, d_k)}, values {size(g, k, d_v)}. The queries "
        "of each group are put below each other, so that the keys need no copy. What is the shape "
        "of these queries?",
        (g, h // g * q, d_k),
        why=f"{h // g} heads share, and each has {q} queries: {h // g * q} rows for each of {g} "
        "heads of keys.",
        wrong={
            "These are the rows of all heads: each group has its own.": (g, h * q, d_k),
            "The heads that share stand below each other, one row of queries after the other.": (
                g, h // g, q * d_k,
            ),
            "How many heads share is h / g, and there are g groups.": (h // g, g * q, d_k),
        },
    )  # fmt: skip


@asks("cache_bytes")
def a_cache(draw: Random) -> Asked:
    layers, g, d, n = draw.choice([(10, 2, 64, 1000), (20, 4, 32, 500), (12, 3, 50, 1000)])
    numbers = layers * g * d * n
    return number(
        f"A model has {layers} layers, {4 * g} heads of queries and {g} of keys, each {d} wide. It "
        f"keeps keys and values of {n} words in float16. How many bytes are that?",
        4 * numbers,
        why=f"2 * {layers} * {g} * {d} * {n} numbers, for keys and values, of 2 bytes each.",
        wrong={
            "Keys and values are both kept: the factor of 2 is missing, or you counted numbers.": (
                2 * numbers
            ),
            "The heads of queries do not count: their queries are not kept.": 16 * numbers,
            "float16 has 16 bits, which are 2 bytes.": 32 * numbers,
        },
    )


@asks("GroupedQueryAttention")
def shape_of_a_weight(draw: Random) -> Asked:
    h, g = draw.choice(GROUPS)
    d_head = draw.choice([8, 11, 13, 16])
    return shape(
        f"d_model is {h * d_head}, n_heads {h} and n_kv_heads {g}. What is the shape of "
        "`w_k.weight`? An nn.Linear keeps one row for each feature that it makes.",
        (g * d_head, h * d_head),
        why=f"A head is {h * d_head} / {h} = {d_head} wide, and there are {g} heads of keys.",
        wrong={
            "So it is in chapter 6: here there are fewer heads of keys.": (h * d_head, h * d_head),
            "nn.Linear keeps its weight the other way round.": (h * d_head, g * d_head),
            "These are as many heads as share: there are n_kv_heads.": (
                h // g * d_head, h * d_head,
            ),
        },
    )  # fmt: skip


@asks_why("repeat_heads")
def why_the_order_matters(draw: Random) -> Asked:
    h, g = draw.choice(GROUPS)
    return choice(
        f"A model with {h} heads and {g} heads of keys was trained where neighbours share. "
        "Somebody runs it with repeat() in the place of repeat_interleave(). What happens?",
        "it runs, and talks nonsense",
        {
            "it stops, as the shapes do not fit": "Both give as many heads: the shapes are alike.",
            "nothing changes": "Most heads meet keys that they were not trained with.",
            "only the first head goes wrong": "Head 0 uses head 0 of the keys in both orders.",
        },
        why="repeat() gives 0 1 0 1, repeat_interleave() 0 0 1 1. Queries and keys were trained "
        "to fit each other, and most heads get those of another group.",
    )


@asks_why("grouped_attention")
def why_matmul_copies(draw: Random) -> Asked:
    h, g = draw.choice(GROUPS)
    k = draw.choice([500, 1000, 2000])
    return number(
        f"There are {h} heads of queries, and {g} heads of keys with {k} keys of 100 numbers each. "
        "matmul gets queries with a dimension for groups and one for the heads of a group, and "
        "keys with a 1 in the place of the latter, in a batch. How many numbers of keys does it "
        "multiply with in one sequence, copies counted?",
        h * k * 100,
        why=f"It makes all dimensions before the last two alike first, and that copies: {h} heads "
        f"of {k} * 100 numbers.",
        wrong={
            "So many there are: but a matmul that broadcasts copies them.": g * k * 100,
            "These are the heads that share, in one group: there are g groups.": h // g * k * 100,
        },
    )


@asks_why("cache_bytes")
def why_not_the_queries(draw: Random) -> Asked:
    n = draw.choice([300, 1000, 5000])
    return choice(
        f"A model has written {n} words, and keeps their keys and values. Why not their queries?",
        "only the newest word asks, and each word asks once",
        {
            "they are the same as the keys": "w_q makes the queries, w_k the keys.",
            "they are too large": "They are as wide as keys, but that is not the reason.",
            "they can be worked out from the keys": "They cannot: both are made of the tokens.",
        },
        why="A new word looks at all words before it, through their keys and values. What those "
        "asked is answered already.",
    )


@asks_why("GroupedQueryAttention")
def why_fewer_weights(draw: Random) -> Asked:
    h, g = draw.choice(GROUPS)
    d_model = 10 * h
    return number(
        f"d_model is {d_model}, n_heads {h}, and n_kv_heads {g} in the place of {h}. There is no "
        "bias. How many weights does the module save?",
        2 * d_model * (h - g) * 10,
        why=f"w_k and w_v each make {h - g} heads fewer, of 10 features, and each feature has "
        f"{d_model} weights.",
        wrong={
            "So many does one layer save: w_k and w_v are both narrower.": (d_model * (h - g) * 10),
            "w_q and w_o stay as they are.": 4 * d_model * (h - g) * 10,
            "These are the weights that w_k and w_v still have.": 2 * d_model * g * 10,
        },
    )
