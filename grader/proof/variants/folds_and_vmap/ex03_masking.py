"""Chapter 3. Masks: predicates on positions, tabulated with torch.vmap."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

looks_back = lambda i, j: j <= i  # noqa: E731
is_real = lambda length, j: j < length  # noqa: E731
show = lambda t: "x".join(map(str, t.shape)) or "a scalar of 0 dimensions"  # noqa: E731


def tabulate(predicate: Callable[[Tensor, Tensor], Tensor], rows: Tensor, cols: Tensor) -> Tensor:
    """The table of a predicate: entry (r, c) is predicate(rows[r], cols[c])."""
    one_row = torch.vmap(predicate, in_dims=(None, 0))
    return torch.vmap(one_row, in_dims=(0, None))(rows, cols)


def vector_of(lengths: Tensor, n: int) -> Tensor:
    match tuple(lengths.shape):
        case (_,):
            return lengths.long()
        case _:
            raise ValueError(f"lengths must be a vector, but is {show(lengths)} (n={n})")


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    positions = torch.arange(n, device=device)
    return tabulate(looks_back, positions, positions)


def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    return tabulate(is_real, vector_of(lengths, n), torch.arange(n, device=lengths.device))


def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    positions = torch.arange(n, device=lengths.device)

    def table_of(length: Tensor) -> Tensor:
        both = lambda i, j: looks_back(i, j) & is_real(length, j)  # noqa: E731
        return tabulate(both, positions, positions)

    return torch.vmap(table_of)(vector_of(lengths, n))


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    pairs = zip_longest(reversed(mask.shape), reversed(scores.shape), fillvalue=1)
    if mask.ndim > scores.ndim or any(m not in (1, s) for m, s in pairs):
        raise ValueError(f"mask is {show(mask)}: too much or too little for {show(scores)} scores")
    return torch.where(mask, scores, scores.new_full((), -torch.inf))
