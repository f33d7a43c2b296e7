"""Chapter 1: shapes are declared, sums are recursive, batches are peeled."""

from __future__ import annotations

import functools
import inspect

import torch
from torch import nn


class ShapeMismatch(ValueError):
    """A declared shape was not kept."""


def _spell(shape):
    return "x".join(str(size) for size in shape) if len(shape) else "without dimensions (0)"


def _unify(name, shape, spec, known):
    """Match a shape with a declaration like "*b n d"; `known` remembers who said what first."""
    words = spec.split()
    starred = words[0].startswith("*")
    plain = words[1:] if starred else words
    if len(shape) < len(plain) or len(shape) > len(plain) and not starred:
        wanted = f"{len(plain)} dimensions" + (" or more" if starred else "")
        raise ShapeMismatch(f"{name} is {_spell(shape)}, that is {len(shape)} dimensions where {wanted} are declared")
    cut = len(shape) - len(plain)
    found = list(zip(plain, shape[cut:])) + ([(words[0], tuple(shape[:cut]))] if starred else [])
    for word, value in found:
        before, by = known.setdefault(word, (value, f"{name} {_spell(shape)}"))
        if before != value:
            raise ShapeMismatch(f"{name} {_spell(shape)} says {word} = {value}, but {by} says {word} = {before}")


def _spread(name, shape, spec, known):
    """Match a mask with a declaration like "<= *b q k": it may be smaller, never larger."""
    full = []
    for word in spec.split():
        full.extend(known[word][0] if word.startswith("*") else [known[word][0]])
    tail = full[len(full) - len(shape) :]
    if len(shape) > len(full) or any(have != 1 and have != want for have, want in zip(shape, tail)):
        raise ShapeMismatch(f"{name} {_spell(shape)} does not spread over {_spell(full)}")


_MATCHERS = {"<=": _spread, "==": _unify}


def fits(**specs):
    """Declare shapes, one keyword for each argument; what is None is not looked at."""

    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args, **kwargs):
            given, known = signature.bind(*args, **kwargs).arguments, {}
            for name, spec in specs.items():
                if given.get(name) is not None:
                    relation = spec[:2] if spec[:2] in _MATCHERS else "=="
                    _MATCHERS[relation](name, tuple(given[name].shape), spec.removeprefix("<="), known)
            return function(*args, **kwargs)

        return checked

    return decorate


class PerSequence(nn.Module):
    """Peel the batch dimensions off all inputs, one after the other, and stack what comes out."""

    def __init__(self, core):
        super().__init__()
        self.core = core

    def forward(self, *tensors):
        if tensors[0].ndim == 2:
            return self.core(*tensors)
        return torch.stack([self(*each) for each in zip(*tensors)])


@fits(a="d", b="d")
def dot_product(a, b):
    """Half of it plus the other half."""
    wide = torch.promote_types(a.dtype, torch.float32)

    def total(u, v):
        if len(u) <= 16:
            return u.mul(v).sum()
        half = len(u) // 2
        return total(u[:half], v[:half]) + total(u[half:], v[half:])

    return total(a.to(wide), b.to(wide)).to(a.dtype)


_scores = PerSequence(lambda query, key: torch.mm(query, key.t()))


@fits(tokens="*b n d")
def naive_scores(tokens):
    """The tokens, with themselves."""
    return _scores(tokens, tokens)


@fits(x="*b n d_in", weight="d_in d_out", bias="d_out")
def project_rows(x, weight, bias=None):
    """x W + b"""
    out = PerSequence(lambda rows: rows.mm(weight) if bias is None else torch.addmm(bias, rows, weight))
    return out(x)


@fits(x="*b n d_in", weight="d_out d_in", bias="d_out")
def project_linear(x, weight, bias=None):
    """x (W^T) + b"""
    return project_rows(x, weight.transpose(0, 1), bias)


@fits(x="*b d_in n", weight="d_out d_in", bias="d_out")
def project_columns(x, weight, bias=None):
    """((x^T) (W^T) + b)^T"""
    return project_linear(x.transpose(-1, -2), weight, bias).transpose(-1, -2)


@fits(key="*b k d_k", query="*b q d_k")
def dot_product_scores(query, key):
    """The queries, with the keys."""
    return _scores(query, key)
