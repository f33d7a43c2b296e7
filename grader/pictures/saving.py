"""Saving pictures: the lines of the terminal in a file, whose ending says how."""

from __future__ import annotations

import importlib.util
import io
import re
from html import escape
from pathlib import Path

from rich.cells import cell_len
from rich.color import parse_rgb_hex
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from grader.pictures.colours import PAGE, THEMES, Theme
from grader.pictures.model import Picture
from grader.pictures.terminal import Paper, drawn

ENDINGS = (".png", ".svg", ".html")
# three of chapter 8's circles stand side by side
WIDTH = 123
MARGIN = "  "
# a letter and a line as rich lays them out in SVG, of which a file takes this share
FONT, ASPECT, LINE, SHARE = 20, 0.6, 24.4, 0.7
LETTER = FONT * ASPECT
FAMILY = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
READERS = (
    ".dark{display:none}@media(prefers-color-scheme:dark){.light{display:none}.dark{display:block}}"
)
# matplotlib counts letters in points, 72 to the inch; a picture in pixels, 100 to the inch
DPI, POINTS = 200, 0.72


def problem_with(file: Path) -> str | None:
    """Say why pictures cannot be saved to a file, or None; asked before anything is computed."""
    if file.suffix.lower() not in ENDINGS:
        return f"--save takes a file that ends in .png, .svg or .html, not `{file.name}`"
    if not file.resolve().parent.is_dir():
        return f"--save: there is no folder {file.resolve().parent}"
    if file.suffix.lower() == ".png" and importlib.util.find_spec("matplotlib") is None:
        return (
            "a PNG is drawn by matplotlib, which is not installed: python -m pip install "
            "matplotlib, or save as .svg or .html, which need nothing"
        )
    return None


def save(pictures: list[Picture], file: Path, theme: Theme | None = None) -> None:
    """Write pictures to one file.

    Args:
        pictures: what to draw.
        file: where to.
        theme: light or dark; None follows the reader's screen, and is light in a PNG.

    Raises:
        OSError: it cannot be written.
    """
    ending = file.suffix.lower()
    if ending == ".png":
        _png(pictures, file, theme or "light")
        return
    write = html if ending == ".html" else svg
    file.write_text(write(pictures, theme), encoding="utf-8")


def svg(pictures: list[Picture], theme: Theme | None = None) -> str:
    """Write pictures as SVG."""
    width, height = _size(_sheet(pictures, "light"))
    parts = [_svg(pictures, one) for one in _themes(theme)]
    # by textLength letters that take two places would lie on each other, and nothing is cut off
    drawing = re.sub(' (textLength|clip-path)="[^"]*"', "", "\n".join(parts))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * SHARE:g}" '
        f'height="{height * SHARE:g}" viewBox="0 0 {width:g} {height:g}" role="img" '
        'xml:space="preserve">\n'
        f"<title>{_title(pictures)}</title>\n"
        f"<style>text{{font:{FONT}px {FAMILY}}}{READERS if theme is None else ''}</style>\n"
        f"{drawing}\n</svg>\n"
    )


def html(pictures: list[Picture], theme: Theme | None = None) -> str:
    """Write pictures as a page that needs nothing else, neither files nor a network."""
    parts = "\n".join(_html(pictures, one) for one in _themes(theme))
    style = (
        f"body{{margin:0}}pre{{margin:0;min-height:100vh;font:{FONT * SHARE:g}px/1.3 {FAMILY}}}"
        f"{READERS if theme is None else ''}"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="{theme or "light dark"}">'
        f"<title>{_title(pictures)}</title><style>{style}</style></head>\n"
        f"<body>\n{parts}\n</body></html>\n"
    )


def _themes(theme: Theme | None) -> tuple[Theme, ...]:
    return (theme,) if theme else THEMES


def _title(pictures: list[Picture]) -> str:
    return escape(", ".join(picture.name for picture in pictures))


def _sheet(pictures: list[Picture], theme: Theme) -> list[Text]:
    """Draw pictures with a margin around them."""
    lines = drawn(pictures, Paper(WIDTH, True, theme, True, PAGE[theme]["muted"]))
    return [Text(), *(Text(MARGIN).append_text(line) for line in lines), Text()]


def _size(sheet: list[Text]) -> tuple[float, float]:
    columns = max(line.cell_len for line in sheet) + len(MARGIN)
    return columns * LETTER, len(sheet) * LINE


def _svg(pictures: list[Picture], theme: Theme) -> str:
    """Draw them in one theme, without the window that rich would draw around them."""
    page = f'<rect width="100%" height="100%" fill="{PAGE[theme]["page"]}"/>'
    parts = "<style>{styles}</style>{backgrounds}{matrix}"
    return _recorded(pictures, theme).export_svg(
        theme=_colours(theme), code_format=f'<g class="{theme}">{page}{parts}</g>',
        font_aspect_ratio=ASPECT, unique_id=theme,
    )  # fmt: skip


def _html(pictures: list[Picture], theme: Theme) -> str:
    look = "color:{foreground};background:{background}"
    return _recorded(pictures, theme).export_html(
        theme=_colours(theme), inline_styles=True,
        code_format=f'<pre class="{theme}" style="{look}">\n{{code}}</pre>',
    )  # fmt: skip


def _recorded(pictures: list[Picture], theme: Theme) -> Console:
    """Print them where rich keeps what it prints, to write it down in another form."""
    sheet = _sheet(pictures, theme)
    columns = round(_size(sheet)[0] / LETTER)
    console = Console(
        file=io.StringIO(), record=True, width=columns, legacy_windows=False, force_jupyter=False
    )
    for line in sheet:
        console.print(line, soft_wrap=True, highlight=False)
    return console


def _colours(theme: Theme) -> TerminalTheme:
    page, ink = (parse_rgb_hex(PAGE[theme][one][1:]) for one in ("page", "ink"))
    return TerminalTheme(page, ink, [ink] * 8)


def _png(pictures: list[Picture], file: Path, theme: Theme) -> None:
    """Draw them by matplotlib, word by word, for no font is as wide as another."""
    # the plain canvas: pyplot would look for a screen, and takes half a second more
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    sheet, page, console = _sheet(pictures, theme), PAGE[theme], Console()
    width, height = _size(sheet)
    size = width * SHARE / 100, height * SHARE / 100
    figure = Figure(size, dpi=DPI, facecolor=page["page"])
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    for row, line in enumerate(sheet):
        x, y = 0.0, row * LINE
        for text, style, _ in line.render(console):
            look, wide = style or Style(), cell_len(text) * LETTER
            if look.bgcolor:
                ground = look.bgcolor.get_truecolor().hex
                axes.add_patch(Rectangle((x, y), wide, LINE, color=ground, lw=0))
            for word in re.finditer(r"\S+", text):
                axes.text(
                    x + cell_len(text[: word.start()]) * LETTER, y + 0.74 * LINE, word[0],
                    color=look.color.get_truecolor().hex if look.color else page["ink"],
                    family="DejaVu Sans Mono", size=FONT * SHARE * POINTS, parse_math=False,
                    weight="bold" if look.bold else "normal",
                    style="italic" if look.italic else "normal",
                )  # fmt: skip
            x += wide
    FigureCanvasAgg(figure).print_png(str(file))
