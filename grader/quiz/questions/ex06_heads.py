"""Questions on chapter 6."""

from __future__ import annotations

from math import sqrt
from random import Random

from grader.quiz.arithmetic import dot, matrix
from grader.quiz.asked import Asked, choice, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import grid, size


@asks("split_heads")
def a_piece(draw: Random) -> Asked:
    heads, width = draw.choice([(2, 2), (2, 3), (3, 2)])
    d = heads * width
    x = [list(range(1 + d * i, 1 + d * (i + 1))) for i in range(2)]
    head, token = draw.randrange(heads), draw.randrange(2)
    flat = x[0] + x[1]
    start = (head * 2 + token) * width
    return number(
        f"x holds two tokens as rows:\n\n{grid(x)}\n\nSplit it into {heads} heads. What does head "
        f"{head} hold of token {token}? Both are counted from 0.",
        x[token][head * width : (head + 1) * width],
        why=f"Head {head} owns features {head * width} to {(head + 1) * width - 1} of every token: "
        "a head owns columns, never tokens.",
        wrong=_apart(
            x[token][head * width : (head + 1) * width],
            {
                "That is what a plain reshape into [n_heads, n, d_head] gives: it cuts tokens into "
                "pieces and mixes them up.": flat[start : start + width],
                "You dealt the features out in turn: a head owns a block of consecutive ones.": x[
                    token
                ][head::heads],
                "That is another head.": x[token][
                    (heads - 1 - head) * width : (heads - head) * width
                ],
                "That is the other token.": x[1 - token][head * width : (head + 1) * width],
            },
        ),
    )


def _apart(right: list[int], wrong: dict[str, list[int]]) -> dict[str, list[int]]:
    """Keep what differs from the answer and from what comes before it."""
    seen, kept = [right], {}
    for says, value in wrong.items():
        if value not in seen:
            seen.append(value)
            kept[says] = value
    return kept


@asks("split_heads")
def shape_of_the_pieces(draw: Random) -> Asked:
    heads, width = draw.sample([2, 3, 4, 8], 2)
    batch, n = draw.sample([5, 6, 7, 9], 2)
    return shape(
        f"x is {size(batch, n, heads * width)}. What is the shape of split_heads(x, {heads})?",
        (batch, heads, n, width),
        why=f"The {heads * width} features are folded in {heads} pieces of {width}, and the "
        "heads go before the tokens: so each head looks like a sequence of its own.",
        wrong={
            "The heads still have to go before the tokens.": (batch, n, heads, width),
            "Each head owns a part of the features, not all of them.": (
                batch, heads, n, heads * width,
            ),
            "That is as many heads as a head is wide: the two are swapped.": (
                batch, width, n, heads,
            ),
            "The batch stays apart from the heads, in front.": (batch * heads, n, width),
        },
    )  # fmt: skip


@asks("merge_heads")
def a_merged_row(draw: Random) -> Asked:
    pieces = [matrix(draw, 2, 2, 9) for _ in range(2)]
    token = draw.randrange(2)
    return number(
        f"Head 0 holds of the two tokens\n\n{grid(pieces[0])}\n\nand head "
        f"1\n\n{grid(pieces[1])}\n\nMerge the heads. What is the row of token {token}, counted "
        "from 0?",
        [*pieces[0][token], *pieces[1][token]],
        why=f"The pieces of one token stand side by side, head 0 first: row {token} of each head.",
        wrong={
            "That is one head: a plain reshape puts its tokens side by side.": [
                *pieces[token][0], *pieces[token][1],
            ],
            "That is the other token.": [*pieces[0][1 - token], *pieces[1][1 - token]],
            "Head 0 comes first.": [*pieces[1][token], *pieces[0][token]],
            "The heads take no turns: each puts its piece down as a block.": [
                value for pair in zip(pieces[0][token], pieces[1][token], strict=True)
                for value in pair
            ],
        },
    )  # fmt: skip


@asks("merge_heads")
def shape_of_what_is_merged(draw: Random) -> Asked:
    batch, heads, n, width = draw.sample([2, 3, 4, 5, 6, 7], 4)
    return shape(
        f"x is {size(batch, heads, n, width)}, as split_heads makes it. What is the shape of "
        "merge_heads(x)?",
        (batch, n, heads * width),
        why=f"Each of {n} tokens gets its {heads} pieces of {width} back, side by side.",
        wrong={
            "The pieces of a token go side by side, not one token after the other.": (
                batch, heads * n, width,
            ),
            "The tokens are rows again: the heads go into the features.": (
                batch, heads, n * width,
            ),
            "All heads' pieces are kept: they are joined, not added up.": (batch, n, width),
            "The batch stays as it is.": (n, heads * width),
        },
    )  # fmt: skip


@asks("multi_head")
def score_of_head_0(draw: Random) -> Asked:
    fixed = [[1, 2, 3, 4], [5, 6, 7, 8]]
    x = draw.choice([fixed, [[draw.randint(1, 5) for _ in range(4)] for _ in range(2)]])
    part = dot(x[0][:2], x[1][:2])
    return number(
        f"Every token is its own query, key and value, with two heads:\n\n{grid(x)}\n\nWhat is "
        "head 0's scaled score of token 0 for token 1?",
        part / sqrt(2),
        digits=2,
        why=f"Head 0 sees the first two features, {x[0][0]} * {x[1][0]} + {x[0][1]} * {x[1][1]} = "
        f"{part}, and scales by its own width: over sqrt(2).",
        wrong={
            "You scaled by sqrt(4), the width of the whole token: a head is 2 wide.": part / 2,
            "That is not scaled yet.": part,
            "That is one head over all four features: head 0 sees the first two.": dot(*x) / 2,
            "These are all four features, over sqrt(2): head 0 sees the first two.": (
                dot(*x) / sqrt(2)
            ),
            "That is head 1.": dot(x[0][2:], x[1][2:]) / sqrt(2),
        },
    )


@asks("multi_head")
def room_for_the_heads(draw: Random) -> Asked:
    batch, heads, q, k = draw.sample([2, 3, 4, 5, 6, 7], 4)
    return shape(
        f"The scores of all heads are {size(batch, heads, q, k)}, and the mask is "
        f"{size(batch, q, k)}. What shape must the mask get?",
        (batch, 1, q, k),
        why="A 1 in the heads' place serves every head of its own sequence. As it is, the mask is "
        "lined up from the right, and its batch meets the heads.",
        wrong={
            "So its batch meets the heads: the 1 belongs after the batch.": (1, batch, q, k),
            "The 1 belongs in the heads' place, not in the queries'.": (batch, q, 1, k),
            "As it is, its batch meets the heads.": (batch, q, k),
        },
    )


@asks("multi_head")
def how_many_softmaxes(draw: Random) -> Asked:
    heads, width, n = draw.choice([2, 4, 8]), draw.choice([3, 5]), draw.choice([6, 7, 10])
    return number(
        f"{n} tokens, {heads * width} wide, look at each other with {heads} heads. How many "
        "weights sum to 1 in each softmax, with no mask?",
        n,
        why=f"Each row of scores of each head has one score for each of the {n} keys. The features "
        "are what is added up over in a score.",
        wrong={
            "That is what a head owns of the features: the softmax runs over the keys.": width,
            "Those are the features: the softmax runs over the keys.": heads * width,
            "Each head has a softmax of its own: the heads share nothing.": heads * n,
            "The heads share nothing: each has a softmax of its own.": heads,
        },
    )


@asks("MultiHeadAttention")
def how_many_parameters(draw: Random) -> Asked:
    d = draw.choice([4, 6, 8, 10])
    heads = draw.choice([2, d // 2])
    return number(
        f"How many numbers does MultiHeadAttention(d_model={d}, n_heads={heads}) learn, with "
        "biases?",
        4 * (d * d + d),
        why=f"Four layers of {d} x {d} weights and {d} biases. The number of heads has no part "
        "in it: they share out one projection among them.",
        wrong={
            "The biases are missing: each layer has one of them for each feature.": 4 * d * d,
            "There are four layers: w_q, w_k, w_v and w_o.": 3 * (d * d + d),
            "The heads share out one projection: they do not each have one as wide.": (
                (3 * heads + 1) * (d * d + d)
            ),
            "That is one layer of four.": d * d + d,
        },
    )


@asks("MultiHeadAttention")
def shape_with_a_memory(draw: Random) -> Asked:
    batch, n, k = draw.sample([2, 3, 5, 6, 7], 3)
    d, heads = draw.choice([(8, 2), (12, 4), (16, 4)])
    return shape(
        f"layer = MultiHeadAttention(d_model={d}, n_heads={heads}), x is {size(batch, n, d)}, "
        f"memory is {size(batch, k, d)}. What is the shape of layer(x, memory)?",
        (batch, n, d),
        why="One new row for each token of x, which asks, and as wide as before: the heads are "
        "joined, and w_o keeps the width.",
        wrong={
            "The rows belong to the tokens that ask, those of x.": (batch, k, d),
            "The heads are joined again at the end.": (batch, heads, n, d // heads),
            "That is one head: the answers of all are joined.": (batch, n, d // heads),
            "Those are the weights: they are still to be multiplied with the values.": (
                batch, n, k,
            ),
        },
    )  # fmt: skip


@asks_why("split_heads")
def why_not_one_reshape(draw: Random) -> Asked:
    n, width = draw.choice([(4, 2), (6, 3), (8, 4)])
    return choice(
        f"x is {size(n, 2 * width)}, for two heads. Somebody writes x.reshape(2, {n}, {width}) and "
        "nothing more. What does head 0 then hold?",
        f"The first {n // 2} tokens, each cut in two; it sees nothing of the others.",
        {
            f"The first {width} features of every token: it is right.": (
                "A reshape reads row by row, so it takes all of token 0 before it comes to token 1."
            ),
            "Nothing: an error says that the sizes do not fit.": (
                f"{2 * n * width} numbers fit into [2, {n}, {width}] well enough."
            ),
            "Every second feature of every token.": (
                "A reshape reads row by row: it leaves nothing out."
            ),
        },
        why="The shape is right and nothing crashes, but the axis called heads then runs over "
        "tokens: pieces of one token look at each other. Fold the features first, then swap heads "
        "and tokens.",
    )


@asks_why("merge_heads")
def why_not_add_up(_: Random) -> Asked:
    return choice(
        "Why are the heads' answers put side by side, and not added up, before W_O?",
        "W_O can then give each head a matrix of its own; in a sum they could not be told apart.",
        {
            "A sum would have the wrong width for W_O.": (
                "It would be d_head wide, and W_O could be made to fit: that is no reason."
            ),
            "A sum would let no gradients through.": "It lets them through, the same to each head.",
            "There is no difference: W_O adds them up anyway.": (
                "It does, but only after each head's piece met rows of W_O of its own."
            ),
        },
        why="Concat(head_i) W_O is a sum as well: of each head times its own block of rows of W_O. "
        "So the model learns what to make of each head's finding.",
    )


@asks_why("multi_head")
def why_heads_cost_nothing(draw: Random) -> Asked:
    n, d, heads = draw.choice([10, 20]), draw.choice([16, 32, 64]), draw.choice([4, 8])
    return number(
        f"The scores of one head over {n} tokens, {d} wide, take {n} * {n} * {d} multiplications. "
        f"How many times as many do those of {heads} heads together take, at the same width of the "
        "token?",
        1,
        why=f"There are {heads} times as many scores, and each adds up {d // heads} products "
        f"instead of {d}. Several questions for the price of one: only the softmaxes become more.",
        wrong={
            f"There are {heads} times as many scores, but each is {heads} times as short.": heads,
            "Each score is that much shorter, but there are more of them as well.": 1 / heads,
            "The heads do not look at each other.": heads * heads,
        },
    )


@asks_why("MultiHeadAttention")
def why_one_bias_does_nothing(_: Random) -> Asked:
    return choice(
        "Four layers have a bias. One of these four changes nothing at all in the output, whatever "
        "it is. Which?",
        "That of w_k.",
        {
            "That of w_q.": (
                "It adds b . k_j to score j: another number for each key, so the weights change."
            ),
            "That of w_v.": (
                "As weights sum to 1, it is added to every mixture, and goes through w_o."
            ),
            "That of w_o.": "It is added to every row of the output.",
        },
        why="It adds the same number, q_i . b, to every score of query i, and a softmax does not "
        "see what is added to a whole row.",
    )
