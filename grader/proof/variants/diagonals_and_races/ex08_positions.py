"""Chapter 8, with complex numbers, and refusals that hang on the functions as decorators."""

from __future__ import annotations

import cmath
import functools
import inspect
import math

import torch
from torch import Tensor


def _girth(t) -> str:
    return "x".join(str(s) for s in t.shape) or "a lone number"


def unless(test, plaint):
    """Refuse a call for which `test` holds; `plaint` words the complaint."""

    def dress(fn):
        signature = inspect.signature(fn)
        names = [*inspect.signature(test).parameters]
        more = [*inspect.signature(plaint).parameters]

        @functools.wraps(fn)
        def guarded(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            if test(*(given[n] for n in names)):
                raise ValueError(plaint(*(given[n] for n in more)))
            return fn(*args, **kwargs)

        return guarded

    return dress


def _broad(dtype):
    return torch.promote_types(dtype, torch.float32)


def _plane(u: Tensor, v: Tensor, angles: Tensor) -> Tensor:
    """u + vi, times e^(i angle)."""
    kind = _broad(u.dtype)
    points = torch.complex(u.to(kind), v.to(kind))
    bend = angles.to(kind)
    return points * torch.polar(torch.ones_like(bend), bend)


@unless(lambda d_head: d_head < 2 or d_head & 1, lambda d_head: f"pairs out of {d_head}? no")
@unless(lambda positions: positions.dim() != 1, lambda positions: f"a queue, please: {_girth(positions)}")
def rotary_angles(positions: Tensor, d_head: int, base: float = 10000.0) -> Tensor:
    slowness = -2.0 * math.log(base) / d_head
    pace = [cmath.exp(complex(slowness * i)).real for i in range(d_head // 2)]
    pace = torch.tensor(pace, dtype=torch.float64, device=positions.device)
    return torch.outer(positions.to(torch.float64), pace).to(torch.float32)


def _turnable(fn):
    return functools.reduce(
        lambda f, dress: dress(f),
        [
            unless(
                lambda x, angles: tuple(angles.shape) != (x.shape[-2], x.shape[-1] // 2),
                lambda x, angles: f"{_girth(angles)} angles cannot bend {_girth(x)}",
            ),
            unless(lambda x: x.shape[-1] & 1, lambda x: f"someone stays single in {_girth(x)}"),
            unless(lambda x: x.dim() < 2, lambda x: f"flat: {_girth(x)}"),
        ],
        fn,
    )


@_turnable
def rotate_pairs(x: Tensor, angles: Tensor) -> Tensor:
    moved = _plane(x[..., 0::2], x[..., 1::2], angles)
    return torch.view_as_real(moved).flatten(-2).to(x.dtype)


@_turnable
def rotate_halves(x: Tensor, angles: Tensor) -> Tensor:
    moved = _plane(*x.tensor_split(2, -1), angles)
    return torch.cat([moved.real, moved.imag], -1).to(x.dtype)


@unless(
    lambda weight, n_heads: n_heads < 1 or weight.shape[0] % (2 * n_heads),
    lambda weight, n_heads: f"{_girth(weight)} does not go into n_heads={n_heads}",
)
@unless(lambda weight: weight.dim() != 2, lambda weight: f"not a table: {_girth(weight)}")
def pairs_to_halves(weight: Tensor, n_heads: int) -> Tensor:
    rows = weight.shape[0]
    wide = rows // n_heads
    old = sorted(range(rows), key=lambda r: (r // wide, r % wide % 2, r))
    return weight.index_select(0, torch.tensor(old, dtype=torch.long, device=weight.device))


@unless(
    lambda query, key, query_positions, key_positions: query_positions.shape != query.shape[-2:-1]
    or key_positions.shape != key.shape[-2:-1],
    lambda query, key, query_positions, key_positions: f"{_girth(query_positions)} places for "
    f"{_girth(query)}, {_girth(key_positions)} for {_girth(key)}",
)
@unless(lambda query: query.shape[-1] & 1, lambda query: f"someone stays single in {_girth(query)}")
@unless(
    lambda query, key: query.shape[-1] != key.shape[-1] or query.shape[:-2] != key.shape[:-2],
    lambda query, key: f"{_girth(query)} and {_girth(key)} never met",
)
@unless(
    lambda query, key: min(query.dim(), key.dim()) < 2,
    lambda query, key: f"flat: {_girth(query)}, {_girth(key)}",
)
def rotary_scores(
    query: Tensor,
    key: Tensor,
    query_positions: Tensor,
    key_positions: Tensor,
    base: float = 10000.0,
) -> Tensor:
    d = query.shape[-1]
    asks, offers = (
        _plane(t[..., 0::2], t[..., 1::2], rotary_angles(p, d, base))
        for t, p in ((query, query_positions), (key, key_positions))
    )
    # Re(a conj b) is the dot product of two points of the plane
    together = torch.einsum("...qc,...kc->...qk", asks, offers.conj())
    return (together.real / math.sqrt(d)).to(query.dtype)
