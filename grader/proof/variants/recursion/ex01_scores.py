"""Scores, spelled out: loops, recursion, stack. Slow, and easy to believe."""

from __future__ import annotations

import torch


def _fail(text, *tensors):
    """Complain, and list all sizes: "(2, 5, 3) vs (4,)"."""
    raise ValueError(text + ": " + " vs ".join(_shape(t) for t in tensors))


def _shape(t):
    return str(tuple(t.shape)) if t.dim() > 0 else "a single number (0 dimensions)"


def _wide(t):
    """Half precision is for storing, not for adding up."""
    if t.dtype == torch.float16 or t.dtype == torch.bfloat16:
        return t.to(torch.float32)
    return t


def _add_up(terms):
    """Add a list of tensors, halves first: the rounding errors stay small."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _add_up(terms[:middle]) + _add_up(terms[middle:])


def _each(depth, function, *tensors):
    """Go down `depth` batch dimensions, apply the function, stack on the way up."""
    if depth == 0:
        return function(*tensors)
    results = []
    for parts in zip(*tensors):
        results.append(_each(depth - 1, function, *parts))
    return torch.stack(results)


def dot_product(a, b):
    if a.dim() != 1 or b.dim() != 1:
        _fail("dot_product takes two vectors", a, b)
    if len(a) != len(b):
        _fail("the vectors are not of one length", a, b)
    terms = []
    for i in range(len(a)):
        terms.append(_wide(a[i]) * _wide(b[i]))
    return _add_up(terms).to(a.dtype)


def naive_scores(tokens):
    if tokens.dim() < 2:
        _fail("tokens must have two dimensions at least", tokens)

    def one_sequence(matrix):
        matrix = _wide(matrix)
        rows = []
        for i in range(len(matrix)):
            rows.append((matrix * matrix[i]).sum(dim=1))
        return torch.stack(rows)

    return _each(tokens.dim() - 2, one_sequence, tokens).to(tokens.dtype)


def project_rows(x, weight, bias=None):
    if x.dim() < 2:
        _fail("x must have two dimensions at least", x)
    if weight.dim() != 2:
        _fail("weight must be a matrix", weight)
    if len(weight) != x.shape[-1]:
        _fail("weight must have a row for each feature of x", x, weight)
    if bias is not None and tuple(bias.shape) != (weight.shape[1],):
        _fail("bias must have a number for each column of weight", weight, bias)
    terms = []
    for i in range(len(weight)):
        terms.append(_wide(x[..., i : i + 1]) * _wide(weight[i]))
    total = _add_up(terms)
    if bias is not None:
        total = total + _wide(bias)
    return total.to(x.dtype)


def project_linear(x, weight, bias=None):
    if x.dim() < 2:
        _fail("x must have two dimensions at least", x)
    if weight.dim() != 2:
        _fail("weight must be a matrix", weight)
    if weight.shape[1] != x.shape[-1]:
        _fail("weight must have a column for each feature of x", x, weight)
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        _fail("bias must have a number for each row of weight", weight, bias)
    features = []
    for o in range(len(weight)):
        feature = (_wide(x) * _wide(weight[o])).sum(dim=-1, keepdim=True)
        if bias is not None:
            feature = feature + _wide(bias[o])
        features.append(feature)
    return torch.cat(features, dim=-1).to(x.dtype)


def project_columns(x, weight, bias=None):
    if x.dim() < 2:
        _fail("x must have two dimensions at least", x)
    if weight.dim() != 2:
        _fail("weight must be a matrix", weight)
    if weight.shape[1] != x.shape[-2]:
        _fail("weight must have a column for each feature of x", x, weight)
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        _fail("bias must have a number for each row of weight", weight, bias)

    def one_sequence(columns):
        out = []
        for token in columns.unbind(dim=1):
            new = (_wide(weight) * _wide(token)).sum(dim=1)
            out.append(new if bias is None else new + _wide(bias))
        return torch.stack(out, dim=1)

    return _each(x.dim() - 2, one_sequence, x).to(x.dtype)


def dot_product_scores(query, key):
    if query.dim() < 2 or key.dim() < 2:
        _fail("query and key must have two dimensions at least", query, key)
    if query.shape[-1] != key.shape[-1]:
        _fail("query and key are not of one width", query, key)
    if query.dim() != key.dim() or query.shape[:-2] != key.shape[:-2]:
        _fail("query and key are not of one batch", query, key)
    columns = []
    for j in range(key.shape[-2]):
        one_key = key[..., j : j + 1, :]
        columns.append((_wide(query) * _wide(one_key)).sum(dim=-1))
    return torch.stack(columns, dim=-1).to(query.dtype)
