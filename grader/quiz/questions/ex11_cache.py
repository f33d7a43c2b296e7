"""Questions on chapter 11."""

from __future__ import annotations

from random import Random

from grader.quiz.asked import Asked, choice, entries, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import size


@asks("KeyValueCache")
def what_comes_back(draw: Random) -> Asked:
    batch, d = draw.choice([2, 3]), draw.choice([7, 11])
    capacity, first, second = draw.choice([(20, 5, 3), (16, 6, 4), (30, 9, 5)])
    return shape(
        f"A cache has a capacity of {capacity}. It is updated with keys {size(batch, first, d)}, "
        f"and then with keys {size(batch, second, d)}. What is the shape of the keys that the "
        "second update gives back?",
        (batch, first + second, d),
        why="All keys so far come back, the new ones last.",
        wrong={
            "Rows that nobody has written do not come back.": (batch, capacity, d),
            "All keys so far are asked for, not the new ones alone.": (batch, second, d),
            "These are the keys of the first update.": (batch, first, d),
        },
    )


@asks("KeyValueCache")
def length_after_a_refusal(draw: Random) -> Asked:
    capacity, first, second, third, last = draw.choice(
        [(6, 3, 2, 3, 1), (9, 4, 3, 4, 1), (10, 5, 2, 6, 2), (12, 6, 3, 5, 2)]
    )
    held = first + second
    return number(
        f"A cache has a capacity of {capacity}. Updates of {first}, {second}, {third} and {last} "
        "rows follow each other, and what is refused is caught. What is `length` in the end?",
        held + last,
        why=f"{held} rows and {third} more are too many: that is refused, and changes nothing. "
        f"Then {last} still fits.",
        wrong={
            "The third update is refused: its rows do not count.": held + third + last,
            "The last update fits again.": held,
            "What is refused is not filled up as far as it goes.": capacity + last,
            "It counts rows, not updates.": 3 if held + last != 3 else 4,
        },
    )


@asks("KeyValueCache")
def rows_that_are_copied(draw: Random) -> Asked:
    n = draw.choice([100, 200, 1000])
    return number(
        f"A cache calls torch.cat in each update. It gets {n} rows of keys, one at a time. How "
        "many rows that it had already does it copy in all?",
        n * (n - 1) // 2,
        why=f"The first update copies none, the second 1, and the last {n - 1}: together {n} * "
        f"{n - 1} / 2. The new row is not among them.",
        wrong={
            "Each update copies those that came before, which are fewer at first.": n * (n - 1),
            "The new rows are counted, too: asked is for old ones.": n * (n + 1) // 2,
            "So many the last update copies alone.": n - 1,
            "With one buffer there would be none: torch.cat copies.": 0,
        },
    )


@asks("attend_with_cache")
def keys_of_a_new_word(draw: Random) -> Asked:
    held, m = draw.choice([(3, 4), (4, 3), (2, 4), (5, 3)])
    i = draw.randint(1, m - 2)
    return entries(
        f"A cache holds {held} rows, and {m} new words are added. Which keys does new word {i} "
        "see? New words and keys are counted from 0.",
        range(held + i + 1),
        why=f"It stands at position {held} + {i} = {held + i}, and sees itself and all before it.",
        wrong={
            "That is a mask aligned at the top left.": range(i + 1),
            "A word sees itself, too.": range(held + i),
            "That is one word of the future.": range(held + i + 2),
            "What came before the piece is seen as well.": range(held, held + i + 1),
        },
    )


# the chapter's example by hand: values, and the powers of the scores
VALUES, POWERS = (8, 16, 24, 1), (1, 3, 4, 8)


def _mixed(seen: range) -> float:
    whole = sum(POWERS[j] for j in seen)
    return sum(POWERS[j] * VALUES[j] for j in seen) / whole


TOLD = (
    "The chapter's example by hand: every query is 1, the powers of the scores are 1, 3, 4 and 8, "
    "and the values 8, 16, 24 and 1. Three words come at once, and then one. "
)


@asks("attend_with_cache")
def top_left_by_hand(draw: Random) -> Asked:
    del draw
    return number(
        f"{TOLD}What would word 3 get from a mask that is aligned at the top left?",
        _mixed(range(1)),
        why="It is query 0 of its piece, so it would see key 0 alone, whose value is 8.",
        wrong={
            "So it is where the mask is aligned at the bottom right.": _mixed(range(4)),
            "It would see key 0, and not itself.": VALUES[3],
            "It would see key 0, and no other.": _mixed(range(3)),
        },
    )


@asks("attend_with_cache")
def no_mask_by_hand(draw: Random) -> Asked:
    word = draw.choice([0, 1])
    return number(
        f"{TOLD}What would word {word} get if the first piece came without any mask?",
        _mixed(range(3)),
        why="It would see all three words of the piece, as word 2 does: 8/8 + 16 * 3/8 + 24 * 4/8. "
        "Word 3 has not come yet.",
        wrong={
            "So it is with a mask.": _mixed(range(word + 1)),
            "Word 3 comes later: it is not there yet.": _mixed(range(4)),
            "The weights are not alike.": sum(VALUES[:3]) / 3,
        },
    )


@asks("CachedAttention")
def where_new_words_stand(draw: Random) -> Asked:
    held, m = draw.choice([(4, 3), (6, 2), (5, 4), (9, 3)])
    return entries(
        f"`cache.length` is {held}, and the module gets {m} more tokens. By which positions are "
        "their keys turned?",
        range(held, held + m),
        why=f"The words before stand at 0 to {held - 1}, and positions go on from there.",
        wrong={
            "Positions do not begin anew in each call.": range(m),
            "That is the length after the update: ask for it before.": range(
                held + m, held + 2 * m
            ),
            "Positions begin at 0, so the next one is the length.": range(held + 1, held + m + 1),
            "Keys that are there have been turned already.": range(held + m),
        },
    )


@asks("CachedAttention")
def shape_of_all_keys(draw: Random) -> Asked:
    batch, held, m = draw.choice([2, 3]), draw.choice([6, 9]), draw.choice([1, 2, 4])
    h, g, d = draw.choice([(6, 2, 4), (12, 4, 6), (10, 5, 8)])
    return shape(
        f"A CachedAttention({h * d}, n_heads={h}, n_kv_heads={g}) gets tokens "
        f"{size(batch, m, h * d)} and a cache of length {held}. What is the shape of the keys that "
        "`cache.update` gives back?",
        (batch, g, held + m, d),
        why=f"{g} heads of keys, each {d} wide, of {held} words before and {m} new ones.",
        wrong={
            "Heads of keys are cached, not one copy for each head of queries.": (
                batch, h, held + m, d,
            ),
            "All keys so far come back.": (batch, g, m, d),
            "What is cached are heads, split already.": (batch, held + m, g * d),
        },
    )  # fmt: skip


@asks("CachedAttention")
def keys_in_a_window(draw: Random) -> Asked:
    held, m, window = draw.choice([(5, 3, 3), (6, 4, 3), (7, 3, 4), (6, 3, 2)])
    place = held + 1
    return entries(
        f"A CachedAttention has a window of {window}. Its cache holds {held} words, and {m} more "
        "come at once. Which positions does the second of them see? All are counted from 0.",
        range(place - window + 1, place + 1),
        why=f"It stands at position {held} + 1 = {place}, and sees {window} positions, its own "
        "counted.",
        wrong={
            "Its own position counts: that is one too many.": range(place - window, place + 1),
            f"Those are the last {window} of all: its window ends with itself.": range(
                held + m - window, held + m
            ),
            "The window is ignored.": range(place + 1),
            "It is the second of the new words: it stands one further.": range(
                held - window + 1, held + 1
            ),
        },
    )


@asks_why("KeyValueCache")
def why_no_queries(draw: Random) -> Asked:
    n = draw.choice([10, 50, 200])
    return choice(
        f"A text has {n} words, and one more comes. The cache has the keys and values of the {n}. "
        "Why does it not keep their queries?",
        "a query is needed only once, for the row of its own word",
        {
            "queries are larger than keys": "In most models they are as wide as keys.",
            "queries change as the text grows": "They depend on their own word alone, and stay.",
            "queries can be worked out from the keys": "They are made by a layer of their own.",
        },
        why="The rows of earlier words do not change, since none sees a later one. The new word "
        "brings its own query, and asks for the keys and values of all.",
    )


@asks_why("attend_with_cache")
def why_cached(draw: Random) -> Asked:
    n = draw.choice([10, 20, 100])
    every = n * (n + 1) * (2 * n + 1) // 6
    return number(
        f"A model writes {n} words, one after the other, and for each it works out everything "
        f"again: 1 * 1 scores for the first, 2 * 2 for two, and {n} * {n} in the end, {every:,} "
        "for each head. How many does it work out with a cache?",
        n * (n + 1) // 2,
        why=f"One query for each word, and a score for each word so far: 1 + 2 + ... + {n}.",
        wrong={
            "One query has a score for each word so far, and these are fewer at first.": n * n,
            "A word sees itself, too.": n * (n - 1) // 2,
            "One score for a word is too few: it has one for each word so far.": n,
        },
    )


@asks_why("CachedAttention")
def why_positions_go_on(draw: Random) -> Asked:
    held = draw.choice([7, 20, 100])
    return choice(
        f"A cache holds {held} words, whose keys were turned by 0 to {held - 1}. A step of one "
        "word makes its positions with arange(1). What happens?",
        "the new word stands where the first one does, and distances are wrong",
        {
            "nothing changes: only distances count": "They do, and a word at position 0 is at "
            "another distance from the words before it.",
            "it stops: there is one angle for several keys": "The keys are turned already, and "
            "only the new one is turned.",
            "the new word sees only the first key": "The mask says who is seen, not the angles.",
        },
        why="Scores of turned rows know the distance between two positions. The newest word is to "
        f"be {held} positions behind the first one, and not at the same place.",
    )
