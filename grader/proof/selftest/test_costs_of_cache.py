"""Chapter 11's promises tell a row written into a buffer from a buffer that is made anew."""

from __future__ import annotations

import pytest

STEM = "ex11_cache"
HEAD = """
import torch
from ex05_mixing import attention
from ex10_window import causal_mask_at


class KeyValueCache:
    def __init__(self, capacity):
        self.capacity, self.length, self.rows = capacity, 0, None

    def update(self, key, value):
        begin, end = self.length, self.length + key.shape[-2]
        if self.rows is None:
            self.rows = [one.new_zeros(*one.shape[:-2], self.capacity, one.shape[-1])
                         for one in (key, value)]
        self.length = end
        places = torch.arange(begin, end)
        for i, new in enumerate((key, value)):
            self.rows[i] = written(self.rows[i], new, begin, end, places)
        return tuple(one[..., :end, :] for one in self.rows)


def written(rows, new, begin, end, places):
    rows[..., begin:end, :] = new
    return rows


def attend_with_cache(query, key, value, cache):
    keys, values = cache.update(key, value)
    m, n = query.shape[-2], keys.shape[-2]
    return attended(query, keys, values, m, n, cache)


def attended(query, keys, values, m, n, cache):
    return attention(query, keys, values, causal_mask_at(m, n))


def written(rows, new, begin, end, places):
    rows[..., begin:end, :] = new
    return rows
"""
IN_PLACE = {
    "index_copy_": "return rows.index_copy_(-2, places, new)",
    "narrow": "rows.narrow(-2, begin, end - begin).copy_(new)\n    return rows",
    "scatter_": "return rows.scatter_(-2, places[:, None].expand(new.shape), new)",
    "row by row": "for i in range(end - begin):\n        rows[..., begin + i, :] = new[..., i, :]\n"
                  "    return rows",
}  # fmt: skip
ANEW = {
    "cat": "return torch.cat([rows[..., :begin, :], new, rows[..., end:, :]], -2)",
    "index_copy": "return rows.index_copy(-2, places, new)",
    "clone": "rows = rows.clone()\n    rows[..., begin:end, :] = new\n    return rows",
    "one-hot": "return rows + torch.eye(rows.shape[-2])[:, places] @ new",
    "slice_scatter": "return rows.slice_scatter(new, rows.dim() - 2, begin, end)",
}
ONE_ROW = {
    "where": "scores = query @ keys.mT / query.shape[-1] ** 0.5\n"
             "    back = n - m + torch.arange(m)[:, None] - torch.arange(n)\n"
             "    return torch.where(back < 0, -torch.inf, scores).softmax(-1) @ values",
    "no mask for one": "mask = causal_mask_at(m, n) if m > 1 else None\n"
                       "    return attention(query, keys, values, mask)",
    "in float64": "wide = (one.double() for one in (query, keys, values))\n"
                  "    return attention(*wide, causal_mask_at(m, n)).float()",
}  # fmt: skip
MORE = {
    "last row of a square": "return attention(query, keys, values, causal_mask_at(n, n)[-m:])",
    "all queries": "all_queries = torch.cat([query.new_zeros(n - m, query.shape[-1]), query])\n"
                   "    return attention(all_queries, keys, values, causal_mask_at(n, n))[-m:]",
    "the whole buffer": "seen = torch.arange(cache.capacity) <= n - m + torch.arange(m)[:, None]\n"
                        "    return attention(query, *cache.rows, seen)",
}  # fmt: skip


@pytest.fixture
def found(kept_promises):
    """List what is found of an exercise whose helper has a body of its own."""

    def findings(exercise, head, body):
        code = f"{HEAD}\n\ndef {head}:\n    {body}\n"
        return [one.kind for _, one in kept_promises(STEM, code, exercise) if one is not None]

    return findings


def caches(found, body):
    return found("KeyValueCache", "written(rows, new, begin, end, places)", body)


def attends(found, body):
    return found("attend_with_cache", "attended(query, keys, values, m, n, cache)", body)


@pytest.mark.parametrize("body", IN_PLACE.values(), ids=list(IN_PLACE))
def test_a_row_that_is_written_in_place_is_let_through(found, body):
    assert caches(found, body) == []


@pytest.mark.parametrize("body", ANEW.values(), ids=list(ANEW))
def test_a_buffer_that_is_made_anew_is_told(found, body):
    assert "cost" in caches(found, body)


@pytest.mark.parametrize("body", ONE_ROW.values(), ids=list(ONE_ROW))
def test_a_step_of_one_row_is_let_through(found, body):
    assert attends(found, body) == []


@pytest.mark.parametrize("body", MORE.values(), ids=list(MORE))
def test_a_step_that_works_out_more_is_told(found, body):
    assert "cost" in attends(found, body)
