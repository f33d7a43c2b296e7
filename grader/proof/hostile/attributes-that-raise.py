"""Has a module-level __getattr__ that raises for what is not there, as soon as somebody looks.

chapter: ex02_scaling
earns: score_spread
at most: score_spread
outcomes: error, not started
"""

del scaled_scores, scale_scores


def __getattr__(name):
    raise RuntimeError(f"no {name} for you")
