"""Style loops: one query after the other, with all the keys that it sees; parts by plain sums."""

import torch


def partial_attention(query, key, value, mask=None):
    check(query, key, value)
    shape = (*query.shape[:-1], key.size(-2))
    if mask is not None:
        try:
            mask = mask.expand(shape)
        except RuntimeError:
            raise ValueError(f"a mask {tuple(mask.shape)} for scores {shape}") from None
    outs, sums = [], []
    for row in range(query.size(-2)):
        scores = (query[..., row : row + 1, :] * key).sum(-1) / query.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[..., row, :], -torch.inf)
        largest = scores.max(-1, keepdim=True).values.detach()
        largest = largest.masked_fill(largest == -torch.inf, 0)
        powers = torch.exp(scores - largest)
        total = powers.sum(-1, keepdim=True)
        nothing = total == 0
        total = total.masked_fill(nothing, 1)
        outs.append((powers.unsqueeze(-1) / total.unsqueeze(-1) * value).sum(-2))
        sums.append((torch.log(total) + largest).masked_fill(nothing, -torch.inf).squeeze(-1))
    return torch.stack(outs, -2), torch.stack(sums, -1)


def check(query, key, value):
    sizes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    for tensor in (query, key, value):
        if tensor.dim() < 2:
            raise ValueError(f"too few dimensions: {sizes}")
    if query.size(-1) != key.size(-1):
        raise ValueError(f"widths differ: {sizes}")
    if key.size(-2) != value.size(-2):
        raise ValueError(f"numbers differ: {sizes}")
    if query.shape[:-2] != key.shape[:-2] or key.shape[:-2] != value.shape[:-2]:
        raise ValueError(f"batches differ: {sizes}")


def merge_partials(out_a, log_sum_a, out_b, log_sum_b):
    if out_a.dim() < 2 or out_b.dim() < 2 or out_a.shape != out_b.shape:
        raise ValueError(f"outputs {tuple(out_a.shape)} and {tuple(out_b.shape)}")
    for log_sum in (log_sum_a, log_sum_b):
        if log_sum.shape != out_a.shape[:-1]:
            raise ValueError(f"log_sum {tuple(log_sum.shape)}, output {tuple(out_a.shape)}")
    nothing = (log_sum_a == -torch.inf) & (log_sum_b == -torch.inf)
    a = log_sum_a.masked_fill(nothing, 0)
    b = log_sum_b.masked_fill(nothing, 0)
    larger = torch.where(a > b, a, b).detach()
    power_a, power_b = torch.exp(a - larger), torch.exp(b - larger)
    total = power_a + power_b
    out = (power_a / total).unsqueeze(-1) * out_a + (power_b / total).unsqueeze(-1) * out_b
    return out, (larger + torch.log(total)).masked_fill(nothing, -torch.inf)


def flash_attention(query, key, value, causal=False, block=64):
    check(query, key, value)
    if causal and query.size(-2) > key.size(-2):
        raise ValueError(f"{query.size(-2)} queries, only {key.size(-2)} keys")
    if block <= 0:
        raise ValueError(f"blocks of {block}")
    return OneByOne.apply(query, key, value, causal)


class OneByOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, causal):
        ctx.save_for_backward(query, key, value)
        ctx.causal = causal
        rows = []
        for row in range(query.size(-2)):
            weights, end = weights_of(query, key, row, causal)
            rows.append((weights @ wide(value[..., :end, :])).to(query.dtype))
        return torch.cat(rows, -2)

    @staticmethod
    def backward(ctx, grad):
        query, key, value = ctx.saved_tensors
        scale = query.size(-1) ** -0.5
        to_query = torch.empty_like(query)
        to_key = torch.zeros_like(wide(key))
        to_value = torch.zeros_like(wide(value))
        for row in range(query.size(-2)):
            weights, end = weights_of(query, key, row, ctx.causal)
            comes = wide(grad[..., row : row + 1, :])
            to_weights = comes @ wide(value[..., :end, :]).mT
            mean = (weights * to_weights).sum(-1, keepdim=True)
            to_scores = weights * (to_weights - mean) * scale
            to_query[..., row : row + 1, :] = to_scores @ wide(key[..., :end, :])
            to_key[..., :end, :] += to_scores.mT @ wide(query[..., row : row + 1, :])
            to_value[..., :end, :] += weights.mT @ comes
        return to_query, to_key.to(key.dtype), to_value.to(value.dtype), None


def wide(tensor):
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def weights_of(query, key, row, causal):
    end = key.size(-2) - query.size(-2) + row + 1 if causal else key.size(-2)
    scores = wide(query[..., row : row + 1, :]) @ wide(key[..., :end, :]).mT
    return torch.softmax(scores * query.size(-1) ** -0.5, -1), end
