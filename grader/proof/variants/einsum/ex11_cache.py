"""Keys and values lie side by side in ONE buffer; attention and groups are einsums with torch.softmax; length is a property."""

import torch
from torch import nn

from ex08_positions import rotary_angles, rotate_pairs


class KeyValueCache:
    def __init__(self, capacity):
        if capacity <= 0:
            raise ValueError(f"a cache of capacity={capacity} holds nothing")
        self._capacity = capacity
        self.reset()

    @property
    def length(self):
        return self._filled

    def reset(self):
        self._both = None
        self._filled = 0
        self._first = None

    @torch.no_grad()
    def update(self, key, value):
        if key.dim() < 2:
            raise ValueError(f"key is {list(key.shape)}, too few dimensions")
        if value.dim() < 2:
            raise ValueError(f"value is {list(value.shape)}, too few dimensions")
        *batch, m, d_k = key.shape
        *value_batch, m_v, d_v = value.shape
        if m != m_v:
            raise ValueError(f"{m} keys and {m_v} values")
        if batch != value_batch:
            raise ValueError(f"key has batch {batch}, value {value_batch}")
        label = (batch, d_k, d_v, key.dtype, value.dtype, key.device, value.device)
        if self._first not in (None, label):
            raise ValueError(f"first update was {self._first}, this one is {label}")
        end = self._filled + m
        if end > self._capacity:
            raise ValueError(f"{m} more rows make {end}, room for {self._capacity}")
        if self._both is None:
            self._first = label
            self._both = key.new_zeros([*batch, self._capacity, d_k + d_v])
        self._both[..., self._filled : end, :d_k] = key
        self._both[..., self._filled : end, d_k:] = value
        self._filled = end
        return tuple(self._both[..., :end, :].split([d_k, d_v], dim=-1))


def _closed(m, n, window, device):
    """True where a word must NOT look."""
    full = torch.ones(m, n, dtype=torch.bool, device=device)
    closed = full.triu(n - m + 1)
    if window is not None and window < n:
        closed = closed | full.tril(n - m - window)
    return closed


def attend_with_cache(query, key, value, cache):
    if query.shape != key.shape:
        raise ValueError(f"query is {list(query.shape)}, key is {list(key.shape)}")
    keys, values = cache.update(key, value)
    m, n = query.shape[-2], keys.shape[-2]
    scores = torch.einsum("...qd,...kd->...qk", query, keys) / key.shape[-1] ** 0.5
    scores = scores.masked_fill(_closed(m, n, None, query.device), float("-inf"))
    return torch.einsum("...qk,...kd->...qd", scores.softmax(-1), values)


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads=None, window=None):
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if n_heads < 1:
            raise ValueError(f"n_heads={n_heads}")
        if d_model % n_heads != 0:
            raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")
        if (d_model // n_heads) % 2 == 1:
            raise ValueError(f"d_head={d_model // n_heads} is odd")
        if n_kv_heads < 1 or n_heads % n_kv_heads != 0:
            raise ValueError(f"n_kv_heads={n_kv_heads} does not divide n_heads={n_heads}")
        if window is not None and window < 1:
            raise ValueError(f"window={window}")
        self.h, self.g, self.d = n_heads, n_kv_heads, d_model // n_heads
        self.window = window
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, self.g * self.d, bias=False)
        self.w_v = nn.Linear(d_model, self.g * self.d, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, cache=None):
        if x.dim() < 2:
            raise ValueError(f"x is {list(x.shape)}, too few dimensions")
        if x.size(-1) != self.w_q.in_features:
            raise ValueError(f"x is {x.size(-1)} wide, not {self.w_q.in_features}")
        begin = cache.length if cache is not None else 0
        m = x.size(-2)
        angles = rotary_angles(begin + torch.arange(m, device=x.device), self.d)
        q = self.w_q(x).unflatten(-1, (self.h, self.d)).transpose(-3, -2)
        k = self.w_k(x).unflatten(-1, (self.g, self.d)).transpose(-3, -2)
        v = self.w_v(x).unflatten(-1, (self.g, self.d)).transpose(-3, -2)
        q, k = rotate_pairs(q, angles), rotate_pairs(k, angles)
        if cache is not None:
            k, v = cache.update(k, v)
        q = q.unflatten(-3, (self.g, self.h // self.g))
        scores = torch.einsum("...gtqd,...gkd->...gtqk", q, k) * self.d**-0.5
        scores = scores.masked_fill(_closed(m, begin + m, self.window, x.device), float("-inf"))
        mixed = torch.einsum("...gtqk,...gkd->...qgtd", torch.softmax(scores, -1), v)
        return self.w_o(mixed.flatten(-3))
