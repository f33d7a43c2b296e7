"""Chapter 1: a decorator that counts dimensions, a hand-made gradient, einsum, recursion, vmap."""

from __future__ import annotations

import functools
import inspect

import torch
from jaxtyping import Float
from torch import Tensor


class Misfit(ValueError):
    pass


def needs(**ranks):
    """needs(a=(1, 1)): the argument a has at least and at most so many dimensions."""

    def deco(f):
        sig = inspect.signature(f)

        @functools.wraps(f)
        def g(*args, **kwargs):
            given = sig.bind(*args, **kwargs)
            given.apply_defaults()
            for who, (lo, hi) in ranks.items():
                if (t := given.arguments[who]) is not None and not lo <= t.dim() <= hi:
                    raise Misfit(f"no good: {who} came as {list(t.shape)}")
            return f(*given.args, **given.kwargs)

        return g

    return deco


ANY = 10**9


def _agree(**pairs):
    for what, (l, r) in pairs.items():
        if l != r:
            raise Misfit(f"{what}: {l} against {r}")


class _Dot(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a, b):
        return torch.einsum("i,i->", a, b)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a


@needs(a=(1, 1), b=(1, 1))
def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    _agree(length=(len(a), len(b)))
    return _Dot.apply(a, b)


@needs(tokens=(2, ANY))
def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    return torch.stack(
        [torch.einsum("...d,...nd->...n", r, tokens) for r in tokens.unbind(-2)], dim=-2
    )


@needs(x=(2, ANY), weight=(2, 2), bias=(1, 1))
def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    _agree(d_in=(x.size(-1), weight.size(0)))
    if bias is not None:
        # homogeneous coordinates: every token gets a 1, the weight one more row
        _agree(d_out=(weight.size(1), bias.size(0)))
        x = torch.nn.functional.pad(x, (0, 1), value=1.0)
        weight = torch.cat([weight, bias[None]])
    return torch.einsum("...i,io->...o", x, weight)


@needs(x=(2, ANY), weight=(2, 2), bias=(1, 1))
def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    if x.dim() > 2:
        return torch.stack([project_linear(s, weight, bias) for s in x])
    _agree(d_in=(x.size(1), weight.size(1)))
    y = torch.tensordot(x, weight, dims=([1], [1]))
    if bias is None:
        return y
    _agree(d_out=(weight.size(0), bias.size(0)))
    return y + bias


@needs(x=(2, ANY), weight=(2, 2), bias=(1, 1))
def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    _agree(d_in=(x.size(-2), weight.size(1)))
    if bias is not None:
        _agree(d_out=(weight.size(0), bias.size(0)))

    def column(c):
        y = weight @ c
        return y if bias is None else torch.add(y, bias)

    f = torch.func.vmap(column, in_dims=-1, out_dims=-1)
    for _ in range(x.dim() - 2):
        f = torch.func.vmap(f)
    return f(x)


@needs(query=(2, ANY), key=(2, ANY))
def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    (*b, _, w), (*c, _, v) = query.shape, key.shape
    _agree(d_k=(w, v), batch=(b, c))
    return (query[..., :, None, :] * key[..., None, :, :]).sum(-1)
