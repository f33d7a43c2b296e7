"""Questions on chapter 1."""

from __future__ import annotations

from random import Random

from grader.quiz.arithmetic import columns, dot, matrix, several, times
from grader.quiz.asked import Asked, choice, entries, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import grid, size, term, vector

Rows = list[list[int]]


@asks("dot_product")
def query_0_with_key_1(_: Random) -> Asked:
    query, other = (-1.6964, 1.3355, -0.5133, 0.0674), (0.6023, -0.7260, 1.1799, 0.2383)
    key = (-0.6521, 4.4224, -3.7460, -1.2657)
    return number(
        f"In document 002 query 0 is {vector(query)} and key 1 is {vector(key)}. What is their "
        "score?",
        dot(query, key),
        digits=2,
        why="1.1062 + 5.9061 + 1.9228 - 0.0853 = 8.8498: two numbers of one sign add to the score, "
        "two of unlike signs take from it.",
        wrong={
            "That is the score of query 0 with key 0.": dot(query, other),
            "The last product is negative: it is taken away.": dot(query, key) + 2 * 0.0853,
            "The signs are lost: minus times minus is plus, plus times minus is minus.": -dot(
                query, key
            ),
        },
    )


@asks("dot_product")
def small_vectors(draw: Random) -> Asked:
    a, b = several(draw, 3, 4), several(draw, 3, 4)
    return number(
        f"What is the dot product of {vector(a)} and {vector(b)}?",
        dot(a, b),
        why="Multiply entry by entry, and add everything up: "
        + " + ".join(term(x * y) for x, y in zip(a, b, strict=True))
        + ".",
        wrong={
            "A sign is lost: plus times minus is minus.": sum(
                abs(x * y) for x, y in zip(a, b, strict=True)
            ),
            "You added up each vector first: multiply entry by entry, then add.": sum(a) * sum(b),
            "You added the entries: they are multiplied, pair by pair.": sum(a) + sum(b),
        },
    )


@asks("naive_scores")
def one_token_doubled(draw: Random) -> Asked:
    n = draw.choice([3, 4])
    token = draw.randrange(n)
    cross = [(i, j) for i in range(n) for j in range(n) if token in (i, j)]
    return entries(
        f"No two of {n} tokens are orthogonal. Token {token}, counted from 0, is multiplied by 2. "
        f"Which of the naive scores {size(n, n)} change?",
        cross,
        why=f"Row {token} and column {token}: entry (i, j) is token i times token j, so that "
        f"token has a part in both. They double, and entry ({token}, {token}), its squared "
        "length, becomes four times as large.",
        wrong={
            "The column, too: the token is scored by the others as well.": [
                (token, j) for j in range(n)
            ],
            "The row, too: the token scores the others as well.": [(i, token) for i in range(n)],
            "Not only with itself: its scores with the others change, too.": [(token, token)],
            "Entries that have nothing to do with this token stay.": [
                (i, j) for i in range(n) for j in range(n)
            ],
        },
    )


@asks("naive_scores")
def batch_of_tokens(draw: Random) -> Asked:
    batch, n, d = draw.sample([2, 3, 4, 5, 6, 7], 3)
    return shape(
        f"tokens is {size(batch, n, d)}. What is the shape of the naive scores?",
        (batch, n, n),
        why=f"Each of the {batch} sequences scores its {n} tokens against the same {n}. The width "
        f"{d} is what the products are added up over: it is gone.",
        wrong={
            "That is the shape of the tokens: the width is added up, the tokens meet the tokens.": (
                batch, n, d,
            ),
            "You added up over the tokens: add up over the width.": (batch, d, d),
            "A token is scored against its own sequence only: the batch stays apart.": (
                batch * n, batch * n,
            ),
            "The batch is missing: each sequence has scores of its own.": (n, n),
        },
    )  # fmt: skip


@asks("project_rows")
def shape_of_a_projection(draw: Random) -> Asked:
    batch, n, d_in, d_out = draw.sample([2, 3, 4, 5, 6, 7, 8], 4)
    return shape(
        f"x is {size(batch, n, d_in)}, tokens as rows, and weight is {size(d_in, d_out)}. What "
        "is the shape of project_rows(x, weight)?",
        (batch, n, d_out),
        why=f"Every token goes from {d_in} numbers to {d_out}; how many tokens there are, and in "
        "how many sequences, does not change.",
        wrong={
            "The width changes: the weight makes new vectors.": (batch, n, d_in),
            "The tokens stay where they are, one per row: their width changes.": (batch, d_out, n),
            "The batch stays: the weight is one matrix for all of it.": (n, d_out),
        },
    )


@asks("project_rows")
def row_times_matrix(draw: Random) -> Asked:
    token, weight, bias = several(draw, 2), matrix(draw, 2, 2), several(draw, 2, 9)
    plain, turned = times(token, weight), times(token, columns(weight))
    return number(
        f"The token {vector(token)} is a row, the bias is {vector(bias)}, and the weight "
        f"[d_in, d_out] is\n\n{grid(weight)}\n\nWhat does project_rows make of the token?",
        [a + b for a, b in zip(plain, bias, strict=True)],
        why="x W + b: output number j is the token times column j of the weight, and the bias on "
        "top.",
        wrong={
            "You took the rows of the weight: that is x W^T, as nn.Linear does.": [
                a + b for a, b in zip(turned, bias, strict=True)
            ],
            "The bias is missing.": plain,
        },
    )


@asks("project_linear")
def weight_of_nn_linear(draw: Random) -> Asked:
    token, weight = several(draw, 2), matrix(draw, 2, 2)
    return number(
        f"A layer nn.Linear(2, 2, bias=False) has as its weight\n\n{grid(weight)}\n\nWhat does it "
        f"make of the token {vector(token)}?",
        times(token, columns(weight)),
        why="nn.Linear stores one row for each number that it puts out: x W^T. Number j is the "
        "token times row j.",
        wrong={
            "You took the columns of the weight: that is x W, without the transpose.": times(
                token, weight
            )
        },
    )


def _beside(one: str, x: Rows, other: str, weight: Rows) -> str:
    """Draw two matrices of two rows side by side."""
    return grid([[one, *x[0], other, *weight[0]], ["", *x[1], "", *weight[1]]])


@asks("project_columns")
def bias_of_columns(draw: Random) -> Asked:
    tokens, weight, bias = matrix(draw, 2, 2), matrix(draw, 2, 2), several(draw, 2, 9)
    product = [times(row, tokens) for row in weight]
    return number(
        "Two tokens stand upright, as the columns of x, with the weight W and the bias b = "
        f"{vector(bias)}.\n\n{_beside('x =', tokens, 'W =', weight)}\n\nWhat is the top row of "
        "W x + b 1^T?",
        [value + bias[0] for value in product[0]],
        why=f"The top row holds the first number of each token, and both get the first number of "
        f"the bias, {bias[0]}: a column gets the whole bias.",
        wrong={
            "Your bias lies along the row: token 0 got one part of it, and token 1 the other.": [
                product[0][0] + bias[0], product[0][1] + bias[1],
            ],
            "The bias is missing.": product[0],
            "That is the first column: what token 0 becomes.": [
                product[0][0] + bias[0], product[1][0] + bias[1],
            ],
            "You multiplied x W: the weight stands on the left.": [
                value + bias[0] for value in times(tokens[0], weight)
            ],
        },
    )  # fmt: skip


@asks("dot_product_scores")
def the_other_way_round(draw: Random) -> Asked:
    query, key = matrix(draw, 2, 2, 4), matrix(draw, 2, 2, 4)
    return number(
        f"The queries are {vector(query[0])} and {vector(query[1])}, the keys {vector(key[0])} "
        f"and {vector(key[1])}. Query 0 with key 1 has the score {dot(query[0], key[1])}. What "
        "has query 1 with key 0?",
        dot(query[1], key[0]),
        why="Other vectors meet: query 1 is what token 1 looks for, key 0 what token 0 offers. "
        "Only naive scores are the same both ways.",
        wrong={
            "That is query 0 with key 1 again: these scores are not symmetric.": dot(
                query[0], key[1]
            ),
            "That is query 0 with key 0.": dot(query[0], key[0]),
            "That is query 1 with key 1.": dot(query[1], key[1]),
            "These are the two queries: a query meets a key.": dot(query[0], query[1]),
        },
    )


@asks("dot_product_scores")
def shape_of_scores(draw: Random) -> Asked:
    batch, q, k, d_k = draw.sample([2, 3, 4, 5, 6, 7, 8], 4)
    return shape(
        f"query is {size(batch, q, d_k)} and key is {size(batch, k, d_k)}. What is the shape of "
        "the scores?",
        (batch, q, k),
        why="One row for each query, one column for each key, in every sequence. The width is "
        "added up over.",
        wrong={
            "That is K Q^T: queries are rows, keys are columns.": (batch, k, q),
            "They are as many as there are keys, not as wide as the queries.": (batch, q, d_k),
            "You added up over the positions: add up over the width.": (batch, d_k, d_k),
            "The batch is missing: each sequence has scores of its own.": (q, k),
        },
    )


@asks_why("dot_product")
def why_not_the_cosine(draw: Random) -> Asked:
    times_ = draw.choice([2, 3])
    return choice(
        "Why a dot product and not the cosine, which divides it by both lengths? Let a query "
        f"become {times_} times as long. What happens to its scores, and to its cosines?",
        f"The scores become {times_} times as large, the cosines stay.",
        {
            "Both stay: only the direction counts.": (
                "The dot product grows with the lengths of the vectors."
            ),
            f"Both become {times_} times as large.": (
                "The cosine divides by the length, so it does not see it."
            ),
            f"The scores become {times_**2} times as large, the cosines stay.": (
                "Only one of the two vectors got longer."
            ),
        },
        why="A dot product keeps the length. So a model can say how sure it is: a longer query "
        "sets its scores further apart, and its weights get sharper.",
    )


@asks_why("naive_scores")
def why_two_vectors(_: Random) -> Asked:
    return choice(
        "Why does a token get a query and a key? Which of these can naive scores, of tokens "
        "against themselves, never be?",
        "Token 0 scores token 1 with 3, and token 1 scores token 0 with -2.",
        {
            "Token 0 scores token 1 with -2.": (
                "A dot product is negative where two tokens point away from each other."
            ),
            "Token 0 scores token 1 higher than itself.": (
                "It can: if token 1 is much longer, t_0 . t_1 is larger than t_0 . t_0."
            ),
            "Token 0 scores token 1 and token 2 alike.": (
                "It can: two tokens may lie in the same way to token 0."
            ),
        },
        why="a . b = b . a, so naive scores are symmetric. What a token looks for and what it "
        "offers are two things: a verb may look for its noun without the noun looking back.",
    )


@asks_why("project_rows")
def why_the_place_does_not_count(_: Random) -> Asked:
    return choice(
        "Tokens 0 and 2 of a sequence are the same word, so rows 0 and 2 of x are equal. What "
        "can be said of rows 0 and 2 of x W + b?",
        "They are equal, whatever W and b are.",
        {
            "They are equal only without a bias.": "Every row gets the same bias.",
            "They differ, as they stand in different places.": (
                "The place has no part in x W + b: every row meets the same W."
            ),
            "That depends on the token between them.": (
                "A projection maps every token by itself; tokens first meet in the scores."
            ),
        },
        why="Every token goes through the same weight, by itself. So attention knows nothing of "
        "order, unless something is added that tells it: the positional encoding of chapter 7.",
    )


@asks_why("project_linear")
def why_mind_the_square_weight(draw: Random) -> Asked:
    d = draw.choice([8, 64, 512])
    return choice(
        f"The weight is {size(d, d)}, as nn.Linear stores it, and somebody forgets the transpose. "
        "What happens?",
        "The shape is right, nothing is said, and the numbers are wrong.",
        {
            "An error about sizes that do not fit.": (
                "A square weight fits both ways: only d_in and d_out that differ would stop it."
            ),
            "The numbers are right, as a square weight is its own transpose.": (
                "Only a symmetric weight is; a learned one hardly ever."
            ),
            "The result is transposed, and comes right again in Q K^T.": (
                "x W is not the transpose of x W^T, and W_Q and W_K are two different weights."
            ),
        },
        why="x W mixes the tokens' numbers by the columns of W, x W^T by its rows, and both fit. "
        "Training hides it too, as it finds another W: it shows only against weights from "
        "elsewhere.",
    )


@asks_why("project_columns")
def why_both_ways_are_right(draw: Random) -> Asked:
    d_in, d_out = draw.sample([2, 3, 4, 5, 6], 2)
    n = draw.choice([7, 8, 9])
    return shape(
        f"With tokens as rows, Q = X W_Q is {size(n, d_out)} and the scores are Q K^T. Document "
        f"003 has tokens as columns: x is {size(d_in, n)}, Q = W_q x. There the scores are Q^T "
        "K. What is their shape?",
        (n, n),
        why=f"W_q x is {size(d_out, n)}, the transpose of X W_Q, so its transpose goes in front: "
        "Q^T K has the very numbers of Q K^T. Which product is right depends on how the tokens "
        "lie.",
        wrong={
            "That would be Q K^T of columns: it adds up over the tokens.": (d_out, d_out),
            "That is Q itself: the scores are tokens against tokens.": (d_out, n),
            "The tokens are projected first, and then meet each other.": (d_in, d_in),
        },
    )


@asks_why("dot_product_scores")
def why_queries_are_rows(draw: Random) -> Asked:
    q, k = draw.sample([3, 4, 5, 6], 2)
    return number(
        f"There are {q} queries and {k} keys. Later the weights of each row must sum to 1. "
        "Somebody hands on K Q^T in the place of Q K^T. To what do all weights of one query then "
        "sum, if all scores are equal?",
        k / q,
        digits=2,
        why=f"The rows are keys now, so each key shares out 1 over {q} queries: 1/{q} for each. A "
        f"query collects {k} of these, and is no mixture of values any more.",
        wrong={
            "So it should be: but now the rows, which sum to 1, belong to the keys.": 1,
            "That is one weight: a query has one from each key.": 1 / q,
            "You have it upside down: a row of K Q^T has a number for each query.": q / k,
        },
    )
