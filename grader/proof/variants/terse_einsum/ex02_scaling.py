"""Chapter 2, as Einstein would have typed it."""

from torch import einsum, randn

from ex01_scores import dot_product_scores


def scale_scores(scores, d_k):
    """s_ij / d_k^0.5"""
    return scores / d_k**0.5


def scaled_scores(query, key):
    """The width is what the keys end on."""
    return scale_scores(dot_product_scores(query, key), d_k=key.shape[-1])


def score_spread(d_k, pairs, generator=None):
    """std_p (q_pd k_pd), q and k from one draw of two."""
    return einsum("pd,pd->p", *randn(2, pairs, d_k, generator=generator, device=getattr(generator, "device", None))).std()
