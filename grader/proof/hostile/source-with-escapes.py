"""Has a syntax error in a line full of terminal commands.

chapter: ex02_scaling
onto: nothing, made by source()
earns: nothing
outcomes: error
never: \x1b
"""


def source():
    return b"\x1b]0;owned\x07\x1b[2J::error::<script> def = (\n"
