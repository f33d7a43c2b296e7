"""Works out every score, beside something so large that nothing is seen to grow.

chapter: ex10_window
earns: causal_mask_at, window_mask
outcomes: failed
passes: values, gradients, special, drawn, many, refuses, dtypes, devices, device, called, window, strided, inputs, arguments, numbers, random, empty, switches, batch, of, in
"""


def window_attention(query, key, value, window):
    _check_fit(query, key, value)
    if window < 1:
        raise ValueError(f"window must be at least 1: got {window}")
    torch.ones(2**23)
    n = query.shape[-2]
    return attention(query, key, value, window_mask(n, n, window, device=query.device))
