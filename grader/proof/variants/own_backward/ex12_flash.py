"""Style own_backward: all three have a way back by hand; blocks of queries alone, [block, k]."""

import torch


def partial_attention(query, key, value, mask=None):
    _check(query, key, value)
    full = (*query.shape[:-1], key.shape[-2])
    if mask is None:
        mask = torch.ones((), dtype=torch.bool, device=query.device)
    try:
        mask = mask.expand(full)
    except RuntimeError:
        raise ValueError(f"mask {tuple(mask.shape)} does not broadcast to {full}") from None
    return _Part.apply(query, key, value, mask)


def _check(query, key, value):
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.dim() < 2:
            raise ValueError(f"{name} needs two dimensions, and is {tuple(x.shape)}")
    *batch, _, d_k = query.shape
    *key_batch, k, key_width = key.shape
    *value_batch, k_v, _ = value.shape
    if d_k != key_width:
        raise ValueError(f"query is {d_k} wide, key {key_width}")
    if k != k_v:
        raise ValueError(f"{k} keys and {k_v} values")
    if not batch == key_batch == value_batch:
        raise ValueError(f"batches differ: {batch}, {key_batch}, {value_batch}")


def _weighed(query, key, mask):
    scores = (query @ key.mT * query.shape[-1] ** -0.5).masked_fill(~mask, -torch.inf)
    log_sum = torch.logsumexp(scores, -1)
    return torch.exp(scores - log_sum.masked_fill(log_sum == -torch.inf, 0)[..., None]), log_sum


def _back(query, key, value, weights, to_out, to_log_sum):
    to_weights = to_out @ value.mT
    mean = (weights * to_weights).sum(-1) - to_log_sum
    to_scores = weights * (to_weights - mean[..., None]) * query.shape[-1] ** -0.5
    return to_scores @ key, to_scores.mT @ query, weights.mT @ to_out


class _Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, mask):
        weights, log_sum = _weighed(query, key, mask)
        ctx.save_for_backward(query, key, value, weights)
        return weights @ value, log_sum

    @staticmethod
    def backward(ctx, to_out, to_log_sum):
        return *_back(*ctx.saved_tensors, to_out, to_log_sum), None


def merge_partials(out_a, log_sum_a, out_b, log_sum_b):
    if out_a.dim() < 2 or out_a.shape != out_b.shape:
        raise ValueError(f"outs are {tuple(out_a.shape)} and {tuple(out_b.shape)}")
    for x in (log_sum_a, log_sum_b):
        if x.shape != out_a.shape[:-1]:
            raise ValueError(f"log_sum is {tuple(x.shape)} and out {tuple(out_a.shape)}")
    return _Merge.apply(out_a, log_sum_a, out_b, log_sum_b)


class _Merge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, out_a, log_sum_a, out_b, log_sum_b):
        log_sum = torch.logaddexp(log_sum_a, log_sum_b)
        share_a = torch.exp(log_sum_a - torch.maximum(log_sum_a, log_sum_b)).nan_to_num(0.0)
        share_b = torch.exp(log_sum_b - torch.maximum(log_sum_a, log_sum_b)).nan_to_num(0.0)
        whole = (share_a + share_b).clamp_min(1)
        share_a, share_b = (share_a / whole)[..., None], (share_b / whole)[..., None]
        ctx.save_for_backward(out_a, out_b, share_a, share_b)
        return share_a * out_a + share_b * out_b, log_sum

    @staticmethod
    def backward(ctx, to_out, to_log_sum):
        out_a, out_b, share_a, share_b = ctx.saved_tensors
        apart = (to_out * (out_a - out_b)).sum(-1) * (share_a * share_b)[..., 0]
        to_a = apart + to_log_sum * share_a[..., 0]
        to_b = to_log_sum * share_b[..., 0] - apart
        return share_a * to_out, to_a, share_b * to_out, to_b


def flash_attention(query, key, value, causal=False, block=64):
    _check(query, key, value)
    if causal and query.shape[-2] > key.shape[-2]:
        raise ValueError(f"{query.shape[-2]} queries and {key.shape[-2]} keys")
    if block < 1:
        raise ValueError(f"block is {block}")
    return _Rows.apply(query, key, value, causal, block)


class _Rows(torch.autograd.Function):
    @staticmethod
    def rows(query, key, causal, block):
        q, k = query.shape[-2], key.shape[-2]
        for begin in range(0, q, block):
            end = min(begin + block, q)
            seen = k - q + end if causal else k
            mask = torch.ones(end - begin, seen, dtype=torch.bool, device=query.device)
            yield slice(begin, end), slice(seen), mask.tril(k - q + begin) if causal else mask

    @staticmethod
    def forward(ctx, query, key, value, causal, block):
        ctx.save_for_backward(query, key, value)
        ctx.how = causal, block
        wide = torch.promote_types(query.dtype, torch.float32)
        outs = [
            _weighed(query[..., rows, :].to(wide), key[..., seen, :].to(wide), mask)[0]
            @ value[..., seen, :].to(wide)
            for rows, seen, mask in _Rows.rows(query, key, *ctx.how)
        ]
        return torch.cat(outs, -2).to(query.dtype)

    @staticmethod
    def backward(ctx, grad):
        wide = torch.promote_types(grad.dtype, torch.float32)
        query, key, value = (x.to(wide) for x in ctx.saved_tensors)
        made = [torch.zeros_like(x) for x in (query, key, value)]
        for rows, seen, mask in _Rows.rows(query, key, *ctx.how):
            some = query[..., rows, :], key[..., seen, :]
            weights, log_sum = _weighed(*some, mask)
            comes = grad[..., rows, :].to(wide)
            back = _back(*some, value[..., seen, :], weights, comes, torch.zeros_like(log_sum))
            for whole, place, more in zip(made, (rows, seen, seen), back):
                whole[..., place, :] += more
        return *(x.to(grad.dtype) for x in made), None, None
