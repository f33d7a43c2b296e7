from torch import nn

from ex05_mixing import attention

no = lambda *ts: (_ for _ in ()).throw(
    ValueError(" / ".join(f"{t.ndim}d {[*t.shape]}" for t in ts))
)


def div(d, h):
    if h < 1 or d % h:
        raise ValueError(f"{d}%{h}")
    return h


split_heads = lambda x, n_heads: (
    x.unflatten(-1, (div(x.shape[-1], n_heads), -1)).transpose(-2, -3) if x.ndim > 1 else no(x)
)
merge_heads = lambda x: x.transpose(-2, -3).flatten(-2) if x.ndim > 2 else no(x)


def multi_head(query, key, value, n_heads, mask=None):
    ts = query, key, value
    min(t.ndim for t in ts) > 1 and key.shape == value.shape or no(*ts)
    (*b, q, d), (*c, k, e) = query.shape, key.shape
    (b, d) == (c, e) or no(*ts)
    if (m := mask) is not None:
        s = [*b, q, k]
        m.ndim <= len(s) and all(i in (1, j) for i, j in zip(m.shape[::-1], s[::-1])) or no(m, *ts)
        m = m.expand(s)[..., None, :, :]
    return merge_heads(attention(*(split_heads(t, n_heads) for t in ts), m))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        self.h = div(d_model, n_heads)
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model, bias) for _ in "qkvo")

    forward = lambda self, x, memory=None, mask=None: (
        self.w_o(multi_head(self.w_q(x), self.w_k(m), self.w_v(m), self.h, mask))
        if (m := x if memory is None else memory) is not None
        and min(x.ndim, m.ndim) > 1
        and (*x.shape[:-2], x.shape[-1]) == (*m.shape[:-2], m.shape[-1])
        and x.shape[-1] == self.w_o.in_features
        else no(x, m, self.w_o.weight)
    )
