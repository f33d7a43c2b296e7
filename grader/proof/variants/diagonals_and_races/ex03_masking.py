"""Chapter 3: running sums, one row per length, and assignment into a copy."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    # the ones of the unit matrix, summed along each column: zero before the diagonal
    return torch.eye(n, device=device, dtype=torch.int32).cumsum(0) > 0


def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    match lengths.ndim:
        case 1:
            m = torch.zeros(len(lengths), n, dtype=torch.bool, device=lengths.device)
            for row, real in zip(m, lengths.tolist()):
                row[:real] = True
            return m
        case 0:
            raise ValueError("a lone length, where a row of them belongs")
        case _:
            raise ValueError("lengths in a block of " + " by ".join(map(str, lengths.shape)))


def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    p, c = padding_mask(lengths, n), causal_mask(n, lengths.device)
    return torch.einsum("bj,ij->bij", p.to(torch.uint8), c.to(torch.uint8)).to(torch.bool)


def _fits(small: tuple[int, ...], big: tuple[int, ...]) -> bool:
    match small, big:
        case (), _:
            return True
        case _, ():
            return False
        case (*s, a), (*b, z):
            return a in (1, z) and _fits(tuple(s), tuple(b))


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    if not _fits(tuple(mask.shape), tuple(scores.shape)):
        say = lambda t: "-by-".join(str(s) for s in t.shape)  # noqa: E731
        raise ValueError(f"a sieve of {say(mask)} cannot lie over {say(scores)}")
    out = scores.clone()
    out[mask.expand_as(scores).logical_not()] = float("-inf")
    return out
