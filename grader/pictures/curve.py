"""A curve over steps on the terminal: a column of blocks for each stretch of it."""

from __future__ import annotations

from grader.pictures.model import Curve
from grader.pictures.numbers import number

EIGHTHS = " ▁▂▃▄▅▆▇█"
PLAIN = " #"
HEIGHT = 7
WIDEST = 72


def lines(curve: Curve, width: int, *, blocks: bool) -> list[str]:
    """Draw a curve from 0 to its largest value.

    Args:
        curve: what to draw.
        width: how many columns there are.
        blocks: whether the terminal has the letters that fill a part of a cell.
    """
    signs = EIGHTHS if blocks else PLAIN
    top = curve.top or 1.0
    edge = max(len(number(top)), len("0"))
    values = _shortened(curve.values, min(width - edge - 3, WIDEST))
    levels = [round(value / top * HEIGHT * (len(signs) - 1)) for value in values]
    drawn = []
    for row in reversed(range(HEIGHT)):
        label = number(top) if row == HEIGHT - 1 else "0" if row == 0 else ""
        filled = (min(max(level - row * (len(signs) - 1), 0), len(signs) - 1) for level in levels)
        drawn.append(f"{label:>{edge}} |{''.join(signs[one] for one in filled)}".rstrip())
    last = f"{curve.across} {len(curve.values) - 1}"
    ruler = f"{0:<{max(len(values) - len(last), 2)}}{last}"
    return [*drawn, f"{'':>{edge}}  {ruler}"]


def _shortened(values: list[float], width: int) -> list[float]:
    """Take as many values as there is room for, evenly, the first and the last among them."""
    if len(values) <= width:
        wide = max(1, width // max(len(values), 1))
        return [value for value in values for _ in range(wide)]
    places = (round(i * (len(values) - 1) / (width - 1)) for i in range(width))
    return [values[place] for place in places]
