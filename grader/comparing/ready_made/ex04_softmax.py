"""Chapter 4 in PyTorch."""

import torch
import torch.nn.functional as F


def softmax(softmax):
    """What differs is a row that is minus infinity throughout: torch.softmax divides 0 by 0 there.

    The NaN would go on into every gradient, so your softmax was asked for zeros.
    """
    scores = torch.tensor([[1.0, 2.0, 3.0], [0.0, -torch.inf, 0.0], [-torch.inf] * 3])
    yours = softmax(scores, -1)
    theirs = torch.softmax(scores, -1)
    return yours, theirs


def attention_weights(attention_weights):
    """F.scaled_dot_product_attention keeps its weights to itself; with the unit matrix as values
    they come out. In its mask, too, True means "may attend", and it scales by 1 / sqrt(d_k).
    """
    torch.manual_seed(0)
    query, key = torch.randn(2, 3, 4)
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    yours = attention_weights(query, key, mask)
    theirs = F.scaled_dot_product_attention(query, key, torch.eye(3), attn_mask=mask)
    return yours, theirs
