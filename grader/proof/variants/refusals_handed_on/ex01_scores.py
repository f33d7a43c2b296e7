import functools

import torch
import torch.nn.functional as F


class Misfit(ValueError):
    pass


def dot_product(a, b):
    if a.dim() - 1 or b.dim() - 1 or a.shape != b.shape:
        raise Misfit

    def add_up(p):  # halves of halves
        n = p.size(0)
        return p.squeeze(0) if n == 1 else add_up(p[: n // 2]) + add_up(p[n // 2 :])

    return add_up(a.mul(b))


def naive_scores(tokens):
    if tokens.dim() < 2:
        raise Misfit()
    return functools.reduce(
        lambda f, _: torch.vmap(f), tokens.shape[:-2], lambda t: F.linear(t, t)
    )(tokens)


def project_rows(x, weight, bias=None):
    if x.dim() < 2 or weight.dim() != 2 or x.shape[-1] != weight.shape[0]:
        raise Misfit
    if bias is None:
        bias = weight.new_zeros(weight.shape[1])
    elif bias.shape != weight.shape[1:]:
        raise Misfit
    return torch.addmm(bias, x.reshape(-1, x.shape[-1]), weight).reshape(*x.shape[:-1], -1)


def project_linear(x, weight, bias=None):
    if x.dim() < 2 or weight.dim() != 2:
        raise Misfit
    return project_rows(x, weight.permute(1, 0), bias)


def project_columns(x, weight, bias=None):
    if x.dim() < 2 or weight.dim() != 2 or weight.shape[1] != x.shape[-2]:
        raise Misfit
    if bias is not None and bias.shape != weight.shape[:1]:
        raise Misfit
    many = x.reshape(-1, *x.shape[-2:])
    return F.conv1d(many, weight.unsqueeze(-1), bias).reshape(
        *x.shape[:-2], weight.shape[0], x.shape[-1]
    )


def dot_product_scores(query, key):
    if query.dim() < 2 or query.dim() != key.dim():
        raise Misfit
    if query.shape[:-2] + query.shape[-1:] != key.shape[:-2] + key.shape[-1:]:
        raise Misfit
    q, k = (t.reshape(-1, *t.shape[-2:]) for t in (query, key))
    out = q.new_zeros(q.shape[0], q.shape[1], k.shape[1])
    return torch.baddbmm(out, q, k.mT).reshape(*query.shape[:-1], key.shape[-2])
