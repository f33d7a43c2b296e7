"""Questions on chapter 4."""

from __future__ import annotations

from math import exp
from random import Random

from grader.quiz.arithmetic import columns, weights
from grader.quiz.asked import Asked, choice, number
from grader.quiz.question import asks, asks_why
from grader.quiz.written import grid, size


@asks("softmax")
def a_masked_row(draw: Random) -> Asked:
    row = draw.choice(
        [(0.7593, -2.2869), (1.0, 0.0), (0.5, -0.5), (-1.0, 1.0), (2.0, 0.0), (0, 1.5)]
    )
    apart = row[1] - row[0]
    return number(
        f"A masked row of scores is ({row[0]:g}, {row[1]:g}, -inf). What are its weights?",
        [*weights(row), 0],
        digits=2,
        why=f"Take away the first score: exp(0) = 1, exp({apart:g}) = {exp(apart):.4f}, and minus "
        f"infinity gives 0. Each over their sum, {1 + exp(apart):.4f}.",
        wrong={
            "Minus infinity gives exactly 0: a score of 0 would not.": weights([*row, 0]),
            "They are in the wrong order: the larger score gets the larger weight.": [
                *reversed(weights(row)), 0,
            ],
            "These are powers: each is still to be divided by their sum.": [
                exp(row[0]), exp(row[1]), 0,
            ],
        },
    )  # fmt: skip


@asks("softmax")
def only_differences_count(draw: Random) -> Asked:
    base, apart = draw.choice([100, 1000, 5000, -3000]), draw.choice([1, 2, 3])
    weight = weights([apart, 0])[0]
    return number(
        f"A row of scores is ({base + apart}, {base}). What is the weight of key 0?",
        weight,
        digits=2,
        why=f"Adding a number to a whole row changes nothing, so it is the softmax of ({apart}, "
        f"0): 1 / (1 + exp(-{apart})).",
        wrong={
            "That is key 1.": 1 - weight,
            "Only the difference counts, and it is small.": 1,
            "That is the score over the sum of scores: exp comes first.": (
                (base + apart) / (2 * base + apart)
            ),
        },
    )


@asks("softmax")
def how_many_times(draw: Random) -> Asked:
    apart = draw.choice([1, 2, 3])
    other = draw.choice([1, 2, 4])
    return number(
        f"In a row of scores, key 0 has {apart + other}, key 1 has {other}, and there are more. "
        "How many times as large as key 1's is the weight of key 0?",
        exp(apart),
        digits=1,
        why=f"The sum cancels in the ratio, and exp({apart + other}) / exp({other}) = "
        f"exp({apart}): what lies apart in the scores becomes a factor in the weights, whatever "
        "the other keys have.",
        wrong={
            "That is the ratio of the scores: exp comes first.": (apart + other) / other,
            "That is the difference: exp makes a factor of it.": apart,
            "The softmax is of base e, not 2.": 2**apart,
            "That is key 0's share of the two.": weights([apart, 0])[0],
        },
    )


@asks("softmax")
def rows_or_columns(draw: Random) -> Asked:
    scores = [[float(draw.randint(0, 3)) for _ in range(2)] for _ in range(2)]
    return number(
        f"Queries are rows, and keys are columns:\n\n{grid(scores, 'key', 'query')}\n\nWhat is the "
        "weight that query 0 gives to key 1?",
        weights(scores[0])[1],
        digits=2,
        why=f"Row 0 shares out 1 over its keys: exp({scores[0][1]:g}) over "
        f"exp({scores[0][0]:g}) + exp({scores[0][1]:g}).",
        wrong={
            "That is the softmax of the column: the keys of one query share 1, not its queries.": (
                weights(columns(scores)[1])[0]
            ),
            "That is the weight of key 0.": weights(scores[0])[0],
            "You shared out 1 over the whole matrix: each row has a 1 of its own.": weights(
                [*scores[0], *scores[1]]
            )[1],
            "That is query 1 and key 0.": weights(scores[1])[0],
        },
    )


@asks("attention_weights")
def sum_of_everything(draw: Random) -> Asked:
    batch, q, k, d_k = draw.sample([2, 3, 4, 5, 6, 7, 8], 4)
    return number(
        f"query is {size(batch, q, d_k)} and key is {size(batch, k, d_k)}, with no mask. What do "
        "all the weights together sum to?",
        batch * q,
        why=f"Each row sums to 1, and there are {q} queries in each of {batch} sequences.",
        wrong={
            "So it would be if each key shared out 1: the queries do.": batch * k,
            "That is one sequence: there are more.": q,
            "That is one row: every query has a 1 of its own.": 1,
            "That is how many weights there are.": batch * q * k,
        },
    )


@asks("attention_weights")
def keys_that_are_all_alike(draw: Random) -> Asked:
    k = draw.choice([5, 6, 8, 10, 12])
    left = draw.choice([2, 4])
    return number(
        f"{k} keys are all the same vector, and a mask leaves a query {left} of them. What weight "
        "does each of those get?",
        1 / left,
        digits=2,
        why=f"The scores are equal, whatever the query is, so those that are left share 1 in equal "
        f"parts: 1/{left}.",
        wrong={
            "So it is without the mask, or if it came after the softmax.": 1 / k,
            "The masked keys get nothing: those that are left share the whole.": left / k,
            "They share it: all of them together get 1.": 1,
        },
    )


@asks("attention_weights")
def nothing_to_look_at(draw: Random) -> Asked:
    k = draw.choice([2, 4, 5])
    return choice(
        f"A mask leaves a query none of its {k} keys. What are its weights, in this kit?",
        "All 0.",
        {
            f"All {1 / k:g}.": "They are masked: a masked key gets no weight at all.",
            "All NaN: 0/0.": (
                "So it would be if nothing were done about it; the stub asks for zeros."
            ),
            "1 for its own key, 0 for the others.": "Its own key is masked, too.",
        },
        why="It takes nothing, and what it takes away is zeros. One NaN would spread to everything "
        "that comes after it, and into every gradient.",
    )


@asks_why("softmax")
def why_the_largest_first(draw: Random) -> Asked:
    top = draw.choice([200, 1000, 10000])
    right = weights([0, -1])
    return choice(
        f"In float32, exp overflows from 89 on. What becomes of the scores ({top}, {top - 1}) if "
        "the largest is not taken away first?",
        "Both weights are NaN: infinity over infinity.",
        {
            f"They are right: {right[0]:.2f} and {right[1]:.2f}.": (
                "So they are once the largest score is taken away; exp never sees the difference "
                "here."
            ),
            "1 and 0: the larger one wins.": "Both powers are infinity, and so is their sum.",
            "0 and 0: something finite over infinity.": "The powers are infinity, too.",
        },
        why=f"exp({top}) is infinity in float32, so is the sum, and infinity over infinity is NaN. "
        "With the largest taken away exp sees 0 and -1, and the weights are the same as on paper.",
    )


@asks_why("attention_weights")
def why_scale_before_the_softmax(draw: Random) -> Asked:
    root = draw.choice([2, 3, 4])
    scaled, plain = weights([1, 0])[0], weights([root, 0])[0]
    return number(
        "A weight w of a softmax changes with its own score at the rate w (1 - w): that is the "
        f"gradient. Two keys have scaled scores that lie 1 apart, at d_k = {root**2}. Without the "
        f"scale they lie {root} apart. What is the gradient at the larger one then?",
        plain * (1 - plain),
        digits=4,
        why=f"The weight is {plain:.4f}, nearly all, and the rate {plain * (1 - plain):.4f}; "
        f"with the scale it is {scaled * (1 - scaled):.4f}. Where one key takes everything, "
        "nothing is left to learn from: that is what the scale prevents.",
        wrong={
            "That is the gradient with the scale.": scaled * (1 - scaled),
            "That is the weight itself.": plain,
            "That is the other weight: the gradient is w (1 - w).": 1 - plain,
            "That is the largest that there is, where both keys have a half.": 0.25,
        },
    )
