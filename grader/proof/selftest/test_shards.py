"""Many machines: parts of a batch, merged, are the run that one machine would have made."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import platform
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Literal

import pytest

from grader import cli, places
from grader.batch import plan, store
from grader.batch.shard import Shard, keys
from grader.batch.submissions import find
from grader.coding import Decoder, plain, shape
from grader.proof.selftest.test_batches import EX01, WRONG, AtOnce
from grader.reports import recipes
from grader.results import SubmissionResult
from grader.sandbox import Isolation

pytestmark = pytest.mark.slow
ONLY = ("--only", "dot_product", "--device", "cpu")
SEEDED = ("--seed", "5")
SLOW = """

_right = dot_product


def dot_product(a, b):
    for _ in range(300_000):
        pass
    return _right(a, b)
"""
NAMES = ("anna", "berta", "carl", "dora")
RECIPE = Path(recipes.__file__).parent / "many_machines.md"


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr("grader.batch.slots.JudgeProcess", AtOnce)


@pytest.fixture
def text(solution):
    return solution(EX01)


@pytest.fixture
def folder(tmp_path, text):
    """Write a class: right and wrong ones, a copy, and what cannot be graded, or not just so."""
    own = {"anna": "", "berta": WRONG, "carl": "\n# mine\n", "dora": "", "emil": WRONG + "\n"}
    for name, ending in own.items():
        hand_in(tmp_path / "class" / name, text + ending)
    (tmp_path / "class" / "fritz").mkdir()
    (tmp_path / "class" / "fritz" / "ex01_scores (1).py").write_text(text)
    (tmp_path / "class" / "gerda").mkdir()
    (tmp_path / "class" / "hans.zip").write_bytes(b"no zip")
    (tmp_path / "class" / "obrienvera_12960_600620_ex01_scores-1.py").write_text(text)
    (tmp_path / "class" / "doejane_12961_600621_ex01_scores.py").write_text(text + WRONG)
    return tmp_path / "class"


def hand_in(place, text):
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{EX01}.py").write_text(text)


@pytest.fixture
def run(capsys):
    """Run a command, and return what it printed; the status has to be as expected."""

    def call(*arguments, status=0):
        capsys.readouterr()
        assert cli.main(list(map(str, arguments))) == status
        return capsys.readouterr()

    return call


@pytest.fixture
def small(tmp_path, text, at_once):
    """Write four submissions of which each differs from the others."""
    for name in NAMES:
        hand_in(tmp_path / "small" / name, f"{text}\n# {name}\n")
    return tmp_path / "small"


@pytest.fixture
def cut(run, tmp_path):
    """Grade every part, and return the results files."""

    def grade(folder, of=3, *options, status=None):
        files = [tmp_path / f"{number}-of-{of}.db" for number in range(1, of + 1)]
        for number, file in enumerate(files, start=1):
            part = ("--shard", f"{number}/{of}", "--results", file, *SEEDED, *ONLY, *options)
            assert cli.main(list(map(str, ("grade", folder, *part)))) in (0, 1)
        return files

    return grade


def reports(folder):
    folder.mkdir(exist_ok=True)
    forms = {"json": "r.json", "csv": "r.csv", "html": "r.html", "junit": "r.xml"}
    return [f for form, file in forms.items() for f in ("--report", f"{form}={folder / file}")]


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# one run


@pytest.mark.parametrize("of", [1, 3, 9])
def test_parts_merged_are_the_whole_byte_for_byte(at_once, folder, run, cut, tmp_path, of):
    whole = run("grade", folder, *SEEDED, *ONLY, *reports(tmp_path / "whole"), status=1)
    files = cut(folder, of, "--jobs", 2)
    for order in (files, files[::-1]):
        merged = run("merge", *order, *reports(tmp_path / "merged"), status=1)
        assert merged.out == whole.out
        assert merged.err == ""
        assert contents(tmp_path / "merged") == contents(tmp_path / "whole")
    assert len(contents(tmp_path / "whole")) == 14
    assert "fritz: ex01_scores (1).py counts as" in whole.out
    assert "gerda could not be graded" in whole.out


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_part_that_was_killed_goes_on(run, tmp_path, text):
    folder = tmp_path / "killed"
    hand_in(folder / "anna", in_first(tmp_path, text))
    hand_in(folder / "berta", text + WRONG)
    hand_in(folder / "carl", in_first(tmp_path, text + SLOW))
    whole = ("grade", folder, *SEEDED, *ONLY, "--jobs", 1)
    printed = run(*whole, *reports(tmp_path / "whole"))
    files = [tmp_path / "1.db", tmp_path / "2.db"]
    command = [*whole, "--shard", "1/2", "--results", files[0]]
    killed = subprocess.Popen(
        [sys.executable, "-m", "grader", *map(str, command)],
        cwd=places.ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert killed.stderr is not None
    assert "part 1 of 2" in killed.stderr.readline()
    assert "/" in killed.stderr.readline()
    killed.kill()
    killed.wait()
    killed.stderr.close()
    left = {path: path.read_bytes() for path in tmp_path.glob("1.db*")}
    assert tmp_path / "1.db-wal" in left
    assert "part 2 of 2 is missing" in run("merge", files[0], status=2).err
    run("merge", files[0], "--partial", status=1)
    assert {path: path.read_bytes() for path in tmp_path.glob("1.db*")} == left
    assert "(unchanged)" in run(*command).err
    run(*whole, "--shard", "2/2", "--results", files[1])
    merged = run("merge", *files, *reports(tmp_path / "merged"))
    assert (merged.out, merged.err) == (printed.out, "")
    assert contents(tmp_path / "merged") == contents(tmp_path / "whole")


def in_first(tmp_path, text):
    """Add a comment to a submission by which it falls into the first of two parts."""
    for number in itertools.count():
        hand_in(tmp_path / "tried", f"{text}\n# {number}\n")
        (key,) = keys(find([tmp_path / "tried"]), Shard(1, 2)).values()
        if Shard(1, 2).holds(key):
            return f"{text}\n# {number}\n"
    return None


def test_whole_batches_can_be_one_run(small, run, tmp_path, text):
    hand_in(tmp_path / "other" / "zoe", text)
    for folder in ("small", "other"):
        run("grade", tmp_path / folder, *SEEDED, *ONLY, "--results", tmp_path / f"{folder}.db")
    files = [tmp_path / "small.db", tmp_path / "other.db"]
    said = [run("merge", *order).out for order in (files, files[::-1])]
    assert said[0] == said[1]
    assert "5 of 5 graded, seed 5" in said[0]
    hand_in(tmp_path / "other" / "anna", text)
    run("grade", tmp_path / "other", *SEEDED, *ONLY, "--results", files[1])
    assert "anna: in both" in run("merge", *files, status=2).err


# which part


def test_everybody_is_in_one_part(folder):
    batch = find([folder])
    for of in (2, 3, 5, 40):
        by = keys(batch, Shard(1, of))
        parts = [[n for n in by if Shard(i, of).holds(by[n])] for i in range(1, of + 1)]
        assert sorted(itertools.chain(*parts)) == sorted(one.identity for one in batch)
    assert len(by) == 10


def test_a_part_is_told_by_what_counts_alone(folder, tmp_path):
    by = keys(find([folder]), Shard(1, 3))
    same = ("anna", "dora", "fritz", "obrienvera_12960")
    assert len({by[name] for name in same}) == 1
    assert by["berta"] == by["doejane_12961"]
    assert len(set(by.values())) == len(by) - len(same)
    (folder / "anna" / "notes.txt").write_text("only ex*.py count")
    shutil.make_archive(str(folder / "anton"), "zip", folder / "anna")
    shutil.move(folder, tmp_path / "elsewhere")
    moved = keys(find([tmp_path / "elsewhere"]), Shard(1, 3))
    assert moved == {**by, "anton": by["anna"]}


def test_a_part_can_be_empty(small, run, tmp_path):
    options = (*SEEDED, *ONLY, "--shard")
    said = [
        run("grade", small / "anna", *options, f"{n}/3", "--results", tmp_path / f"{n}.db")
        for n in (1, 2, 3)
    ]
    assert sum("none of the 1 submissions" in one.err for one in said) == 2
    merged = run("merge", *(tmp_path / f"{n}.db" for n in (1, 2, 3)))
    assert "1 of 1 graded" in merged.out


# arguments


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--shard 1/3 --results r.db", "give each of them the same --seed N"),
        ("--shard 1/3 --seed 5", "add --results FILE"),
        ("--shard 4/3 --seed 5 --results r.db", "between 1 and N"),
        ("--shard 0/3 --seed 5 --results r.db", "between 1 and N"),
        ("--shard 3 --seed 5 --results r.db", "takes I/N"),
        ("--shard -1/3 --seed 5 --results r.db", "takes I/N"),
        ("--shard=a/b --seed 5 --results r.db", "takes I/N"),
    ],
)
def test_bad_arguments(small, run, tmp_path, monkeypatch, options, says):
    monkeypatch.chdir(tmp_path)
    printed = run("grade", small, *shlex.split(options.replace("--shard ", "--shard=")), status=2)
    assert says in printed.err
    assert len(printed.err.splitlines()) == 1
    assert not (tmp_path / "r.db").exists()


def test_the_seed_of_the_results_file_will_do(small, run, tmp_path):
    part = ("--shard", "1/2", "--results", tmp_path / "1.db", *ONLY)
    with store.opened(tmp_path / "1.db"):
        pass
    assert "same --seed N" in run("grade", small, *part, status=2).err
    run("grade", small, *part, *SEEDED)
    assert "seed 5, as before" in run("grade", small, *part).err


def test_a_results_file_takes_one_part(small, run, cut):
    files = cut(small)
    before = run("merge", *files).out
    other = ("--shard", "2/3", "--seed", 6, *ONLY)
    said = run("grade", small, *other, "--results", files[0], status=2).err
    assert "holds part 1 of 3: give part 2 of 3 one of its own" in said
    assert run("merge", *files).out == before
    run("grade", small, "--shard", "2/4", *SEEDED, *ONLY, "--results", files[0])


def test_forms_of_one_submission(small, run, cut, tmp_path):
    form = ("--report", f"gradescope={tmp_path / 'g.json'}")
    assert "about one submission, and here are 4" in run("merge", *cut(small), *form, status=2).err
    run("merge", *cut(small / "anna", 2), *form)
    assert (tmp_path / "g.json").exists()


# what cannot be one run


def test_what_is_missing_is_named(small, run, cut, tmp_path):
    files = cut(small, 2)
    printed = run("merge", files[0], status=2)
    assert "part 2 of 2 is missing: give its results file as well; or say --partial" in printed.err
    printed = run("merge", files[0], "--partial", *reports(tmp_path / "partial"), status=1)
    by = keys(find([small]), Shard(1, 2))
    lost = [name for name in NAMES if Shard(2, 2).holds(by[name])]
    assert 0 < len(lost) < len(NAMES)
    for name in NAMES:
        said = f"{name} could not be graded: part 2 of 2 is missing\n"
        assert (said in printed.out) == (name in lost)
    with contextlib.closing(sqlite3.connect(files[1])) as database:
        database.execute("DELETE FROM outcome WHERE submission = ?", (lost[0],))
        database.commit()
    printed = run("merge", *files, status=2)
    assert f"part 2 of 2 is not finished: {len(lost) - 1} of {len(lost)} sub" in printed.err
    printed = run("merge", *files, "--partial", status=1)
    assert f"{lost[0]} could not be graded: part 2 of 2 is not finished" in printed.out


def test_an_empty_part_that_is_missing_is_missing(small, run, cut):
    files = cut(small / "anna", 2)
    (key,) = keys(find([small / "anna"]), Shard(1, 2)).values()
    full = files[0] if Shard(1, 2).holds(key) else files[1]
    run("merge", full, status=2)
    assert "1 of 1 graded" in run("merge", full, "--partial", status=1).out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--seed", 6), "differ in --seed: 5 in {0}, 6 in {1}"),
        ((*SEEDED, "--time-limit", 9), "differ in --time-limit: 10.0 in {0}, 9.0 in {1}"),
        ((*SEEDED, "--only", "ex01_scores"), "differ in exercises"),
    ],
)
def test_other_options_are_refused(small, run, cut, options, says):
    files = cut(small, 2)
    files[1].unlink()
    run("grade", small, *ONLY, *options, "--shard", "2/2", "--results", files[1])
    for more in ((), ("--partial",)):
        assert says.format(*files) in run("merge", *files, *more, status=2).err


def test_another_kit_is_refused(small, run, cut, monkeypatch):
    files = cut(small, 2)
    monkeypatch.setattr("grader.batch.plan._kit", lambda: "another")
    run("grade", small, *ONLY, *SEEDED, "--shard", "2/2", "--results", files[1])
    said = run("merge", *files, status=2).err
    assert "differ in kit: " in said
    assert f"another in {files[1]}" in said


def test_other_batches_are_refused(small, run, cut, text):
    files = cut(small, 2)
    again = ("grade", small, *ONLY, *SEEDED, "--shard", "2/2", "--results", files[1])
    hand_in(small / "anna", f"{text}\n# new\n")
    run(*again)
    assert "different batches: anna changed in between; grade" in run("merge", *files, status=2).err
    hand_in(small / "zoe", f"{text}\n# zoe\n")
    run(*again)
    assert f"different batches: zoe only in {files[1]}" in run("merge", *files, status=2).err
    assert "into 2 and 3 parts" in run("merge", files[0], *cut(small), status=2).err


def test_a_file_twice_is_one_and_other_results_are_refused(small, run, cut, tmp_path):
    files = cut(small, 2)
    twice = tmp_path / "twice.db"
    shutil.copy(files[0], twice)
    assert run("merge", *files, twice).out == run("merge", *files).out
    by = keys(find([small]), Shard(1, 2))
    name = next(name for name in NAMES if Shard(1, 2).holds(by[name]))
    with store.opened(twice) as opened:
        opened.add(SubmissionResult(name, problem="no memory was left"))
    said = run("merge", *files, twice, status=2).err
    assert f"{name} has different results in {files[0]} and {twice}" in said


def test_files_that_are_no_results(small, run, cut, tmp_path):
    (good,) = cut(small, 1)
    bad, foreign, older, empty = (tmp_path / f"{name}.db" for name in "bfoe")
    bad.write_text("these are not the results that you are looking for" * 99)
    with contextlib.closing(sqlite3.connect(foreign)) as database:
        database.executescript("CREATE TABLE songs (title TEXT)")
    shutil.copy(good, older)
    with contextlib.closing(sqlite3.connect(older)) as database:
        database.execute("PRAGMA user_version = 3")
    with store.opened(empty):
        pass
    says = {
        bad: "is no results database", foreign: "another program's database",
        older: "another version of the grader", empty: "holds no run yet",
        tmp_path: "there is no results file", tmp_path / "no.db": "there is no results file",
    }  # fmt: skip
    for path, sentence in says.items():
        before = path.read_bytes() if path.is_file() else None
        printed = run("merge", good, path, status=2).err
        assert f"{path}" in printed
        assert sentence in printed
        assert len(printed.splitlines()) == 1
        assert (path.read_bytes() if path.is_file() else None) == before
    assert "holds no run yet" in run("merge", good, empty, "--partial").err


@pytest.mark.parametrize("damage", [b"", b"no zlib", None, "text"])
def test_results_that_were_tampered_with(small, run, cut, damage):
    (file,) = cut(small, 1)
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE outcome SET said = ?", (damage,))
        database.commit()
    assert "another state of the grader" in run("merge", file, status=2).err


def test_reading_changes_nothing_and_waits_for_nobody(small, run, cut, tmp_path):
    files = cut(small, 2)
    with store.opened(files[0]) as opened:
        opened.told(5)  # it is locked, and a write-ahead log lies beside it
        before = contents(tmp_path)
        began = time.monotonic()
        run("merge", *files)
        assert time.monotonic() - began < store.WAIT
        assert contents(tmp_path) == before


# machines


def test_other_machines_are_named_and_not_refused(small, run, cut, monkeypatch):
    files = cut(small, 2)
    mine = platform.python_version()
    theirs = ".".join((*platform.python_version_tuple()[:2], "99"))
    walls = Isolation("linux", landlock=9, seccomp=True, threads="own", limits=True)
    monkeypatch.setattr(platform, "python_version", lambda: theirs)
    monkeypatch.setattr(platform, "platform", lambda: "Linux-99")
    monkeypatch.setattr("grader.batch.command.offered", lambda: walls)
    files[1].unlink()
    run("grade", small, *ONLY, *SEEDED, "--shard", "2/2", "--results", files[1])
    said = run("merge", *files)
    assert f"differed in Python: {mine} in {files[0]}, {theirs} in {files[1]}" in said.err
    assert f"Linux-99 in {files[1]}" in said.err
    assert "isolation: " in said.err
    assert "Landlock 9, seccomp, limits" in said.out
    assert run("merge", *files[::-1]).out == said.out


def test_the_fingerprint_holds_what_can_change_a_verdict(monkeypatch):
    walls = Isolation("linux", landlock=6, seccomp=True, threads="own", limits=True)

    def of(isolation, seed=5):
        return plan.GradingPlan((), ("cpu",), seed, isolation=isolation).fingerprint

    before = of(walls)
    assert of(dataclasses.replace(walls, landlock=7)) == before
    assert of(walls, 6) != before
    assert of(walls.without("seccomp")) != before
    monkeypatch.setattr(platform, "python_version", lambda: "3.99.1")
    assert of(walls) == before
    monkeypatch.setattr(platform, "python_version_tuple", lambda: ("3", "99", "1"))
    assert of(walls) != before


def test_who_changes_after_a_part_has_ended_gets_another_seed(small, run, cut, text, tmp_path):
    cut(small)
    for name in ("anna", "zoe"):
        hand_in(small / name, f"{text}\n# later\n")
    files = cut(small)
    run("merge", *files, *reports(tmp_path / "later"))
    rows = (tmp_path / "later" / "r.csv").read_text().splitlines()
    column = rows[0].split(",").index("seed")
    seeds = {row.split(",")[0]: int(row.split(",")[column]) for row in rows[1:]}
    assert [name for name in seeds if seeds[name] != 5] == ["anna", "zoe"]
    assert run("merge", *cut(small)).out == run("merge", *files).out


# what it is made of


@dataclasses.dataclass(frozen=True)
class Inner:
    """Something inside of something."""

    points: Fraction
    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Outer:
    """All kinds of fields."""

    inner: tuple[Inner, ...]
    pair: tuple[int, str]
    more: dict[str, float | None]
    state: Literal["run", "absent"] = "run"


def test_plain_data_comes_back():
    inner = Inner(Fraction(1, 3), ("a", "b"))
    value = Outer((inner, inner), (1, "x"), {"p": None, "q": 0.5})
    said = plain(value)
    assert said == [[["1/3", ["a", "b"]]] * 2, [1, "x"], {"p": None, "q": 0.5}, "run"]
    back = Decoder().read(said, Outer)
    assert back == value
    assert back.inner[0] is back.inner[1]
    assert shape(Outer) == {
        "Outer": ["inner", "pair", "more", "state"], "Inner": ["points", "names"]
    }  # fmt: skip


@pytest.mark.parametrize(
    "said",
    [
        [[], [1, "x"], {}],
        [[], [1], {}, "run"],
        [[], [1, 2], {}, "run"],
        [[], [1, "x"], {"a": "b"}, "run"],
        [[], [1, "x"], {}, "gone"],
        [["ab"], [1, "x"], {}, "run"],
        [[["0.5", "ab"]], [1, "x"], {}, "run"],
        None,
    ],
)
def test_what_is_no_such_data_is_refused(said):
    with pytest.raises((TypeError, ValueError)):
        Decoder().read(said, Outer)


def commands():
    lines = RECIPE.read_text(encoding="utf-8").splitlines()
    return [
        shlex.split(re.split(r" \|\| | >|\"$", line.split("python -m grader ", 1)[1])[0])
        for line in lines
        if re.search(r"python -m grader (grade|merge) ", line)
    ]


def test_the_commands_of_the_recipe_exist():
    found = commands()
    assert len(found) >= 10
    for typed in found:
        given = cli._parser().parse_args([word.replace("$SEED", "5") for word in typed])
        if typed[0] == "grade":
            assert given.cluster or (given.seed, given.shard.count("/")) == (5, 1)
