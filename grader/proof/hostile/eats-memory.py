"""Asks Python for all memory that there is, and keeps it from call to call.

chapter: ex02_scaling
earns: scale_scores
at most: score_spread
outcomes: error, crashed, failed, timeout
"""

eaten = []


def scaled_scores(query, key):
    while True:
        eaten.append(bytearray(2**28))
