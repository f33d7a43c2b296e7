"""Chapter 1, as Einstein would have typed it."""

from torch import Size, broadcast_shapes, einsum, float32, promote_types


def _say(*tensors):
    return " and ".join(f"[{', '.join(map(str, t.shape))}] ({t.ndim} dims)" for t in tensors)


def _no(bad, why, *tensors):
    if bad:
        raise ValueError(f"{why}: {_say(*tensors)}")


def _alike(a, b):
    """Equal, which is more than broadcastable."""
    try:
        return broadcast_shapes(a, b) == Size(a) == Size(b)
    except (RuntimeError, ValueError):
        return False


def _up(t):
    return t.to(promote_types(t.dtype, float32))


def dot_product(a, b):
    """sum_i a_i b_i"""
    _no(a.ndim - 1 or b.ndim - 1 or not _alike(a.shape, b.shape), "not two vectors of one length", a, b)
    return einsum("i,i->", _up(a), _up(b)).to(a.dtype)


def naive_scores(tokens):
    """sum_d t_id t_jd"""
    _no(tokens.ndim < 2, "tokens want two dimensions or more", tokens)
    return einsum("...id,...jd->...ij", tokens, tokens)


def _project(x, weight, bias, rule, x_at, in_at):
    _no(x.ndim < 2, "x wants two dimensions or more", x)
    _no(weight.ndim != 2 or not _alike(weight.shape[in_at : in_at + 1], (x.shape[x_at],)), "x cannot go through weight", x, weight)
    y, d_out = einsum(rule, x, weight), weight.shape[1 - in_at]
    if bias is None:
        return y
    _no(not _alike(bias.shape, (d_out,)), f"bias is not a vector of {d_out}", bias)
    return y + (bias if x_at == -1 else einsum("o->o", bias)[:, None])


def project_rows(x, weight, bias=None):
    """x_ni w_io + b_o"""
    return _project(x, weight, bias, "...ni,io->...no", -1, 0)


def project_linear(x, weight, bias=None):
    """x_ni w_oi + b_o"""
    return _project(x, weight, bias, "...ni,oi->...no", -1, 1)


def project_columns(x, weight, bias=None):
    """x_in w_oi + b_o"""
    return _project(x, weight, bias, "...in,oi->...on", -2, 1)


def dot_product_scores(query, key):
    """q_id k_jd"""
    _no(query.ndim < 2 or key.ndim < 2, "query and key want two dimensions or more", query, key)
    _no(not _alike(query.shape[:-2] + query.shape[-1:], key.shape[:-2] + key.shape[-1:]), "query and key do not belong together", query, key)
    return einsum("...id,...jd->...ij", query, key)
