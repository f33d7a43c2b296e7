"""Chapter 7. The full model: "not like" -> "hate".

The question
    All the parts are there. Do they do anything? Document 004 asks for a model that reads two
    words and names the word that follows: if you do "not like" something, you ... it?

The formula
    X      = embedding(ids), plus the positional encoding if there is one
    H      = MultiHeadAttention(X)                 the words, each with its context
    Z1     = mean of H's rows                      one vector for the sequence
    logits = Z1 W + b                              one number for each word of the vocabulary
    answer = the word with the largest logit

    loss   = -log softmax(logits)[target], averaged over the batch: the cross-entropy

    F.cross_entropy computes this loss from the logits, with the softmax inside: put one of your own
    before it, and the model learns slowly or not at all. Its gradient says how each weight has to
    change to lower the loss (see the card "Gradient" in CARDS.md).

    Attention and mean both ignore order. Without the positional encoding this model cannot tell
    "not like" from "like not".

    Document 004 gives two pairs, and two more complete the table:

                 like     hate
        do       like     hate
        not      hate     like

    This is an exclusive-or, and a mean alone cannot learn it. Without the attention, the logit of
    "like" minus that of "hate" is f(first word) + f(second word), for some f that includes the
    bias. The table wants f(do) + f(like) > 0 and f(not) + f(hate) > 0, so all four sum to more than
    0; and f(do) + f(hate) < 0 and f(not) + f(like) < 0, so the same four sum to less than 0. That
    is impossible. Such a model ends its training at a loss of 0.693 = log 2: it tosses a coin
    between two words.

    Attention lets "like" mean something else beside "not" than beside "do". One head is enough to
    represent the table, but often fails to learn it: out of 20 seeds at 16 features our model
    learned it with 8, and the rest stopped at 0.347, half of log 2, with two pairs learned and two
    left to the coin. With four heads all 20 seeds learned it within 50 steps: each head asks a
    question of its own, and where one is stuck another is not. That is what several heads are for.

Shapes
    ids [batch, n]  -embedding->  [batch, n, d_model]  -attention->  [batch, n, d_model]
                    -mean_pool->  [batch, d_model]     -head->       logits [batch, vocab_size]

    Sequences of different length share a batch: the short ones are padded at their end, up to n.
    lengths [batch] says how many tokens are real; the padding may hold any id of the vocabulary.
    The padding must be kept out twice: out of the attention, with a mask [batch, 1, n], and out of
    the mean. Forget either, and a sequence gets other logits in a batch than alone.

By hand
    The numbers of document 004 were in pictures that are lost, so these are ours. Let attention
    turn "not like" into the rows (1, -2) and (3, 0). Their mean is Z1 = (2, -1). Let the head be

                 weight        bias      logit
        not     (-1,  0 )      0         -2.0
        do      ( 0,  1 )      0         -1.0
        like    (0.5, 1 )      0          0.0
        hate    ( 1, -1 )     -0.5        2.5     <- the largest

    The answer is "hate". The loss, if "hate" is right, is log(e^-2 + e^-1 + e^0 + e^2.5) - 2.5 =
    log(13.686) - 2.5 = 0.116. What would it be if "like" were right? And what is the loss of a
    model with four equal logits? That is about where training starts.
    Answers, with reasons, and more questions: `python -m grader quiz ex07_model`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as gradient, are in CARDS.md.

May be used
    Anything in torch: nn.Embedding, nn.Linear, F.cross_entropy, any optimiser, also one from
    torch.optim, and your own earlier chapters.
    Not a ready-made attention or Transformer layer: not scaled_dot_product_attention, not
    nn.MultiheadAttention, nor what lies under them.

If you have the documents
    004 has tokens as columns; here they are rows. It divides scores by the square root of the
    embeddings' width: with several heads it is the width of one head's keys.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(
    n: int, d_model: int, device: torch.device | str | None = None
) -> Float[Tensor, "n d_model"]:
    """Give each position a row of sines and cosines, so that the model can see the order.

    Difficulty 3 of 5, about 10 minutes.

    Features come in pairs of one frequency: a sine, and the cosine of the same angle.

    Args:
        n: how many positions, 0 or more.
        d_model: how many features, also an odd number.
        device: where the answer is made, a torch.device or its name. None: the default device.

    Returns:
        The encoding [n, d_model], in torch.get_default_dtype(), on `device`. With i = 0, 1, 2, ...
        feature 2i of position p is sin(p / 10000^(2i / d_model)) and feature 2i + 1 is the cosine
        of the same angle; positions are counted from 0. An odd d_model ends on a sine, whose
        cosine is left out. With 0 positions there are no rows.

    Source: document 001, "The Main Ideas Behind Transformers and Attention"; the formula is
        from the 2017 paper, "Attention is all you need", section 3.5.

    Example:
        >>> positional_encoding(2, 3)
        tensor([[0.0000, 1.0000, 0.0000],
                [0.8415, 0.5403, 0.0022]])
    """
    raise NotImplementedError("ex07_model.positional_encoding")


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Int[Tensor, " n"]:
    """Turn words into the ids that the embedding knows them by.

    Difficulty 1 of 5, about 5 minutes.

    A word may occur more than once. A word that the vocabulary lacks is an error, not an id.

    Args:
        words: the words, 0 or more.
        vocabulary: the id of each known word.

    Returns:
        The ids [n], torch.long, on the CPU, in the order of the words. With 0 words they are empty.

    Raises:
        KeyError: a word is not in the vocabulary; the error names it.

    Source: document 004, "Word embedding to sequence matrix".

    Example:
        >>> encode_words(["not", "like"], {"not": 0, "do": 1, "like": 2, "hate": 3})
        tensor([0, 2])
    """
    raise NotImplementedError("ex07_model.encode_words")


def mean_pool(
    x: Float[Tensor, "batch n d"], lengths: Int[Tensor, " batch"] | None = None
) -> Float[Tensor, "batch d"]:
    """Average the tokens of each sequence into one vector.

    Difficulty 2 of 5, about 5 minutes.

    Only real tokens count.

    Args:
        x: the tokens as rows [batch, n, d], with one batch dimension.
        lengths: how many tokens of each sequence are real [batch], from 1 to n. None: all of them.

    Returns:
        One vector per sequence [batch, d]: sequence b is the mean of its first lengths[b] rows.
        The padding has no influence on it, however large its numbers are, and its gradient is 0.

    Raises:
        ValueError: `x` does not have three dimensions.
        ValueError: `lengths` is not a vector with one length per sequence.

    Source: document 004, "Input neural network" and "Average contextual word embeddings".

    Example:
        >>> x = torch.tensor([[[2.0, 0.0], [4.0, 6.0]], [[1.0, 1.0], [9.0, 9.0]]])
        >>> mean_pool(x)
        tensor([[3., 3.],
                [5., 5.]])
        >>> mean_pool(x, torch.tensor([2, 1]))
        tensor([[3., 3.],
                [1., 1.]])
    """
    raise NotImplementedError("ex07_model.mean_pool")


class NextWordModel(nn.Module):
    """Guess the word that follows: embed, attend, average, map to the vocabulary.

    Difficulty 4 of 5, about 20 minutes.

    Without positions the model cannot see the order of the words: "not like" and "like not" get the
    same logits. The model has three parts and no other weights:
        embedding: nn.Embedding(vocab_size, d_model).
        attention: MultiHeadAttention(d_model, n_heads), with biases.
        head: nn.Linear(d_model, vocab_size).

    Args:
        vocab_size: how many words there are.
        d_model: the width of the tokens.
        n_heads: how many heads; at least 1, and it divides d_model.
        positions: whether the positional encoding is added to the embeddings.

    Raises:
        ValueError: `n_heads` is below 1 or does not divide d_model.

    Source: document 004, from "Query projections with bias" to "Final layer".

    Example:
        >>> model = NextWordModel(vocab_size=4, d_model=8, n_heads=2)
        >>> model(torch.tensor([[0, 2], [1, 2], [3, 0]])).shape
        torch.Size([3, 4])
        >>> sorted(name for name, _ in model.named_children())
        ['attention', 'embedding', 'head']
    """

    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        raise NotImplementedError("ex07_model.NextWordModel")

    def forward(
        self, ids: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch vocab_size"]:
        """Score every word of the vocabulary as the next one.

        Args:
            ids: the words as ids [batch, n], torch.long; in the padding any id of the vocabulary.
            lengths: how many ids of each sequence are real [batch], from 1 to n. None: all of
                them.

        Returns:
            The logits [batch, vocab_size], in the dtype of the weights: raw scores, with no
            softmax after `head`. Padding is neither attended to nor averaged, so a sequence gets
            the same logits alone as padded in a batch.

        Raises:
            ValueError: `ids` does not have two dimensions.
            ValueError: `lengths` is not a vector with one length per sequence.
        """
        raise NotImplementedError("ex07_model.NextWordModel")


def train(
    model: NextWordModel,
    ids: Int[Tensor, "batch n"],
    targets: Int[Tensor, " batch"],
    steps: int = 200,
    lr: float = 0.05,
    lengths: Int[Tensor, " batch"] | None = None,
) -> list[float]:
    """Teach the model which word follows, on the whole batch at every step.

    Difficulty 3 of 5, about 10 minutes.

    Any optimiser that learns at the default rate is fine: one of torch.optim, or a few lines of
    your own, say gradient descent with a momentum of 0.9.

    Args:
        model: what is trained. It is changed in place: all of its weights that the loss depends
            on change, and keep their dtype.
        ids: the words as ids [batch, n], torch.long.
        targets: the id of the word that follows each sequence [batch], torch.long.
        steps: how many times the weights are changed. With 0 nothing changes.
        lr: the learning rate. The larger it is, the further the first step moves the weights.
        lengths: how many ids of each sequence are real [batch], for the model. None: all of them.

    Returns:
        The loss before each step, a list of `steps` Python floats: the mean cross-entropy of the
        logits. Each step starts from fresh gradients, and the steps lower the loss.

    Raises:
        ValueError: `targets` is not a vector with one target per sequence.

    Source: document 004, "Final layer: Predicting the next word with Neural Network".

    Example:
        >>> model = NextWordModel(vocab_size=4, d_model=16, n_heads=4)
        >>> ids, targets = torch.tensor([[0, 2], [1, 2]]), torch.tensor([3, 2])
        >>> losses = train(model, ids, targets, steps=30)
        >>> len(losses), losses[-1] < losses[0]
        (30, True)
    """
    raise NotImplementedError("ex07_model.train")


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    """Name the word that the model expects after `words`.

    Difficulty 2 of 5, about 5 minutes.

    Predicting leaves no trace in the model.

    Args:
        model: a trained model, on any device.
        words: the words so far, at least one.
        vocabulary: the id of each word, in any order.

    Returns:
        The word of the vocabulary whose logit is largest. The weights of the model, their
        gradients and its training flags are as they were before.

    Raises:
        KeyError: a word is not in the vocabulary; the error names it.
        ValueError: there are 0 words.

    Source: document 004, "Select maximum output logit".

    Example:
        >>> vocabulary = {"not": 0, "do": 1, "like": 2, "hate": 3}
        >>> model = NextWordModel(vocab_size=4, d_model=8)
        >>> with torch.no_grad():
        ...     _ = model.head.weight.zero_()
        ...     _ = model.head.bias.copy_(torch.tensor([0.0, 0.0, 1.0, 2.0]))
        >>> predict(model, ["not", "like"], vocabulary)
        'hate'
    """
    raise NotImplementedError("ex07_model.predict")
