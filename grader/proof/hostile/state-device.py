"""Makes another device the default one: what is made without a device is nowhere.

chapter: ex02_scaling
earns: scale_scores, scaled_scores
at most: score_spread
outcomes: failed, error, crashed
"""

torch.set_default_device("meta")
