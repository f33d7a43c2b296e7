"""Scores. Numerics first: every product is worked out one precision up and rounded once."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

_UP = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float64,
    torch.float64: torch.float64,
}


def _up(t: Tensor) -> Tensor:
    """One precision up. Apple's GPUs have no float64 and stay where they are."""
    if t.dtype is torch.float32 and t.device.type == "mps":
        return t
    return t.to(_UP[t.dtype])


def _size(t: Tensor) -> str:
    return f"size {list(t.size())}" if t.dim() else "no size at all, being 0-dimensional"


def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    if not (a.dim() == b.dim() == 1 and a.size(0) == b.size(0)):
        raise ValueError(f"no dot product of a with {_size(a)} and b with {_size(b)}")
    return (_up(a) @ _up(b)).to(a.dtype)


def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    if tokens.dim() < 2:
        raise ValueError(f"tokens are rows of a matrix, not something with {_size(tokens)}")
    wide = _up(tokens)
    return (wide @ wide.mT).to(tokens.dtype)


def _refuse_projection(
    x: Tensor, weight: Tensor, bias: Tensor | None, d_in: int, side_in: int
) -> None:
    if weight.dim() != 2 or weight.size(side_in) != d_in:
        raise ValueError(f"weight with {_size(weight)} is not for x with {_size(x)}")
    if bias is not None and list(bias.size()) != [weight.size(1 - side_in)]:
        raise ValueError(f"bias with {_size(bias)} is not for weight with {_size(weight)}")


def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    if x.dim() < 2:
        raise ValueError(f"x has no rows, it has {_size(x)}")
    _refuse_projection(x, weight, bias, x.size(-1), side_in=0)
    wide = _up(x) @ _up(weight)
    if bias is not None:
        wide = wide + _up(bias)
    return wide.to(x.dtype)


def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    if x.dim() < 2:
        raise ValueError(f"x has no rows, it has {_size(x)}")
    _refuse_projection(x, weight, bias, x.size(-1), side_in=1)
    return project_rows(x, weight.mT, bias)


def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    if x.dim() < 2:
        raise ValueError(f"x has no columns, it has {_size(x)}")
    _refuse_projection(x, weight, bias, x.size(-2), side_in=1)
    wide = _up(weight) @ _up(x)
    if bias is not None:
        wide = wide + _up(bias).unsqueeze(1)
    return wide.to(x.dtype)


def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    if query.dim() < 2 or key.dim() < 2:
        trouble = "both need rows"
    elif query.size(-1) != key.size(-1):
        trouble = f"widths {query.size(-1)} and {key.size(-1)}"
    elif query.size()[:-2] != key.size()[:-2]:
        trouble = f"batches {list(query.size()[:-2])} and {list(key.size()[:-2])}"
    else:
        return (_up(query) @ _up(key).mT).to(query.dtype)
    raise ValueError(f"query with {_size(query)}, key with {_size(key)}: {trouble}")
