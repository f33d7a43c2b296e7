"""A picture as SVG, light, dark or as the reader's screen is; and as a page that holds it."""

from __future__ import annotations

from html import escape

from grader.pictures import colours
from grader.pictures.colours import Theme
from grader.pictures.scene import TEXT, GridCell, Scene, Stroke, Words

SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def svg(scene: Scene, theme: Theme | None = None) -> str:
    """Write a scene as SVG.

    Args:
        scene: what to draw.
        theme: light or dark; None follows the reader's screen.
    """
    size = f'width="{scene.width:.0f}" height="{scene.height:.0f}"'
    view = f'viewBox="0 0 {scene.width:.0f} {scene.height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img">',
        f"<title>{escape(scene.title)}</title>",
        f"<style>{_style(scene, theme)}</style>",
        '<rect class="page" width="100%" height="100%"/>',
        *map(_cell, scene.cells),
        *map(_stroke, scene.strokes),
        *map(_words, scene.words),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def html(scene: Scene, theme: Theme | None = None) -> str:
    """Write a scene as a page that needs nothing else, neither files nor a network."""
    ground = {one: colours.PAGE[one]["page"] for one in colours.THEMES}
    chosen = ground[theme or "light"]
    style = f"body{{margin:0;background:{chosen}}}svg{{max-width:100%;height:auto}}"
    if theme is None:
        style += f"@media(prefers-color-scheme:dark){{body{{background:{ground['dark']}}}}}"
    scheme = theme or "light dark"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="{scheme}">'
        f"<title>{escape(scene.title)}</title><style>{style}</style></head>\n"
        f"<body>\n{svg(scene, theme)}</body></html>\n"
    )


def _style(scene: Scene, theme: Theme | None) -> str:
    fixed = f"text{{font-family:{SANS};font-size:{TEXT:g}px}}.m{{font-family:{MONO}}}"
    fixed += ".b{font-weight:600}.wrong{fill:none;stroke-width:2.5}.s{fill:none;stroke-width:1.5}"
    used = sorted({cell.role for cell in scene.cells if cell.role})
    style = fixed + _colours(used, theme or "light")
    if theme is None:
        style += f"@media(prefers-color-scheme:dark){{{_colours(used, 'dark')}}}"
    return style


def _colours(used: list[str], theme: Theme) -> str:
    page = colours.PAGE[theme]
    rules = [f".page{{fill:{page['page']}}}.wrong{{stroke:{page['bad']}}}"]
    rules += [f".{ink}{{fill:{page[ink]}}}" for ink in ("ink", "muted", "bad")]
    rules += [f".{ink}-s{{stroke:{page[ink]}}}" for ink in ("ink", "muted", "curve")]
    for role in used:
        ground, ink = colours.look(role, theme)
        rules.append(f".{role}{{fill:{ground}}}.{role}-t{{fill:{ink}}}")
    return "".join(rules)


def _cell(cell: GridCell) -> str:
    if not cell.role:
        return ""
    x, y = cell.x + 1, cell.y + 1
    width, height = cell.width - 2, cell.height - 2
    box = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3"'
    middle = f'x="{cell.x + cell.width / 2:.1f}" y="{cell.y + cell.height * 0.66:.1f}"'
    text = escape(cell.text) + ("*" if cell.wrong else "")
    return (
        f"<g><title>{escape(cell.tip)}</title>"
        f'<rect class="{cell.role}" {box}/>'
        f'<text class="m {cell.role}-t" text-anchor="middle" {middle}>{text}</text>'
        + (f'<rect class="wrong" {box}/>' if cell.wrong else "")
        + "</g>"
    )


def _stroke(stroke: Stroke) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in stroke.points)
    return f'<polyline class="s {stroke.ink}-s" points="{points}"/>'


def _words(words: Words) -> str:
    kinds = [words.ink, "m" if words.mono else "", "b" if words.bold else ""]
    size = "" if words.size == TEXT else f' style="font-size:{words.size:g}px"'
    anchor = "" if words.anchor == "start" else f' text-anchor="{words.anchor}"'
    place = f'x="{words.x:.1f}" y="{words.y:.1f}" xml:space="preserve"'
    kind = " ".join(filter(None, kinds))
    return f'<text class="{kind}" {place}{size}{anchor}>{escape(words.text)}</text>'
