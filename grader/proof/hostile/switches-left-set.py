"""Leaves switches of torch's set after some of its calls: gradients, the default dtype, threads.

chapter: ex02_scaling
earns: nothing
outcomes: failed
passes: all
says: the call changed whether torch tracks gradients
"""

right_scale, right_spread, right_scaled = scale_scores, score_spread, scaled_scores


def scale_scores(scores, d_k):
    made = right_scale(scores, d_k)
    if scores.dim() == 4:
        torch._C._set_grad_enabled(False)
    return made


def score_spread(*args, **kwargs):
    made = right_spread(*args, **kwargs)
    torch.set_default_dtype(torch.float64)
    return made


def scaled_scores(query, key):
    made = right_scaled(query, key)
    if query.dim() == 5:
        torch.set_num_threads(3)
    return made
