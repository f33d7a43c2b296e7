"""What a submission says cannot get out of its place in any report, and none is lost over it."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from grader.proof.selftest.made_up import HOSTILE, hostile_run, ungradable_run
from grader.proof.selftest.read_back import classroom_results, text_of, written
from grader.reports.formats import FORMATS
from grader.reports.text import cell, encodable, for_log, one_line, shown

hostile = pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
both = pytest.mark.parametrize("made", [hostile_run, ungradable_run])
COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
TAGS = re.compile(
    "html|head|meta|title|style|body|main|header|h[123]|p|dl|dt|dd|div|span|table|thead|tbody|tr|"
    "th|td|section|article|code|pre|mark|details|summary|footer|a|wbr"
)
ATTRIBUTES = re.compile("lang|charset|http-equiv|content|name|class|id|href|scope|colspan")


def seen_by_a_person(text):
    """Nothing that hides, moves or recolours text, nor what no file can hold."""
    return all(
        c in "\n\t\u200c\u200d" or unicodedata.category(c)[0] not in "CZ" or c == " " for c in text
    )


@hostile
def test_shown_keeps_all_and_hides_nothing(text):
    said = shown(text)
    assert seen_by_a_person(said)
    said.encode("utf-8")
    assert len(said) < 250_000
    rest = iter(said)
    assert all(letter in rest for letter in text[:20_000] if letter.isalnum())


def test_shown_leaves_words_alone():
    text = "x[::2] ** 2 <= 'naïve' نمی\u200cخواهم 李 🙂\n\tindented"
    assert shown(text) == text
    assert one_line("  two\n words ") == "two words"
    assert shown("\x1b[2J") == "\\x1b[2J"
    assert shown("a" * 30_000).endswith("\n... and 10000 more characters")


@hostile
def test_lines_stay_lines(text):
    assert "\n" not in one_line(text)
    assert len(one_line(text)) <= 300


@hostile
@both
def test_every_report_is_written(text, made, tmp_path):
    for form in FORMATS:
        said = text_of(form, made(text), tmp_path)
        assert "\x00" not in said
        assert "\x1b" not in said
        assert len(said) < 10_000_000


@hostile
@both
def test_html_has_our_tags_only(text, made, tmp_path):
    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            assert TAGS.fullmatch(tag)
            for name, value in attrs:
                assert ATTRIBUTES.fullmatch(name)
                if name == "href":
                    assert re.fullmatch(r"#chapter-\d+", value)

        def handle_data(self, data):
            assert seen_by_a_person(data)

        def handle_comment(self, data):
            raise AssertionError(data)

    Tags().feed(written("html", made(text), tmp_path).read_text(encoding="utf-8"))


@hostile
@both
def test_junit_is_read_by_any_reader_and_by_no_runner_as_commands(text, made, tmp_path):
    file = written("junit", made(text), tmp_path)
    root = ElementTree.parse(file).getroot()
    allowed = {"testsuites", "testsuite", "properties", "property", "testcase", "failure",
               "error", "skipped", "system-out", "system-err"}  # fmt: skip
    assert {element.tag for element in root.iter()} <= allowed
    for element in root.iter():
        for said in (*element.attrib.values(), element.text or ""):
            assert seen_by_a_person(said)
            assert not COMMAND.search(said)
    assert not COMMAND.search(file.read_text(encoding="utf-8"))


@hostile
@both
def test_csv_cells_are_never_formulas(text, made, tmp_path):
    data = written("csv", made(text), tmp_path).read_text(encoding="utf-8")
    header, row = csv.reader(io.StringIO(data))
    assert len(header) == len(row)
    for value in row[:3]:
        assert not value.lstrip().startswith(("=", "+", "-", "@", "＝"))
        assert "\n" not in value
        assert "\r" not in value
    assert data.count("\n") == 2


def test_a_cell_is_a_formula_to_no_spreadsheet():
    for text in ("=1", "+1", "-1", "@x", "\t=1", " =1", "\r\n=1", "＝1", "\x00=1"):
        assert cell(text)[0] in "'\\", text
    for text in ("a;=1", "a; @SUM(1)", "a.txt;\t+1", "a|-1"):
        assert not re.search(r"[;|]\s*[=+\-@]", cell(text)), cell(text)
    assert cell("anna-2; berta-3") == "anna-2; berta-3"
    assert cell("anna-2") == "anna-2"
    assert cell("o'brien@uni") == "o'brien@uni"


@hostile
@both
def test_classroom_lines_are_two_and_print_no_commands(text, made, tmp_path):
    file = written("classroom", made(text), tmp_path)
    lines = file.read_text(encoding="ascii").splitlines()
    assert all(re.fullmatch(r"(EARNED|OPEN)_RESULTS=[A-Za-z0-9+/]+=*", line) for line in lines)
    for results in classroom_results(file):
        assert results["tests"]
        for test in results["tests"]:
            assert isinstance(test["score"], int | float)
            printed = (test["name"], test["message"], f"Test code:\n{test['test_code']}\n")
            assert not any(COMMAND.search(said) for said in printed)
            assert all(map(seen_by_a_person, printed))


@hostile
@both
def test_json_keeps_the_name_and_is_read_by_strict_readers(text, made, tmp_path):
    for form in ("json", "gradescope"):
        found = json.loads(written(form, made(text), tmp_path).read_bytes())
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    name = json.loads((tmp_path / "report.json").read_bytes())["submissions"][0]["id"]
    assert name == encodable(text)


def test_json_changes_nothing_that_a_file_can_hold():
    for text in ("Jörg Müller", "a\x00b", "\u202e", "=1", "<b>"):
        assert encodable(text) == text
    assert encodable("\ud800") == "\\ud800"


@hostile
def test_gradescope_output_is_plain(text, tmp_path):
    report = json.loads(written("gradescope", hostile_run(text), tmp_path).read_bytes())
    assert report["test_output_format"] == report["output_format"] == "text"
    assert all(seen_by_a_person(test["output"]) for test in report["tests"])


def test_ci_commands_are_broken_and_code_is_not():
    assert for_log("::error::x") == ": :error::x"
    assert for_log("a\n  ::set-output name=a::b") == "a\n  : :set-output name=a::b"
    assert (
        for_log("x ##vso[task] ##[group] ##teamcity[x]")
        == "x # #vso[task] # #[group] # #teamcity[x]"
    )
    assert for_log("x[::2] and a ## comment") == "x[::2] and a ## comment"
