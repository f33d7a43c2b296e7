"""Chapter 10's promise tells every way of making n x n numbers from every way of doing without."""

from __future__ import annotations

import pytest

from grader.coach.ex10_window import FINDINGS

STEM = "ex10_window"
HEAD = """
import torch
import torch.nn.functional as F
from torch import Tensor
from ex05_mixing import attention


def window_mask(q, k, window, device=None):
    back = torch.arange(k - q, k, device=device)[:, None] - torch.arange(k, device=device)
    return (back >= 0) & (back < window)


def window_attention(query, key, value, window):
    *batch, n, d_k = query.shape
"""
MASKED = """
    return attention(query, key, value, window_mask(n, n, window))
"""
CUT_FROM_A_WHOLE_MASK = """
    mask = window_mask(n, n, window)
    out = []
    for first in range(0, n, window):
        rows = slice(first, first + window)
        seen = slice(max(0, first - window), first + window)
        out.append(attention(query[..., rows, :], key[..., seen, :], value[..., seen, :],
                             mask[rows, seen]))
    return torch.cat(out, -2)
"""
ALL_SCORES_THEN_THE_BAND = """
    scores = query @ key.mT / d_k**0.5
    places = torch.arange(n)[:, None] - torch.arange(window)
    near = scores.gather(-1, places.clamp(min=0).expand(*batch, n, window))
    weights = near.masked_fill(places < 0, -torch.inf).softmax(-1)
    return torch.einsum("...nw,...nwd->...nd", weights, value[..., places.clamp(min=0), :])
"""
ALL_THAT_CAME_BEFORE = """
    out = [attention(query[..., i : i + 1, :], key[..., : i + 1, :], value[..., : i + 1, :],
                     torch.arange(i + 1) > i - window) for i in range(n)]
    return torch.cat(out, -2)
"""
WEIGHTS_PUT_INTO_A_TABLE = """
    places = (torch.arange(n)[:, None] - torch.arange(window)).clamp(min=0)
    scores = torch.einsum("...nd,...nwd->...nw", query, key[..., places, :]) / d_k**0.5
    closed = torch.arange(n)[:, None] < torch.arange(window)
    weights = scores.masked_fill(closed, -torch.inf).softmax(-1)
    table = query.new_zeros(*batch, n, n).scatter_add(-1, places.expand_as(weights), weights)
    return table @ value
"""
FEW_LARGE_BLOCKS = """
    half = -(-n // 2)
    first = attention(query[..., :half, :], key[..., :half, :], value[..., :half, :],
                      window_mask(half, half, window))
    if half == n:
        return first
    before = max(0, half - window)
    second = attention(query[..., half:, :], key[..., before:, :], value[..., before:, :],
                       window_mask(n - half, n - before, window))
    return torch.cat([first, second], -2)
"""
WHOLE_WINDOWS = """
    def windows(x):
        return F.pad(x, (0, 0, window - 1, 0)).unfold(-2, window, 1).mT
    real = windows(torch.ones(n, 1)).mT > 0
    mixed = attention(windows(query), windows(key), windows(value), real)
    return mixed[..., -1, :]
"""
BLOCKS_WITHIN_A_LOOP = """
    out = []
    for first in range(0, n, window):
        rows = slice(first, min(first + window, n))
        seen = slice(max(0, first - window), rows.stop)
        mask = window_mask(rows.stop - first, rows.stop - seen.start, window)
        out.append(attention(query[..., rows, :], key[..., seen, :], value[..., seen, :], mask))
    return torch.cat(out, -2)
"""
LONGER_BLOCKS = """
    out = []
    for first in range(0, n, 128):
        rows = slice(first, min(first + 128, n))
        seen = slice(max(0, first - window), rows.stop)
        mask = window_mask(rows.stop - first, rows.stop - seen.start, window)
        out.append(attention(query[..., rows, :], key[..., seen, :], value[..., seen, :], mask))
    return torch.cat(out, -2)
"""
QUERY_BY_QUERY = """
    out = []
    for i in range(n):
        seen = slice(max(0, i + 1 - window), i + 1)
        out.append(attention(query[..., i : i + 1, :], key[..., seen, :], value[..., seen, :]))
    return torch.cat(out, -2)
"""
KEYS_OF_EACH_QUERY = """
    def windows(x):
        return F.pad(x, (0, 0, window - 1, 0)).unfold(-2, window, 1)
    scores = torch.einsum("...nd,...ndw->...nw", query, windows(key)) / d_k**0.5
    closed = torch.arange(window) < window - 1 - torch.arange(n)[:, None]
    weights = scores.masked_fill(closed, -torch.inf).softmax(-1)
    return torch.einsum("...nw,...ndw->...nd", weights, windows(value))
"""
KEYS_COPIED_FOR_EACH_QUERY = """
    places = torch.arange(n)[:, None] - torch.arange(window)
    keys, values = (x[..., places.clamp(min=0), :].double() for x in (key, value))
    mixed = attention(query.double().unsqueeze(-2), keys, values, (places >= 0).unsqueeze(-2))
    return mixed.squeeze(-2).to(query.dtype)
"""
SHIFT_BY_SHIFT = """
    scores, values = [], []
    for back in range(min(window, n)):
        product = (query[..., back:, :] * key[..., : n - back, :]).sum(-1) / d_k**0.5
        scores.append(F.pad(product, (back, 0), value=-torch.inf))
        values.append(F.pad(value[..., : n - back, :], (0, 0, back, 0)))
    weights = torch.stack(scores, -1).softmax(-1)
    return sum(w[..., None] * x for w, x in zip(weights.unbind(-1), values))
"""
BLOCKS_AT_ONCE = """
    blocks = -(-n // window)
    def cut(x):
        return F.pad(x, (0, 0, 0, blocks * window - n)).unflatten(-2, (blocks, window))
    def both(x):
        before = F.pad(cut(x), (0, 0, 0, 0, 1, 0))[..., :-1, :, :]
        return torch.cat([before, cut(x)], -2)
    mask = window_mask(window, 2 * window, window).repeat(blocks, 1, 1)
    mask[0, :, :window] = False
    return attention(cut(query), both(key), both(value), mask).flatten(-3, -2)[..., :n, :]
"""
PAIRS, SQUARE = "grows_with_all_pairs", "grows_with_the_square_of_the_window"
N, WINDOW = ("largest by n", "made by n"), ("made by window",)


@pytest.fixture
def found(kept_promises):
    """Say what is found of the body of a function, by what is promised."""
    return lambda body: {
        f"{promised.measure} by {promised.size}": one
        for promised, one in kept_promises(STEM, HEAD + body)
        if one is not None
    }


@pytest.mark.parametrize("body", [
    BLOCKS_AT_ONCE, BLOCKS_WITHIN_A_LOOP, LONGER_BLOCKS, QUERY_BY_QUERY, KEYS_OF_EACH_QUERY,
    KEYS_COPIED_FOR_EACH_QUERY, SHIFT_BY_SHIFT,
])  # fmt: skip
def test_what_makes_no_pair_of_all_positions_is_let_through(found, body):
    assert found(body) == {}


@pytest.mark.parametrize(("body", "told"), [
    (MASKED, N), (CUT_FROM_A_WHOLE_MASK, N), (ALL_SCORES_THEN_THE_BAND, N),
    (ALL_THAT_CAME_BEFORE, N[1:]), (WEIGHTS_PUT_INTO_A_TABLE, N), (FEW_LARGE_BLOCKS, N),
    (WHOLE_WINDOWS, WINDOW),
])  # fmt: skip
def test_what_grows_faster_than_promised_is_told(found, body, told):
    findings = found(body)
    assert {one.kind for one in findings.values()} == {"cost"}
    assert tuple(findings) == told
    named = {one.name for found in findings.values() for one in FINDINGS if one.fits(found)}
    assert named == {PAIRS if told != WINDOW else SQUARE}
