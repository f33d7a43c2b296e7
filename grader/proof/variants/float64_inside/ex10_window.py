"""Style float64 inside: two halves of keys for each block, on numbers that are widened first."""

import torch

from ex01_scores import check
from ex05_mixing import attention


def causal_mask_at(q, k, device=None):
    check(q <= k, f"q == {q}, expected at most k == {k}")
    rows = torch.arange(q, device=device, dtype=torch.float64).unsqueeze(1)
    return torch.arange(k, device=device, dtype=torch.float64) - rows < k - q + 0.5


def window_mask(q, k, window, sinks=0, device=None):
    check(window >= 1, f"window == {window}, expected 1 or more")
    check(sinks >= 0, f"sinks == {sinks}, expected 0 or more")
    back = torch.arange(k - q, k, device=device)[:, None] - torch.arange(k, device=device)
    first = torch.zeros(k, dtype=torch.bool, device=device)
    first[:sinks] = True
    return torch.where(first, True, back < window) & causal_mask_at(q, k, device)


def window_attention(query, key, value, window):
    shapes = (
        f"query.shape is {tuple(query.shape)}, key.shape is {tuple(key.shape)} "
        f"and value.shape is {tuple(value.shape)}"
    )
    check(query.ndim == key.ndim == value.ndim >= 2, f"{shapes}: dimensions do not agree")
    check(query.shape == key.shape, f"{shapes}: query and key do not agree")
    check(key.shape[:-1] == value.shape[:-1], f"{shapes}: key and value do not agree")
    check(window >= 1, f"window == {window}, expected 1 or more")
    n = query.shape[-2]
    window = min(window, n)
    count = (n + window - 1) // window

    def blocks(x, before):
        # `before` blocks of zeros in front; as many as it takes behind
        wide = x.new_zeros(x.shape[:-2] + ((count + before) * window, x.shape[-1])).double()
        wide[..., before * window : before * window + n, :] = x
        return wide.reshape(x.shape[:-2] + (count + before, window, x.shape[-1]))

    def both(x):
        shifted = blocks(x, 1)
        return torch.cat((shifted[..., :-1, :, :], shifted[..., 1:, :, :]), -2)

    place = torch.arange(count * window, device=query.device).reshape(count, window, 1)
    seen = place[:, :1] - window + torch.arange(2 * window, device=query.device)
    mask = (seen >= 0) & (seen <= place) & (place - seen < window)
    mixed = attention(blocks(query, 0), both(key), both(value), mask)
    return mixed.flatten(-3, -2).narrow(-2, 0, n).to(query.dtype)
