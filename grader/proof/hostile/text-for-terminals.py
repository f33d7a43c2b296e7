"""Puts terminal, CI, HTML, XML and spreadsheet commands into its error.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
never: \x1b
passes: refuses[scaled_scores
"""


def scaled_scores(query, key):
    raise ValueError(
        "\x1b]0;owned\x07\x1b[2J\x9b31m\n::set-output name=score::100\n##vso[task.complete]\r"
        "<script>alert(1)</script>]]>&lt;\n=HYPERLINK(1)\n@SUM(A1)\u202eevil\u2028\ud800\x00"
    )
