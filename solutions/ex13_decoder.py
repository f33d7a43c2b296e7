"""Chapter 13. The decoder: a small language model that writes. The reference answer."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ex11_cache import CachedAttention, KeyValueCache


def rms_norm(
    x: Float[Tensor, "*batch d"], weight: Float[Tensor, " d"], eps: float = 1e-6
) -> Float[Tensor, "*batch d"]:
    """Bring each row to the length at which its squares have a mean of 1.

    Difficulty 2 of 5, about 10 minutes.

    Args:
        x: the rows [*batch, d].
        weight: by what each feature is multiplied afterwards [d].
        eps: is added to the mean, so that nothing is divided by zero.

    Returns:
        The rows x / sqrt(mean(x^2) + eps) * weight [*batch, d], with a mean over each row. It is
        worked out in float32 at least, which is enough for float64, too, and returned in the dtype
        of `x`: squares that float16 cannot hold do no harm. A row of zeros stays zeros, and has
        finite gradients.

    Raises:
        ValueError: `weight` is not a vector as long as the rows of `x`.
        ValueError: `x` has no dimension.

    Source: Zhang and Sennrich 2019, section 3.

    Example:
        >>> rms_norm(torch.tensor([[1.0, 7.0], [2.0, 14.0]]), torch.tensor([1.0, 10.0]))
        tensor([[ 0.2000, 14.0000],
                [ 0.2000, 14.0000]])
    """
    if x.ndim < 1 or weight.shape != x.shape[-1:]:
        raise ValueError(
            f"weight must be [d] for x [*batch, d]: got {tuple(weight.shape)} and {tuple(x.shape)}"
        )
    wide = x.to(torch.promote_types(x.dtype, torch.float32))  # [*batch, d]
    size = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)  # [*batch, 1]
    return (wide * size * weight).to(x.dtype)


class DecoderBlock(nn.Module):
    """One layer of a language model: attention, and a gated network.

    Difficulty 3 of 5, about 20 minutes.

    The block has these parts and no other weights, and none of them has a bias:
        norm_1: an nn.Parameter [d_model], all ones at first; the norm before the attention.
        attention: CachedAttention(d_model, n_heads, n_kv_heads).
        norm_2: an nn.Parameter [d_model], all ones at first; the norm before the gated network.
        gate: nn.Linear, d_model to d_hidden; silu makes a switch of it.
        up: nn.Linear, d_model to d_hidden.
        down: nn.Linear, d_hidden to d_model.

    Args:
        d_model: the width of the tokens, in and out.
        n_heads: how many heads of queries.
        n_kv_heads: how many heads of keys and values. None: as many as n_heads.
        d_hidden: the width of `gate` and `up`.

    Raises:
        ValueError: CachedAttention refuses `d_model`, `n_heads` or `n_kv_heads`.

    Source: Touvron and others 2023, section 2.2.

    Example:
        >>> block = DecoderBlock(d_model=8, n_heads=2, n_kv_heads=1, d_hidden=20)
        >>> block(torch.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int) -> None:
        super().__init__()
        self.norm_1 = nn.Parameter(torch.ones(d_model))
        self.attention = CachedAttention(d_model, n_heads, n_kv_heads)
        self.norm_2 = nn.Parameter(torch.ones(d_model))
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(
        self, x: Float[Tensor, "*batch n d_model"], cache: KeyValueCache | None = None
    ) -> Float[Tensor, "*batch n d_model"]:
        """Add to each token what attention finds, and what the gated network makes of it.

        Args:
            x: the tokens as rows [*batch, n, d_model], in the dtype of the weights.
            cache: for the attention: the tokens before `x`. Those of `x` are added to it. None: `x`
                is the whole text.

        Returns:
            x plus the attention of the first norm's rows, and then plus `down` of the silu of
            `gate` times `up`, both of the second norm's rows [*batch, n, d_model]. Both norms are
            `rms_norm` with an eps of 1e-6. With a cache the rows are the same, in whichever pieces
            a text comes.

        Raises:
            ValueError: `x` has fewer than two dimensions, or is not d_model wide.
            ValueError: the cache has no room for `x`, or has rows of another batch.
        """
        x = x + self.attention(rms_norm(x, self.norm_1), cache)
        h = rms_norm(x, self.norm_2)  # [*batch, n, d_model]
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    """A language model: for each word a guess of the one that comes next.

    Difficulty 3 of 5, about 15 minutes.

    The model has these parts and no other weights. `head` and `embedding` share nothing:
        embedding: nn.Embedding(vocab_size, d_model).
        blocks: an nn.ModuleList of n_layers DecoderBlocks, with a d_hidden of 4 * d_model.
        norm: an nn.Parameter [d_model], all ones at first; the norm before the head.
        head: nn.Linear, d_model to vocab_size, without a bias.

    Args:
        vocab_size: how many words there are.
        d_model: the width of the tokens.
        n_layers: how many blocks; at least 1.
        n_heads: how many heads of queries has each block.
        n_kv_heads: how many heads of keys and values. None: as many as n_heads.

    Raises:
        ValueError: CachedAttention refuses `d_model`, `n_heads` or `n_kv_heads`.

    Source: Touvron and others 2023, section 2.2.

    Example:
        >>> model = Decoder(vocab_size=11, d_model=8, n_layers=2, n_heads=2)
        >>> caches = [KeyValueCache(6) for _ in model.blocks]
        >>> model(torch.tensor([[3, 1, 4, 1, 5]]), caches).shape, caches[1].length
        (torch.Size([1, 5, 11]), 5)
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_layers: int,
        n_heads: int,
        n_kv_heads: int | None = None,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, n_heads, n_kv_heads, 4 * d_model) for _ in range(n_layers)
        )
        self.norm = nn.Parameter(torch.ones(d_model))
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(
        self, ids: Int[Tensor, "batch n"], caches: list[KeyValueCache] | None = None
    ) -> Float[Tensor, "batch n vocab_size"]:
        """Score every word of the vocabulary as the next one, after each word.

        Args:
            ids: the words as ids [batch, n], torch.long.
            caches: one for each block, in their order, with the words before `ids`. Those of `ids`
                are added to each. None: `ids` is the whole text.

        Returns:
            The logits [batch, n, vocab_size], in the dtype of the weights: `head` of the norm, with
            an eps of 1e-6, of what the blocks make of the embedded words, one after the other. Row
            i knows the words up to i and no later one. With caches the rows are the same, in
            whichever pieces a text comes.

        Raises:
            ValueError: `ids` does not have two dimensions.
            ValueError: there are more or fewer caches than blocks.
            ValueError: a cache has no room for `ids`, or has rows of another batch.
        """
        if ids.ndim != 2:
            raise ValueError(f"ids must be [batch, n]: got {tuple(ids.shape)}")
        if caches is not None and len(caches) != len(self.blocks):
            raise ValueError(f"{len(caches)} caches for {len(self.blocks)} blocks")
        x = self.embedding(ids)  # [batch, n, d_model]
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x = block(x, cache)
        return self.head(rms_norm(x, self.norm))


def next_token_loss(
    logits: Float[Tensor, "batch n vocab_size"], ids: Int[Tensor, "batch n"]
) -> Float[Tensor, ""]:
    """Say how badly each next word was guessed.

    Difficulty 2 of 5, about 10 minutes.

    Args:
        logits: what a decoder makes of `ids` [batch, n, vocab_size]; n is at least 2.
        ids: the words as ids [batch, n], torch.long.

    Returns:
        One number []: the mean, over all rows but the last of each text, of minus the log of the
        softmax of row i at the id of word i + 1. The last row of logits and the first id have no
        influence. Large logits do no harm: 1e4 in float32 has the right loss.

    Raises:
        ValueError: `logits` does not have three dimensions, or `ids` does not have two.
        ValueError: `logits` and `ids` differ in batch or n.
        ValueError: n is below 2: there is no next word.

    Source: Radford and others 2018, "Improving Language Understanding by Generative Pre-Training",
        section 3.1.

    Example:
        >>> logits = torch.tensor([[[0.0, 0.0], [0.0, 0.0], [9.0, 0.0]]])
        >>> next_token_loss(logits, torch.tensor([[0, 1, 1]]))
        tensor(0.6931)
    """
    if logits.ndim != 3 or ids.shape != logits.shape[:2] or ids.shape[1] < 2:
        raise ValueError(
            f"logits must be [batch, n, vocab_size] and ids [batch, n], with n at least 2: "
            f"got {tuple(logits.shape)} and {tuple(ids.shape)}"
        )
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def generate(
    model: nn.Module,
    ids: Int[Tensor, "batch n"],
    steps: int,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "batch n_and_steps"]:
    """Write on, word by word.

    Difficulty 4 of 5, about 25 minutes.

    The prompt is fed once, and then one word in each step: the newest. For this it makes caches,
    one for each block; so n + steps words are fed at most, and what is worked out grows as the
    length does.

    Args:
        model: a `Decoder`, or what is called like one, as model(ids, caches), and has `blocks`.
        ids: the prompts [batch, n], torch.long, on the device of the model; n is at least 1.
        steps: how many words are written after each prompt, 0 or more.
        temperature: 0 or more. The next word is drawn from softmax(logits / temperature), with the
            logits of the last word. 0: nothing is drawn, and the word with the largest logit is
            taken.
        generator: what draws, on the device of `ids`. The same seed writes the same text, and the
            generator goes on from call to call. None: the generator that torch has by default.

    Returns:
        The prompts with what was written behind them [batch, n + steps], torch.long. Each text of a
        batch is drawn by itself. Afterwards the weights of the model, their gradients and its
        training flags are as they were before. Calls share nothing: each makes caches of its own.

    Raises:
        ValueError: `ids` does not have two dimensions.
        ValueError: n is 0: there is nothing to go on from.
        ValueError: `steps` is below 0.
        ValueError: `temperature` is below 0.

    Source: Pope and others 2022, "Efficiently Scaling Transformer Inference", section 2.

    Example:
        >>> model = Decoder(vocab_size=11, d_model=8, n_layers=2, n_heads=2)
        >>> text = generate(model, torch.tensor([[3, 1, 4]]), steps=5)
        >>> text.shape, text[:, :3]
        (torch.Size([1, 8]), tensor([[3, 1, 4]]))
    """
    if ids.ndim != 2 or ids.shape[1] == 0:
        raise ValueError(f"ids must be [batch, n], with n at least 1: got {tuple(ids.shape)}")
    if steps < 0 or temperature < 0:
        raise ValueError(f"steps and temperature must not be below 0: {steps} and {temperature}")
    caches = [KeyValueCache(ids.shape[1] + steps) for _ in model.blocks]
    text = new = ids
    for _ in range(steps):
        with torch.no_grad():
            logits = model(new, caches)[:, -1]  # [batch, vocab_size]
        if temperature == 0:
            new = logits.argmax(-1, keepdim=True)  # [batch, 1]
        else:
            shares = torch.softmax(logits / temperature, -1)
            new = torch.multinomial(shares, 1, generator=generator)  # [batch, 1]
        text = torch.cat((text, new), 1)
    return text
