"""Style loops: one pair after the other, and one position after the other with what it sees."""

import torch

from ex01_scores import complain
from ex05_mixing import attention


def causal_mask_at(q, k, device=None):
    if q > k:
        raise ValueError(f"{q} queries have no place among {k} keys")
    mask = torch.zeros(q, k, dtype=torch.bool, device=device)
    for query in range(q):
        for key in range(k - q + query + 1):
            mask[query, key] = True
    return mask


def window_mask(q, k, window, sinks=0, device=None):
    if q > k:
        raise ValueError(f"{q} queries have no place among {k} keys")
    if window <= 0 or sinks < 0:
        raise ValueError(f"a window of {window} with {sinks} sinks makes no sense")
    mask = torch.zeros(q, k, dtype=torch.bool, device=device)
    for query in range(q):
        place = k - q + query
        mask[query, max(0, place + 1 - window) : place + 1] = True
        mask[query, : min(sinks, place + 1)] = True
    return mask


def window_attention(query, key, value, window):
    if min(query.dim(), key.dim(), value.dim()) < 2:
        complain("each position needs a vector", query, key, value)
    if query.shape[:-1] != key.shape[:-1] or key.shape[:-1] != value.shape[:-1]:
        complain("each position needs a query, a key and a value", query, key, value)
    if query.size(-1) != key.size(-1):
        complain("queries and keys should be as wide as each other", query, key)
    if window <= 0:
        raise ValueError(f"a window of {window} makes no sense")
    answers = []
    for place in range(query.size(-2)):
        start, end = max(0, place + 1 - window), place + 1
        one = query[..., place:end, :]
        answers.append(attention(one, key[..., start:end, :], value[..., start:end, :]))
    return torch.cat(answers, dim=-2)
