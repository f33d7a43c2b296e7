"""Chapter 5 in PyTorch."""

import torch
import torch.nn.functional as F


def attention(attention):
    """The mask means the same to both: True = may attend. So does the scale, 1 / sqrt(d_k); theirs
    takes another with `scale=`. The last query may attend to nothing: yours gives zeros, as its
    stub wants. PyTorch gives zeros today; older versions gave NaN.
    """
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 3, 4)
    mask = torch.tensor([[True, False, False], [True, True, False], [False, False, False]])
    yours = attention(query, key, value, mask)
    theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return yours, theirs


def self_attention(self_attention):
    """Theirs takes queries, keys and values that are projected already. For the causal mask it
    needs no mask: `is_causal=True`. The scale is 1 / sqrt(d_k) in both.
    """
    torch.manual_seed(0)
    x, w_q, w_k, w_v = torch.randn(4, 4, 4)
    yours = self_attention(x, w_q, w_k, w_v, causal=True)
    theirs = F.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, is_causal=True)
    return yours, theirs


def cross_attention(cross_attention):
    """Theirs has one function for both kinds: only what is handed in differs. Its mask has a row
    for each query, or one for all of them, [1, k]; in it True means "may attend", as in yours.
    """
    torch.manual_seed(0)
    x, memory = torch.randn(2, 4), torch.randn(3, 4)
    w_q, w_k, w_v = torch.randn(3, 4, 4)
    mask = torch.tensor([True, True, False])
    yours = cross_attention(x, memory, w_q, w_k, w_v, mask)
    query, key, value = x @ w_q, memory @ w_k, memory @ w_v
    theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[None])
    return yours, theirs
