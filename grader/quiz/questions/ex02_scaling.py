"""Questions on chapter 2."""

from __future__ import annotations

import math
from random import Random

from grader.quiz.asked import Asked, number
from grader.quiz.question import asks, asks_why
from grader.quiz.written import size, vector


@asks("scale_scores")
def second_row_of_the_document(_: Random) -> Asked:
    scores = (1.5185, -4.5739, -4.2686)
    return number(
        f"In document 002 the keys are 4 wide. The second row of scores is {vector(scores)}. "
        "What is it scaled?",
        [score / 2 for score in scores],
        digits=2,
        why="The square root of 4 is 2, and every score is divided by it.",
        wrong={
            "You divided by d_k, 4: it is its square root, 2.": [s / 4 for s in scores],
            "You multiplied: the scores are divided.": [s * 2 for s in scores],
            "You divided by the square root of 3, the number of keys: it is their width, 4.": [
                s / math.sqrt(3) for s in scores
            ],
            "You divided by 16, the square of d_k: it is the square root.": [
                s / 16 for s in scores
            ],
        },
    )


@asks("scale_scores")
def divisor(draw: Random) -> Asked:
    d_k = draw.choice([2, 8, 32, 128, 512])
    score = draw.randint(10, 60)
    return number(
        f"The keys are {d_k} wide, and a score is {score}. What is it scaled?",
        score / math.sqrt(d_k),
        digits=2,
        why=f"The divisor is sqrt({d_k}) = {math.sqrt(d_k):.4f}, the standard deviation of a sum "
        f"of {d_k} independent products of variance 1.",
        wrong={
            f"You divided by d_k, {d_k}: it is its square root.": score / d_k,
            "You multiplied by the square root: the score is divided.": score * math.sqrt(d_k),
            "This is the divisor: the score goes over it.": math.sqrt(d_k),
        },
    )


@asks("scaled_scores")
def which_size(draw: Random) -> Asked:
    batch, q, k, d_k = draw.sample([4, 9, 16, 25, 36, 49, 64], 4)
    return number(
        f"query is {size(batch, q, d_k)} and key is {size(batch, k, d_k)}. By which number are the "
        "scores divided?",
        math.sqrt(d_k),
        why=f"The keys are {d_k} wide: that is the last size, which both have. Each score adds "
        "up that many products.",
        wrong={
            "That is the square root of the number of keys: it is that of their width.": (
                math.sqrt(k)
            ),
            "That is the square root of the number of queries: it is that of the keys' width.": (
                math.sqrt(q)
            ),
            "That is the square root of the size of the batch: it is that of the keys' width.": (
                math.sqrt(batch)
            ),
            "That is d_k itself: take its square root.": d_k,
        },
    )


@asks("scaled_scores")
def one_score(draw: Random) -> Asked:
    query = [draw.randint(1, 4) for _ in range(4)]
    key = [draw.randint(1, 4) for _ in range(4)]
    score = sum(a * b for a, b in zip(query, key, strict=True))
    return number(
        f"The query {vector(query)} meets the key {vector(key)}. What is the scaled score?",
        score / 2,
        digits=1,
        why=f"The dot product is {score}, and the vectors are 4 wide: {score} / sqrt(4).",
        wrong={
            "That is the dot product: it is still to be scaled.": score,
            "You divided by 4: it is the square root of 4.": score / 4,
            "You multiplied by the square root: the score is divided.": score * 2,
        },
    )


@asks("score_spread")
def spread(draw: Random) -> Asked:
    d_k, pairs = draw.choice([4, 9, 16, 25, 64, 100, 144, 256]), draw.choice([10_000, 40_000])
    return number(
        f"score_spread({d_k}, {pairs}) draws unit-normal queries and keys. Which whole number does "
        "it come close to?",
        math.sqrt(d_k),
        why=f"A score is a sum of {d_k} products of variance 1. Variances add up to {d_k}, and the "
        "standard deviation is the square root of that.",
        wrong={
            "That is the variance: the standard deviation is its square root.": d_k,
            "That is the spread of scaled scores: these are not scaled.": 1,
            "The number of pairs makes the measurement finer, and the spread no larger.": (
                math.sqrt(pairs)
            ),
        },
    )


@asks("score_spread")
def wrong_divisor(draw: Random) -> Asked:
    d_k = draw.choice([4, 16, 25, 64, 100])
    return number(
        f"Somebody divides the scores of unit-normal vectors, {d_k} wide, by d_k instead of its "
        "square root. What is their standard deviation then?",
        1 / math.sqrt(d_k),
        digits=3,
        why=f"It was sqrt({d_k}), and divided by {d_k} that is 1 / sqrt({d_k}). The wider the "
        "keys, the closer the scores lie together, and all weights become alike.",
        wrong={
            "So it would be with the right divisor, the square root.": 1,
            "That is the spread before anything is divided.": math.sqrt(d_k),
            "That is the variance: the standard deviation is its square root.": 1 / d_k,
        },
    )


@asks_why("scale_scores")
def why_the_square_root(draw: Random) -> Asked:
    d_k = draw.choice([4, 5, 8, 10, 16, 20, 25])
    return number(
        "Why sqrt(d_k), and not d_k? The entries of query and key are independent, with mean 0 "
        f"and variance 1, and d_k is {d_k}. What would the variance of the scores be, divided by "
        "d_k?",
        1 / d_k,
        digits=3,
        why=f"The scores have variance {d_k}, and what is divided by {d_k} has its variance "
        f"divided by {d_k}^2 = {d_k**2}. Only the square root brings it to 1, at any width.",
        wrong={
            "So it is with the square root: a divisor c divides a variance by c^2.": 1,
            "That is the standard deviation: the variance is its square.": 1 / math.sqrt(d_k),
            "You divided twice: the scores have variance d_k before.": 1 / d_k**2,
            "That is the variance before anything is divided.": d_k,
        },
    )


@asks_why("scaled_scores")
def why_the_width_of_the_keys(draw: Random) -> Asked:
    d_k = draw.choice([16, 36, 64])
    d_model = d_k * draw.choice([4, 16])
    return number(
        f"Tokens are {d_model} wide, and their queries and keys only {d_k}, with entries of "
        f"variance 1. Somebody divides the scores by sqrt({d_model}). What standard deviation is "
        "left?",
        math.sqrt(d_k / d_model),
        digits=2,
        why=f"Each score adds up {d_k} products, so its standard deviation is sqrt({d_k}). Over "
        f"sqrt({d_model}) that is less than 1: the right divisor is made of what was added up.",
        wrong={
            "So it would be with sqrt(d_k), the width of the keys.": 1,
            "That is the spread before anything is divided.": math.sqrt(d_k),
            "That is the variance: the standard deviation is its square root.": d_k / d_model,
            "You have it upside down: the scores' spread goes over the divisor.": (
                math.sqrt(d_model / d_k)
            ),
        },
    )


@asks_why("score_spread")
def why_unit_normal(draw: Random) -> Asked:
    scale, d_k = draw.choice([3, 5]), draw.choice([4, 16, 64])
    return number(
        "The scale assumes entries of standard deviation 1. Let those of the queries have "
        f"{scale}, those of the keys 1, and d_k be {d_k}. What is the standard deviation of the "
        "scaled scores?",
        scale,
        why=f"Every product is {scale} times as large, and so is every score. The scale takes away "
        "what comes of the width, and nothing else: a model that makes long queries has sharp "
        "weights.",
        wrong={
            "It takes away what comes of the width only: longer queries still count.": 1,
            "That is their variance: the standard deviation is its square root.": scale**2,
            "That is before the scale.": scale * math.sqrt(d_k),
        },
    )
