"""Scores, as a JAX user would: functions of one example, lifted by vmap."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import vmap


class MismatchError(ValueError):
    """Arguments that do not fit together; it lists the named sizes."""

    def __init__(self, complaint: str, **sizes: object) -> None:
        self.sizes = sizes
        listed = ", ".join(f"{name}={size}" for name, size in sizes.items())
        super().__init__(f"{complaint} ({listed})" if listed else complaint)


def named(t: Tensor, *names: str) -> str:
    """The sizes of `t`, its last ones by name: "batch=2, n=5, d=3"."""
    if t.ndim < len(names):
        return "ndim=0" if t.ndim == 0 else f"ndim={t.ndim}, shape={'*'.join(map(str, t.shape))}"
    lead = t.shape[: t.ndim - len(names)]
    parts = [f"batch={'*'.join(map(str, lead))}"] if lead else []
    parts += [f"{n}={s}" for n, s in zip(names, t.shape[len(lead) :], strict=True)]
    return ", ".join(parts)


def require(ok: bool, complaint: str, *whose: str) -> None:
    if not ok:
        raise MismatchError(f"{complaint}: " + "; ".join(whose))


def lift(function: Callable[..., Tensor], depth: int) -> Callable[..., Tensor]:
    """vmap over `depth` leading dimensions of every argument."""
    for _ in range(depth):
        function = vmap(function)
    return function


def _dot(a: Tensor, b: Tensor) -> Tensor:
    wide = torch.promote_types(a.dtype, torch.float32)  # products of halves need the room
    return torch.sum(a.to(wide) * b.to(wide)).to(a.dtype)


def _outer(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """All pairs of a row of the first with a row of the second."""
    return vmap(vmap(function, in_dims=(None, 0)), in_dims=(0, None))


def _affine(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    """token [d_in] -> weight [d_out, d_in] @ token + bias."""

    def apply(token: Tensor) -> Tensor:
        out = torch.mv(weight, token)
        return out if bias is None else out + bias

    return apply


def _require_projection(
    x: Tensor,
    x_names: tuple[str, str],
    weight: Tensor,
    w_names: tuple[str, str],
    bias: Tensor | None,
) -> None:
    said_x = "x has " + named(x, *x_names)
    require(x.ndim >= 2, "x needs two dimensions or more", said_x)
    d_in = x.shape[x_names.index("d_in") - 2]
    said_w = "weight has " + named(weight, *w_names)
    fits = weight.ndim == 2 and weight.shape[w_names.index("d_in")] == d_in
    require(fits, "weight is no matrix for these tokens", said_x, said_w)
    if bias is not None:
        fits = bias.shape == (weight.shape[w_names.index("d_out")],)
        said_b = "bias has " + named(bias, "d_out")
        require(fits, "bias is no vector for this weight", said_w, said_b)


def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    said = "a has " + named(a, "d"), "b has " + named(b, "d")
    require(a.ndim == 1 and b.ndim == 1, "two vectors are wanted", *said)
    require(a.shape == b.shape, "the vectors differ in length", *said)
    return _dot(a, b)


def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    said = "tokens has " + named(tokens, "n", "d")
    require(tokens.ndim >= 2, "tokens needs two dimensions or more", said)
    return lift(lambda t: _outer(_dot)(t, t), tokens.ndim - 2)(tokens)


def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    _require_projection(x, ("n", "d_in"), weight, ("d_in", "d_out"), bias)
    return lift(_affine(weight.mT, bias), x.ndim - 1)(x)


def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    _require_projection(x, ("n", "d_in"), weight, ("d_out", "d_in"), bias)
    return lift(_affine(weight, bias), x.ndim - 1)(x)


def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    _require_projection(x, ("d_in", "n"), weight, ("d_out", "d_in"), bias)
    columns = vmap(_affine(weight, bias), in_dims=1, out_dims=1)
    return lift(columns, x.ndim - 2)(x)


def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    said = "query has " + named(query, "q", "d_k"), "key has " + named(key, "k", "d_k")
    require(query.ndim >= 2 and key.ndim >= 2, "two dimensions or more are wanted", *said)
    require(query.shape[-1] == key.shape[-1], "query and key differ in width", *said)
    require(query.shape[:-2] == key.shape[:-2], "query and key differ in batch", *said)
    return lift(_outer(_dot), query.ndim - 2)(query, key)
