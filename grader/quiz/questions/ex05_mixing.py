"""Questions on chapter 5."""

from __future__ import annotations

from random import Random

from grader.quiz.arithmetic import columns, matrix, mixed
from grader.quiz.asked import Asked, choice, entries, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import grid, size, vector


@asks("linear_combination")
def two_tokens(draw: Random) -> Asked:
    first = draw.choice([2, 3, 7, 8]) / 10
    shares, tokens = (first, 1 - first), matrix(draw, 2, 2, 8)
    return number(
        f"The tokens {vector(tokens[0])} and {vector(tokens[1])} have the weights "
        f"{vector(shares)}. What is their linear combination?",
        mixed(shares, tokens),
        digits=1,
        why=f"{shares[0]:g} times the first token and {shares[1]:g} times the second, added "
        "entry by entry.",
        wrong={
            "That is the mean: the weights are not equal.": mixed((0.5, 0.5), tokens),
            "You gave each token the other's weight.": mixed(shares[::-1], tokens),
            "That is the sum: each token is to be multiplied by its weight first.": mixed(
                (1, 1), tokens
            ),
            "The weights belong to the tokens, not to their entries.": mixed(
                shares, columns(tokens)
            ),
        },
    )


@asks("mix_values")
def row_1_of_the_document(draw: Random) -> Asked:
    values = (-0.9285, 0.4676, 0.6143)
    query = draw.choice([0, 1])
    shares = ((1, 0, 0), (0.9546, 0.0454, 0))[query]
    return number(
        f"In document 002 the values begin with {vector(values)}, and row {query} of the weights "
        f"is {vector(shares)}. With which number does row {query} of the output begin?",
        mixed(shares, columns([values])),
        digits=2,
        why="A weight of 1 takes that value as it is: row 0 is v_0, for the first token sees only "
        "itself."
        if query == 0
        else "0.9546 times -0.9285 is -0.8864, and 0.0454 times 0.4676 is 0.0212. Value 2 gets the "
        "weight 0.",
        wrong={
            "That is the mean of all three: take the row's weights.": sum(values) / 3,
            "You gave value 1 the weight of value 0.": mixed(
                (shares[1], shares[0], 0), columns([values])
            ),
            "That is their sum: each value is multiplied by its weight.": sum(values),
        },
    )


@asks("mix_values")
def shape_of_a_mixture(draw: Random) -> Asked:
    batch, q, k, d_v = draw.sample([2, 3, 4, 5, 6, 7, 8], 4)
    return shape(
        f"weights is {size(batch, q, k)} and value is {size(batch, k, d_v)}. What is the shape "
        "of the output?",
        (batch, q, d_v),
        why="One row for each query, as wide as the values. The keys are what is added up over.",
        wrong={
            "The keys are added up over: a row is as wide as a value.": (batch, q, k),
            "There is one row for each query, not for each key.": (batch, k, d_v),
            "Rows are queries.": (batch, d_v, q),
            "The batch is missing.": (q, d_v),
        },
    )


@asks("attention")
def scores_that_are_all_equal(draw: Random) -> Asked:
    values = draw.sample(range(-9, 10), 4)
    left = sorted(draw.sample(range(4), 2))
    mask = [place in left for place in range(4)]
    return number(
        f"The query is (0, 0), the values are {', '.join(f'({value})' for value in values)}, and "
        f"the mask is {mask}. What does attention give?",
        sum(values[place] for place in left) / 2,
        digits=1,
        why="A query of zeros scores 0 with every key, so the weights of what the mask leaves are "
        f"equal: the mean of {values[left[0]]} and {values[left[1]]}.",
        wrong={
            "That is the mean of all four: two are masked.": sum(values) / 4,
            "You divided by 4: the masked keys get no weight, and the two that are left share 1.": (
                sum(values[place] for place in left) / 4
            ),
            "That is the sum: two weights of a half.": sum(values[place] for place in left),
            "You took those that are masked: True means that it may attend.": (
                sum(values[place] for place in range(4) if place not in left) / 2
            ),
            "Scores of 0 are no weights of 0: exp(0) = 1.": 0,
        },
    )


@asks("attention")
def shape_of_attention(draw: Random) -> Asked:
    q, k, d_k, d_v = draw.sample([2, 3, 4, 5, 6, 7, 8], 4)
    return shape(
        f"query is {size(q, d_k)}, key is {size(k, d_k)}, value is {size(k, d_v)}. What is the "
        "shape of the output of attention?",
        (q, d_v),
        why="As many rows as queries, as wide as the values. Keys and their width are used up on "
        "the way.",
        wrong={
            "It is as wide as the values, which need not be as wide as the keys.": (q, d_k),
            "That is the shape of the weights: they are still to be multiplied with the values.": (
                q, k,
            ),
            "There is one row for each query, not for each key.": (k, d_v),
        },
    )  # fmt: skip


@asks("self_attention")
def a_token_changes(draw: Random) -> Asked:
    n = draw.randint(4, 6)
    token = draw.randint(1, n - 2)
    return entries(
        f"Self-attention over {n} tokens, causal=True. Token {token}, counted from 0, is "
        "replaced by another word. Which rows of the output can change?",
        range(token, n),
        why="Its own row, as its query, key and value change, and the rows after it, which see "
        f"its key and value. The rows before {token} must not look ahead.",
        wrong={
            "Later tokens see it, too: as a key and as a value.": [token],
            "Its own row changes as well: it looks at itself.": range(token + 1, n),
            "Those come before it, and may not look ahead.": range(token + 1),
            "So it is without causal: earlier tokens do not see it.": range(n),
        },
    )


@asks("self_attention")
def the_first_row(draw: Random) -> Asked:
    tokens = matrix(draw, 3, 2, 5)
    factor = draw.choice([2, 3])
    return number(
        f"The tokens are {', '.join(map(vector, tokens))}, w_v is {factor} times the identity, and "
        "w_q and w_k are whatever they are. What is row 0 of self_attention with causal=True?",
        [factor * value for value in tokens[0]],
        why=f"Token 0 may look at nothing but itself, so its weight is 1, whatever its score: it "
        f"gets its own value, x w_v, which is {factor} times the token.",
        wrong={
            "That is the token: what is handed over is its value, x w_v.": tokens[0],
            "That is the sum of all tokens: token 0 sees only itself.": [
                factor * sum(column) for column in columns(tokens)
            ],
            "That is the last token's value: row 0 belongs to the first.": [
                factor * value for value in tokens[2]
            ],
        },
    )


@asks("cross_attention")
def shape_of_w_k(draw: Random) -> Asked:
    q, d, k, d_m, d_k = draw.sample([2, 3, 4, 5, 6, 7, 8, 9], 5)
    return shape(
        f"x is {size(q, d)}, memory is {size(k, d_m)}, and w_q is {size(d, d_k)}. What shape must "
        "w_k have?",
        (d_m, d_k),
        why="The keys are memory @ w_k, so it has as many rows as memory is wide. They meet the "
        "queries in a dot product, so both are equally wide.",
        wrong={
            "The keys come from memory, not from x.": (d, d_k),
            "memory stands on the left: memory @ w_k.": (d_k, d_m),
            "w_k maps widths: how many tokens there are has no part in it.": (k, d_k),
            "Keys must be as wide as queries: that is d_k.": (d_m, d),
        },
    )


@asks("cross_attention")
def a_memory_token_changes(draw: Random) -> Asked:
    q, k = draw.randint(2, 4), draw.randint(4, 6)
    token = draw.randrange(k)
    is_open = draw.choice([True, False])
    mask = [place != token or is_open for place in range(k)]
    every = list(range(q))
    return entries(
        f"cross_attention with {q} tokens in x and {k} in memory; memory_mask is {mask}. Memory "
        f"token {token} is replaced by another one. Which rows of the output can change?",
        every if is_open else [],
        why="Every query looks at every token of memory that is open, so all rows may change: "
        "there is no order between the two sequences."
        if is_open
        else f"Token {token} is masked, and its weight is exactly 0 for every query: it may be "
        "anything.",
        wrong={
            **(
                {"The mask is True there: that token may be looked at.": []}
                if is_open
                else {"The mask is False there: nobody looks at that token.": every}
            ),
            "Rows belong to the tokens of x, and each of them looks at all that is open.": (
                [token] if q > 1 else [0, 1]
            ),
        },
    )


@asks_why("linear_combination")
def why_weights_of_a_softmax(_: Random) -> Asked:
    return choice(
        "A linear combination takes any weights. Those of a softmax are positive and sum to 1. "
        "What does that say about the result?",
        "Its first number lies between the smallest and the largest first number of the tokens, "
        "and so on.",
        {
            "It is as long as the tokens are.": (
                "Two tokens that point away from each other cancel: (1, 0) and (-1, 0) give (0, 0)."
            ),
            "It is one of the tokens.": "Only if one weight is 1: otherwise it lies between them.",
            "It grows with the number of tokens.": "It would, if the weights did not sum to 1.",
        },
        why="It is an average, and stays among what it averages, over two tokens or two hundred: "
        "what comes next never sees numbers that are larger than the values.",
    )


@asks_why("mix_values")
def why_not_the_transpose(draw: Random) -> Asked:
    first, second = draw.choice([(9, 4), (8, 3), (7, 2), (6, 1)])
    table = [[first / 10, 1 - first / 10], [second / 10, 1 - second / 10]]
    a, b = draw.sample(range(10, 90, 10), 2)
    return number(
        f"Weights of two queries over two keys:\n\n{grid(table, 'key', 'query')}\n\nThe values are "
        f"({a}) and ({b}). Square weights also fit as W^T V. What would that give for row 0?",
        table[0][0] * a + table[1][0] * b,
        digits=1,
        why="It takes column 0: what both queries give to key 0. That is no mixture, for a column "
        f"sums to nothing in particular, here to {table[0][0] + table[1][0]:g}. W V takes the row.",
        wrong={
            "That is W V, the right one: W^T takes the column.": table[0][0] * a + table[0][1] * b,
            "That is row 1 of W^T V.": table[0][1] * a + table[1][1] * b,
            "That is row 1 of W V.": table[1][0] * a + table[1][1] * b,
        },
    )


@asks_why("attention")
def why_order_is_lost(_: Random) -> Asked:
    return choice(
        "Somebody shuffles the keys and the values, both in the same way, without a mask. What "
        "happens to the output?",
        "Nothing: it is the same.",
        {
            "Its rows are shuffled in the same way.": (
                "Rows belong to the queries, and these were left as they are."
            ),
            "Its columns are shuffled in the same way.": (
                "Columns are the features of the values: within a value nothing moved."
            ),
            "Everything changes, as other weights meet other values.": (
                "Each weight moves along with its key, and so with its value."
            ),
        },
        why="Each key keeps its score and its value, and a sum does not mind the order. Attention "
        "sees a bag of tokens: order has to be put into the tokens, as chapter 7 does, or into a "
        "mask.",
    )


@asks_why("self_attention")
def why_two_projections(draw: Random) -> Asked:
    score = draw.choice([3, -2, 5])
    return choice(
        "Why w_q and w_k, and not one weight for both? Let w_q = w_k, and the score of query 0 "
        f"with key 1 be {score}. What can be said of query 1 with key 0?",
        f"It is {score} as well.",
        {
            "Nothing: the tokens differ.": (
                "With one weight, query 1 is key 1 and query 0 is key 0: the same two vectors meet."
            ),
            f"It is {-score}.": "A dot product does not mind the order: a . b = b . a.",
            "It is 0.": "The same two vectors meet as in the other score.",
        },
        why="Query and key of a token would be one vector, and the scores symmetric: no token "
        "could score another higher than that one scores it. It would mostly find itself, too.",
    )


@asks_why("cross_attention")
def why_memory_is_worth_keeping(_: Random) -> Asked:
    return choice(
        "A translator reads a sentence, the memory, once, and then writes word after word, with "
        "cross-attention at each. What can it compute once, and keep?",
        "The keys and the values of memory.",
        {
            "The queries.": "They are made of the words being written: each brings a new one.",
            "The weights.": "They depend on the query, and that is new for each word.",
            "Nothing: every word changes everything.": (
                "memory @ w_k and memory @ w_v do not depend on what is written."
            ),
        },
        why="Keys and values come from memory alone, and memory does not change. Only the query of "
        "the new word has to be made, and then its scores with what is kept.",
    )
