"""Chapter 12's promises tell every way of having all scores from every way of doing without."""

from __future__ import annotations

import re

import pytest
import torch

from grader import places
from grader.chapters import World, catalogue
from grader.coach.ex12_flash import FINDINGS
from grader.costs import Counting

STEM = "ex12_flash"
RIGHT = (places.SOLUTIONS / f"{STEM}.py").read_text(encoding="utf-8")
HEAD = RIGHT.split("def flash_attention")[0]
REFUSED = "def flash_attention(query, key, value, causal=False, block=64):\n"
# what each of these bodies has at hand
SEEN = REFUSED + "    q, k = query.shape[-2], key.shape[-2]\n    scale = query.shape[-1] ** -0.5\n"
ALL_AT_ONCE = """
    mask = torch.ones(q, k, dtype=torch.bool).tril(k - q) if causal else None
    return partial_attention(query, key, value, mask)[0]
"""
ALL_AT_ONCE_FOR_EACH_HEAD = """
    mask = torch.ones(q, k, dtype=torch.bool).tril(k - q) if causal else None
    one_by_one = zip(*(x.reshape(-1, *x.shape[-2:]) for x in (query, key, value)))
    made = torch.stack([partial_attention(*one, mask)[0] for one in one_by_one])
    return made.reshape(*query.shape[:-1], value.shape[-1])
"""
PUT_INTO_A_TABLE = """
    table = query.new_empty(*query.shape[:-1], k)
    for i in range(0, k, block):
        table[..., i : i + block] = query @ key[..., i : i + block, :].mT * scale
    if causal:
        table = apply_mask(table, torch.ones(q, k, dtype=torch.bool).tril(k - q))
    return mix_values(softmax(table), value)
"""
A_MASK_OF_ALL_PAIRS = """
    mask = torch.ones(q, k, dtype=torch.bool).tril(k - q if causal else k)
    made = []
    for i in range(0, q, block):
        end = min(k, k - q + i + block) if causal else k
        rows = query[..., i : i + block, :]
        made.append(checkpoint(partial_attention, rows, key[..., :end, :], value[..., :end, :],
                               mask[i : i + block, :end], use_reentrant=False)[0])
    return torch.cat(made, -2)
"""
TILES_THAT_AUTOGRAD_KEEPS = """
    made = []
    for i in range(0, q, block):
        rows = query[..., i : i + block, :]
        end = min(k, k - q + i + block) if causal else k
        so_far = None
        for j in range(0, end, block):
            columns = slice(j, min(j + block, end))
            mask = torch.ones(rows.shape[-2], columns.stop - j, dtype=torch.bool)
            mask = mask.tril(k - q + i - j if causal else k)
            part = partial_attention(rows, key[..., columns, :], value[..., columns, :], mask)
            so_far = merge_partials(*so_far, *part) if so_far else part
        made.append(so_far[0])
    return torch.cat(made, -2)
"""
ROWS_MADE_AGAIN = """
    def of_rows(i, end):
        rows = query[..., i : i + block, :]
        mask = torch.ones(rows.shape[-2], end, dtype=torch.bool).tril(k - q + i if causal else k)
        return partial_attention(rows, key[..., :end, :], value[..., :end, :], mask)[0]
    return torch.cat([
        checkpoint(of_rows, i, min(k, k - q + i + block) if causal else k, use_reentrant=False)
        for i in range(0, q, block)
    ], -2)
"""
FUTURE_ROWS_MADE_AGAIN = ROWS_MADE_AGAIN.replace(" if causal else k, use", " if False else k, use")
HIDDEN_IN_NUMPY = """
    mask = np.tril(np.ones((q, k), bool), k - q if causal else k)
    scores = query.detach().numpy() @ key.detach().numpy().swapaxes(-1, -2) * scale
    powers = np.exp(scores - scores.max(-1, keepdims=True)) * mask
    return torch.from_numpy(powers / powers.sum(-1, keepdims=True) @ value.detach().numpy())
"""
HEAD += """

import numpy as np
from torch.utils.checkpoint import checkpoint

"""
OF_THE_FUTURE = RIGHT.replace("if causal else k  # of", "if False else k  # of").replace(
    "causal and right - 1 > first", "causal"
)
KEPT_SCORES = (
    RIGHT.replace(
        "ctx.save_for_backward(query, key, value, out, log_sum)",
        "ctx.save_for_backward(query, key, value, out, log_sum)\n"
        "        ctx.kept = [t for *_, t in tiles_of(query, key, causal, block)]",
    )
    + """

def tiles_of(query, key, causal, block):
    for rows, columns, mask in _tiles(query, key, causal, block):
        yield rows, columns, query[..., rows, :] @ key[..., columns, :].mT
"""
)
MADE, KEPT, FUTURE = "all_scores_made", "all_scores_kept", "future_not_skipped"


@pytest.fixture
def found(kept_promises):
    """Say what is found of a chapter's code, and how the coach calls it."""

    def named(code):
        findings = [one for _, one in kept_promises(STEM, code) if one is not None]
        return {
            next((known.name for known in FINDINGS if known.fits(one)), one.kind)
            for one in findings
        }

    return named


@pytest.mark.parametrize("code", [RIGHT, HEAD + SEEN + ROWS_MADE_AGAIN], ids=["tiles", "rows"])
def test_what_never_has_all_scores_is_let_through(found, code):
    assert found(code) == set()


@pytest.mark.parametrize(("code", "told"), [
    (HEAD + SEEN + ALL_AT_ONCE, {MADE, KEPT, FUTURE}),
    (HEAD + SEEN + ALL_AT_ONCE_FOR_EACH_HEAD, {MADE, KEPT, FUTURE}),
    (HEAD + SEEN + PUT_INTO_A_TABLE, {MADE, KEPT, FUTURE}),
    (HEAD + SEEN + A_MASK_OF_ALL_PAIRS, {MADE, KEPT}),
    # what is kept is alive on the way back as well
    (HEAD + SEEN + TILES_THAT_AUTOGRAD_KEEPS, {MADE, KEPT}),
    (HEAD + SEEN + FUTURE_ROWS_MADE_AGAIN, {FUTURE}),
    (OF_THE_FUTURE, {FUTURE}),
    (KEPT_SCORES, {MADE, KEPT}),
], ids=lambda one: None if isinstance(one, set) else "code")  # fmt: skip
def test_what_has_all_scores_is_told(found, code, told):
    assert found(code) == told


def test_what_numpy_hides_is_missed(found):
    assert found(HEAD + SEEN + HIDDEN_IN_NUMPY)


def over_blocks_of_keys(query, key, value):
    """Merge block by block, with autograd watching."""
    world = World(places.SOLUTIONS, catalogue().names())
    partial, merge = (world.function(STEM, n) for n in ("partial_attention", "merge_partials"))
    blocks = zip(*(one.split(64, -2) for one in (key, value)), strict=True)
    out, log_sum = partial(query, *next(blocks))
    for block in blocks:
        out, log_sum = merge(out, log_sum, *partial(query, *block))
    return out


def test_the_figures_of_the_text_are_counted():
    world = World(places.SOLUTIONS, catalogue().names())
    torch.manual_seed(0)
    given = [torch.randn(2048, 64, requires_grad=True) for _ in range(3)]
    rows, made = [], []
    for function, more in (
        (world.function("ex05_mixing", "attention"), ()), (over_blocks_of_keys, ()),
        (world.function(STEM, "flash_attention"), ()),
        (world.function(STEM, "flash_attention"), (True,)),
    ):  # fmt: skip
        counting = Counting(lambda _: "")
        out = counting.call(function, (*given, *more), {})
        with counting.way_back():
            torch.autograd.grad(out.sum(), given)
        there, back = counting.forward, counting.backward
        rows.append([there.largest, there.peak, there.left, back.largest, back.peak])
        made.append(there.made)
    counted = [round(one / 1024) for row in rows[:3] for one in row]
    text = (places.EXERCISES / f"{STEM}.py").read_text(encoding="utf-8").split("What it costs")[1]
    table = text.split("in KiB")[1].split("512 is one tensor")[0]
    assert [int(one.replace(",", "")) for one in re.findall(r"  ([\d,]+)", table)] == counted
    millions = f"{made[3] / 1e6:.0f} million numbers are worked out and not {made[2] / 1e6:.0f}"
    assert millions in " ".join(text.split())
