from __future__ import annotations

import json
import math

import torch
from torch import Tensor
from ex01_scores import project_rows

from ex02_scaling import scaled_scores


def _no(**what: object) -> ValueError:
    return ValueError(json.dumps({k: list(getattr(v, "shape", (v,))) for k, v in what.items()}))


def rotary_angles(positions: Tensor, d_head: int, base: float = 10000.0) -> Tensor:
    if positions.ndim != 1:
        raise _no(stelle=positions)
    if d_head % 2 or d_head < 2:
        raise _no(breite=d_head)
    places = positions.double()
    columns = [places / float(base) ** (2 * i / d_head) for i in range(d_head // 2)]
    return torch.stack(columns, 1).to(torch.float32)


def _order(d: int, device: torch.device) -> Tensor:
    return torch.arange(d, device=device).view(-1, 2).mT.flatten()


def rotate_pairs(x: Tensor, angles: Tensor) -> Tensor:
    try:
        order = _order(x.shape[-1], x.device)
        return rotate_halves(x[..., order], angles)[..., order.argsort()]
    except (RuntimeError, IndexError) as why:
        raise _no(x=x) from why


def rotate_halves(x: Tensor, angles: Tensor) -> Tensor:
    if x.ndim < 2 or x.shape[-1] % 2:
        raise _no(x=x)
    n, d = x.shape[-2:]
    if angles.shape != (n, d // 2):
        raise _no(winkel=angles)
    # exp of a matrix with -angle above and angle below the diagonal turns
    turn = torch.diag_embed(torch.remainder(angles.double(), 2 * math.pi))
    zero = torch.zeros_like(turn)
    whole = torch.cat((torch.cat((zero, -turn), -1), torch.cat((turn, zero), -1)), -2)
    return (torch.matrix_exp(whole) @ x.double().unsqueeze(-1)).squeeze(-1).to(x.dtype)


def pairs_to_halves(weight: Tensor, n_heads: int) -> Tensor:
    rows = len(weight) if weight.ndim else 0
    one = torch.eye(rows, dtype=weight.dtype, device=weight.device)
    project_rows(one, weight)  # refuses what is no matrix
    try:
        order = torch.arange(rows).view(n_heads, -1, 2).mT.flatten()
    except RuntimeError as why:
        raise _no(rows=rows, n_heads=n_heads) from why
    return project_rows(one[order], weight)


def rotary_scores(
    query: Tensor,
    key: Tensor,
    query_positions: Tensor,
    key_positions: Tensor,
    base: float = 10000.0,
) -> Tensor:
    scaled_scores(query, key)  # refuses
    d = query.shape[-1]
    if d % 2:
        raise _no(query=query)
    sides = []
    for x, at in ((query, query_positions), (key, key_positions)):
        if at.shape != x.shape[-2:-1]:
            raise _no(stelle=at)
        z = torch.complex(*x.double().unflatten(-1, (-1, 2)).unbind(-1))
        a = rotary_angles(at, d, base).double()
        sides.append(z * torch.complex(a.cos(), a.sin()))
    return ((sides[0] @ sides[1].mH).real / math.sqrt(d)).to(query.dtype)
