import torch
from torch import nn

from ex01_scores import project_linear
from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads
from ex08_positions import rotary_angles, rotate_pairs
from ex09_groups import grouped_attention
from ex10_window import causal_mask_at, window_mask


class KeyValueCache:
    """Rows first in memory: [capacity, *batch, d]."""

    __slots__ = ("_k", "_n", "_v", "capacity")

    def __init__(self, capacity):
        if capacity < 1:
            raise ValueError(f"capacity={capacity}")
        self.capacity = capacity
        self.reset()

    @property
    def length(self):
        return self._n

    def reset(self):
        self._k = self._v = None
        self._n = 0

    def update(self, key, value):
        bad = ValueError(
            f"key {tuple(key.shape)} {key.dtype}, value {tuple(value.shape)} {value.dtype}, {self._n} of {self.capacity}"
        )
        if key.dim() < 2 or value.dim() < 2 or key.shape[:-1] != value.shape[:-1]:
            raise bad
        m = key.shape[-2]
        if self._n + m > self.capacity:
            raise bad
        key, value = key.detach().movedim(-2, 0), value.detach().movedim(-2, 0)
        if self._k is None:
            self._k, self._v = (t.new_zeros((self.capacity, *t.shape[1:])) for t in (key, value))
        for t, b in ((key, self._k), (value, self._v)):
            if (t.shape[1:], t.dtype, t.device) != (b.shape[1:], b.dtype, b.device):
                raise bad
        with torch.no_grad():
            for t, b in ((key, self._k), (value, self._v)):
                b[self._n : self._n + m] = t
        self._n += m
        return self._k[: self._n].movedim(0, -2), self._v[: self._n].movedim(0, -2)


def attend_with_cache(query, key, value, cache):
    if query.shape != key.shape:
        raise ValueError(f"{tuple(query.shape)} {tuple(key.shape)}")
    before = cache.length
    keys, values = cache.update(key, value)
    # word by word
    return torch.cat(
        [
            attention(
                query[..., i : i + 1, :],
                keys[..., : before + i + 1, :],
                values[..., : before + i + 1, :],
            )
            for i in range(query.shape[-2])
        ],
        -2,
    )


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads=None, window=None):
        super().__init__()
        g = n_heads if n_kv_heads is None else n_kv_heads
        if (
            n_heads < 1
            or g < 1
            or n_heads % g
            or d_model % (2 * n_heads)
            or (window is not None and window < 1)
        ):
            raise ValueError(f"{d_model=} {n_heads=} {n_kv_heads=} {window=}")
        self.h, self.g, self.window = n_heads, g, window
        d = d_model // n_heads
        for c, width in dict(q=d_model, k=g * d, v=g * d, o=d_model).items():
            setattr(self, "w_" + c, nn.Linear(d_model, width, bias=False))

    def forward(self, x, cache=None):
        q, k, v = (
            split_heads(project_linear(x, w.weight), c)
            for w, c in ((self.w_q, self.h), (self.w_k, self.g), (self.w_v, self.g))
        )
        n, m = cache.length if cache else 0, x.shape[-2]
        angles = rotary_angles(torch.arange(m, device=x.device) + n, q.shape[-1])
        q, k = rotate_pairs(q, angles), rotate_pairs(k, angles)
        if cache is not None:
            k, v = cache.update(k, v)
        if self.window is None:
            mask = causal_mask_at(m, n + m, x.device)
        else:  # nobody here looks further back than this
            seen = min(n + m, m + self.window - 1)
            k, v = k[..., n + m - seen :, :], v[..., n + m - seen :, :]
            mask = window_mask(m, seen, self.window, device=x.device)
        return self.w_o(merge_heads(grouped_attention(q, k, v, mask)))
