import torch
from torch import nn

from ex01_scores import project_linear
from ex05_mixing import attention


def split_heads(x, n_heads):
    if x.dim() < 2 or n_heads < 1 or x.shape[-1] % n_heads != 0:
        raise ValueError(f"x {'x'.join(map(str, x.shape))}, n_heads {n_heads}")
    wide = x.shape[-1] // n_heads
    return x.unfold(-1, wide, wide).transpose(-2, -3)


def merge_heads(x):
    if x.dim() < 3:
        raise ValueError(f"{'x'.join(map(str, x.shape))}")
    return torch.einsum("...hnd->...nhd", x).reshape(*x.shape[:-3], x.shape[-2], -1)


def multi_head(query, key, value, n_heads, mask=None):
    if not query.shape[-1:] == key.shape[-1:] == value.shape[-1:]:
        raise ValueError(f"{tuple(query.shape)} {tuple(key.shape)} {tuple(value.shape)}")
    if mask is not None and mask.dim() > 2:
        if mask.dim() > query.dim():
            raise ValueError(f"{tuple(mask.shape)}")
        mask = mask.unsqueeze(-3)
    return merge_heads(attention(*(split_heads(t, n_heads) for t in (query, key, value)), mask))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"{d_model} / {n_heads}")
        self.n_heads = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(d_model, d_model, bias) for _ in range(4)
        )

    def forward(self, x, memory=None, mask=None):
        if memory is None:
            memory = x
        parts = (
            project_linear(t, w.weight, w.bias)
            for t, w in ((x, self.w_q), (memory, self.w_k), (memory, self.w_v))
        )
        out = multi_head(*parts, self.n_heads, mask)
        return torch.einsum("oi,...i->...o", self.w_o.weight, out) + (
            0 if self.w_o.bias is None else self.w_o.bias
        )
