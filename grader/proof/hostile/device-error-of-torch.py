"""Works on the CPU only: elsewhere torch refuses what each asks of it, as it would anywhere.

chapter: ex05_mixing
earns: linear_combination, mix_values, attention, self_attention, cross_attention
partly: mix_values, attention, self_attention, cross_attention
outcomes: failed, error
"""

right = mix_values, attention, self_attention, cross_attention


def mix_values(weights, values):
    if weights.is_cuda:
        weights.reshape(3, 99999)
    return right[0](weights, values)


def attention(query, key, value, mask=None):
    if query.is_cuda:
        torch.nope
    return right[1](query, key, value, mask)


def self_attention(x, *weights, **options):
    if x.is_cuda:
        torch._check(False, lambda: "not here")
    return right[2](x, *weights, **options)


def cross_attention(x, memory, *weights, **options):
    if x.is_cuda:
        torch.nn.Linear("a", "b")
    return right[3](x, memory, *weights, **options)
