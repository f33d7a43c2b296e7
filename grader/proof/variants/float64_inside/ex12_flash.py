"""Style float64_inside: everything in float64, and FlashAttention-2: one division after the last block."""

import torch


def fits(query, key, value):
    shapes = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    if any(len(shape) < 2 for shape in shapes):
        raise ValueError(f"two dimensions at least, not {shapes}")
    if shapes[0][-1] != shapes[1][-1] or shapes[1][-2] != shapes[2][-2]:
        raise ValueError(f"do not fit: {shapes}")
    if len({shape[:-2] for shape in shapes}) != 1:
        raise ValueError(f"batches of {shapes}")


def partial_attention(query, key, value, mask=None):
    fits(query, key, value)
    scores = query.double() @ key.double().mT / query.shape[-1] ** 0.5
    if mask is not None:
        if mask.dim() > scores.dim():
            raise ValueError(f"{tuple(mask.shape)} for {tuple(scores.shape)}")
        for size, wanted in zip(mask.shape[::-1], scores.shape[::-1]):
            if size not in (1, wanted):
                raise ValueError(f"{tuple(mask.shape)} for {tuple(scores.shape)}")
        scores = scores.masked_fill(~mask, -torch.inf)
    log_sum = torch.logsumexp(scores, -1)
    safe = log_sum.masked_fill(log_sum == -torch.inf, 0)
    out = torch.exp(scores - safe[..., None]) @ value.double()
    return out.to(query.dtype), log_sum.to(query.dtype)


def merge_partials(out_a, log_sum_a, out_b, log_sum_b):
    if out_a.shape != out_b.shape or out_a.dim() < 2:
        raise ValueError(f"{tuple(out_a.shape)} {tuple(out_b.shape)}")
    if {log_sum_a.shape, log_sum_b.shape} != {out_a.shape[:-1]}:
        raise ValueError(f"{tuple(log_sum_a.shape)} {tuple(log_sum_b.shape)} {tuple(out_a.shape)}")
    a, b = log_sum_a.double(), log_sum_b.double()
    larger, smaller = torch.maximum(a, b), torch.minimum(a, b)
    nothing = larger == -torch.inf
    more = torch.exp(smaller.masked_fill(nothing, 0) - larger.masked_fill(nothing, 0))
    a_is_larger = (a >= b)[..., None]
    big = torch.where(a_is_larger, out_a, out_b).double()
    small = torch.where(a_is_larger, out_b, out_a).double()
    out = (big + more[..., None] * small) / (1 + more)[..., None]
    log_sum = torch.where(nothing, -torch.inf, larger.masked_fill(nothing, 0) + torch.log1p(more))
    return out.to(out_a.dtype), log_sum.to(out_a.dtype)


def flash_attention(query, key, value, causal=False, block=64):
    fits(query, key, value)
    if causal and query.shape[-2] > key.shape[-2]:
        raise ValueError(f"{query.shape[-2]} queries and {key.shape[-2]} keys")
    if block < 1:
        raise ValueError(f"block = {block}")
    return Flash.apply(query, key, value, causal, block)


class Flash(torch.autograd.Function):
    @staticmethod
    def tile(query, key, i, j, offset, causal):
        scores = query.double() @ key.double().mT / query.shape[-1] ** 0.5
        if causal:
            rows = torch.arange(query.shape[-2], device=query.device) + i + offset
            columns = torch.arange(key.shape[-2], device=query.device) + j
            scores = scores.masked_fill(columns > rows[:, None], -torch.inf)
        return scores

    @staticmethod
    def forward(ctx, query, key, value, causal, block):
        q, k = query.shape[-2], key.shape[-2]
        outs, logs = [], []
        for i in range(0, q, block):
            rows = query[..., i : i + block, :]
            highest = torch.full(rows.shape[:-1], -torch.inf, dtype=torch.float64, device=query.device)
            total = torch.zeros_like(highest)
            mixed = torch.zeros(*rows.shape[:-1], value.shape[-1], dtype=torch.float64, device=query.device)
            for j in range(0, k, block):
                if causal and j > k - q + i + rows.shape[-2] - 1:
                    break
                scores = Flash.tile(rows, key[..., j : j + block, :], i, j, k - q, causal)
                before, highest = highest, torch.maximum(highest, scores.amax(-1))
                shrink, powers = torch.exp(before - highest), torch.exp(scores - highest[..., None])
                total = total * shrink + powers.sum(-1)
                mixed = mixed * shrink[..., None] + powers @ value[..., j : j + block, :].double()
            outs.append(mixed / total[..., None])
            logs.append(highest + total.log())
        out = torch.cat(outs, -2)
        ctx.save_for_backward(query, key, value, out, torch.cat(logs, -1))
        ctx.causal, ctx.block = causal, block
        return out.to(query.dtype)

    @staticmethod
    def backward(ctx, grad):
        query, key, value, out, log_sum = ctx.saved_tensors
        grad, block, scale = grad.double(), ctx.block, query.shape[-1] ** -0.5
        q, k = query.shape[-2], key.shape[-2]
        delta = (grad * out).sum(-1, keepdim=True)
        to_query = torch.zeros_like(query, dtype=torch.float64)
        to_keys, to_values = [], []
        for j in range(0, k, block):
            keys, values = key[..., j : j + block, :].double(), value[..., j : j + block, :].double()
            to_key, to_value = torch.zeros_like(keys), torch.zeros_like(values)
            for i in range(0, q, block):
                rows = slice(i, i + block)
                if ctx.causal and j > k - q + min(i + block, q) - 1:
                    continue
                scores = Flash.tile(query[..., rows, :], keys, i, j, k - q, ctx.causal)
                weights = torch.exp(scores - log_sum[..., rows, None])
                to_value += weights.mT @ grad[..., rows, :]
                to_scores = weights * (grad[..., rows, :] @ values.mT - delta[..., rows, :]) * scale
                to_query[..., rows, :] += to_scores @ keys
                to_key += to_scores.mT @ query[..., rows, :].double()
            to_keys.append(to_key)
            to_values.append(to_value)
        made = to_query, torch.cat(to_keys, -2), torch.cat(to_values, -2)
        return *(one.to(query.dtype) for one in made), None, None
