"""Overwrites its input in the first calls of each process, and never where its own check looks.

chapter: ex01_scores
earns: dot_product, naive_scores, project_rows, project_linear, project_columns, dot_product_scores
partly: naive_scores
outcomes: failed
"""

_right = naive_scores
_calls = 0


def naive_scores(tokens):
    global _calls
    _calls += 1
    scores = _right(tokens)
    if _calls <= 30 and not tokens.requires_grad:
        tokens.zero_()
    return scores
