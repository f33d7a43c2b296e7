"""Questions on chapter 13."""

from __future__ import annotations

import math
from random import Random

from grader.quiz.asked import Asked, choice, entries, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import size, vector


@asks("rms_norm")
def row_by_hand(draw: Random) -> Asked:
    small, large, rms = draw.choice([(1, 7, 5), (7, 17, 13), (7, 23, 17), (2, 14, 10)])
    times = draw.choice([2, 3, 4])
    wanted = times * large / rms
    return number(
        f"The row {vector((small, large))} goes through rms_norm, with a weight of {times} for both"
        " features and an eps that is too small to be seen. What is the second number, to three "
        "decimals?",
        wanted,
        why=f"The squares are {small**2} and {large**2}, their mean is {rms**2}, its root {rms}: "
        f"{large} / {rms} * {times}.",
        wrong={
            "The squares have a mean, and not a sum, under the root.": wanted / math.sqrt(2),
            "That is LayerNorm, which takes the mean away: nothing is subtracted here.": times,
            "The root of the mean is missing.": wanted / rms,
            "The weight is missing.": large / rms,
        },
        digits=3,
    )


@asks("rms_norm")
def row_made_longer(draw: Random) -> Asked:
    times, first, other = draw.choice([(3, 0.6, 1.2), (10, 0.2, 1.4), (5, 0.5, 1.3)])
    return number(
        f"rms_norm makes {vector((first, other))} of a row, with weights of 1 and a tiny eps. What "
        f"does it make of the first number of the same row, if every number is {times} times as "
        "large? One decimal.",
        first,
        why="The root of the mean of the squares grows as the row does, so that their ratio stays.",
        wrong={
            "The row is divided by its own size, which has grown as well.": times * first,
            "The squares grow with the square, and their root does not.": first / times,
            "The sign does not change.": -first,
        },
        digits=1,
    )


@asks("DecoderBlock")
def numbers_in_a_block(draw: Random) -> Asked:
    d, heads, groups = draw.choice([(8, 4, 2), (12, 6, 2), (16, 4, 1)])
    hidden = draw.choice([20, 30, 50])
    narrow = d // heads * groups
    attention, gated = 2 * d * d + 2 * d * narrow, 3 * d * hidden
    return number(
        f"How many numbers are the weights of DecoderBlock({d}, {heads}, {groups}, {hidden})?",
        attention + gated + 2 * d,
        why=f"The attention has {d} * {d} twice and {d} * {narrow} twice, the gated network {d} * "
        f"{hidden} three times, and there are two norms of {d}.",
        wrong={
            "Both norms have weights, too.": attention + gated,
            "gate, up and down are three.": attention + 2 * d * hidden + 2 * d,
            "Keys and values have fewer heads.": 4 * d * d + gated + 2 * d,
            "Each norm is a vector, and there are two.": attention + gated + d,
        },
    )


@asks("DecoderBlock")
def gate_by_hand(draw: Random) -> Asked:
    odds, up = draw.choice([(3, 4), (3, 8), (4, 5), (7, 2)])
    gate, share = math.log(odds), odds / (odds + 1)
    return number(
        f"For one hidden feature `gate` gives log {odds} = {gate:.4f}, and `up` gives {up}. What "
        "goes into `down`? Three decimals.",
        gate * share * up,
        why=f"sigmoid(log {odds}) = {odds}/{odds + 1}, so silu is {gate:.4f} * {odds}/{odds + 1}, "
        f"and that times {up}.",
        wrong={
            "silu stands on `gate`, not on `up`.": up / (1 + math.exp(-up)) * gate,
            "silu(z) is z * sigmoid(z): this is the sigmoid alone.": share * up,
            "There is no silu in it.": gate * up,
            "They are multiplied, not added.": gate * share + up,
        },
        digits=3,
    )


@asks("Decoder")
def shape_of_logits(draw: Random) -> Asked:
    batch, n, vocabulary, d = draw.choice([(2, 5, 11, 12), (3, 7, 13, 16), (4, 6, 17, 24)])
    held = draw.choice([3, 8, 9])
    return shape(
        f"A Decoder({vocabulary}, {d}, n_layers=2, n_heads=2) has read {held} words of each text "
        f"into its caches. Then it is called with ids {size(batch, n)} and these caches. What is "
        "the shape of the logits?",
        (batch, n, vocabulary),
        why="Each new word has a row of logits, one for each word of the vocabulary; what the "
        "caches hold has had its rows before.",
        wrong={
            "Only the new words get rows.": (batch, held + n, vocabulary),
            "All new words get rows, not the last one alone.": (batch, vocabulary),
            "The head makes the rows as wide as the vocabulary.": (batch, n, d),
        },
    )


@asks("Decoder")
def numbers_of_the_head(draw: Random) -> Asked:
    vocabulary, d = draw.choice([(1000, 64), (5000, 32), (2000, 128)])
    return number(
        f"A Decoder has a vocabulary of {vocabulary} words and a d_model of {d}. How many numbers "
        "would it save if `head` and `embedding` were one matrix, as in GPT-2?",
        vocabulary * d,
        why=f"Both are {vocabulary} times {d}, and one of them would do.",
        wrong={
            "One of the two stays.": 2 * vocabulary * d,
            "A matrix has a row for each word, as wide as d_model.": vocabulary + d,
            "The last norm is not tied.": vocabulary * d + d,
        },
    )


ROWS = ((1, 2, 1), (5, 2, 1), (3, 4, 1))


def _cost(share: float) -> float:
    return -math.log(share)


@asks("next_token_loss")
def not_shifted_by_hand(draw: Random) -> Asked:
    del draw
    shares = [[one / sum(row) for one in row] for row in ROWS]
    right = (_cost(shares[0][1]) + _cost(shares[1][2])) / 2
    alone = sum(_cost(shares[i][i]) for i in range(3)) / 3
    return number(
        "The chapter's example by hand: ids 0, 1, 2, and shares of 1/4 1/2 1/4, then 5/8 2/8 1/8, "
        "then 3/8 4/8 1/8. What would the loss be if nobody shifted the ids? Three decimals.",
        alone,
        why="Row i would be asked for word i: 1/4, 2/8 and 1/8, and the mean of their minus logs "
        "is (2 + 2 + 3) / 3 * log 2.",
        wrong={
            "So it is with the shift, or if the last row did not count.": right,
            "That is the wrong way round: row i asked for word i - 1.":
                (_cost(shares[1][0]) + _cost(shares[2][1])) / 2,
            "It is the mean, not the sum.": 3 * alone,
        },
        digits=3,
    )  # fmt: skip


@asks("next_token_loss")
def rows_that_count(draw: Random) -> Asked:
    n = draw.choice([4, 5, 6])
    return entries(
        f"A text has {n} words. Which rows of logits have an influence on the loss? They are "
        "counted from 0.",
        range(n - 1),
        why=f"Row i guesses word i + 1, and there is no word {n}.",
        wrong={
            "The last row has nothing to guess.": range(n),
            "Row 0 guesses word 1.": range(1, n),
            "Row 0 guesses word 1, and the last row nothing.": range(1, n - 1),
        },
    )


@asks("next_token_loss")
def loss_of_a_beginner(draw: Random) -> Asked:
    vocabulary, n = draw.choice([(8, 5), (16, 7), (32, 9), (64, 4)])
    right = math.log(vocabulary)
    return number(
        f"All logits are 0. The vocabulary has {vocabulary} words, and the text {n}. What is the "
        "loss? Two decimals.",
        right,
        why=f"Each word has a share of 1/{vocabulary}, so each guess costs log {vocabulary}, and so"
        " does their mean.",
        wrong={
            "It is the natural logarithm, not that to base 2.": right / math.log(2),
            "It is the mean, not the sum.": (n - 1) * right,
            "Nobody is sure of anything: it is not 0.": 0,
        },
        digits=2,
    )


@asks("generate")
def words_that_are_fed(draw: Random) -> Asked:
    n, steps = draw.choice([(10, 90), (5, 20), (8, 12), (100, 50)])
    whole = sum(range(n, n + steps))
    return number(
        f"A prompt has {n} words, and {steps} words are written. How many words is the model fed "
        "with caches, if nothing is fed whose logits nobody needs?",
        n + steps - 1,
        why=f"The prompt, {n}, writes the first word, and each further word needs the one before it"
        ": the last one need not be fed.",
        wrong={
            "The last word need not be fed: nobody asks what follows it.": n + steps,
            "So it would be if the whole text were fed in each step.": whole,
            "The prompt has to be fed, too.": steps,
            "The prompt is fed once, not in each step.": n * steps,
        },
    )


@asks("generate")
def share_at_a_temperature(draw: Random) -> Asked:
    odds, power = draw.choice([(3, 2), (3, 3), (2, 3), (4, 2)])
    share = odds**power / (odds**power + 1)
    return number(
        f"Two words have the logits 0 and log {odds} = {math.log(odds):.4f}. With which share is "
        f"the second one drawn at temperature 1/{power}? Three decimals.",
        share,
        why=f"log {odds} divided by 1/{power} is {power} * log {odds} = log {odds**power}: "
        f"{odds**power} to 1.",
        wrong={
            "That is the share at temperature 1.": odds / (odds + 1),
            "The logits are divided by the temperature, not multiplied.":
                odds ** (1 / power) / (odds ** (1 / power) + 1),
            "That is the share of the first word.": 1 - share,
        },
        digits=3,
    )  # fmt: skip


@asks("generate")
def temperature_of_a_share(draw: Random) -> Asked:
    odds, power = draw.choice([(3, 2), (3, 3), (2, 2), (2, 4)])
    return number(
        f"Two words have the logits 0 and log {odds} = {math.log(odds):.4f}. At which temperature "
        f"is the second one drawn with a share of {odds**power}/{odds**power + 1}? Two decimals.",
        1 / power,
        why=f"The odds have to be {odds**power} = {odds}^{power} to 1, so the logit has to become "
        f"{power} times as large.",
        wrong={
            "A temperature above 1 makes shares more alike.": power,
            "At temperature 1 the share would be that of the logits themselves.": 1,
        },
        digits=2,
    )


@asks_why("rms_norm")
def why_float32(draw: Random) -> Asked:
    value = draw.choice([300, 400, 1000])
    return choice(
        f"A feature of a float16 row is {value}. Why does rms_norm go to float32 before it squares?"
        "",
        f"{value} * {value} is more than float16 can hold, and becomes infinity",
        {
            f"{value} cannot be written in float16": "It can: up to 65504 goes.",
            "the root of a mean is not defined in float16": "It is, as any operation.",
            "eps is larger than 1 in float16": "It is tiny there, and far below this mean.",
        },
        why="A row of infinite size would be divided to zeros. float32 has the same digits to spare"
        " and a far larger range.",
    )


@asks_why("DecoderBlock")
def why_pre_norm(draw: Random) -> Asked:
    layers = draw.choice([12, 24, 48])
    return choice(
        f"A model has {layers} blocks. What is gained when each norm stands on the branch, x + "
        "f(norm(x)), and not behind the sum, norm(x + f(x))?",
        "from the last block to the first there is a way that no norm stands in",
        {
            "the numbers of x never grow": "They do: every block adds to them, so one more norm "
            "stands before the head.",
            "half of the norms can be left out": "There are as many, and one more before the head.",
            "the branch no longer needs weights": "It has all of them.",
        },
        why="x goes through all sums as it is, and so do its gradients. With norms behind the sums "
        "each of them scales the gradients anew.",
    )


@asks_why("Decoder")
def why_a_last_norm(draw: Random) -> Asked:
    layers = draw.choice([2, 12, 32])
    return choice(
        f"Why is there one more norm between the last of {layers} blocks and the head?",
        "no norm has seen the last sum, which has grown with each block",
        {
            "the head would turn the tokens otherwise": "The head is a layer without positions.",
            "the blocks have no norms of their own": "They have two each, on their branches.",
            "it makes shares of the logits": "That is the softmax, in the loss or in generate.",
        },
        why="In a block the norms stand on the branches. The sum itself goes on as it is, and is "
        "larger the more blocks have added to it.",
    )


@asks_why("next_token_loss")
def why_all_rows(draw: Random) -> Asked:
    n = draw.choice([20, 100, 1000])
    return choice(
        f"A text of {n} words trains a decoder in one pass, on {n - 1} guesses. Why can it not "
        "simply look up the word that it has to guess?",
        "the causal mask hides all later words from each row",
        {
            "the loss hides them": "The loss sees everything; it only compares.",
            "the embedding does not know them": "The words are all in `ids`, and embedded.",
            "positions are not counted so far": "Positions tell how far words are apart, and hide "
            "nothing.",
        },
        why="Row i is made of the words up to i. Word i + 1 has no way into it, so all rows can be "
        "worked out at once, and each is an honest guess.",
    )


@asks_why("generate")
def why_prompt_at_once(draw: Random) -> Asked:
    n = draw.choice([50, 200, 1000])
    return choice(
        f"A prompt of {n} words is fed in one call, and what is written word by word. Why not "
        "everything in one call?",
        "a word that is written has to be known before the next one can be asked for",
        {
            "the caches hold only one word at a time": "They take pieces of any size.",
            "logits come for the last word only": "They come for each word of a piece.",
            "the mask allows no pieces": "It is made for any piece, aligned at the bottom right.",
        },
        why="The words of the prompt are all known, and their rows can be worked out side by side. "
        "The new ones come one after the other.",
    )
