"""The colours: what each role of a cell looks like on a light and on a dark ground.

Weights run in one hue from the ground to strong; signed numbers in two, orange below 0 and blue
above, which the colour-blind can tell apart. Every cell brings its own ink, so that numbers can be
read on all of them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from grader.pictures.model import Scale
from grader.pictures.numbers import Number

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, Theme] = ("light", "dark")
LEVELS = 16
Rgb = tuple[int, int, int]


class Look(NamedTuple):
    """A cell's ground and its ink, as `#rrggbb`."""

    ground: str
    ink: str


# from 0 to the largest; on a dark ground more means lighter, on a light one darker
BLUE: dict[Theme, tuple[Rgb, ...]] = {
    "light": ((239, 244, 251), (158, 202, 225), (66, 146, 198), (8, 81, 156), (8, 48, 107)),
    "dark": ((30, 37, 48), (26, 66, 110), (33, 113, 181), (85, 160, 222), (150, 205, 245)),
}
ORANGE: dict[Theme, tuple[Rgb, ...]] = {
    "light": ((239, 244, 251), (253, 205, 155), (245, 145, 62), (200, 84, 10), (127, 50, 4)),
    "dark": ((30, 37, 48), (92, 52, 22), (170, 86, 20), (228, 128, 48), (252, 180, 110)),
}
CLOSED: dict[Theme, Look] = {
    "light": Look("#e3e3e1", "#5f5e58"),
    "dark": Look("#33322f", "#9d9b93"),
}
PLAIN: dict[Theme, Look] = {
    "light": Look("#f6f6f4", "#22221f"),
    "dark": Look("#24231f", "#eceae4"),
}
PAGE: dict[Theme, dict[str, str]] = {
    "light": {"page": "#ffffff", "ink": "#1d1d1b", "muted": "#66655f"},
    "dark": {"page": "#161613", "ink": "#f0efe9", "muted": "#a5a39a"},
}


def role(value: Number, scale: Scale, limit: float = 1.0) -> str:
    """Return the role of a cell: `closed`, `plain`, or a hue with its level, as `blue-7`.

    Args:
        value: the cell.
        scale: how its panel is coloured.
        limit: for signed numbers, the one with the strongest colour.
    """
    if value is None or scale == "plain" or value != value:
        return "plain"
    if value == float("-inf") or (scale == "mask" and not value):
        return "closed"
    if scale == "mask":
        return f"blue-{LEVELS // 2}"
    size = min(1.0, abs(value) / (1.0 if scale == "weights" else limit))
    return f"{'orange' if value < 0 else 'blue'}-{round(size * LEVELS)}"


def look(name: str, theme: Theme) -> Look:
    """Return how a role looks."""
    if name == "plain":
        return PLAIN[theme]
    if name == "closed":
        return CLOSED[theme]
    hue, level = name.split("-")
    ground = _between((BLUE if hue == "blue" else ORANGE)[theme], int(level) / LEVELS)
    return Look(_hex(ground), _ink(ground))


def _between(stops: tuple[Rgb, ...], place: float) -> Rgb:
    steps = len(stops) - 1
    low = min(int(place * steps), steps - 1)
    part = place * steps - low
    one, two = stops[low], stops[low + 1]
    mixed = [round(a + (b - a) * part) for a, b in zip(one, two, strict=True)]
    return mixed[0], mixed[1], mixed[2]


def _hex(colour: Rgb) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as the WCAG define it: 4.5 is good to read."""
    low, high = sorted(_luminance(tuple(bytes.fromhex(c[1:]))) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: tuple[int, ...]) -> float:
    parts = [c / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _ink(ground: Rgb) -> str:
    dark, light = "#000000", "#ffffff"
    ground_hex = _hex(ground)
    return dark if contrast(dark, ground_hex) >= contrast(light, ground_hex) else light
