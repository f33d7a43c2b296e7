"""What the calls of chapter 12 are drawn with."""

OTHERS: dict[str, tuple[object, ...]] = {
    "causal": (False, True),
    "block": (-2, -1, 0, 1, 2, 3, 4, 7, 20, 64),
}
