"""Style recursion: the keys are halved until a block is left, and halves are merged on the way up."""

import torch

from ex05_mixing import attention


def partial_attention(query, key, value, mask=None):
    out = attention(query, key, value, mask)
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return out, _log_sum(scores)


def _log_sum(scores):
    """The same, by halves."""
    if scores.shape[-1] == 1:
        return scores[..., 0]
    half = scores.shape[-1] // 2
    return _log_of_both(_log_sum(scores[..., :half]), _log_sum(scores[..., half:]))[0]


def _log_of_both(a, b):
    nothing = (a == -torch.inf) & (b == -torch.inf)
    a, b = a.masked_fill(nothing, 0), b.masked_fill(nothing, 0)
    return torch.logaddexp(a, b).masked_fill(nothing, -torch.inf), torch.sigmoid(a - b)


def merge_partials(out_a, log_sum_a, out_b, log_sum_b):
    shapes = [tuple(x.shape) for x in (out_a, log_sum_a, out_b, log_sum_b)]
    if len(shapes[0]) < 2 or shapes[0] != shapes[2]:
        raise ValueError(f"outputs do not match: {shapes}")
    if shapes[1] != shapes[0][:-1] or shapes[3] != shapes[0][:-1]:
        raise ValueError(f"sums do not match: {shapes}")
    log_sum, share = _log_of_both(log_sum_a, log_sum_b)
    return out_b + share[..., None] * (out_a - out_b), log_sum


def flash_attention(query, key, value, causal=False, block=64):
    attention(query[..., :1, :], key[..., :1, :], value[..., :1, :]) if _ready(query, key, value) else None
    if key.shape[-2] != value.shape[-2] or block < 1:
        raise ValueError(f"{key.shape[-2]} keys, {value.shape[-2]} values, blocks of {block}")
    if causal and query.shape[-2] > key.shape[-2]:
        raise ValueError(f"{query.shape[-2]} queries do not fit into {key.shape[-2]} positions")
    past = key.shape[-2] - query.shape[-2] if causal else None
    return _Halves.apply(query, key, value, past, block)


def _ready(query, key, value):
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.dim() < 2:
            raise ValueError(f"{name} has {x.dim()} dimension, and is {tuple(x.shape)}")
    return True


def _mask(rows, columns, past, device):
    """None: all is open. False: all is closed."""
    if past is None or columns.stop - 1 <= past + rows.start:
        return None
    if columns.start > past + rows.stop - 1:
        return False
    size = rows.stop - rows.start, columns.stop - columns.start
    return torch.ones(size, dtype=torch.bool, device=device).tril(past + rows.start - columns.start)


def _mixed(query, key, value, rows, columns, past, block):
    mask = _mask(rows, columns, past, query.device)
    if mask is False:
        return None
    if columns.stop - columns.start <= block:
        return partial_attention(query, key[..., columns, :], value[..., columns, :], mask)
    half = (columns.start + columns.stop) // 2
    left, right = (
        _mixed(query, key, value, rows, part, past, block)
        for part in (slice(columns.start, half), slice(half, columns.stop))
    )
    return left if right is None else merge_partials(*left, *right)


def _cut(n, block):
    return [slice(begin, min(begin + block, n)) for begin in range(0, n, block)]


class _Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, past, block):
        wide = torch.promote_types(query.dtype, torch.float32)
        q, k, v = (x.to(wide) for x in (query, key, value))
        parts = [
            _mixed(q[..., rows, :], k, v, rows, slice(0, k.shape[-2]), past, block)
            for rows in _cut(q.shape[-2], block)
        ]
        out, log_sum = torch.cat([one[0] for one in parts], -2), torch.cat([one[1] for one in parts], -1)
        ctx.save_for_backward(query, key, value, out, log_sum)
        ctx.past, ctx.block = past, block
        return out.to(query.dtype) if wide != query.dtype else out.clone()

    @staticmethod
    def backward(ctx, grad):
        query, key, value, out, log_sum = ctx.saved_tensors
        q, k, v, g = (x.to(out.dtype) for x in (query, key, value, grad))
        to_query, to_key, to_value = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        delta = (g * out).sum(-1, keepdim=True)

        def goes(rows, columns):
            mask = _mask(rows, columns, ctx.past, q.device)
            if mask is False:
                return
            if columns.stop - columns.start > ctx.block:
                half = (columns.start + columns.stop) // 2
                goes(rows, slice(columns.start, half))
                goes(rows, slice(half, columns.stop))
                return
            scores = q[..., rows, :] @ k[..., columns, :].mT / q.shape[-1] ** 0.5
            weights = (scores - log_sum[..., rows, None]).exp()
            if mask is not None:
                weights = weights * mask
            slopes = weights * (g[..., rows, :] @ v[..., columns, :].mT - delta[..., rows, :])
            to_query[..., rows, :] += slopes @ k[..., columns, :] / q.shape[-1] ** 0.5
            to_key[..., columns, :] += slopes.mT @ q[..., rows, :] / q.shape[-1] ** 0.5
            to_value[..., columns, :] += weights.mT @ g[..., rows, :]

        for rows in _cut(q.shape[-2], ctx.block):
            goes(rows, slice(0, k.shape[-2]))
        made = (x.to(grad.dtype) for x in (to_query, to_key, to_value))
        return *made, None, None
