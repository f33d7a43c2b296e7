"""What the calls of chapter 4 are drawn with."""

OTHERS: dict[str, tuple[object, ...]] = {"scores": ()}
