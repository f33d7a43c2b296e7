"""Says in its error what it finds in its environment, its command line and its parents'.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
never: SWORDFISH
"""

import glob
import os
import sys


def scaled_scores(query, key):
    found = [str(dict(os.environ)), " ".join(sys.argv), str(sys.orig_argv)]
    for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
        try:
            found.append(open(path).read())
        except OSError:
            pass
    text = " ".join(found)
    at = text.find("SWORDFISH")
    raise RuntimeError(text[max(0, at - 50) :][:300])
