"""What the calls of chapter 8 are drawn with."""

OTHERS: dict[str, tuple[object, ...]] = {
    "d_head": (-4, -1, 0, 1, 2, 3, 6, 7, 10),
    "base": (1.5, 10.0, 500.0, 10000.0),
    "n_heads": (-2, -1, 0, 1, 2, 3, 4, 5, 10, 20),
}
