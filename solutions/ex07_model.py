"""Chapter 7. The full model: "not like" -> "hate". The reference answer."""

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
    position = torch.arange(n, device=device)[:, None]  # [n, 1]
    even = torch.arange(0, d_model, 2, device=device)  # [pairs]: 2i
    angle = position / 10000 ** (even / d_model)  # [n, pairs]
    waves = torch.stack((angle.sin(), angle.cos()), dim=-1)  # [n, pairs, 2]
    return waves.flatten(1)[:, :d_model]  # [n, d_model]


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
    return torch.tensor([vocabulary[word] for word in words], dtype=torch.long)  # [n]


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
    if x.ndim != 3:
        raise ValueError(f"x must be [batch, n, d]: got {tuple(x.shape)}")
    if lengths is None:
        return x.mean(1)  # [batch, d]
    if lengths.shape != x.shape[:1]:
        raise ValueError(
            f"lengths must be [batch] for x [batch, n, d]: "
            f"got {tuple(lengths.shape)} and {tuple(x.shape)}"
        )
    real = padding_mask(lengths, x.shape[1])[:, :, None]  # [batch, n, 1]
    return x.masked_fill(~real, 0).sum(1) / lengths[:, None]  # [batch, d]


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
        super().__init__()
        self.positions = positions
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)

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
        if ids.ndim != 2:
            raise ValueError(f"ids must be [batch, n]: got {tuple(ids.shape)}")
        n = ids.shape[1]
        x = self.embedding(ids)  # [batch, n, d_model]
        if self.positions:
            x = x + positional_encoding(n, x.shape[-1], x.device).to(x.dtype)
        mask = None if lengths is None else padding_mask(lengths, n)[:, None, :]  # [batch, 1, n]
        x = self.attention(x, mask=mask)  # [batch, n, d_model]
        return self.head(mean_pool(x, lengths))  # [batch, vocab_size]


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
    if targets.shape != ids.shape[:1]:
        raise ValueError(
            f"targets must be [batch] for ids [batch, n]: "
            f"got {tuple(targets.shape)} and {tuple(ids.shape)}"
        )
    velocity = {weight: torch.zeros_like(weight) for weight in model.parameters()}
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(model(ids, lengths), targets)  # []
        losses.append(loss.item())
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for weight, speed in velocity.items():
                speed.mul_(0.9).add_(weight.grad)
                weight.sub_(speed, alpha=lr)
    return losses


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
    if len(words) == 0:
        raise ValueError("cannot predict from 0 words")
    device = next(model.parameters()).device
    ids = encode_words(words, vocabulary).to(device)[None, :]  # [1, n]
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        logits = model(ids)[0].tolist()  # [vocab_size]
    for module, flag in flags:
        module.training = flag
    return max(vocabulary, key=lambda word: logits[vocabulary[word]])
