def no(*ts):
    raise ValueError(" / ".join(f"{t.ndim}d {[*t.shape]}" for t in ts))


up = lambda t: t if t.itemsize > 2 else t.float()
mm = lambda a, b: (up(a) @ up(b)).to(a.dtype)


fit = lambda x, w, b, d, i: (
    x.ndim > 1
    and w.ndim == 2
    and w.shape[i] == x.shape[d]
    and (b is None or b.shape == (w.shape[1 - i],))
    or no(x, w, *[b] * (b is not None))
)
aff = lambda x, w, b: (up(x) @ up(w) + (0 if b is None else up(b))).to(x.dtype)

dot_product = lambda a, b: mm(a, b) if a.ndim == b.ndim == 1 and a.shape == b.shape else no(a, b)
naive_scores = lambda tokens: mm(t := tokens, t.mT) if tokens.ndim > 1 else no(tokens)
project_rows = lambda x, weight, bias=None: fit(x, w := weight, bias, -1, 0) and aff(x, w, bias)
project_linear = lambda x, weight, bias=None: (
    fit(x, w := weight, bias, -1, 1) and aff(x, w.mT, bias)
)
project_columns = lambda x, weight, bias=None: (
    fit(x, w := weight, bias, -2, 1) and aff(x.mT, w.mT, bias).mT
)
dot_product_scores = lambda query, key: (
    mm(query, key.mT)
    if min(query.ndim, key.ndim) > 1
    and (query.shape[:-2], query.shape[-1]) == (key.shape[:-2], key.shape[-1])
    else no(query, key)
)
