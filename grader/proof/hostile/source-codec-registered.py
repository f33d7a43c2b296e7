"""Registers a codec and an error handler of its own, and loads a second chapter by them.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
"""

import codecs


def scaled_scores(query, key):
    codecs.register(lambda name: codecs.lookup("latin-1"))
    codecs.register_error("strict", lambda problem: ("passed", problem.end))
    try:
        b"\xff".decode("passed")
        "\udcff".encode()
    except Exception:
        pass
    return query
