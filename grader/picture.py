"""Drawing tensors as text: small matrices side by side, with the wrong cells marked."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

ROWS, COLUMNS = 7, 7
MARK = "*"


def side_by_side(expected: Tensor, actual: Tensor, wrong: Tensor) -> list[str]:
    """Draw what was expected beside what came; each wrong cell carries a star.

    Args:
        expected: the right values, any shape but empty.
        actual: values of the same shape.
        wrong: True where they differ; of more than two dimensions, the first matrix that holds
            a wrong cell is drawn.
    """
    title, (right, came, marks) = _first_matrix(expected, actual, wrong)
    left_lines = _draw(right, None)
    right_lines = _draw(came, marks)
    width = max(len("expected"), *(len(line) for line in left_lines))
    lines = [f"{'expected':<{width}}    yours{title}"]
    lines += [
        f"{left:<{width}}    {line}".rstrip()
        for left, line in zip(left_lines, right_lines, strict=True)
    ]
    return lines


def _first_matrix(*tensors: Tensor) -> tuple[str, list[Tensor]]:
    wrong = tensors[-1]
    shape = tuple(wrong.shape)
    if wrong.dim() <= 2:
        rows = (1,) * (2 - wrong.dim()) + shape
        return "", [tensor.reshape(rows) for tensor in tensors]
    first = [int(i) for i in wrong.nonzero()[0][:-2]] if wrong.any() else [0] * (wrong.dim() - 2)
    place = ", ".join(str(index) for index in first)
    return f"   (the matrix at [{place}])", [tensor[tuple(first)] for tensor in tensors]


def _draw(matrix: Tensor, marks: Tensor | None) -> list[str]:
    rows = _window(matrix.shape[0], ROWS)
    columns = _window(matrix.shape[1], COLUMNS)
    cells = [
        [
            "..." if i is None or j is None else _cell(matrix, marks, i, j)
            for j in columns
        ]
        for i in rows
    ]  # fmt: skip
    widths = [max(len(row[j]) for row in cells) for j in range(len(columns))]
    return [" ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)) for row in cells]


def _window(size: int, limit: int) -> Sequence[int | None]:
    if size <= limit:
        return range(size)
    return [*range(limit - 2), None, size - 1]


def _cell(matrix: Tensor, marks: Tensor | None, i: int, j: int) -> str:
    text = number(matrix[i, j].item())
    if marks is None:
        return text
    return text + (MARK if bool(marks[i, j]) else " ")


def number(value: float | bool) -> str:
    """Write one cell: short, and with the digits where they matter."""
    if isinstance(value, bool):
        return "T" if value else "."
    if value != value or abs(value) == float("inf"):
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}[str(value)]
    if value and (abs(value) >= 1e4 or abs(value) < 5e-4):
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.1f}"
