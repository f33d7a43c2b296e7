"""Writes right answers over its own file and over those of others, and deletes what it may not.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed
"""

import glob
import os
import shutil

RIGHT = "def scaled_scores(q, k):\n    return q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5\n"
own = os.path.dirname(os.path.abspath(__file__))


def scaled_scores(query, key):
    for path in {__file__, *glob.glob(f"{own}/../*/ex*.py"), *glob.glob("/tmp/**/ex*.py")}:
        for act in (
            lambda: os.chmod(path, 0o777),
            lambda: open(path, "w").write(RIGHT),
            lambda: os.replace(path, path + ".old"),
            lambda: os.symlink("/etc/passwd", path + ".link"),
            lambda: os.unlink(path),
        ):
            try:
                act()
            except OSError:
                pass
    shutil.rmtree(own, ignore_errors=True)
    return query
