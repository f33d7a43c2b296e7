import torch
import torch.nn.functional as F

from ex01_scores import project_rows
from ex03_masking import padding_mask
from ex04_softmax import attention_weights


class Misfit(ValueError):
    def __init__(self, **things):
        super().__init__(
            ", ".join(
                f"{k} is {'x'.join(map(str, v.shape)) or 'a number'}" for k, v in things.items()
            )
        )


def linear_combination(weights, tokens):
    if weights.dim() != 1 or tokens.dim() != 2 or weights.size(0) != tokens.size(0):
        raise Misfit(weights=weights, tokens=tokens)
    return F.linear(weights[None], tokens.T)[0]


def mix_values(weights, value):
    if (
        weights.dim() < 2
        or value.dim() < 2
        or weights.size(-1) != value.size(-2)
        or weights.shape[:-2] != value.shape[:-2]
    ):
        raise Misfit(weights=weights, value=value)

    def down(w, v):
        return w @ v if w.dim() == 2 else torch.stack([down(*pair) for pair in zip(w, v)])

    return down(weights, value)


def attention(query, key, value, mask=None):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise Misfit(query=query, key=key, value=value)
    if value.shape[:-1] != key.shape[:-1]:
        raise Misfit(key=key, value=value)
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(x, w_q, w_k, w_v, causal=False):
    mask = None
    if causal and x.dim() > 1:
        mask = padding_mask(torch.arange(1, x.size(-2) + 1, device=x.device), x.size(-2))
    # (x w_q)(x w_k)^T = (x w_q) w_k^T x^T would do, but d_k would be lost
    return attention(project_rows(x, w_q), project_rows(x, w_k), project_rows(x, w_v), mask)


def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):
    if memory_mask is not None and memory_mask.shape != memory.shape[:-1]:
        raise Misfit(memory_mask=memory_mask, memory=memory)
    if memory_mask is not None:
        memory_mask = memory_mask.unsqueeze(-2)
    # mixing first, projecting the values afterwards: the same by associativity
    return project_rows(
        attention(project_rows(x, w_q), project_rows(memory, w_k), memory, memory_mask), w_v
    )
