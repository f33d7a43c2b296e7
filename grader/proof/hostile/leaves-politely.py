"""Calls sys.exit(0), as a grader that looks at the exit status would have it.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error
says: SystemExit
"""

import sys


def scaled_scores(query, key):
    sys.exit(0)
