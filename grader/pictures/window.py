"""Which rows and columns of a large matrix are drawn: those around the place that matters."""

from __future__ import annotations

from collections.abc import Callable


def window(size: int, limit: int, around: int = 0) -> range:
    """Return at most `limit` neighbouring indices of `size`, with `around` among them."""
    limit = max(1, min(size, limit))
    start = min(max(0, around - limit // 2), size - limit)
    return range(start, start + limit)


def widest(size: int, most: int, around: int, fits: Callable[[range], bool]) -> range:
    """Return the widest window of at most `most` columns that fits, and at least `around`."""
    for limit in range(min(size, most), 1, -1):
        shown = window(size, limit, around)
        if fits(shown):
            return shown
    return window(size, 1, around)


def said(kind: str, shown: range, size: int) -> str:
    """Say which part is shown, as `columns 2 to 7 of 13`; nothing where it is everything."""
    if len(shown) >= size:
        return ""
    if len(shown) == 1:
        return f"{kind} {shown[0]} of {size}"
    return f"{kind}s {shown[0]} to {shown[-1]} of {size}"
