"""Chapter 6. Heads: the multi-head fold. The reference answer."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex05_mixing import attention


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    """Split each token into one piece per head.

    Difficulty 3 of 5, about 10 minutes.

    With d_model 6 and 2 heads, head 0 owns features 0 to 2 and head 1 features 3 to 5. The heads
    come before the tokens, so that each head looks like a sequence of its own.

    Args:
        x: the tokens as rows [*batch, n, d_model].
        n_heads: how many heads; at least 1, and it divides d_model.

    Returns:
        The pieces [*batch, n_heads, n, d_model / n_heads]: head i owns the i-th block of
        consecutive features of every token.

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `n_heads` is below 1 or does not divide d_model.

    Source: document 000, "Implementation Details".

    Example:
        >>> split_heads(torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]), 2)
        tensor([[[1., 2.],
                 [5., 6.]],
        <BLANKLINE>
                [[3., 4.],
                 [7., 8.]]])
    """
    if x.ndim < 2 or n_heads < 1 or x.shape[-1] % n_heads != 0:
        raise ValueError(
            f"n_heads must be at least 1 and divide d_model of x [*batch, n, d_model]: "
            f"got {n_heads} and {tuple(x.shape)}"
        )
    pieces = x.unflatten(-1, (n_heads, x.shape[-1] // n_heads))  # [*batch, n, n_heads, d_head]
    return pieces.transpose(-3, -2)  # [*batch, n_heads, n, d_head]


def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    """Put the pieces of each token side by side again: undo `split_heads`.

    Difficulty 3 of 5, about 10 minutes.

    Args:
        x: one sequence of pieces per head [*batch, n_heads, n, d_head].

    Returns:
        The tokens [*batch, n, n_heads * d_head]: each row holds the pieces of one token, head 0
        first. Merging what was split gives the tokens back.

    Raises:
        ValueError: `x` has fewer than three dimensions.

    Source: document 000, "Implementation Details".

    Example:
        >>> merge_heads(torch.tensor([[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]))
        tensor([[1., 2., 3., 4.],
                [5., 6., 7., 8.]])
    """
    if x.ndim < 3:
        raise ValueError(f"x must be [*batch, n_heads, n, d_head]: got {tuple(x.shape)}")
    return x.transpose(-3, -2).flatten(-2)  # [*batch, n, n_heads * d_head]


def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    """Run one attention per head, each on its own features, and join the answers.

    Difficulty 3 of 5, about 10 minutes.

    The inputs are already projected. The heads never see each other: each has its own softmax over
    the keys, of scores divided by the square root of its own width.

    Args:
        query: what each position asks for [*batch, q, d_model].
        key: what each position offers [*batch, k, d_model].
        value: what each position hands over [*batch, k, d_model].
        n_heads: how many heads; at least 1, and it divides d_model.
        mask: True where the query may attend, the same for every head; broadcasts to
            [*batch, q, k], which has no dimension for the heads. None: everywhere.

    Returns:
        The answers of the heads side by side [*batch, q, d_model]: head i is the attention of the
        i-th block of features. A query that may attend to nothing gets a row of zeros, and finite
        gradients.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than two dimensions.
        ValueError: `query`, `key` and `value` differ in width.
        ValueError: `key` and `value` differ in number.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `n_heads` is below 1 or does not divide d_model.
        ValueError: `mask` does not broadcast to [*batch, q, k].

    Source: document 000, "Multi-Head Attention" and "Implementation Details".

    Example:
        >>> query, key = torch.tensor([[90.0, 0.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]])
        >>> value = torch.tensor([[2.0, 2.0], [4.0, 4.0]])
        >>> multi_head(query, key, value, n_heads=2)
        tensor([[2., 3.]])
        >>> multi_head(query, key, value, n_heads=2, mask=torch.tensor([False, True]))
        tensor([[4., 4.]])
    """
    batch, width = query.shape[:-2], query.shape[-1:]
    if any(x.shape[:-2] != batch or x.shape[-1:] != width for x in (key, value)):
        raise ValueError(
            f"query, key and value must share batch and d_model: "
            f"got {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        )
    query, key, value = (split_heads(x, n_heads) for x in (query, key, value))
    if mask is not None:
        scores_shape = (*batch, query.shape[-2], key.shape[-2])
        try:
            mask = mask.expand(scores_shape).unsqueeze(-3)  # [*batch, 1, q, k]
        except RuntimeError as error:
            sizes = f"{tuple(mask.shape)} to {scores_shape}"
            raise ValueError(f"mask must broadcast to [*batch, q, k]: got {sizes}") from error
    return merge_heads(attention(query, key, value, mask))  # [*batch, q, d_model]


class MultiHeadAttention(nn.Module):
    """Multi-head attention with its projections: MultiHead(Q, K, V) = Concat(head_i) W_O.

    Difficulty 4 of 5, about 20 minutes.

    With the same weights it gives what torch.nn.MultiheadAttention(batch_first=True) gives. The
    module has four layers and no other weights, each an nn.Linear(d_model, d_model):
        w_q: makes the queries.
        w_k: makes the keys.
        w_v: makes the values.
        w_o: the output projection, applied to the joined heads.

    Args:
        d_model: the width of the tokens, in and out.
        n_heads: how many heads; at least 1, and it divides d_model.
        bias: whether the four layers have a bias. False: none of them has one.

    Raises:
        ValueError: `n_heads` is below 1 or does not divide d_model.

    Source: document 000, "Multi-Head Attention"; document 004, "Apply output projection".

    Example:
        >>> layer = MultiHeadAttention(d_model=8, n_heads=2)
        >>> layer(torch.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])
        >>> layer(torch.zeros(3, 5, 8), memory=torch.zeros(3, 7, 8)).shape
        torch.Size([3, 5, 8])
        >>> sorted(name for name, _ in layer.named_children())
        ['w_k', 'w_o', 'w_q', 'w_v']
    """

    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads != 0:
            raise ValueError(
                f"n_heads must be at least 1 and divide d_model: got {n_heads} and {d_model}"
            )
        self.d_model, self.n_heads = d_model, n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        """Let the tokens of `x` look at `memory`, or at each other where there is none.

        Args:
            x: the tokens that look, as rows [*batch, q, d_model], in the dtype of the weights.
            memory: the tokens looked at, as rows [*batch, k, d_model]; it makes the keys and the
                values. None: `x` itself.
            mask: True where the query may attend, the same for every head; broadcasts to
                [*batch, q, k]. None: everywhere.

        Returns:
            One new row per token of `x` [*batch, q, d_model]: w_o of the joined heads. A query that
            may attend to nothing gets the bias of `w_o`, and finite gradients.

        Raises:
            ValueError: `x` or `memory` has fewer than two dimensions.
            ValueError: `x` or `memory` is not d_model wide.
            ValueError: `x` and `memory` differ in their batch.
            ValueError: `mask` does not broadcast to [*batch, q, k].
        """
        memory = x if memory is None else memory
        if x.shape[-1:] != (self.d_model,) or memory.shape[-1:] != (self.d_model,):
            raise ValueError(
                f"x and memory must be d_model = {self.d_model} wide: "
                f"got {tuple(x.shape)} and {tuple(memory.shape)}"
            )
        query, key, value = self.w_q(x), self.w_k(memory), self.w_v(memory)
        return self.w_o(multi_head(query, key, value, self.n_heads, mask))
