"""Chapter 13. The decoder: a small language model that writes.

The question
    Attention mixes words, a cache remembers them, positions tell them apart. A language model is
    made of little more. What is put around attention, so that many layers of it learn together,
    and so that in the end there is a text? This is Llama in small: norm, attention, norm, a gated
    network, again and again; then a number for each word of the vocabulary, and one word is chosen.

The formula
    rms_norm(x) = x / sqrt(mean(x^2) + eps) * weight                 one mean for each row

    block:   x = x + attention(rms_norm_1(x))
             x = x + down( silu(gate(h)) * up(h) )   with   h = rms_norm_2(x)
             silu(z) = z * sigmoid(z)

    decoder: x      = embedding(ids)
             x      = block(x)                                       n_layers times
             logits = head(rms_norm(x))

    loss    = mean of  -log softmax(logits at i)[id at i + 1]        i = 0, ..., n - 2
    writing = softmax(logits of the last word / temperature)         the next word is drawn from it

Why it is built like this
    Why a residual. x + f(x) leaves a straight way through all layers, for the numbers and for their
    gradients. A block only adds to what is there.

    Why the norm comes before. In the model of 2017 it comes after the sum: norm(x + f(x)). Then it
    stands in the straight way and scales the gradients in each layer anew, and such a model learns
    only when its learning rate starts very low. Here the norm is on the branch, f(norm(x)), which
    is called pre-norm. The sum grows from layer to layer, so one more norm stands before the head.

    Why RMS. LayerNorm takes the mean away and divides by the spread. The first half was found to
    help little. RMSNorm leaves it out: one mean less, and no bias. Squares are large: 300 * 300 is
    more than float16 can hold, and is infinity there. So it is worked out in float32 at least.

    What the gate is for. An older feed-forward network is down(relu(up(x))). Here a second layer,
    gate, says feature by feature how much of up(x) goes through. silu makes a soft switch of it.
    The branch is called SwiGLU. Why it is better nobody knows: its paper thanks divine benevolence.

    Why one more id. The logits at word i are a guess of word i + 1, and the causal mask keeps that
    word out of sight. So a text of n words is n - 1 exercises, all solved in one pass. The last row
    of logits has no answer yet; it is the one that writes.

Shapes
    ids [batch, n]  -embedding->  [batch, n, d_model]
                    -blocks->     [batch, n, d_model]     each block may have a cache of its own
                    -norm, head-> logits [batch, n, vocab_size]

    a block     x [*batch, n, d_model]  -norm_1, attention->          [*batch, n, d_model]   + x
                x [*batch, n, d_model]  -norm_2, gate and up->   two  [*batch, n, d_hidden]
                                        -silu, times, down->          [*batch, n, d_model]   + x

    the loss of a text of 4 words:

        ids               this   is     the    house
        logits at         this   is     the    house
        have to guess     is     the    house  -

    generate: a prompt of 3, then 3 steps. What the model is fed, and what its caches hold then:

        fed               caches hold     its last row writes
        a b c             3 words         d
        d                 4               e
        e                 5               f       f need not be fed: nobody asks what follows

    With 10 words of a prompt and 90 steps, 99 words are fed. Whoever feeds the whole text in each
    step feeds 10 + 11 + ... + 99 = 4905.

What papers and libraries disagree on
    Where eps stands. It is inside the root, in the paper and in Llama. Outside, as
    x / (sqrt(mean(x^2)) + eps), a row of zeros has no right gradient: the root of 0 has an infinite
    slope. Llama takes 1e-6 or 1e-5; torch's nn.RMSNorm takes the smallest step of the dtype, if it
    is not told.

    What weight is. Llama's begins at ones. Gemma's begins at zeros, and 1 + weight is multiplied.
    Whether half types are rounded before that product or after it differs, too: both are right
    here.

    Where the norm is. GPT-2 and Llama: before. BERT: after. Gemma 2: both.

    Whether the head is the embedding. GPT-2 ties them: one matrix reads and writes words, which
    saves 50257 * 768 = 38,597,376 numbers of 163,037,184. Llama's has a head of its own, and so
    has ours.

    How wide d_hidden is. A network without a gate has two matrices and is 4 times as wide as
    d_model. With a gate there are three, so Llama takes 8/3 and rounds. Ours is 4, for the ease of
    it.

    Who shifts the ids. The models of transformers are given the ids themselves as labels, and shift
    inside. nanoGPT cuts inputs and targets one apart beforehand. Do both, and the model learns the
    word after the next one: the loss falls, and what it writes is nonsense.

    What temperature 0 means. transformers refuses it and has a switch, do_sample; here it means
    what the limit says: the largest logit.

By hand
    The numbers are ours. The norm of the row (1, 7), with weight 1: the squares are 1 and 49, their
    mean is 25, its root 5. So it becomes (0.2, 1.4), as does (2, 14). LayerNorm would make (-1, 1)
    of both.

    One hidden feature with gate log 3 = 1.0986 and up 4: sigmoid(log 3) is 3/4, so
    silu = 0.8240, and 0.8240 * 4 = 3.2958 goes down. Exchange the two, and it is
    silu(4) * 1.0986 = 4.3154.

    A text of ids 0, 1, 2 and a vocabulary of 3. Of these logits the powers are whole:

                        logits                       softmax             next      -log
        at 0      log 1, log 2, log 1           1/4   1/2   1/4           1       0.6931
        at 1      log 5, log 2, log 1           5/8   2/8   1/8           2       2.0794
        at 2      log 3, log 4, log 1           3/8   4/8   1/8           -

        loss = (0.6931 + 2.0794) / 2 = 1.3863

    And of two words with logits 0 and log 3 = 1.0986, the second is drawn with

        temperature     0      0.5      1       2      very large
        share           1     9/10     3/4    0.6340      1/2

    What would the loss be if nobody shifted the ids? And at which temperature does the second word
    get 27/28? Answers, with reasons, and more questions: `python -m grader quiz ex13_decoder`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as batch or dtype, are in CARDS.md. Two things are different here. No
    gradients go through a cache, nor through `generate`, whose ids are whole numbers. And a promise
    of cost is counted at sequences longer than 131.

May be used
    nn.Embedding, nn.Linear, nn.Parameter, nn.ModuleList; F.silu, F.cross_entropy, torch.softmax,
    torch.multinomial; your own chapters 1 to 11. torch has an F.rms_norm, too: write your own
    first, and then compare. Not a ready-made attention: not scaled_dot_product_attention, not
    flex_attention, nor what lies under them.

If you want the sources
    Touvron and others, 2023, "LLaMA: Open and Efficient Foundation Language Models", section 2.2.
    Zhang and Sennrich, 2019, "Root Mean Square Layer Normalization". Shazeer, 2020, "GLU Variants
    Improve Transformer". Norms before: Xiong and others, 2020, "On Layer Normalization in the
    Transformer Architecture". Tied weights: Press and Wolf, 2017, "Using the Output Embedding to
    Improve Language Models".
"""

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
    raise NotImplementedError("ex13_decoder.rms_norm")


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
        raise NotImplementedError("ex13_decoder.DecoderBlock")

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
        raise NotImplementedError("ex13_decoder.DecoderBlock")


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
        raise NotImplementedError("ex13_decoder.Decoder")

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
        raise NotImplementedError("ex13_decoder.Decoder")


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
    raise NotImplementedError("ex13_decoder.next_token_loss")


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
    raise NotImplementedError("ex13_decoder.generate")
