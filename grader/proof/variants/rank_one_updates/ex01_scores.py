"""Chapter 1. Scores by rank-one updates, with a backward pass of its own."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


class PairSums(torch.autograd.Function):
    """C(b, i, j) = sum over l of A(b, i, l) * B(b, j, l), for A (b, q, d) and B (b, k, d).

    The outer products of the columns are added up, one l after the other. The derivatives are
    sums of the same kind, so this can be differentiated as often as one likes.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(a, b):
        d = a.shape[2]
        c = None
        # in blocks of 16 columns: the sums of short sums are more exact than one long sum
        for start in range(0, d, 16):
            part = a[:, :, start, None] * b[:, None, :, start]
            for col in range(start + 1, min(start + 16, d)):
                part = torch.addcmul(part, a[:, :, col, None], b[:, None, :, col])
            c = part if c is None else c + part
        if c is None:
            c = a.new_zeros(a.shape[0], a.shape[1], b.shape[1])
        return c

    @staticmethod
    def setup_context(ctx, inputs, output):
        a, b = inputs
        ctx.save_for_backward(a, b)
        ctx.save_for_forward(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = gb = None
        if ctx.needs_input_grad[0]:
            ga = PairSums.apply(g, b.transpose(1, 2))
        if ctx.needs_input_grad[1]:
            gb = PairSums.apply(g.transpose(1, 2), a.transpose(1, 2))
        return ga, gb

    @staticmethod
    def jvp(ctx, da, db):
        a, b = ctx.saved_tensors
        t = None
        if da is not None:
            t = PairSums.apply(da, b)
        if db is not None:
            u = PairSums.apply(a, db)
            t = u if t is None else t + u
        return t


def _work(dtype):
    """Half precision is added up in single precision."""
    return torch.promote_types(dtype, torch.float32)


def _pair_sums(a, b):
    """PairSums with any number of leading dimensions, in the dtype of the inputs."""
    lead, q, k, d = a.shape[:-2], a.shape[-2], b.shape[-2], a.shape[-1]
    m = 1
    for size in lead:
        m = m * size
    w = _work(a.dtype)
    c = PairSums.apply(a.reshape(m, q, d).to(w), b.reshape(m, k, d).to(w))
    return c.reshape(*lead, q, k).to(a.dtype)


def _fail(what, **tensors):
    sizes = [f"{n}{tuple(t.shape)} with {t.dim()} subscripts" for n, t in tensors.items()]
    raise ValueError(what + ": " + ", ".join(sizes))


def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    if a.dim() != 1 or b.dim() != 1:
        _fail("a and b must have one subscript", a=a, b=b)
    if a.shape[0] != b.shape[0]:
        _fail("a and b must be equally long", a=a, b=b)
    return _pair_sums(a[None, :], b[None, :])[0, 0]


def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    if tokens.dim() < 2:
        _fail("tokens must have two subscripts or more", tokens=tokens)
    return _pair_sums(tokens, tokens)


def _project(x, w_out_in, bias):
    """Rows x (..., n, d_in) with w(o, i); the tokens of all sequences are one long list."""
    lead, d_in, d_out = x.shape[:-1], x.shape[-1], w_out_in.shape[0]
    rows = 1
    for size in lead:
        rows = rows * size
    w = _work(x.dtype)
    y = PairSums.apply(x.reshape(1, rows, d_in).to(w), w_out_in[None].to(w))[0]
    if bias is not None:
        # one more rank-one update, of a column of ones with the bias
        y = y + torch.outer(torch.ones(rows, dtype=w, device=x.device), bias.to(w))
    return y.reshape(*lead, d_out).to(x.dtype)


def _check_projection(x, weight, bias, d_in, axis_in):
    if weight.dim() != 2 or weight.shape[axis_in] != d_in:
        _fail(f"weight must be a matrix with extent {d_in} along axis {axis_in}",
              weight=weight, x=x)
    d_out = weight.shape[1 - axis_in]
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != d_out):
        _fail(f"bias must have the one extent {d_out}", bias=bias, weight=weight)


def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    if x.dim() < 2:
        _fail("x must have two subscripts or more", x=x)
    _check_projection(x, weight, bias, x.shape[-1], 0)
    return _project(x, weight.transpose(0, 1), bias)


def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    if x.dim() < 2:
        _fail("x must have two subscripts or more", x=x)
    _check_projection(x, weight, bias, x.shape[-1], 1)
    return _project(x, weight, bias)


def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    if x.dim() < 2:
        _fail("x must have two subscripts or more", x=x)
    _check_projection(x, weight, bias, x.shape[-2], 1)
    return _project(x.transpose(-1, -2), weight, bias).transpose(-1, -2)


def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    if query.dim() < 2 or key.dim() < 2:
        _fail("query and key must have two subscripts or more", query=query, key=key)
    if query.shape[-1] != key.shape[-1]:
        _fail("query and key must be equally wide", query=query, key=key)
    if query.shape[:-2] != key.shape[:-2]:
        _fail("query and key must agree in their leading extents", query=query, key=key)
    return _pair_sums(query, key)
