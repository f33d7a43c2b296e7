"""Raises an error whose class has a name of a megabyte, from 20,000 frames of generated names.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, crashed, failed
passes: refuses
"""


def scaled_scores(query, key):
    name = "\x1b[31m<script>" + "É" * 10**6
    space = {}
    exec(compile(f"def f_{'x' * 10**5}(e): raise e", __file__ + "\n\x1b[2J", "exec"), space)
    make = next(value for key, value in space.items() if key.startswith("f_"))
    make(type(name, (ValueError,), {})("=cmd|' /C calc'!A0"))
