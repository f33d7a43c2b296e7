"""Chapter 1, one token after the other; torch itself says what does not fit."""

from __future__ import annotations

from contextlib import contextmanager

import torch
from torch import Tensor


class Misfit(ValueError):
    """Sizes that do not go together."""


@contextmanager
def or_misfit(sentence: str):
    """Whatever goes wrong inside, went wrong because of sizes: say which."""
    try:
        yield
    except (RuntimeError, IndexError, ValueError) as error:
        raise Misfit(sentence) from error


def ghost(*sizes: int) -> Tensor:
    """A tensor of these sizes without any numbers in it, to try things out on."""
    return torch.empty(sizes, device="meta")


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    """Piece by piece, then the pieces."""
    with or_misfit(f"Vectors of one length, please: a is {tuple(a.shape)}, b is {tuple(b.shape)}."):
        (d,), (_,) = a.shape, b.shape
        torch.stack([ghost(*a.shape), ghost(*b.shape)])
    wide = torch.promote_types(a.dtype, torch.float32)
    total = None
    for start in range(0, d, 64):
        piece = (a[start : start + 64].to(wide) * b[start : start + 64].to(wide)).sum()
        total = piece if total is None else total + piece
    return total.to(a.dtype)


def naive_scores(tokens: Tensor) -> Tensor:
    """For each sequence, for each token: what all the others say to it."""
    with or_misfit(f"Tokens of shape {tuple(tokens.shape)} have no rows: dimensions are {tokens.ndim}, not 2."):
        *batch, n, d = tokens.shape
    out = []
    for sequence in tokens.reshape(-1, n, d):
        rows = []
        for token in sequence:
            rows.append(sequence @ token)
        out.append(torch.stack(rows))
    return torch.stack(out).reshape(*batch, n, n)


def _through(vectors: list[Tensor], weight: Tensor, bias: Tensor | None) -> list[Tensor]:
    out = []
    for vector in vectors:
        new = weight @ vector
        out.append(new if bias is None else new + bias)
    return out


def _check_bias(bias: Tensor | None, d_out: int) -> None:
    if bias is not None:
        with or_misfit(f"The bias is {tuple(bias.shape)} and not ({d_out},)."):
            torch.stack([ghost(*bias.shape), ghost(d_out)])


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """One token, one product."""
    with or_misfit(f"Rows of {tuple(x.shape)} do not go through a weight of {tuple(weight.shape)}."):
        *batch, n, d = x.shape
        _, d_out = weight.shape
        torch.mm(ghost(n, d), ghost(*weight.shape))
    _check_bias(bias, d_out)
    return torch.stack(_through(list(x.reshape(-1, d)), weight.t(), bias)).reshape(*batch, n, d_out)


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """One token, one product, the weight lying on its side."""
    with or_misfit(f"Rows of {tuple(x.shape)} do not go through a weight of {tuple(weight.shape)}, d_out x d_in."):
        *batch, n, d = x.shape
        d_out, _ = weight.shape
        torch.mm(ghost(*weight.shape), ghost(d, n))
    _check_bias(bias, d_out)
    return torch.stack(_through(list(x.reshape(-1, d)), weight, bias)).reshape(*batch, n, d_out)


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """One token, one product, and everything stands upright."""
    with or_misfit(f"Columns of {tuple(x.shape)} do not go through a weight of {tuple(weight.shape)}."):
        *batch, d, n = x.shape
        d_out, _ = weight.shape
        torch.mm(ghost(*weight.shape), ghost(d, n))
    _check_bias(bias, d_out)
    out = []
    for sequence in x.reshape(-1, d, n):
        out.append(torch.stack(_through(list(sequence.unbind(1)), weight, bias), dim=1))
    return torch.stack(out).reshape(*batch, d_out, n)


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    """For each sequence, for each query: what the keys say to it."""
    sizes = f"query is {tuple(query.shape)}, key is {tuple(key.shape)}"
    with or_misfit(f"Not two stacks of matrices: {sizes}, dimensions are {query.ndim} and {key.ndim}."):
        (*batch, q, d), (*batch_k, k, d_key) = query.shape, key.shape
    with or_misfit(f"Widths differ: {sizes}."):
        torch.stack([ghost(d), ghost(d_key)])
    with or_misfit(f"Batches differ: {sizes}."):
        torch.stack([ghost(*batch), ghost(*batch_k)])
    out = []
    for questions, offers in zip(query.reshape(-1, q, d), key.reshape(-1, k, d)):
        rows = []
        for question in questions:
            rows.append(offers @ question)
        out.append(torch.stack(rows))
    return torch.stack(out).reshape(*batch, q, k)
