"""Writes files of any size and number wherever it may, and keeps them.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed, crashed
"""

import os
import tempfile

PLACES = [os.environ.get("TMPDIR", "/tmp"), "/tmp", "/var/tmp", "/dev/shm", ".",
          os.path.dirname(__file__), os.path.expanduser("~")]  # fmt: skip


def scaled_scores(query, key):
    for place in PLACES:
        for number in range(2000):
            try:
                with open(f"{place}/hostile-{number}", "wb") as file:
                    file.write(b"x" * 2**22)
            except OSError:
                break
    return query
