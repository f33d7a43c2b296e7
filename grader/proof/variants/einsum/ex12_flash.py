"""Style einsum: [q, block] tiles, one block of keys after the other; of the queries those that see it."""

import torch


def _fit(query, key, value):
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError(f"too few dimensions: {query.shape}, {key.shape}, {value.shape}")
    *batch, q, d_k = query.shape
    *key_batch, k, key_wide = key.shape
    *value_batch, k_v, _ = value.shape
    if not batch == key_batch == value_batch:
        raise ValueError(f"batches of {batch}, {key_batch} and {value_batch}")
    if d_k != key_wide:
        raise ValueError(f"query is {d_k} wide, key {key_wide}")
    if k != k_v:
        raise ValueError(f"{k} keys and {k_v} values")
    return (*batch, q, k)


def partial_attention(query, key, value, mask=None):
    shape = _fit(query, key, value)
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        sizes = zip(reversed(mask.shape), reversed(shape))
        if mask.dim() > len(shape) or any(size not in (1, whole) for size, whole in sizes):
            raise ValueError(f"mask {tuple(mask.shape)} for {shape}")
        scores = torch.where(mask, scores, -torch.inf)
    top = scores.detach().amax(-1, keepdim=True)
    top = torch.where(top.isneginf(), 0, top)
    powers = (scores - top).exp()
    whole = powers.sum(-1)
    some = whole > 0
    safe = torch.where(some, whole, 1)
    out = torch.einsum("...qk,...kv,...q->...qv", powers, value, 1 / safe)
    return out, torch.where(some, safe.log() + top[..., 0], -torch.inf)


def merge_partials(out_a, log_sum_a, out_b, log_sum_b):
    if out_a.shape != out_b.shape:
        raise ValueError(f"{tuple(out_a.shape)} and {tuple(out_b.shape)}")
    if out_a.dim() < 2:
        raise ValueError(f"{tuple(out_a.shape)}")
    if log_sum_a.shape != out_a.shape[:-1] or log_sum_b.shape != out_a.shape[:-1]:
        raise ValueError(f"{tuple(log_sum_a.shape)}, {tuple(log_sum_b.shape)}, {tuple(out_a.shape)}")
    top = torch.maximum(log_sum_a, log_sum_b).detach()
    top = torch.where(top.isneginf(), 0, top)
    a, b = (log_sum_a - top).exp(), (log_sum_b - top).exp()
    some = a + b > 0
    whole = torch.where(some, a + b, 1)
    out = torch.einsum("...q,...qv->...qv", a / whole, out_a)
    out = out + torch.einsum("...q,...qv->...qv", b / whole, out_b)
    return out, torch.where(some, whole.log() + top, -torch.inf)


def flash_attention(query, key, value, causal=False, block=64):
    *_, q, k = _fit(query, key, value)
    if causal and q > k:
        raise ValueError(f"{q} queries are more than {k} keys")
    if block < 1:
        raise ValueError(f"block is {block}")
    return _Flash.apply(query, key, value, causal, block)


def _blocks(q, k, causal, block):
    for begin in range(0, k, block):
        yield begin, min(begin + block, k), max(0, begin - (k - q)) if causal else 0


def _scores(query, key, first, begin, offset, causal):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if causal:
        at = torch.arange(query.shape[-2], device=query.device)[:, None] + first + offset
        late = torch.arange(key.shape[-2], device=query.device) + begin > at
        scores = scores.masked_fill(late, -torch.inf)
    return scores


class _Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, causal, block):
        q, k = query.shape[-2], key.shape[-2]
        wide = torch.float64 if query.dtype == torch.float64 else torch.float32
        Q, K, V = query.to(wide), key.to(wide), value.to(wide)
        top = Q.new_full(Q.shape[:-1], -torch.inf)
        whole = Q.new_zeros(Q.shape[:-1])
        out = Q.new_zeros(*Q.shape[:-1], V.shape[-1])
        for begin, end, first in _blocks(q, k, causal, block):
            scores = _scores(Q[..., first:, :], K[..., begin:end, :], first, begin, k - q, causal)
            new = torch.maximum(top[..., first:], scores.amax(-1))
            powers = torch.exp(scores - new[..., None])
            old = torch.exp(top[..., first:] - new)
            whole[..., first:] = whole[..., first:] * old + powers.sum(-1)
            out[..., first:, :] *= old[..., None]
            out[..., first:, :] += torch.einsum("...qk,...kv->...qv", powers, V[..., begin:end, :])
            top[..., first:] = new
        out = out / whole[..., None]
        ctx.save_for_backward(query, key, value, out, top + whole.log())
        ctx.causal, ctx.block = causal, block
        return out.to(query.dtype)

    @staticmethod
    def backward(ctx, grad):
        *given, out, log_sum = ctx.saved_tensors
        Q, K, V = (x.to(out.dtype) for x in given)
        G, q, k, scale = grad.to(out.dtype), Q.shape[-2], K.shape[-2], Q.shape[-1] ** -0.5
        D = torch.einsum("...qv,...qv->...q", G, out)
        dQ, dK, dV = (torch.zeros_like(x) for x in (Q, K, V))
        for begin, end, first in _blocks(q, k, ctx.causal, ctx.block):
            rows, here = Q[..., first:, :], K[..., begin:end, :]
            P = torch.exp(
                _scores(rows, here, first, begin, k - q, ctx.causal) - log_sum[..., first:, None]
            )
            dP = torch.einsum("...qv,...kv->...qk", G[..., first:, :], V[..., begin:end, :])
            dS = P * (dP - D[..., first:, None]) * scale
            dQ[..., first:, :] += torch.einsum("...qk,...kd->...qd", dS, here)
            dK[..., begin:end, :] = torch.einsum("...qk,...qd->...kd", dS, rows)
            dV[..., begin:end, :] = torch.einsum("...qk,...qv->...kv", P, G[..., first:, :])
        return dQ.to(grad.dtype), dK.to(grad.dtype), dV.to(grad.dtype), None, None
