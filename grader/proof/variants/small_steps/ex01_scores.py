from __future__ import annotations

import torch
from torch import Tensor


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    if a.dim() != 1:
        raise ValueError(f"a should be a vector but a.dim() is {a.dim()}, a.shape is {a.shape}")
    if b.dim() != 1:
        raise ValueError(f"b should be a vector but b.dim() is {b.dim()}, b.shape is {b.shape}")
    if a.size(0) != b.size(0):
        raise ValueError(f"a has length {a.size(0)} but b has length {b.size(0)}")
    products = torch.mul(a, b)
    total = torch.sum(products)
    return total


def naive_scores(tokens: Tensor) -> Tensor:
    if tokens.dim() < 2:
        raise ValueError(
            f"tokens should have 2 or more dimensions but has {tokens.dim()}, shape is {tokens.shape}"
        )
    tokens_transposed = torch.transpose(tokens, -2, -1)
    scores = torch.matmul(tokens, tokens_transposed)
    return scores


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.dim() < 2:
        raise ValueError(
            f"x should have 2 or more dimensions but has {x.dim()}, shape is {x.shape}"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight should have exactly 2 dimensions but has {weight.dim()}, shape is {weight.shape}"
        )
    d_in = x.size(-1)
    rows, columns = weight.size()
    if rows != d_in:
        raise ValueError(f"weight should have d_in={d_in} rows but has {rows}")
    y = torch.matmul(x, weight)
    if bias is not None:
        if bias.dim() != 1:
            raise ValueError(f"bias should be a vector of {columns}, shape is {bias.shape}")
        if bias.size(0) != columns:
            raise ValueError(f"bias should have d_out={columns} numbers but has {bias.size(0)}")
        y = y + bias
    return y


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.dim() < 2:
        raise ValueError(
            f"x should have 2 or more dimensions but has {x.dim()}, shape is {x.shape}"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight should have exactly 2 dimensions but has {weight.dim()}, shape is {weight.shape}"
        )
    if weight.size(1) != x.size(-1):
        raise ValueError(f"weight should have d_in={x.size(-1)} columns but has {weight.size(1)}")
    weight_transposed = torch.transpose(weight, 0, 1)
    return project_rows(x, weight_transposed, bias)


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.dim() < 2:
        raise ValueError(
            f"x should have 2 or more dimensions but has {x.dim()}, shape is {x.shape}"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight should have exactly 2 dimensions but has {weight.dim()}, shape is {weight.shape}"
        )
    d_out, d_in = weight.size()
    if d_in != x.size(-2):
        raise ValueError(f"weight should have d_in={x.size(-2)} columns but has {d_in}")
    y = torch.matmul(weight, x)
    if bias is not None:
        if bias.dim() != 1:
            raise ValueError(f"bias should be a vector of {d_out}, shape is {bias.shape}")
        if bias.size(0) != d_out:
            raise ValueError(f"bias should have d_out={d_out} numbers but has {bias.size(0)}")
        bias_as_column = bias.reshape(d_out, 1)
        y = y + bias_as_column
    return y


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    if query.dim() < 2:
        raise ValueError(
            f"query should have 2 or more dimensions but has {query.dim()}, shape is {query.shape}"
        )
    if key.dim() < 2:
        raise ValueError(
            f"key should have 2 or more dimensions but has {key.dim()}, shape is {key.shape}"
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(f"query has d_k={query.size(-1)} but key has d_k={key.size(-1)}")
    query_batch = query.shape[:-2]
    key_batch = key.shape[:-2]
    if query_batch != key_batch:
        raise ValueError(
            f"the batch of query is {query_batch} but the batch of key is {key_batch} "
            f"(shapes {query.shape} and {key.shape})"
        )
    key_transposed = torch.transpose(key, -2, -1)
    scores = torch.matmul(query, key_transposed)
    return scores
