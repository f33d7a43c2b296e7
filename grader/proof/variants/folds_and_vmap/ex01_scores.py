"""Chapter 1. Scores: pure functions, lifted over the batch with torch.vmap."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

import torch
from jaxtyping import Float
from torch import Tensor

# Sizes as text: (2, 5, 3) is "2x5x3".
show = lambda t: "x".join(map(str, t.shape)) or "a scalar of 0 dimensions"  # noqa: E731


def refuse(reason: str, **tensors: Tensor) -> ValueError:
    return ValueError(f"{reason}: " + ", ".join(f"{n} is {show(t)}" for n, t in tensors.items()))


def lift(function: Callable[..., Tensor], levels: int, in_dims: tuple) -> Callable[..., Tensor]:
    """Map a function over that many leading dimensions."""
    return reduce(lambda inner, _: torch.vmap(inner, in_dims=in_dims), range(levels), function)


def over_tokens(one: Callable[[Tensor], Tensor], x: Tensor, token_dim: int) -> Tensor:
    """Map a function of one token over all tokens of all sequences; dims are those of a matrix."""
    one_sequence = torch.vmap(one, in_dims=token_dim, out_dims=token_dim)
    return lift(one_sequence, x.ndim - 2, (0,))(x)


def affine(matrix: Tensor, bias: Tensor | None, token: Tensor) -> Tensor:
    return matrix @ token if bias is None else matrix @ token + bias


def checked(x: Tensor, weight: Tensor, bias: Tensor | None, d_in: int, outward: bool) -> None:
    """Refuse a weight or a bias that does not fit; `outward`: the weight is [d_out, d_in]."""
    match tuple(weight.shape), outward:
        case ((d_out, taken), True) | ((taken, d_out), False) if taken == d_in:
            pass
        case _:
            raise refuse(f"a matrix for tokens {d_in} wide is wanted", weight=weight, x=x)
    if bias is not None and tuple(bias.shape) != (d_out,):
        raise refuse(f"a bias of {d_out} numbers is wanted", bias=bias, weight=weight)


def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    match tuple(a.shape), tuple(b.shape):
        case (n,), (m,) if n == m:
            return torch.dot(a, b)
        case (_,), (_,):
            raise refuse("vectors of one length are wanted", a=a, b=b)
        case _:
            raise refuse("two vectors are wanted", a=a, b=b)


def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    match tuple(tokens.shape):
        case (*_, _, _):
            return lift(lambda t: t @ t.mT, tokens.ndim - 2, (0,))(tokens)
        case _:
            raise refuse("tokens as rows are wanted", tokens=tokens)


def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    match tuple(x.shape):
        case (*_, _, d_in):
            checked(x, weight, bias, d_in, outward=False)
            return over_tokens(partial(affine, weight.mT, bias), x, 0)
        case _:
            raise refuse("tokens as rows are wanted", x=x)


def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    match tuple(x.shape):
        case (*_, _, d_in):
            checked(x, weight, bias, d_in, outward=True)
            return over_tokens(partial(affine, weight, bias), x, 0)
        case _:
            raise refuse("tokens as rows are wanted", x=x)


def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    match tuple(x.shape):
        case (*_, d_in, _):
            checked(x, weight, bias, d_in, outward=True)
            return over_tokens(partial(affine, weight, bias), x, 1)
        case _:
            raise refuse("tokens as columns are wanted", x=x)


def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    match tuple(query.shape), tuple(key.shape):
        case (*ours, _, d_q), (*theirs, _, d_k) if ours == theirs and d_q == d_k:
            return lift(lambda q, k: q @ k.mT, len(ours), (0, 0))(query, key)
        case (*ours, _, d_q), (*theirs, _, d_k) if d_q != d_k:
            raise refuse(f"widths {d_q} and {d_k} differ", query=query, key=key)
        case (*ours, _, _), (*theirs, _, _):
            raise refuse(f"batches {ours} and {theirs} differ", query=query, key=key)
        case _:
            raise refuse("rows of numbers are wanted", query=query, key=key)
