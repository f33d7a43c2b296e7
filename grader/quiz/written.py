"""How questions write vectors and matrices."""

from __future__ import annotations

from collections.abc import Sequence


def vector(row: Sequence[float]) -> str:
    """Write numbers in a line."""
    return f"({', '.join(f'{value:g}' for value in row)})"


def term(value: float) -> str:
    """Write a number that stands behind a sign: only one below 0 is put in parentheses."""
    return f"({value:g})" if value < 0 else f"{value:g}"


def grid(rows: Sequence[Sequence[object]], head: str = "", beside: str = "") -> str:
    """Draw a matrix, a line for each row.

    Args:
        rows: numbers or words.
        head: what stands above the columns, with their numbers: `key`.
        beside: what stands before each row, with its number: `query`.
    """
    cells = [[f"{one:g}" if isinstance(one, float) else str(one) for one in row] for row in rows]
    if head:
        cells.insert(0, [f"{head} {number}" for number in range(len(cells[0]))])
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    before = [f"{beside} {number}" if beside else "" for number in range(len(rows))]
    before = [*([""] * bool(head)), *before]
    margin = max(map(len, before)) + 2 if beside else 0
    return "\n".join(
        f"    {says:<{margin}}" + "  ".join(map(str.rjust, row, wide))
        for says, row in zip(before, cells, strict=True)
    )


def size(*sizes: int) -> str:
    """Write a shape."""
    return f"[{', '.join(map(str, sizes))}]"
