"""Chapter 6 in PyTorch."""

import torch
import torch.nn.functional as F
from torch import nn


def multi_head(multi_head):
    """Theirs knows nothing of heads: they are one more batch dimension, [n_heads, n, d_head], that
    you fold and unfold. So it scales by the width of one head, as yours does. True in the mask
    means "may attend" to both.
    """
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 3, 4)
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    yours = multi_head(query, key, value, 2, mask)
    q, k, v = (x.unflatten(-1, (2, 2)).transpose(0, 1) for x in (query, key, value))
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    theirs = heads.transpose(0, 1).flatten(-2)
    return yours, theirs


def MultiHeadAttention(MultiHeadAttention):
    """The mask of nn.MultiheadAttention is the other way round: True means "may NOT attend", so it
    is handed ~mask. It keeps the weights of w_q, w_k and w_v in one matrix, in_proj_weight, wants
    `batch_first=True` for [batch, n, d_model], and gives back its weights as well, as their mean
    over the heads.
    """
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(4, 2), torch.randn(1, 3, 4)
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    theirs = nn.MultiheadAttention(4, 2, batch_first=True)
    with torch.no_grad():
        three = (layer.w_q, layer.w_k, layer.w_v)
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in three]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in three]))
        theirs.out_proj.load_state_dict(layer.w_o.state_dict())
    yours = layer(x, mask=mask)
    theirs, _ = theirs(x, x, x, attn_mask=~mask)
    return yours, theirs
