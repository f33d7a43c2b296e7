"""Returns right numbers with one NaN among them, where a mean or a maximum hides it.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed
passes: refuses[scaled_scores
"""

right = scaled_scores


def scaled_scores(query, key):
    made = right(query, key)
    hole = torch.zeros_like(made)
    hole.view(-1)[-1:] = float("nan")
    return made + hole
