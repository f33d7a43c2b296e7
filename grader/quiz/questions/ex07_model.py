"""Questions on chapter 7."""

from __future__ import annotations

from math import cos, exp, log, sin
from random import Random

from grader.quiz.arithmetic import dot, matrix
from grader.quiz.asked import Asked, choice, number, shape
from grader.quiz.question import asks, asks_why
from grader.quiz.written import grid, size, term, vector

WORDS = ("not", "do", "like", "hate")
# the head of the chapter's text: weights and bias of each word
HEAD = ((-1, 0, 0), (0, 1, 0), (0.5, 1, 0), (1, -1, -0.5))


@asks("positional_encoding")
def row_of_position_0(draw: Random) -> Asked:
    d = draw.choice([3, 4, 5, 6])
    return number(
        f"What is the first row of positional_encoding(9, {d})?",
        [i % 2 for i in range(d)],
        why="Position 0 makes every angle 0: sin 0 = 0 stands on even features, cos 0 = 1 on odd "
        "ones.",
        wrong={
            "The cosines are missing: cos 0 = 1.": [0] * d,
            "The sines stand on even features, 0 among them.": [1 - i % 2 for i in range(d)],
            "Sine and cosine take turns, in pairs: no half is all of one.": [
                int(i >= (d + 1) // 2) for i in range(d)
            ],
            "Positions are counted from 0, so the first row has no sin 1.": [
                (cos if i % 2 else sin)(1 / 10000 ** (i // 2 * 2 / d)) for i in range(d)
            ],
        },
    )


@asks("positional_encoding")
def a_slow_wave(draw: Random) -> Asked:
    p, feature = draw.choice([10, 20, 50, 80]), draw.choice([2, 3])
    wave, other = (sin, cos) if feature == 2 else (cos, sin)
    return number(
        f"With d_model = 4, what is feature {feature} of position {p}? Features and positions are "
        "counted from 0; the angle is in radians.",
        wave(p / 100),
        digits=2,
        why=f"Features 2 and 3 are the pair i = 1, so the angle is {p} / 10000^(2/4) = "
        f"{p / 100:g}, and feature {feature} is its {'sine' if feature == 2 else 'cosine'}.",
        wrong={
            "Even features are sines, odd ones cosines.": other(p / 100),
            "That is the first pair of features, whose angle is the position.": wave(p),
            "The exponent is 2i / d_model, which is 2/4, not 1/4.": wave(p / 10),
            "In 2i / d_model, i counts pairs of features: here it is 1.": wave(
                p / 10000 ** (feature / 2)
            ),
        },
    )


@asks("encode_words")
def ids(draw: Random) -> Asked:
    numbers = draw.sample(range(4), 4)
    words = [draw.choice(WORDS) for _ in range(3)]
    known = dict(zip(WORDS, numbers, strict=True))
    return number(
        f"The vocabulary is\n\n    {known}\n\nWhat are the ids of {words}?",
        [known[word] for word in words],
        why="Each word is looked up by itself, and keeps its place. A word that comes twice has "
        "the same id twice.",
        wrong={
            "Those are the words' places in the vocabulary: the ids are what stands behind them.": [
                WORDS.index(word) for word in words
            ],
            "The ids keep the order of the words: nothing is sorted.": sorted(
                known[word] for word in words
            ),
        },
    )


@asks("mean_pool")
def mean_of_what_is_real(draw: Random) -> Asked:
    x = matrix(draw, 4, 2, 9)
    length = draw.choice([2, 3])
    real = [sum(column) for column in zip(*x[:length], strict=True)]
    every = [sum(column) for column in zip(*x, strict=True)]
    return number(
        f"One sequence has these four rows, and its length is {length}:\n\n{grid(x)}\n\nWhat does "
        "mean_pool make of it?",
        [value / length for value in real],
        digits=2,
        why=f"The first {length} rows are real: their sum, over {length}.",
        wrong={
            "That is the mean of all four rows: the rest is padding.": [v / 4 for v in every],
            "You left the padding out of the sum, and divided by 4 all the same.": [
                value / 4 for value in real
            ],
            "That is the sum: it goes over the length.": real,
            f"You divided all four rows by {length}: only the real ones count.": [
                value / length for value in every
            ],
        },
    )


@asks("mean_pool")
def without_a_mean(draw: Random) -> Asked:
    batch, n, d = draw.sample([2, 3, 4, 5, 6, 7], 3)
    return shape(
        f"x is {size(batch, n, d)}. What is the shape of mean_pool(x)?",
        (batch, d),
        why="One vector for each sequence: the tokens are averaged, feature by feature.",
        wrong={
            "You averaged over the features: the mean is over the tokens.": (batch, n),
            "You averaged over the batch: each sequence has a vector of its own.": (n, d),
            "The tokens' dimension goes, it does not stay with size 1.": (batch, 1, d),
            "The tokens are averaged: they are no longer there.": (batch, n, d),
        },
    )


@asks("NextWordModel")
def largest_logit(draw: Random) -> Asked:
    z = draw.choice([(2, -1), (1, 1), (-2, 0), (-1, 2), (3, -2), (-2, 3), (-3, -1), (4, 1)])
    logits = dict(zip(WORDS, (dot(z, head[:2]) + head[2] for head in HEAD), strict=True))
    best = max(logits, key=lambda word: logits[word])
    rows = [
        [word, f"({head[0]:g}, {head[1]:g})", f"{head[2]:g}"]
        for word, head in zip(WORDS, HEAD, strict=True)
    ]
    return choice(
        f"The mean is Z1 = {vector(z)}, and the head has for each word a weight and a bias:\n\n"
        f"{grid(rows)}\n\nWhich word is the answer?",
        best,
        {
            word: f"Its logit is {logits[word]:g}: there is a larger one."
            for word in WORDS
            if word != best
        },
        why="The logits are "
        + ", ".join(f"{word} {logits[word]:g}" for word in WORDS)
        + ": weight "
        "times Z1, plus the bias, and the largest is the answer.",
    )


@asks("NextWordModel")
def shape_of_the_logits(draw: Random) -> Asked:
    batch, n, words = draw.sample([2, 3, 4, 5, 6, 7], 3)
    return shape(
        f"model = NextWordModel(vocab_size={words}, d_model=8, n_heads=2), and ids is "
        f"{size(batch, n)}. What is the shape of model(ids)?",
        (batch, words),
        why="The tokens of a sequence become one vector, and that becomes one logit for each "
        "word of the vocabulary.",
        wrong={
            "The mean leaves one vector for each sequence: the tokens are gone.": (
                batch, n, words,
            ),
            "The head maps d_model to the vocabulary.": (batch, 8),
            "That is the attention's output, before the mean and the head.": (batch, n, 8),
            "One word for each sequence is what predict names: these are logits.": (batch,),
        },
    )  # fmt: skip


@asks("train")
def loss_by_hand(draw: Random) -> Asked:
    logits = dict(zip(WORDS, (-2.0, -1.0, 0.0, 2.5), strict=True))
    word = draw.choice(["like", "do", "not"])
    whole = sum(map(exp, logits.values()))
    loss = log(whole) - logits[word]
    return number(
        'The logits are not -2, do -1, like 0, hate 2.5. If "hate" is right, the loss is '
        f'log(13.686) - 2.5 = 0.116. What would it be if "{word}" were right?',
        loss,
        digits=2,
        why=f"log(13.686) - {term(logits[word])} = {loss:.3f}. The sum is the same, and the "
        "further the right word's logit lies below the largest, the larger the loss.",
        wrong={
            'That is the loss of "hate".': log(whole) - 2.5,
            "That is the probability of that word: the loss is -log of it.": exp(-loss),
            "The sign is turned: a loss is never below 0.": -loss,
            **(
                {"You added the logit: it is taken away.": log(whole) + logits[word]}
                if logits[word]
                else {"That is the sum itself: the loss takes its log.": whole}
            ),
        },
    )


@asks("train")
def equal_logits(draw: Random) -> Asked:
    words = draw.choice([4, 4, 5, 10, 20, 50])
    return number(
        f"What is the loss of a model that gives all {words} words of its vocabulary the same "
        "logit?",
        log(words),
        digits=2,
        why=f"Each word has the probability 1/{words}, and -log(1/{words}) = log({words}). That is "
        "about where training starts.",
        wrong={
            "That is the probability of each word: the loss is -log of it.": 1 / words,
            "That is log 2: a coin tossed between two words, and here are more.": log(2),
            "A loss of 0 is that of a model that is sure, and right.": 0,
            "The logarithm is the natural one.": log(words) / log(2),
        },
    )


@asks("train")
def left_to_the_coin(draw: Random) -> Asked:
    pairs = draw.choice([4, 4, 8, 10])
    coin = draw.randint(1, pairs - 1)
    return number(
        f"A model has settled {pairs - coin} of {pairs} pairs; between two words it tosses a "
        "coin for the rest. What is its mean loss?",
        coin / pairs * log(2),
        digits=3,
        why=f"A settled pair costs nearly 0, a coin -log(1/2) = 0.693: {coin} times 0.693, over "
        f"{pairs}.",
        wrong={
            "That is the loss where all pairs are left to the coin.": log(2),
            "That is the sum: the loss is the mean over the pairs.": coin * log(2),
            "That is the part that is settled: it costs nothing.": (pairs - coin) / pairs * log(2),
            "A coin between two words costs log 2, not 1/2.": coin / pairs / 2,
        },
    )


@asks("predict")
def word_of_an_id(draw: Random) -> Asked:
    numbers = draw.sample(range(4), 4)
    logits = draw.sample([-2.5, -1.0, 0.5, 1.5, 3.0], 4)
    known = dict(zip(WORDS, numbers, strict=True))
    top = logits.index(max(logits))
    best = next(word for word, number_ in known.items() if number_ == top)
    return choice(
        f"The vocabulary is\n\n    {known}\n\nand the logits are {vector(logits)}. Which word does "
        "predict name?",
        best,
        {
            word: f"Its id is {place}, and logit number {place} is {logits[place]:g}."
            for word, place in known.items()
            if word != best
        },
        why=f"The largest logit is number {top}, counted from 0, and the word of id {top} is "
        f"{best}: the vocabulary may list its words in any order.",
    )


@asks_why("positional_encoding")
def why_positions(_: Random) -> Asked:
    return choice(
        "Without positions, which two inputs get the very same logits from this model?",
        '"not like" and "like not"',
        {
            '"not like" and "do like"': "They hold other words, so other embeddings.",
            '"do not" and "do do"': "They hold other words, so other embeddings.",
            '"not like" and "not hate"': "They hold other words, so other embeddings.",
        },
        why="Attention weighs a bag of tokens, and the mean does not mind their order either. A "
        "wave that is added to each place makes them differ.",
    )


@asks_why("encode_words")
def why_an_error(_: Random) -> Asked:
    return choice(
        "Why is a word that the vocabulary lacks an error, and not id 0, or -1?",
        "The model would take it for the word of that id, and answer as if nothing were wrong.",
        {
            "nn.Embedding has no row 0.": "Its rows are counted from 0.",
            "The model would learn more slowly.": (
                "It would learn something wrong: the same row for two words."
            ),
            "The tensor of ids would get another dtype.": "0 and -1 are whole numbers as well.",
        },
        why='An id is a row of the embedding, nothing else: id 0 is "not" here. What is silently '
        "wrong is found last.",
    )


@asks_why("mean_pool")
def why_divide_by_the_length(draw: Random) -> Asked:
    length, n = draw.choice([2, 3]), draw.choice([6, 8, 12])
    return number(
        f"A sequence of {length} tokens is padded to {n}, with rows of zeros. Somebody calls "
        "x.mean(1). The result is the right one times which number?",
        length / n,
        digits=2,
        why=f"The sum is right, as zeros add nothing, but it is divided by {n} instead of "
        f"{length}. So the same words give other logits beside a longer neighbour than alone.",
        wrong={
            "Zeros add nothing to the sum, but they count where it is divided.": 1,
            "It gets smaller: it is divided by more.": n / length,
            "That is the part that is padding.": (n - length) / n,
            "That is what one token counts for.": 1 / n,
        },
    )


@asks_why("NextWordModel")
def why_attention_at_all(_: Random) -> Asked:
    return choice(
        'Without attention, the logit of "like" less that of "hate" is f(first word) + f(second '
        "word). Which table can no such model hold?",
        '"do" keeps the second word, "not" turns it round.',
        {
            "Always the second word.": "f(like) = 1, f(hate) = -1, f(do) = f(not) = 0 holds it.",
            '"like" after "do", "hate" after "not", whatever comes second.': (
                "f(do) = 1, f(not) = -1, f(like) = f(hate) = 0 holds it."
            ),
            '"hate" after "not hate", otherwise "like".': (
                "f(do) = 3, f(not) = 0, f(like) = 1, f(hate) = -1 holds it."
            ),
        },
        why="It is an exclusive-or. The two sums that must be above 0 and the two that must be "
        "below it "
        'are made of the same four terms. What "like" does has to depend on its neighbour, and '
        "that takes attention.",
    )


@asks_why("train")
def why_fresh_gradients(draw: Random) -> Asked:
    g = draw.sample([2, -1, 3, -4, 5], 3)
    return number(
        f"Somebody forgets zero_grad. The gradient of one weight is {g[0]} in step 1, {g[1]} in "
        f"step 2 and {g[2]} in step 3, each by itself. What stands in its .grad when step 3 is "
        "made?",
        sum(g),
        why="backward() adds to what is in .grad. Step 3 then follows all three, also the old "
        "ones, taken at weights that the model no longer has.",
        wrong={
            "So it is with fresh gradients: without, they add up.": g[2],
            "They are added up from the first step on.": g[1] + g[2],
            "They are added up, and not averaged.": sum(g) / 3,
        },
    )


@asks_why("predict")
def why_no_softmax(_: Random) -> Asked:
    return choice(
        "predict takes the largest logit. What would a softmax before it change?",
        "Nothing: the largest logit has the largest probability.",
        {
            "The word may be another one.": (
                "exp grows with its argument, and all are divided by the same sum."
            ),
            "It would be right then: logits may be negative.": (
                "Which is largest can be seen in negative numbers as well."
            ),
            "Equal words would be told apart.": "Equal logits have equal probabilities.",
        },
        why="A softmax keeps the order. It is needed where the numbers themselves count, as in the "
        "loss, and there F.cross_entropy has it inside.",
    )
