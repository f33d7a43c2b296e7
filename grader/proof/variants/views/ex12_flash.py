"""Style views: the batch is folded into one dimension, and a list of tiles is gone through twice."""

import torch


def _folded(x):
    return x.reshape(-1, *x.shape[-2:])


def _refuse_misfits(query, key, value):
    shapes = [tuple(x.shape) for x in (query, key, value)]
    if min(len(shape) for shape in shapes) < 2:
        raise ValueError(f"matrices are needed: {shapes}")
    if shapes[0][:-2] != shapes[1][:-2] or shapes[1][:-1] != shapes[2][:-1]:
        raise ValueError(f"batch or number: {shapes}")
    if shapes[0][-1] != shapes[1][-1]:
        raise ValueError(f"width: {shapes}")


def partial_attention(query, key, value, mask=None):
    _refuse_misfits(query, key, value)
    batch, q, k = query.shape[:-2], query.shape[-2], key.shape[-2]
    scores = torch.bmm(_folded(query), _folded(key).transpose(1, 2)) / query.shape[-1] ** 0.5
    if mask is not None:
        try:
            mask = mask.expand(*batch, q, k).reshape(-1, q, k)
        except RuntimeError as problem:
            raise ValueError(f"mask {tuple(mask.shape)}, scores {(*batch, q, k)}") from problem
        scores = scores.masked_fill(mask.logical_not(), -torch.inf)
    log_sum = scores.logsumexp(-1)
    weights = (scores - log_sum.masked_fill(log_sum.isneginf(), 0).unsqueeze(-1)).exp()
    out = torch.bmm(weights, _folded(value))
    return out.view(*batch, q, value.shape[-1]), log_sum.view(*batch, q)


def merge_partials(out_a, log_sum_a, out_b, log_sum_b):
    if out_a.ndim < 2 or out_a.shape != out_b.shape:
        raise ValueError(f"{tuple(out_a.shape)} and {tuple(out_b.shape)} are two shapes")
    if not log_sum_a.shape == log_sum_b.shape == out_a.shape[:-1]:
        raise ValueError(f"{tuple(log_sum_a.shape)}, {tuple(log_sum_b.shape)}: not one per query")
    sums = torch.stack([log_sum_a, log_sum_b], -1)
    closed = sums.isneginf().all(-1, keepdim=True)
    sums = sums.masked_fill(closed, 0)
    shares = sums.softmax(-1).unsqueeze(-2)
    out = (shares @ torch.stack([out_a, out_b], -2)).squeeze(-2)
    return out, sums.logsumexp(-1).masked_fill(closed.squeeze(-1), -torch.inf)


def flash_attention(query, key, value, causal=False, block=64):
    _refuse_misfits(query, key, value)
    q, k = query.shape[-2], key.shape[-2]
    if block < 1:
        raise ValueError(f"{block} in a block")
    if causal and k < q:
        raise ValueError(f"{q} queries in the {k} last places")
    tiles = [
        (top, min(block, q - top), left, min(block, k - left))
        for top in range(0, q, block)
        for left in range(0, k, block)
        if not causal or left < k - q + min(top + block, q)
    ]
    out = _Tiled.apply(_folded(query), _folded(key), _folded(value), tiles, causal)
    return out.view(*query.shape[:-1], value.shape[-1])


def _powers(query, key, tile, past, less):
    top, rows, left, columns = tile
    q, k = query.narrow(1, top, rows), key.narrow(1, left, columns)
    scores = torch.baddbmm(-less.unsqueeze(-1), q, k.transpose(1, 2), alpha=query.shape[-1] ** -0.5)
    if past is not None and left + columns - 1 > past + top:
        future = scores.new_ones(rows, columns, dtype=torch.bool).triu(past + top - left + 1)
        scores.masked_fill_(future, -torch.inf)
    return scores


class _Tiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, tiles, causal):
        given = [x.to(torch.promote_types(x.dtype, torch.float32)) for x in (query, key, value)]
        q, k, v = given
        past = k.shape[1] - q.shape[1] if causal else None
        out = v.new_zeros(*q.shape[:2], v.shape[2])
        log_sum = q.new_full(q.shape[:2], -torch.inf)
        for tile in tiles:
            top, rows, left, columns = tile
            scores = _powers(q, k, tile, past, q.new_zeros(q.shape[0], rows))
            here = scores.logsumexp(-1)
            safe = here.masked_fill(here.isneginf(), 0)
            mixed = (scores - safe.unsqueeze(-1)).exp() @ v.narrow(1, left, columns)
            so_far = out.narrow(1, top, rows), log_sum.narrow(1, top, rows)
            for old, new in zip(so_far, merge_partials(*so_far, mixed, here)):
                old.copy_(new)
        ctx.save_for_backward(query, key, value, out, log_sum)
        ctx.tiles, ctx.past = tiles, past
        return out.to(query.dtype, copy=True)

    @staticmethod
    def backward(ctx, grad):
        *given, out, log_sum = ctx.saved_tensors
        q, k, v = (x.to(out.dtype) for x in given)
        grad_out = grad.to(out.dtype)
        mean = (grad_out * out).sum(-1)
        made = [torch.zeros_like(x) for x in (q, k, v)]
        for tile in ctx.tiles:
            top, rows, left, columns = tile
            weights = _powers(q, k, tile, ctx.past, log_sum.narrow(1, top, rows)).exp_()
            comes = grad_out.narrow(1, top, rows)
            more = comes @ v.narrow(1, left, columns).transpose(1, 2)
            more = (more - mean.narrow(1, top, rows).unsqueeze(-1)) * weights * q.shape[-1] ** -0.5
            made[0].narrow(1, top, rows).baddbmm_(more, k.narrow(1, left, columns))
            made[1].narrow(1, left, columns).baddbmm_(more.transpose(1, 2), q.narrow(1, top, rows))
            made[2].narrow(1, left, columns).baddbmm_(weights.transpose(1, 2), comes)
        return *(x.to(grad.dtype) for x in made), None, None
