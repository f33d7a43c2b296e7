"""What the calls of chapter 10 are drawn with."""

OTHERS: dict[str, tuple[object, ...]] = {
    "q": (0, 1, 2, 3, 5, 8),
    "k": (0, 1, 2, 4, 7, 9),
    "window": (-2, -1, 0, 1, 2, 3, 4, 7, 20),
    "sinks": (-2, -1, 0, 1, 2, 4, 20),
}
