"""Chapter 9's promise tells every way of copying keys from every way of not doing so."""

from __future__ import annotations

import pytest

from grader.judging.evidence import Evidence
from grader.judging.outcome import Outcome

STEM = "ex09_groups"
HEAD = """
import torch
from ex05_mixing import attention


def grouped_attention(query, key, value, mask=None):
    *batch, h, q, _ = query.shape
    g = key.shape[-3]
    times = h // g
    groups = query.unflatten(-3, (g, times))
"""
REPEATED = """
    key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
    return attention(query, key, value)
"""
EXPANDED = """
    def wide(x):
        return x.unsqueeze(-3).expand(*x.shape[:-2], times, *x.shape[-2:]).flatten(-4, -3)
    return attention(query, wide(key), wide(value))
"""
BROADCAST = """
    scores = groups @ key.unsqueeze(-3).mT / query.shape[-1] ** 0.5
    return (scores.softmax(-1) @ value.unsqueeze(-3)).flatten(-4, -3)
"""
INDEXED = """
    shared = torch.arange(h) // times
    return attention(query, key[..., shared, :, :], value[..., shared, :, :])
"""
MAPPED = """
    over = torch.vmap(attention, in_dims=(-3, None, None), out_dims=-3)
    return over(groups, key, value).flatten(-4, -3)
"""
GROUP_BY_GROUP = """
    out = []
    for i in range(g):
        keys, values = (x[..., i : i + 1, :, :].mT.expand(*batch, times, -1, -1).mT
                        for x in (key, value))
        out.append(attention(groups[..., i, :, :, :], keys, values))
    return torch.cat(out, -3)
"""
BELOW_EACH_OTHER = """
    mixed = attention(groups.flatten(-3, -2), key, value)
    return mixed.unflatten(-2, (times, q)).flatten(-4, -3)
"""
EINSUM = """
    scores = torch.einsum("...gtqe,...gke->...gtqk", groups, key) / query.shape[-1] ** 0.5
    return torch.einsum("...gtqk,...gkv->...gtqv", scores.softmax(-1), value).flatten(-4, -3)
"""
HEAD_BY_HEAD = """
    shared = zip(key.unbind(-3), value.unbind(-3))
    each = [one for one in shared for _ in range(times)]
    return torch.stack([attention(one, *kv) for one, kv in zip(query.unbind(-3), each)], -3)
"""
EACH_WIDENED = """
    out = [attention(query[..., j, :, :].double(), key[..., j // times, :, :].double(),
                     value[..., j // times, :, :].double()) for j in range(h)]
    return torch.stack(out, -3).to(query.dtype)
"""
WIDENED_AND_COPIED_ONCE = """
    mixed = attention(groups.flatten(-3, -2).double().clone(), key.double().clone(),
                      value.double().clone())
    return mixed.unflatten(-2, (times, q)).flatten(-4, -3).to(query.dtype)
"""
PRODUCT_BY_PRODUCT = """
    products = groups[..., :, None, :] * key[..., :, None, None, :, :]
    weights = (products.sum(-1) / query.shape[-1] ** 0.5).softmax(-1)
    return (weights[..., None] * value[..., :, None, None, :, :]).sum(-2).flatten(-4, -3)
"""
REPEATED_FOR_A_MASK = (
    """
    if mask is not None:
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
        return attention(query, key, value, mask.unsqueeze(-3))
"""
    + BELOW_EACH_OTHER
)
PLAIN, MASKED = range(2)


@pytest.fixture
def found(kept_promises):
    """Say what is found of the body of a function."""
    return lambda body, of=PLAIN: kept_promises(STEM, HEAD + body)[of][1]


@pytest.mark.parametrize("body", [
    BELOW_EACH_OTHER, EINSUM, HEAD_BY_HEAD, EACH_WIDENED, WIDENED_AND_COPIED_ONCE,
    PRODUCT_BY_PRODUCT,
])  # fmt: skip
def test_what_copies_nothing_for_each_head_is_let_through(found, body):
    assert found(body) is None


@pytest.mark.parametrize("body", [
    REPEATED, EXPANDED, BROADCAST, INDEXED, MAPPED, GROUP_BY_GROUP,
])  # fmt: skip
def test_what_copies_for_each_head_is_told(found, body):
    finding = found(body)
    assert (finding.kind, finding.label, finding.at) == ("cost", "the largest tensor", "h=30")


def test_what_copies_only_for_a_mask_is_told(found):
    assert found(REPEATED_FOR_A_MASK) is None
    assert found(REPEATED_FOR_A_MASK, MASKED).label == "the largest tensor"


def test_ways_of_copying_show_the_same(found):
    one, other, fewer = (
        Evidence.of(Outcome("failed", found(body)))
        for body in (REPEATED, BROADCAST, GROUP_BY_GROUP)
    )
    assert one == other != fewer
