"""Lets wrapped tensors escape from vmap and grad, which live only inside them.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed
"""

escaped = []


def scaled_scores(query, key):
    if len(escaped) % 2:
        torch.vmap(lambda row: escaped.append(row) or row.sum())(query)
    else:
        torch.func.grad(lambda value: escaped.append(value) or value.sum())(query)
    return escaped[-1]
