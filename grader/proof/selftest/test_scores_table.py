"""Scores stay whole on a terminal of any width, however long and wide the names are."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from rich.cells import cell_len

from grader.proof.selftest.made_up import random_run
from grader.reports import table
from grader.reports.in_short import in_short
from grader.reports.scores import NAME_AT_MOST, STATES, points, without_middle
from grader.results import DEVICES, CheckResult, ExerciseResult, SubmissionResult

NAMES = ["anna", "x" * 80, "Anna-" + "y" * 290 + "-end", "山田太郎" * 20, "Jose\u0301" * 60]


@pytest.fixture
def printed(monkeypatch, capsys):
    """Print a run of the first submissions that could be graded, under these names."""

    def show(width, names, seed=5):
        monkeypatch.delenv("COLUMNS", raising=False)
        if width:
            monkeypatch.setenv("COLUMNS", str(width))
        run = random_run(seed, 3 * len(names))
        graded = [one for one in run.submissions if not one.problem]
        named = [replace(one, identity=n) for one, n in zip(graded, names, strict=False)]
        table.show(replace(run, submissions=tuple(named)))
        return named, capsys.readouterr().out.splitlines()

    return show


@pytest.mark.parametrize("seed", [2, 5, 7])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_scores_stay_whole(printed, width, seed):
    submissions, lines = printed(width, NAMES, seed)
    assert len(submissions) == len(NAMES)
    assert max(map(cell_len, lines)) <= width
    for submission, line in zip(submissions, lines[1:], strict=False):
        cells = re.split("  +", line.strip())
        shown = [device for device in DEVICES if device in lines[0].split()]
        assert cells[1 : 1 + len(shown)] == [points(submission.score(d)) for d in shown]
        assert all(submission.score(d) is None for d in DEVICES if d not in shown)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_columns_lie_below_each_other(printed, width):
    _, lines = printed(width, NAMES)
    rows = lines[: len(NAMES) + 1]
    assert len({cell_len(row) for row in rows}) == 1


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120])
def test_columns_without_room_are_named(printed, width):
    submissions, lines = printed(width, NAMES)
    text = " ".join(" ".join(lines).split())
    head = " ".join(lines[0].split())
    left_out = [c for c in (*DEVICES, "beyond", *STATES, "device-ready") if c not in head]
    ran = [d for d in DEVICES if any(one.score(d) is not None for one in submissions)]
    assert not set(ran) & set(left_out)
    assert ("for want of room" in text) == bool(left_out)
    assert all(column in text for column in left_out)


@pytest.mark.parametrize(
    ("width", "left_out"),
    [
        (30, ["cuda", *STATES, "device-ready"]),
        (40, ["cuda", "to polish", "wrong", "not started"]),
        (60, ["cuda", "not started"]),
        (79, ["cuda"]),
        (80, []),
    ],
)
def test_what_was_not_run_gives_way_first_and_device_ready_last(
    width, left_out, monkeypatch, capsys
):
    monkeypatch.setenv("COLUMNS", str(width))
    checks = (CheckResult("values", "cpu", "passed", core=True),)
    all_of_it = ExerciseResult("ex01_scores.dot_product", Fraction(100), 1, checks)
    one = SubmissionResult("anna", exercises=(all_of_it,), devices=("cpu",))
    table.show(replace(random_run(5, 1), submissions=(one,)))
    head, *lines = capsys.readouterr().out.splitlines()
    shown = re.split("  +", head.strip())
    assert shown == [c for c in ("submission", *DEVICES, *STATES, "device-ready")
                     if c not in left_out]  # fmt: skip
    told = [line for line in lines if line.startswith("not shown")]
    assert bool(told) == bool(left_out)


def test_names_that_would_be_cut_alike_are_written_whole(printed):
    names = ["anna-lena-maier_12960_submission", "anna-lena-huber_12960_submission", "x" * 80]
    _, lines = printed(40, names)
    assert max(map(cell_len, lines)) <= 40
    room = next(line.index("  ") for line in lines if line.startswith("xxxx"))
    told = "".join(line[:room].rstrip() for line in lines[1:])
    assert told.startswith(names[0] + names[1] + "xxxx")


def test_no_folded_name_begins_a_command(printed):
    names = [f"{'a' * 50}{n} ::error title=hi::{'z' * 60}" for n in (1, 2)]
    for width in range(40, 80):
        _, lines = printed(width, names)
        assert not [line for line in lines if line.lstrip().startswith("::")]


def test_a_log_is_as_wide_as_its_names(printed):
    names = [f"{name}_{'0123456789' * 4}_submission" for name in ("anna", "jose")]
    _, lines = printed(None, [*names, "x" * 300])
    first = [line.split()[0] for line in lines[1:4]]
    assert first[:2] == names
    assert cell_len(first[2]) == NAME_AT_MOST


def test_a_log_shows_all_there_is(printed):
    _, lines = printed(None, ["anna", "jose", "maria"])
    assert {*DEVICES, *STATES, "beyond", "device-ready"} <= set(re.split("  +", lines[0].strip()))
    assert not [line for line in lines if line.startswith("not shown")]


def test_names_are_no_markup(printed):
    names = [":smile:", "[red]b[/red]", "::error::c"]
    _, lines = printed(100, names)
    assert lines[1].startswith(":smile: ")
    assert lines[2].startswith("[red]b[/red] ")
    assert lines[3].startswith(": :error::c ")


def test_what_the_terminal_cannot_write_takes_its_room_spelt_out(printed, monkeypatch):
    monkeypatch.setattr("rich.console.Console.encoding", "ascii")
    _, lines = printed(80, NAMES)
    rows = lines[: len(NAMES) + 1]
    assert all(row.isascii() for row in rows)
    assert {len(row) for row in rows} == {80}


@pytest.mark.parametrize("most", range(10, 40))
@pytest.mark.parametrize("name", NAMES)
def test_a_shortened_name_keeps_both_ends_and_its_accents(name, most):
    short = without_middle(name, most)
    assert cell_len(short) <= most
    if cell_len(name) <= most:
        assert short == name
        return
    front, back = short.split("...")
    assert front
    assert back
    assert name.startswith(front)
    assert name.endswith(back)
    assert cell_len(back[0]) > 0
    assert cell_len(short) >= most - 2


def test_where_nothing_but_chapters_beyond_was_graded_these_are_told(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    run = random_run(5, 1)
    checks = {f: (CheckResult("values", "cpu", f, core=True),) for f in ("passed", "failed")}
    exercises = tuple(
        ExerciseResult(f"ex14_c.{name}", Fraction(points), 1, checks[came], track="beyond")
        for name, points, came in (("f", 75, "passed"), ("g", 25, "failed"))
    )
    one = SubmissionResult("anna", exercises=exercises, devices=("cpu",))
    table.show(replace(run, submissions=(one,)))
    head, row, *_ = capsys.readouterr().out.splitlines()
    assert re.split("  +", head.strip()) == ["submission", "beyond", *STATES, "device-ready"]
    assert re.split("  +", row.strip()) == ["anna", "75.00", "1", "0", "1", "0", "0 of 0"]
    score = "75 of 100 points beyond the seven chapters: 1 solved, 1 wrong, 0 not started."
    assert in_short(one).score == score
