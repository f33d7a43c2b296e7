"""Style float64 inside: computed in double precision, handed back in the caller's dtype."""

import torch


def check(condition, message):
    if not condition:
        raise ValueError(message)


def dot_product(a, b):
    check(a.ndim == 1, f"a.shape is {tuple(a.shape)}, expected one dimension")
    check(b.ndim == 1, f"b.shape is {tuple(b.shape)}, expected one dimension")
    check(len(a) == len(b), f"a.shape is {tuple(a.shape)} but b.shape is {tuple(b.shape)}")
    return torch.inner(a.double(), b.double()).to(a.dtype)


def naive_scores(tokens):
    check(tokens.ndim >= 2, f"tokens.shape is {tuple(tokens.shape)}, expected 2 or more dimensions")
    wide = tokens.double()
    return torch.matmul(wide, wide.transpose(-1, -2)).to(tokens.dtype)


def _project(x, weight, bias):
    """Multiply [*batch, n, d_in] by [d_in, d_out] in double precision."""
    out = x.double() @ weight.double()
    if bias is not None:
        check(
            bias.ndim == 1 and len(bias) == weight.shape[1],
            f"bias.shape is {tuple(bias.shape)}, expected ({weight.shape[1]},)",
        )
        out += bias.double()
    return out.to(x.dtype)


def _check_two(x, weight):
    check(x.ndim >= 2, f"x.shape is {tuple(x.shape)}, expected 2 or more dimensions")
    check(weight.ndim == 2, f"weight.shape is {tuple(weight.shape)}, expected 2 dimensions")


def project_rows(x, weight, bias=None):
    _check_two(x, weight)
    check(
        x.shape[-1] == weight.shape[0],
        f"x.shape[-1] == {x.shape[-1]} but weight.shape[0] == {weight.shape[0]}",
    )
    return _project(x, weight, bias)


def project_linear(x, weight, bias=None):
    _check_two(x, weight)
    check(
        x.shape[-1] == weight.shape[1],
        f"x.shape[-1] == {x.shape[-1]} but weight.shape[1] == {weight.shape[1]}",
    )
    return _project(x, weight.t(), bias)


def project_columns(x, weight, bias=None):
    _check_two(x, weight)
    check(
        x.shape[-2] == weight.shape[1],
        f"x.shape[-2] == {x.shape[-2]} but weight.shape[1] == {weight.shape[1]}",
    )
    return _project(x.transpose(-2, -1), weight.t(), bias).transpose(-2, -1)


def dot_product_scores(query, key):
    shapes = f"query.shape is {tuple(query.shape)} and key.shape is {tuple(key.shape)}"
    check(query.ndim == key.ndim and query.ndim >= 2, f"{shapes}: dimensions do not agree")
    check(query.shape[:-2] == key.shape[:-2], f"{shapes}: batches do not agree")
    check(query.shape[-1] == key.shape[-1], f"{shapes}: d_k does not agree")
    return torch.matmul(query.double(), key.double().transpose(-2, -1)).to(query.dtype)
