"""Matrices as they are drawn: in messages, on the terminal, and in files."""

from __future__ import annotations

import io
import re
from html import unescape
from xml.etree import ElementTree

import pytest
import torch
from rich.console import Console

from grader.pictures import colours, saving
from grader.pictures.model import DocumentNumbers, Panel, Picture, Row, pack, unpack
from grader.pictures.numbers import number
from grader.pictures.saving import html, svg
from grader.pictures.terminal import BAD, show
from grader.pictures.text import side_by_side
from grader.pictures.window import window
from grader.reports.message import parts

SMALL = """\
expected              yours
1.000 -2.500 0.000    1.000  -2.500  0.004*
0.500   -inf 3.000    0.500*   -inf  3.000"""


def drawn(expected, actual):
    wrong = ~torch.isclose(actual.double(), expected.double(), equal_nan=False)
    return side_by_side(expected, actual, wrong)


def test_a_small_matrix_looks_as_ever():
    expected = torch.tensor([[1.0, -2.5, 0.0], [0.5, -torch.inf, 3.0]])
    actual = torch.tensor([[1.0, -2.5, 0.004], [0.5, -torch.inf, 3.0]])
    wrong = torch.tensor([[False, False, True], [True, False, False]])
    assert side_by_side(expected, actual, wrong) == SMALL.splitlines()


@pytest.mark.parametrize(
    ("shape", "at", "scale"),
    [
        ((5, 7), (0, 0), 1),
        ((5, 7), (4, 6), 1),
        ((20, 13), (0, 12), 1),
        ((20, 13), (19, 0), 1),
        ((3, 300), (1, 150), 1000),
        ((60, 2), (31, 1), 1e6),
        ((113,), (112,), 1),
        ((2, 3, 40, 40), (1, 2, 39, 17), 1),
        ((1, 1), (0, 0), 1e-9),
    ],
)
def test_a_large_matrix_is_cut_down_around_its_first_wrong_cell(shape, at, scale):
    expected = scale * torch.randn(shape, generator=torch.Generator().manual_seed(3))
    actual = expected.clone()
    actual[at] = -7.25
    lines = drawn(expected, actual)
    assert max(map(len, lines)) <= 88 - len("    ")
    assert sum(line.count("*") for line in lines) == 1
    assert sum("-7.250*" in line for line in lines) == 1
    row, column = (0, *at)[-2:]
    if any("of" in line for line in lines[:2]):
        marked = next(line for line in lines if "*" in line)
        head = next(line for line in lines if re.fullmatch(r"[\d ]+", line))
        assert marked.split()[0] == str(row)
        # the column's index ends where its number does, before the star
        end = marked.index("*")
        assert head[:end].split()[-1] == str(column)


def test_the_matrix_of_a_batch_is_named():
    expected = torch.zeros(2, 3, 2, 2)
    actual = expected.clone()
    actual[1, 0, 1, 1] = 1
    assert drawn(expected, actual)[0].endswith("yours   (the matrix at [1, 0])")


def test_a_mask_has_letters():
    lines = drawn(torch.tensor([[True, False]]), torch.tensor([[True, True]]))
    assert lines[1].split() == ["T", ".", "T", "T*"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "T"), (False, "."), (None, ""), (7, "7"), (0.0, "0.000"), (-1.29046, "-1.290"),
        (float("nan"), "nan"), (float("-inf"), "-inf"), (123.456, "123.5"), (2e5, "2.0e+05"),
        (0.0001, "1.0e-04"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_windows_hold_what_they_are_around():
    for size in range(1, 12):
        for limit in range(1, 14):
            for around in range(size):
                shown = window(size, limit, around)
                assert around in shown
                assert len(shown) == min(size, limit)
                assert 0 <= shown[0] <= shown[-1] < size


@pytest.mark.parametrize("theme", colours.THEMES)
def test_every_cell_can_be_read(theme):
    hues = [f"{hue}-{n}" for hue in ("blue", "orange") for n in range(colours.LEVELS + 1)]
    for role in ("plain", "closed", *hues):
        assert colours.contrast(*colours.look(role, theme)) >= 4.5, role
    page = colours.PAGE[theme]
    for ink in ("ink", "muted"):
        assert colours.contrast(page[ink], page["page"]) >= 4.5, ink
    bad = re.findall("#[0-9a-f]{6}", BAD)
    assert colours.contrast(*bad) >= 4.5


@pytest.mark.parametrize(("theme", "sign"), [("light", -1), ("dark", 1)])
def test_more_weight_stands_out_more(theme, sign):
    page = colours.PAGE[theme]["page"]
    steps = [colours.contrast(colours.look(f"blue-{n}", theme).ground, page) for n in range(17)]
    assert steps == sorted(steps)
    assert colours.role(1.0, "weights") == "blue-16"
    assert colours.role(-3.0, "signed", 3.0) == "orange-16"
    assert colours.role(float("-inf"), "signed") == colours.role(False, "mask") == "closed"


@pytest.fixture
def picture():
    weights = Panel(
        "weights", [[1.0, 0.0], [0.25, float("nan")]], ["not", "<b>"], ["not", "like"],
        scale="weights", source="yours", join="softmax ->", wrong=[[False, False], [True, True]],
        notes=["2 of 4 differ."],
        printed=DocumentNumbers([[1.0, None], [0.5, 0.5]], "document 009"),
    )  # fmt: skip
    scores = Panel("scores", [[-3.5, 8.0], [1e9, float("-inf")]], ["a", "b"], ["c", "d"])
    row = Row("A row.", [[scores], [weights]], ["A note."])
    return Picture("ex98_none.such", "It shows.", [row], ["At the end."], state="wrong")


def printed_on(picture, *, encoding="utf-8", width=80, **options):
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, **options)
    show([picture], console, "dark")
    file.flush()
    return file.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_without_colour_all_of_it_is_there(picture, encoding):
    text = printed_on(picture, encoding=encoding)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    for word in ("-3.500", "-inf", "1.0e+09", "0.250*", "nan*", "softmax ->", "A note.",
                 "weights: 2 of 4 differ.", "At the end.", "printed  in document 009"):  # fmt: skip
        assert word in text
    assert ("█" in text) == (encoding == "utf-8")


def test_with_colour_cells_have_a_ground_and_wrong_ones_a_mark(picture):
    text = printed_on(picture, force_terminal=True, color_system="truecolor")
    ground = tuple(bytes.fromhex(colours.look("blue-16", "dark").ground[1:]))
    assert "48;2;{};{};{}m 1.000".format(*ground) in text
    assert text.count("*\x1b[0m") == 2


def test_narrow_terminals_lose_digits_before_columns():
    cells = [[i * j / 100 for j in range(9)] for i in range(9)]
    words = [f"word{i}" for i in range(9)]
    wide = Picture("n", "s", [Row("", [[Panel("w", cells, words, words, scale="weights")]])])
    lines = printed_on(wide, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert "0.64" in lines[-1]
    assert "columns" in printed_on(wide, width=40)


@pytest.mark.parametrize("shape", [(4, 4), (5, 12), (2, 3, 12)])
def test_on_a_narrow_screen_yours_stands_beneath_what_was_expected(shape):
    right = torch.arange(float(torch.tensor(shape).prod())).reshape(shape) / 7
    drawn = [f"    {line}" for line in side_by_side(right, right + 1, torch.ones(shape).bool())]
    said = parts("\n".join(["It differs.", "", *drawn]))
    wide, narrow = said.lines(88), said.lines(max(map(len, drawn)) * 2 // 3)
    assert any("expected" in line and "yours" in line for line in wide)
    assert max(map(len, narrow)) <= max(map(len, drawn)) * 2 // 3
    assert not any("expected" in line and "yours" in line for line in narrow)
    assert sum(line.count("*") for line in narrow) == sum(line.count("*") for line in drawn)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_row_says_in_full_what_it_is(width):
    rows, columns = [f"position {i}" for i in range(3)], ["sin", "cos"] * 4
    wide = Picture("n", "s", [Row("", [[Panel("w", [[0.125] * 8] * 3, rows, columns)]])])
    said = printed_on(wide, width=width)
    assert all(row in said for row in rows)
    assert max(map(len, said.splitlines())) <= width


def test_a_picture_travels(picture):
    again = unpack(pack(picture))
    assert repr(again) == repr(picture)


@pytest.mark.parametrize("theme", [None, "light", "dark"])
def test_svg_holds_every_number_and_needs_nothing_else(picture, theme):
    text = svg([picture], theme)
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    sheets = root.findall(f"{space}g")
    assert [sheet.get("class") for sheet in sheets] == ([theme] if theme else ["light", "dark"])
    for sheet in sheets:
        texts = [one for one in sheet.iter(f"{space}text") if one.text != "\n"]
        words = [text.text.replace("\N{NO-BREAK SPACE}", " ").strip() for text in texts]
        for word in ("-3.500", "0.250", "nan", "<b>", "softmax ->", "It shows.", "0.5000",
                     "At the end.", "weights: 2 of 4 differ."):  # fmt: skip
            assert word in words
        assert words.count("*") == 2
        page, *grounds = sheet.iter(f"{space}rect")
        assert page.get("fill") == colours.PAGE[sheet.get("class")]["page"]
        assert [ground.get("fill") for ground in grounds].count(BAD[-7:]) == 2
        width, height = (float(size) for size in root.get("viewBox").split()[2:])
        ends = [float(one.get("x")) + float(one.get("width")) for one in grounds]
        ends += [float(one.get("x")) + saving.LETTER * len(one.text) for one in texts]
        assert 0 < width - max(ends) < 3 * saving.LETTER
        assert max(float(one.get("y")) for one in texts) < height
    needs_nothing_else(text, theme)


@pytest.mark.parametrize("theme", [None, "light", "dark"])
def test_html_holds_every_number_and_needs_nothing_else(picture, theme):
    page = html([picture], theme)
    for one in [theme] if theme else colours.THEMES:
        [sheet] = re.findall(rf'<pre class="{one}".*?</pre>', page, re.DOTALL)
        text = unescape(re.sub("<[^>]*>", "", sheet))
        for word in ("-3.500", "0.250*", "nan*", "<b>", "softmax ->", "It shows.", "0.5000",
                     "At the end.", "weights: 2 of 4 differ."):  # fmt: skip
            assert word in text
        assert sheet.count(f"background-color: {BAD[-7:]}") == 2
        assert f"background:{colours.PAGE[one]['page']}" in sheet
    needs_nothing_else(page, theme)


def needs_nothing_else(text, theme):
    assert ("prefers-color-scheme:dark" in text) == (theme is None)
    assert set(re.findall(r"https?://[^\"' ]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script|@import|@font-face|url\(|<img|<link|<b>", text)


def test_letters_that_take_two_places_have_their_room():
    wide = Panel("w", [[0.5, 0.5]], ["\u732b"], ["\u6c34\u6c34\u6c34", "x"], scale="weights")
    root = ElementTree.fromstring(svg([Picture("n", "s", [Row("", [[wide]])])], "light"))
    texts = [text for text in root.iter() if text.tag.endswith("}text")]
    [row] = [text for text in texts if "\u732b" in text.text]
    [column] = [text for text in texts if "\u6c34" in text.text]
    numbers = [float(text.get("x")) for text in texts if text.text.strip() == "0.500"]
    assert numbers[0] - float(row.get("x")) == 3 * saving.LETTER
    assert float(column.get("x")) == numbers[0]
    assert not any(text.get("textLength") for text in texts)


@pytest.mark.parametrize("theme", colours.THEMES)
def test_png_is_as_large_as_svg_and_as_colourful(picture, theme, tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    file = tmp_path / "picture.png"
    saving.save([picture], file, theme)
    assert file.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    drawn = (imread(file)[..., :3] * 255).round().astype(int)
    root = ElementTree.fromstring(svg([picture], theme))
    assert abs(drawn.shape[1] - 2 * float(root.get("width"))) < 3
    assert abs(drawn.shape[0] - 2 * float(root.get("height"))) < 3
    seen = {tuple(colour) for colour in drawn.reshape(-1, 3).tolist()}
    page = colours.PAGE[theme]
    for colour in (page["page"], page["ink"], BAD[-7:], colours.look("blue-16", theme).ground):
        assert tuple(bytes.fromhex(colour[1:])) in seen


def test_without_matplotlib_there_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = saving.problem_with(tmp_path / "x.png")
    assert said is not None
    assert "pip install" in said
    assert saving.problem_with(tmp_path / "x.svg") is None
    assert "ends in .png" in str(saving.problem_with(tmp_path / "x.pdf"))
    assert "no folder" in str(saving.problem_with(tmp_path / "no" / "x.svg"))
