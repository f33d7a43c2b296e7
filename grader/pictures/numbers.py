"""Writing one cell of a matrix: short, and with the digits where they matter."""

from __future__ import annotations

Number = float | int | bool | None


def number(value: Number, digits: int = 3, *, fixed: bool = False) -> str:
    """Write one number.

    Args:
        value: a mask's True and False become T and a dot, None an empty cell.
        digits: how many decimals a float below 100 gets.
        fixed: whether what is too small for them is written as 0, as among weights.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "T" if value else "."
    if isinstance(value, int):
        return str(value)
    if value != value or abs(value) == float("inf"):
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}[str(value)]
    value += 0.0  # minus zero is a zero like any other
    small = not fixed and abs(value) < 0.5 * 10.0**-digits
    if value and (abs(value) >= 1e4 or small):
        return f"{value:.1e}"
    return f"{value:.{digits}f}" if abs(value) < 100 else f"{value:.1f}"
