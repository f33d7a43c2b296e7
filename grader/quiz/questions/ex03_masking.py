"""Questions on chapter 3."""

from __future__ import annotations

from math import exp
from random import Random

from grader.quiz.arithmetic import weights
from grader.quiz.asked import Asked, choice, entries, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import grid, size, vector

DOCUMENT_002 = (
    (-1.2905, 4.4249, -3.4800),
    (0.7593, -2.2869, -2.1343),
    (-1.1067, -0.0801, -3.3173),
)


@asks("causal_mask")
def how_many_are_true(draw: Random) -> Asked:
    n = draw.randint(4, 12)
    return number(
        f"How many entries of causal_mask({n}) are True?",
        n * (n + 1) / 2,
        why=f"Row i has i + 1 of them: 1 + 2 + ... + {n} = {n} * {n + 1} / 2.",
        wrong={
            "The diagonal counts, too: a token looks at itself, j <= i.": n * (n - 1) / 2,
            "That is all of them: the future is False.": n * n,
            "That is half the square: the diagonal is True as a whole.": n * n / 2,
            "That is the diagonal alone: a token looks back as well.": n,
        },
    )


@asks("causal_mask")
def keys_of_a_query(draw: Random) -> Asked:
    n = draw.randint(5, 7)
    i = draw.randint(2, n - 3)
    return entries(
        f"A mask is causal_mask({n}), and positions count from 0. Which keys may query {i} attend "
        "to?",
        range(i + 1),
        why=f"Row {i} is True where j <= {i}: itself, and all before it.",
        wrong={
            "A token may look at itself, too.": range(i),
            "That is the future: it looks back.": range(i, n),
            "That is the future, and it is shut out.": range(i + 1, n),
            "Positions count from 0: query 1 is the second.": range(i + 2),
            "It looks back as well, at every token before it.": [i],
        },
    )


@asks("padding_mask")
def which_are_real(draw: Random) -> Asked:
    n = draw.randint(5, 7)
    lengths = draw.sample(range(2, n - 1), 2) if n > 5 else [3, 2]
    lengths.append(n)
    b = draw.randrange(2)
    real = lengths[b]
    return entries(
        f"lengths is {lengths} and n is {n}. At which positions is row {b} of the padding mask "
        "True, counted from 0?",
        range(real),
        why=f"Row {b} has the length {real}, and j < {real} holds for 0 to {real - 1}: positions "
        "count from 0.",
        wrong={
            "One too many: j < length, and positions count from 0.": range(real + 1),
            "That is the padding: True marks the real tokens.": range(real, n),
            "The padding stands at the end, not at the start.": range(n - real, n),
            "That is another row: rows count from 0.": range(lengths[1 - b]),
            "Position 0 is the first, and real.": range(1, real + 1),
        },
    )


@asks("padding_mask")
def room_for_the_queries(draw: Random) -> Asked:
    batch, n, q = draw.sample([2, 3, 4, 5, 6, 7, 8], 3)
    return shape(
        f"Scores are {size(batch, q, n)}. The padding mask is {size(batch, n)}. In which shape "
        "does it serve every query of its own sequence?",
        (batch, 1, n),
        why="mask[:, None, :] puts a 1 in the queries' place, and a size of 1 is repeated. As it "
        f"is, {size(batch, n)} is lined up from the right, and the batch meets the queries.",
        wrong={
            "So its batch of rows would be taken for queries: it needs a place for them.": (
                batch, n,
            ),
            "The 1 belongs in the queries' place: this one meets the batch.": (1, batch, n),
            "The positions are keys, so they come last.": (batch, n, 1),
        },
    )  # fmt: skip


@asks("decoder_mask")
def how_many_with_padding(draw: Random) -> Asked:
    n = draw.randint(4, 6)
    real = draw.randint(2, n - 2)
    return number(
        f"A sequence of length {real} is padded to {n} positions. How many entries of its page of "
        f"the decoder mask, {size(n, n)}, are True?",
        sum(min(i + 1, real) for i in range(n)),
        why=f"Row i has i + 1 of them, but no more than {real}: "
        + " + ".join(str(min(i + 1, real)) for i in range(n))
        + ". The rows of padded queries are not emptied.",
        wrong={
            "That is the causal mask alone: the padding is shut out as a key.": n * (n + 1) / 2,
            "You emptied the rows of the padded queries: they still look at real tokens.": (
                real * (real + 1) / 2
            ),
            "That is the padding mask alone: the future is shut out as well.": n * real,
        },
    )


@asks("decoder_mask")
def row_of_a_padded_query(draw: Random) -> Asked:
    n = draw.randint(5, 7)
    real = draw.randint(2, n - 3)
    i = draw.randint(real + 1, n - 1)
    return entries(
        f"A sequence of length {real} is padded to {n} positions. Which keys may query {i}, "
        "which is padding itself, attend to in the decoder mask?",
        range(real),
        why=f"j <= {i} and j < {real}: the real tokens, which all stand before it. Padding is "
        "masked as a key, not as a query.",
        wrong={
            "Its row is not emptied: padding is masked as a key only.": (),
            "Padding is no key, not even for padding.": range(i + 1),
            "A padded query may not look at itself: it is padding as a key.": [*range(real), i],
            "Positions count from 0, so the last real one is length - 1.": range(real + 1),
        },
    )


@asks("apply_mask")
def mask_one_more(_: Random) -> Asked:
    masked = [[f"{s:.4f}" if j <= i else "-inf" for j, s in enumerate(row)]
              for i, row in enumerate(DOCUMENT_002)]  # fmt: skip
    return entries(
        "The scores of document 002, masked so that each token looks back but not ahead:\n\n"
        f"{grid(masked, 'key', 'query')}\n\nNow the last token is padding, too: the length is 2. "
        "Which entry becomes minus infinity that was not?",
        [(2, 2)],
        why="Column 2 is shut, for key 2 is padding. In rows 0 and 1 it was shut already, so only "
        "-3.3173 goes. The rest of row 2 stays, for a padded query still looks.",
        wrong={
            "A padded query keeps its row: only its key is shut out.": [(2, 0), (2, 1), (2, 2)],
            "In rows 0 and 1 this column was minus infinity before.": [(0, 2), (1, 2), (2, 2)],
            "Position 2 is the last of three: positions count from 0.": [(1, 1)],
        },
    )


@asks("apply_mask")
def masked_with_zero(draw: Random) -> Asked:
    own = draw.choice([-12905, *range(-20000, 15000, 1000)]) / 10000
    hidden = draw.choice([2, 3])
    of_all = weights([own, *[0.0] * hidden])
    return number(
        f"Query 0 has the score {own:g} for itself, and may not look at {hidden} other tokens. "
        "Somebody fills their places with 0 instead of minus infinity. How much of the weight do "
        "those tokens get together?",
        1 - of_all[0],
        digits=2,
        why=f"exp gives {exp(own):.4f} for itself and exp(0) = 1 for each of the others, so "
        f"{hidden} / ({exp(own):.4f} + {hidden}) is theirs. A score of 0 is a score like any "
        "other.",
        wrong={
            "A score of 0 masks nothing: exp(0) = 1.": 0,
            "That is what is left for itself.": of_all[0],
            "That is one of them: they are several.": of_all[1],
        },
    )


@asks_why("causal_mask")
def why_not_ahead(_: Random) -> Asked:
    return choice(
        "A model learns to say the next word, at every position of a text at once. What happens if "
        "its mask is True throughout?",
        "In training the loss falls to almost nothing; then it has learned nothing for new text.",
        {
            "It learns the same, more slowly.": (
                "It learns something else: to copy the next word, which it is shown."
            ),
            "The loss does not fall.": "It falls all too well: the answer is among the keys.",
            "Nothing: the words ahead carry no information on the next one.": (
                "One of them is the next one."
            ),
        },
        why="Position i is to predict word i + 1, and attends to it: it has only to copy. When it "
        "writes by itself, there is nothing ahead to copy from.",
    )


@asks_why("padding_mask")
def why_shut_out_the_padding(draw: Random) -> Asked:
    real, n = draw.choice([2, 3, 4]), draw.choice([6, 8, 10])
    return number(
        f"Why a mask, if padded keys are zeros anyway? A sequence of {real} tokens is padded to "
        f"{n} with keys of zeros. Let the real scores be 0 as well. Without a mask, how much of "
        "a query's weight goes to the padding?",
        (n - real) / n,
        digits=2,
        why="A key of zeros has the score 0, and exp(0) = 1 is no less than the others get. So "
        "what a sequence comes to would depend on how long its neighbours in the batch are.",
        wrong={
            "A score of 0 still gets weight: exp(0) = 1.": 0,
            "That is what is left for the real tokens.": real / n,
            "That is the weight of one padded key.": 1 / n,
        },
    )


@asks_why("decoder_mask")
def why_padded_queries_keep_their_rows(_: Random) -> Asked:
    return choice(
        "Padded keys are shut out. Why may the padded queries keep their rows?",
        "Nobody uses what they find: no real query looks at them, and the mean leaves them out.",
        {
            "Because their scores are 0.": "A score of 0 would count like any other.",
            "Because they look at real tokens, and that makes the real tokens' rows better.": (
                "A query changes its own row only: the others never see it."
            ),
            "Because minus infinity has been put there by the padding mask already.": (
                "It stands in their columns, as keys; their rows are open to real keys."
            ),
        },
        why="Row i of the answer is query i's alone. A row that is not used does no harm, and one "
        "that is emptied would have to be kept from 0/0 in the softmax.",
    )


@asks_why("apply_mask")
def why_before_the_softmax(draw: Random) -> Asked:
    first, second = draw.choice([(5, 3), (4, 2), (3, 5), (2, 4), (6, 2), (1, 4), (3, 3)])
    of_all = (first / 10, second / 10, (10 - first - second) / 10)
    return number(
        f"Without a mask, the softmax gives a query the weights {vector(of_all)}. It may not "
        "look at key 2. What is the weight of key 0, if the mask is applied before the softmax?",
        first / (first + second),
        digits=2,
        why="With a score of minus infinity key 2 gets 0, and keys 0 and 1 share the whole in "
        f"their old proportion, {first} to {second}. Masked afterwards the weights would sum to "
        f"{(first + second) / 10:g} only.",
        wrong={
            "So it would be after the softmax: the weights then no longer sum to 1.": of_all[0],
            "Key 1 gets its part of what is freed, too.": of_all[0] + of_all[2],
            "What is freed is shared in proportion, not in halves.": of_all[0] + of_all[2] / 2,
            "That is key 1.": second / (first + second),
        },
    )
