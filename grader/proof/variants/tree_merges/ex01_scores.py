from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor


class Refus(ValueError):
    def __str__(self) -> str:
        return "non"


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    if {a.ndim, b.ndim} != {1}:
        raise Refus
    try:
        terms = torch.hstack((a.unsqueeze(1), b.unsqueeze(1)))
    except RuntimeError as why:
        raise Refus from why
    return terms.double().prod(1).sum().to(a.dtype)


def naive_scores(tokens: Tensor) -> Tensor:
    if tokens.ndim < 2:
        raise Refus(tokens)
    wide, out = tokens.double(), None
    for feature in wide.unbind(-1):  # one feature after the other, outer products
        part = feature.unsqueeze(-1) * feature.unsqueeze(-2)
        out = part if out is None else out + part
    return out.to(tokens.dtype)


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.ndim != 2:
        raise Refus(weight)
    return project_columns(x.mT if x.ndim > 1 else x, weight.T, bias).mT


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.ndim < 2 or weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        raise Refus()
    flat = x.reshape(1, -1, x.shape[-1]).double().mT
    try:
        out = F.conv1d(flat, weight.double().unsqueeze(-1), None if bias is None else bias.double())
    except RuntimeError as why:
        raise Refus() from why
    return out[0].mT.reshape(*x.shape[:-1], -1).to(x.dtype)


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.ndim < 2 or weight.ndim != 2:
        raise Refus()
    if bias is not None and (bias.ndim != 1 or len(bias) != len(weight)):
        raise Refus()
    if weight.shape[1] != x.shape[-2]:
        raise Refus()
    out = x.new_zeros((*x.shape[:-2], weight.shape[0], x.shape[-1]), dtype=torch.float64)
    for column, row in zip(weight.double().unbind(1), x.double().unbind(-2)):
        out = torch.addcmul(out, column[:, None], row.unsqueeze(-2))
    return (out if bias is None else out + bias.double()[:, None]).to(x.dtype)


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    if query.ndim < 2 or key.ndim < 2 or query.shape[:-2] != key.shape[:-2]:
        raise Refus()
    batch = query.shape[:-2]
    parts = []
    for at in itertools.product(*map(range, batch)):  # one sequence after the other
        try:
            parts.append(torch.inner(query[at], key[at]))
        except RuntimeError as why:
            raise Refus() from why
    return torch.stack(parts).reshape(*batch, query.shape[-2], key.shape[-2])
