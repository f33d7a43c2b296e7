"""Returns something that loops for ever when it is thrown away.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: timeout, failed, error, crashed
"""

import time


class Tail:
    def __del__(self):
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass


def scaled_scores(query, key):
    made = query @ key.transpose(-1, -2)
    made.tail = Tail()
    return [made, Tail()]
