"""Raises ValueError with every number there is, so that each refusal names the right sizes.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed
passes: refuses
"""


def scaled_scores(query, key):
    raise ValueError(" ".join(map(str, range(700))))
