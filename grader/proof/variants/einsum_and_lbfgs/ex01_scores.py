"""Scores, in Einstein's notation."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def _say(**tensors: Tensor) -> str:
    """ "query is 5x3 and key is 7x2"."""
    return " and ".join(
        f"{name} is {'x'.join(str(size) for size in t.shape) or 'one number, 0 dimensions'}"
        for name, t in tensors.items()
    )


def _project(
    equation: str, x: Tensor, weight: Tensor, bias: Tensor | None, inward: int, axis: int
) -> Tensor:
    """All three projections; `inward` is the dimension of the weight that meets x's `axis`."""
    if x.ndim < 2:
        raise ValueError(f"x needs at least two dimensions: {_say(x=x)}")
    if weight.ndim != 2 or weight.size(inward) != x.size(axis):
        raise ValueError(f"the weight does not fit: {_say(x=x, weight=weight)}")
    outward = 1 - inward
    if bias is not None and (bias.ndim != 1 or bias.numel() != weight.size(outward)):
        raise ValueError(f"the bias does not fit: {_say(weight=weight, bias=bias)}")
    out = torch.einsum(equation, x, weight)
    if bias is None:
        return out
    # the formula to the letter: b 1^T, or 1 b^T where the tokens are rows
    if axis == -1:
        return out + torch.einsum("n,o->no", x.new_ones(x.size(-2)), bias)
    return out + torch.einsum("o,n->on", bias, x.new_ones(x.size(-1)))


def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    if (a.ndim, b.ndim) != (1, 1) or a.shape != b.shape:
        raise ValueError(f"two vectors of one length, please: {_say(a=a, b=b)}")
    return torch.einsum("d,d->", a, b)


def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    if tokens.ndim < 2:
        raise ValueError(f"tokens need at least two dimensions: {_say(tokens=tokens)}")
    return torch.einsum("...id,...jd->...ij", tokens, tokens)


def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    return _project("...ni,io->...no", x, weight, bias, inward=0, axis=-1)


def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    return _project("...ni,oi->...no", x, weight, bias, inward=1, axis=-1)


def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    return _project("...in,oi->...on", x, weight, bias, inward=1, axis=-2)


def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    if (
        min(query.ndim, key.ndim) < 2
        or query.shape[:-2] != key.shape[:-2]
        or query.size(-1) != key.size(-1)
    ):
        raise ValueError(f"these do not go together: {_say(query=query, key=key)}")
    return torch.einsum("...qd,...kd->...qk", query, key)
