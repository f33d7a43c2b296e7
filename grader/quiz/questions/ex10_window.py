"""Questions on chapter 10."""

from __future__ import annotations

from random import Random

from grader.quiz.asked import Asked, choice, entries, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import size


@asks("causal_mask_at")
def keys_of_a_late_query(draw: Random) -> Asked:
    q, before = draw.randint(3, 5), draw.randint(3, 5)
    i = draw.randint(1, q - 2)
    k = before + q
    return entries(
        f"A mask is causal_mask_at({q}, {k}). Which keys may query {i} attend to? All are counted "
        "from 0.",
        range(before + i + 1),
        why=f"The queries are the last of the keys: query {i} stands at position {k} - {q} + {i} = "
        f"{before + i}, and sees itself and all before it.",
        wrong={
            "That is a mask aligned at the top left, as is_causal=True of PyTorch.": range(i + 1),
            "A position may look at itself, too.": range(before + i),
            "That is one key of the future.": range(before + i + 2),
            "What came before the first query is seen as well.": range(before, before + i + 1),
        },
    )


@asks("causal_mask_at")
def how_many_are_open(draw: Random) -> Asked:
    q, k = draw.choice([(2, 6), (3, 9), (4, 7), (3, 8), (2, 9)])
    every = sum(range(k - q + 1, k + 1))
    return number(
        f"How many entries of causal_mask_at({q}, {k}) are True?",
        every,
        why=f"The last query sees all {k}, and each one before it one fewer: "
        f"{' + '.join(map(str, range(k - q + 1, k + 1)))}.",
        wrong={
            "So many has a mask that is aligned at the top left.": sum(range(1, q + 1)),
            "That is all of them: only the last query sees every key.": q * k,
            "A position may look at itself, too.": every - q,
        },
    )


@asks("window_mask")
def keys_in_a_window(draw: Random) -> Asked:
    k, q, window = draw.choice([(9, 4, 3), (10, 5, 3), (11, 4, 4), (10, 4, 3)])
    i = draw.randint(1, q - 2)
    place = k - q + i
    return entries(
        f"A mask is window_mask({q}, {k}, window={window}). Which keys may query {i} attend to? "
        "All are counted from 0.",
        range(place - window + 1, place + 1),
        why=f"It stands at position {k} - {q} + {i} = {place}, and sees {window} positions, its "
        "own counted.",
        wrong={
            "Its own position counts: that is one too many.": range(place - window, place + 1),
            "It is the window before it, without itself: its own position counts.": range(
                place - window, place
            ),
            "The queries are the last of the keys: it stands further back.": range(
                max(0, i - window + 1), i + 1
            ),
            "That is the future as well.": range(place - window + 1, min(k, place + window)),
        },
    )


@asks("window_mask")
def keys_with_sinks(draw: Random) -> Asked:
    n, window, sinks = draw.choice([(9, 3, 2), (10, 3, 1), (11, 4, 2), (10, 2, 3)])
    i = draw.randint(window + sinks + 1, n - 2)
    near, first = range(i - window + 1, i + 1), range(sinks)
    return entries(
        f"A mask is window_mask({n}, {n}, window={window}, sinks={sinks}). Which keys may query "
        f"{i} attend to? All are counted from 0.",
        [*first, *near],
        why=f"The first {sinks} stay open, and the window is {i - window + 1} to {i}.",
        wrong={
            "These are without the sinks.": near,
            "The sinks are the first positions of all, not those before the window.": range(
                i - window - sinks + 1, i + 1
            ),
            "The sinks are positions 0 to sinks - 1: that is one too many.": [
                *range(sinks + 1), *near,
            ],
            "The window has one position too many: its own counts.": [*first, i - window, *near],
        },
    )  # fmt: skip


@asks("window_mask")
def how_far_layers_reach(draw: Random) -> Asked:
    layers, window = draw.choice([(3, 5), (4, 10), (6, 100), (5, 8)])
    return number(
        f"A model has {layers} layers, each with a window of {window}. How many positions back is "
        "the first word that can still have an influence on a word?",
        layers * (window - 1),
        why=f"Each layer reaches {window} - 1 = {window - 1} positions further: the window counts "
        "its own.",
        wrong={
            "The window counts its own position, so a layer reaches one less.": layers * window,
            "That is one layer: the one before it has looked back already.": window - 1,
            "The layers follow each other: reaches are added, not multiplied.": (
                (window - 1) ** layers
            ),
        },
    )


# the chapter's example by hand: values, and the powers of the scores
VALUES, POWERS = (8, 16, 40, 4, 20), (1, 3, 1, 3, 3)


def _mixed(seen: range) -> float:
    whole = sum(POWERS[j] for j in seen)
    return sum(POWERS[j] * VALUES[j] for j in seen) / whole


@asks("window_attention")
def one_more_by_hand(draw: Random) -> Asked:
    i = draw.choice([2, 3, 4])
    return number(
        "The chapter's example by hand: all queries are 1, the keys 0, L, 0, L, L with L = log 3, "
        "so their powers are 1, 3, 1, 3, 3; the values are 8, 16, 40, 4 and 20. The window is 2. "
        f"What would position {i} get if its own place did not count, so that it sees {i - 2}, "
        f"{i - 1} and {i}?",
        _mixed(range(i - 2, i + 1)),
        digits=1,
        why=f"The powers are {', '.join(str(POWERS[j]) for j in range(i - 2, i + 1))}: together "
        f"{sum(POWERS[i - 2 : i + 1])}.",
        wrong={
            "That is what it gets where its own place counts.": _mixed(range(i - 1, i + 1)),
            "It sees itself, too.": _mixed(range(i - 2, i)),
            "That is the mean: the weights are not alike.": sum(VALUES[i - 2 : i + 1]) / 3,
        },
    )


@asks("window_attention")
def zeros_by_hand(draw: Random) -> Asked:
    value, window = draw.choice([(8, 2), (12, 3), (20, 4), (18, 3), (28, 2)])
    return number(
        f"Keys and values get {window} rows of zeros in front, so that the first block of {window} "
        "has a block before it. Nobody masks them, but the mask of a block is otherwise right. "
        f"Key 0 is 0 as well, and value 0 is {value}. What does position 0 get?",
        value / window,
        digits=1,
        why=f"It sees {window} keys: {window - 1} of the zeros, and itself. All scores are 0, so "
        f"each has a weight of 1/{window}.",
        wrong={
            "So it is where the zeros are masked: a score of 0 gets weight.": value,
            "All of its window is seen, its own place counted: that is one zero too many.": value
            / (window + 1),
            "The values of the zeros are 0, but the value of position 0 is not.": 0,
        },
    )


@asks("window_attention")
def shape_of_the_scores(draw: Random) -> Asked:
    window = draw.choice([4, 5, 8])
    blocks, batch = draw.choice([6, 7, 9]), draw.choice([2, 3])
    n = blocks * window
    return shape(
        f"Queries and keys {size(batch, n, 11)} are cut into blocks of {window}, which is the "
        "window, and each block gets the keys that its queries may need. What is the shape of the "
        "scores?",
        (batch, blocks, window, 2 * window),
        why=f"There are {n} / {window} = {blocks} blocks of {window} queries, and each has the "
        "keys of its own block and of the one before.",
        wrong={
            "A block alone is not enough: its first query looks into the block before.": (
                batch, blocks, window, window,
            ),
            "These are the scores of all pairs.": (batch, n, n),
            "Each query would have keys of its own: then there are as many as the window.": (
                batch, n, 2 * window,
            ),
        },
    )  # fmt: skip


@asks_why("causal_mask_at")
def why_the_last(draw: Random) -> Asked:
    n = draw.choice([50, 200, 900])
    return number(
        f"A decoder has the keys of {n} words, and asks with the newest word alone: q = 1, k = {n}."
        " Somebody calls scaled_dot_product_attention with is_causal=True. How many keys does the "
        "word see?",
        1,
        why="Its mask is aligned at the top left: query 0 sees key 0. The word stands at the end, "
        "and should see all.",
        wrong={
            "So many it should see: but the mask is aligned at the top left.": n,
            "These are all but itself: the mask is aligned at the top left.": n - 1,
            "Query 0 sees key 0, since nothing is asked but j <= i.": 0,
        },
    )


@asks_why("window_mask")
def why_sinks(draw: Random) -> Asked:
    window = draw.choice([1000, 2000, 4000])
    return choice(
        f"A model was trained without windows. It writes on with a window of {window}, and talks "
        "nonsense as soon as the first words are out of it. With four sinks it does not. Why?",
        "it puts weight on the first words, whatever they are, and has to put it somewhere",
        {
            "the first words say what the text is about": "They may be any: what matters is that "
            "much of the weight is there.",
            "four more keys make the window long enough": "Four keys more at its end change "
            "nothing.",
            "sinks let it see the future": "Nobody sees that, sinks or not.",
        },
        why="The weights of a query sum to 1. Where it needs nothing, trained models put the rest "
        "on the first positions, and without these it goes to words that were not meant.",
    )


@asks_why("window_attention")
def why_not_a_mask(draw: Random) -> Asked:
    n, window = draw.choice([(1000, 10), (2000, 50), (5000, 20), (4000, 100)])
    return number(
        f"There are {n} positions, and the window is {window}. How many scores does "
        "`attention(query, key, value, window_mask(n, n, window))` work out for a sequence?",
        n * n,
        why="All of them, and then the mask takes most away: a mask saves nothing.",
        wrong={
            "So many are needed: but a mask comes after the scores.": n * window,
            "So many would blocks work out.": 2 * n * window,
            "Half of them are in the future, but they are worked out as well.": n * (n + 1) / 2,
        },
    )
