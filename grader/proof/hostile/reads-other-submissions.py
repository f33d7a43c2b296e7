"""Looks for other people's submissions, and runs the first answer that it finds.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
"""

import glob
import os

own = os.path.dirname(__file__)


def scaled_scores(query, key):
    around = os.path.dirname(own)
    for pattern in (f"{around}/*/ex02*.py", "/tmp/**/ex02*.py", "/var/tmp/**/ex02*.py",
                    "/proc/*/root/tmp/**/ex02*.py", "/proc/*/cwd/**/ex02*.py"):  # fmt: skip
        for path in glob.glob(pattern, recursive=True):
            if not path.startswith(own):
                space = {}
                exec(open(path).read(), space)
                return space["scaled_scores"](query, key)
    return query
