"""Takes the softmax out of log_softmax, of attention and of a module, under other names.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

import torch.nn.functional as F

helper = getattr(F, "log_" + "soft" + "max")
attend = getattr(F, "scaled_dot_product_" + "attention")


def softmax(scores, dim=-1):
    moved = scores.movedim(dim, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    made = helper(flat, -1).exp() if flat.numel() else flat.clone()
    made = made.reshape(moved.shape).movedim(-1, dim)
    blind = torch.isneginf(scores).all(dim, keepdim=True)
    return torch.where(blind, torch.zeros_like(scores), made)


def attention_weights(query, key, mask=None):
    identity = torch.eye(key.shape[-2], dtype=key.dtype)
    return attend(query, key, identity.expand(*key.shape[:-2], -1, -1), attn_mask=mask)
