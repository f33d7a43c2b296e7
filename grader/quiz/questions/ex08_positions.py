"""Questions on chapter 8."""

from __future__ import annotations

from math import cos, sin, sqrt
from random import Random

from grader.quiz.asked import Asked, choice, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import size, vector


@asks("rotary_angles")
def an_angle(draw: Random) -> Asked:
    place = draw.randint(12, 90)
    return number(
        f"d_head is 4 and the base 10000. By which angle is pair 1 turned at position {place}? "
        "Pairs are counted from 0.",
        place / 100,
        digits=2,
        why=f"Its rate is 10000^(-2 / 4) = 0.01 for each place, {place} times.",
        wrong={
            "That is the angle of pair 0, whose rate is 1.": place,
            "The exponent is -2i / d_head: the 2 is missing.": place / 10,
            "The minus is missing: later pairs turn more slowly.": place * 100,
        },
    )


@asks("rotary_angles")
def shape_of_the_angles(draw: Random) -> Asked:
    n, half = draw.sample([3, 5, 7, 11], 2)
    return shape(
        f"There are {n} positions, and a head is {2 * half} wide. What is the shape of the angles?",
        (n, half),
        why=f"{2 * half} features make {half} pairs, and each pair has one angle at each position.",
        wrong={
            "Both features of a pair are turned by one angle.": (n, 2 * half),
            "Rows belong to positions, columns to pairs.": (half, n),
        },
    )


# each kind of turn by a right angle, of six features
def _right_turn(row: list[int], u: int, v: int) -> list[int]:
    turned = list(row)
    turned[u], turned[v] = -row[v], row[u]
    return turned


@asks("rotate_pairs")
def a_right_angle_of_pairs(draw: Random) -> Asked:
    row, i = draw.sample(range(1, 10), 6), draw.choice([1, 2])
    angles = [0.0] * 3
    angles[i] = 1.5708
    right, halves = _right_turn(row, 2 * i, 2 * i + 1), _right_turn(row, i, i + 3)
    back = _right_turn(row, 2 * i + 1, 2 * i)
    return number(
        f"rotate_pairs gets the row {vector(row)} and the angles {vector(angles)}: only pair {i} "
        "is turned, by a right angle. What comes out, to whole numbers?",
        right,
        why=f"Pair {i} holds features {2 * i} and {2 * i + 1}. At a right angle the cosine is 0 "
        "and the sine 1: (u, v) becomes (-v, u).",
        wrong={
            "Those are features half the width apart: that is rotate_halves.": halves,
            "You turned the other way: (u, v) becomes (-v, u).": back,
        },
    )


@asks("rotate_halves")
def the_words_example_by_halves(draw: Random) -> Asked:
    x = draw.choice([(3, 4, 1, 2), (2, 5, 4, 1), (5, 1, 2, 3), (4, 1, 3, 5), (1, 3, 5, 2)])
    c, s, c2, s2 = cos(2), sin(2), cos(0.02), sin(0.02)
    a, b, e, f = x
    return number(
        f"d_head is 4, and the angles of place 2 are 2 and 0.02: cos 2 = -0.4161, sin 2 = 0.9093, "
        f"cos 0.02 = 0.9998, sin 0.02 = 0.0200. What does rotate_halves make of {vector(x)}?",
        [a * c - e * s, b * c2 - f * s2, a * s + e * c, b * s2 + f * c2],
        digits=2,
        why=f"The pairs are ({a}, {e}) and ({b}, {f}). Each goes back to where it was: the first "
        "halves of the pairs make the first half of the row.",
        wrong={
            "That is rotate_pairs, whose pairs are neighbours.": [
                a * c - b * s, a * s + b * c, e * c2 - f * s2, e * s2 + f * c2,
            ],
            "The pairs are right, but you put them side by side: they go back to where they "
            "were.": [a * c - e * s, a * s + e * c, b * c2 - f * s2, b * s2 + f * c2],
            "You turned the other way: the first becomes u cos a - v sin a.": [
                a * c + e * s, b * c2 + f * s2, e * c - a * s, f * c2 - b * s2,
            ],
        },
    )  # fmt: skip


@asks("pairs_to_halves")
def where_a_row_goes(draw: Random) -> Asked:
    half = draw.choice([3, 4, 5, 6, 8])
    i = draw.randint(1, half - 2)
    new = 2 * half + half + i
    return number(
        f"A weight has {4 * half} rows, for 2 heads. pairs_to_halves puts the rows in another "
        f"order. Which old row stands in row {new}? All are counted from 0.",
        2 * half + 2 * i + 1,
        why=f"Row {new} is row {half + i} of head 1, in the second half of its {2 * half} rows: "
        f"what was the second of pair {i}, row 2 * {i} + 1 of that head.",
        wrong={
            "That is the first of its pair: the second half holds the second ones.": (
                2 * half + 2 * i
            ),
            "That is a row of head 0: each head keeps its rows.": 2 * i + 1,
        },
    )


@asks("rotary_scores")
def both_moved(draw: Random) -> Asked:
    far = draw.choice([40, 50, 100, 200, 300, 1000])
    return number(
        "A query (1, 0) stands at place 5, a key (1, 0) at place 3, and their score is "
        f"cos 2 / sqrt(2) = -0.2943. What is it with the query at place {5 + far}, and the key at "
        f"place {3 + far}?",
        cos(2) / sqrt(2),
        digits=3,
        why="Both are turned further by the same angle, so the angle between them is still 2.",
        wrong={
            "That is not scaled: divide by sqrt(2).": cos(2),
            "That is the score of two words at one place.": 1 / sqrt(2),
            "You took the sum of the positions: the difference counts.": (
                cos(8 + 2 * far) / sqrt(2)
            ),
        },
    )


@asks("rotary_scores")
def another_distance(draw: Random) -> Asked:
    m, n = draw.choice([(4, 1), (7, 6), (9, 4), (8, 5), (6, 2), (5, 4)])
    return number(
        f"A query (1, 0) stands at place {m}, and a key (0, 1) at place {n}. What is their scaled "
        f"score? cos {m - n} = {cos(m - n):.4f}, sin {m - n} = {sin(m - n):.4f}.",
        sin(m - n) / sqrt(2),
        digits=2,
        why="The key was made a right angle ahead of the query. The places take the query ahead by "
        f"{m - n}: the angle between them is pi / 2 - {m - n}, and its cosine the sine of {m - n}.",
        wrong={
            "They were not alike: the key is a right angle ahead.": cos(m - n) / sqrt(2),
            "You turned the other way, or took the key's place first.": -sin(m - n) / sqrt(2),
            "They were at right angles, but the places turn them.": 0,
        },
    )


@asks_why("rotary_angles")
def why_float32(draw: Random) -> Asked:
    power = draw.choice([11, 12, 13, 14, 15])
    return number(
        f"bfloat16 keeps 8 binary digits of a number. At position {2**power} = 2^{power}, how far "
        "apart are the angles of pair 0 that it can tell from each other?",
        2 ** (power - 7),
        why=f"The first digit stands for 2^{power}, the eighth for 2^{power - 7}: several times "
        "round the circle. All these places would look alike, so the angles are float32.",
        wrong={
            "That is one place: float32 still tells them apart, bfloat16 does not.": 1,
            "That is one digit more than it has.": 2 ** (power - 8),
            "Of 8 digits the first one counts, too: the last is 7 places further.": (
                2 ** (power - 6)
            ),
        },
    )


@asks_why("rotate_pairs")
def why_a_turn(draw: Random) -> Asked:
    far = draw.choice([6, 13, 19, 25, 44])
    return choice(
        "A query of place m and a key of place n are both turned. Why does their score not change "
        f"if both words move on by {far} places?",
        "both are turned by the same angle, and the angle between them stays",
        {
            "the softmax evens it out": "The softmax comes later: the scores themselves stay.",
            f"{far} places are nearly a whole number of circles": "For pair 0 they are, but any "
            "other number of places would do, too.",
            "turned rows have length 1": "A turn keeps whatever length a row has.",
        },
        why="The dot product depends on the lengths, which a turn keeps, and on the angle between "
        "the two: m - n is the same.",
    )


@asks_why("rotate_halves")
def why_not_the_other(draw: Random) -> Asked:
    layout, other = draw.sample(["rotate_pairs", "rotate_halves"], 2)
    return choice(
        f"A model was trained with {layout}, and somebody runs it with {other}. What happens?",
        "it runs, and talks nonsense",
        {
            "it stops, as the shapes do not fit": "The shapes are the same in both layouts.",
            "nothing changes": "That needs weights whose rows are put in the other order.",
            "only late positions go wrong": "At place 1 already the wrong features meet.",
        },
        why="Both turn as many pairs by the same angles, but other features. The weights of "
        "queries and keys were trained for one of the two.",
    )


@asks_why("pairs_to_halves")
def why_not_the_values(draw: Random) -> Asked:
    n_heads = draw.choice([2, 4, 8])
    return choice(
        f"An attention of {n_heads} heads has w_q, w_k, w_v and w_o, and is to use rotate_halves "
        "instead of rotate_pairs. Which of the weights have to be converted?",
        "w_q and w_k",
        {
            "w_q, w_k and w_v": "Values are not turned, and w_o expects them in their old order.",
            "all four": "Values are not turned, so w_v and w_o stay as they are.",
            "w_q": "Queries and keys are multiplied feature by feature: both need the new order.",
        },
        why="Only queries and keys are turned. A dot product does not mind the order of its "
        "features, as long as it is the same on both sides.",
    )


@asks_why("rotary_scores")
def why_not_from_zero(draw: Random) -> Asked:
    late, key = draw.choice([(40, 38), (60, 59), (25, 22), (33, 28), (71, 67)])
    batch = size(1, 8)
    return number(
        f"A decoder hands over one new query, {batch}, at place {late}, and counts its position "
        f"from 0. The key that it looks at was turned at place {key}. Which distance, query minus "
        "key, does the score see?",
        -key,
        why=f"The query is turned by 0 and the key by {key}. The distance is {late - key}, but the "
        "score takes the key for a word that comes later.",
        wrong={
            "So it would be with the position that the query really has.": late - key,
            "The key's position counts, too.": 0,
            "The query comes first: it is query minus key.": key,
        },
    )
