"""Chapter 5, as Einstein would have typed it."""

from torch import broadcast_shapes, einsum, tensordot

from ex01_scores import project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def _no(bad, why, *tensors):
    if bad:
        raise ValueError(f"{why}: " + " with ".join(f"{tuple(t.shape)}, {t.ndim} dims" for t in tensors))


def _alike(a, b):
    try:
        return broadcast_shapes(a, b) == a == b
    except (RuntimeError, ValueError):
        return False


def linear_combination(weights, tokens):
    """w_n t_nd"""
    _no((weights.ndim, tokens.ndim) != (1, 2) or not _alike(weights.shape, tokens.shape[:1]), "not one weight for each row", weights, tokens)
    return tensordot(weights, tokens, 1)


def mix_values(weights, value):
    """w_qk v_kd"""
    _no(min(weights.ndim, value.ndim) < 2, "less than a matrix", weights, value)
    _no(not _alike(weights.shape[:-2] + weights.shape[-1:], value.shape[:-1]), "weights that are not for these values", weights, value)
    return einsum("...qk,...kd->...qd", weights, value)


def attention(query, key, value, mask=None):
    """softmax_k(q_qd k_kd) v_kd"""
    _no(min(key.ndim, value.ndim) < 2 or not _alike(key.shape[:-1], value.shape[:-1]), "keys and values do not go by pairs", key, value)
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(x, w_q, w_k, w_v, causal=False):
    """Three times x_ni w_io."""
    q, k, v = (project_rows(x, w) for w in (w_q, w_k, w_v))
    return attention(q, k, v, causal_mask(x.shape[-2], x.device) if causal else None)


def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):
    """Once x_ni w_io, twice m_ni w_io."""
    q, k, v = (project_rows(t, w) for t, w in ((x, w_q), (memory, w_k), (memory, w_v)))
    if memory_mask is not None:
        _no(not _alike(memory_mask.shape, memory.shape[:-1]), "memory_mask is not one boolean per memory token", memory_mask, memory)
    return attention(q, k, v, None if memory_mask is None else memory_mask[..., None, :])
