"""A chapter that lies in a submission several times: an untouched stub is nobody's work."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from grader import places
from grader.batch.folders import DEEPEST, everything
from grader.batch.handed_in import changed
from grader.batch.reading import is_plain, read
from grader.batch.sources import Told, Unusable
from grader.batch.submissions import Submission

ONE, TWO = "ex01_scores.py", "ex02_scaling.py"
STUB = (places.EXERCISES / ONE).read_bytes()
OWN = (places.SOLUTIONS / ONE).read_bytes()
TOUCHED = b"# Jane Doe\nimport math\n" + STUB
HALF = STUB.replace(b"    raise NotImplementedError", b"    return 1\n    raise NotImplemented", 1)
WORK, OTHER, NEXT = b"worked = 1\n", b"worked = 2\n", b"next = 1\n"
SAVED_ON_WINDOWS = b"\xef\xbb\xbf" + STUB.replace(b"\n", b"\r\n") + b"\r\n"

# what lies there, what counts, what is said, what is not used
SHAPES = {
    "deeper": ({ONE: STUB, f"week1/{ONE}": WORK}, {ONE: WORK},
               f"week1/{ONE} counts: {ONE} is as it was handed out", [ONE]),
    "of windows": ({ONE: SAVED_ON_WINDOWS, f"a/b/{ONE}": WORK}, {ONE: WORK},
                   f"a/b/{ONE} counts: {ONE} is as it was handed out", [ONE]),
    "touched": ({ONE: TOUCHED, f"final/{ONE}": WORK, f"old/{ONE}": TOUCHED}, {ONE: WORK},
                f"final/{ONE} counts: {ONE} is as it was handed out", [ONE, f"old/{ONE}"]),
    "begun": ({ONE: HALF, f"final/{ONE}": WORK}, {ONE: HALF},
              f"final/{ONE} has less left to do than {ONE}, which counts", [f"final/{ONE}"]),
    "an archive below": ({ONE: STUB, "sub/work.zip": WORK}, {ONE: STUB},
                         "not opened: sub/work.zip: hand in what is in it", ["sub/work.zip"]),
    "in exercises": ({ONE: STUB, f"exercises/{ONE}": WORK}, {ONE: WORK},
                     f"exercises/{ONE} counts: {ONE} is", [ONE]),
    "in solutions": ({f"exercises/{ONE}": STUB, f"solutions/{ONE}": WORK}, {ONE: WORK},
                     f"solutions/{ONE} counts: exercises/{ONE} is", [f"exercises/{ONE}"]),
    "under another name": ({ONE: STUB, "ex01_scores (1).py": WORK}, {ONE: WORK},
                           f"ex01_scores (1).py counts as {ONE}: {ONE} is as it", [ONE]),
    "a chapter more": ({ONE: WORK, f"week2/{TWO}": NEXT}, {ONE: WORK},
                       f"not read: week2/{TWO}: put it beside the other chapters",
                       [f"week2/{TWO}"]),
    "by the week": ({f"week1/{ONE}": WORK, f"week2/{TWO}": NEXT}, {ONE: WORK, TWO: NEXT},
                    "its chapters lie in week1, week2, and count together", []),
    "stubs by the week": ({f"a/{ONE}": STUB, f"b/{ONE}": WORK}, {ONE: WORK},
                          f"b/{ONE} counts: a/{ONE} is as it was handed out", [f"a/{ONE}"]),
    "stubs of later weeks": ({f"a/{ONE}": WORK, f"b/{ONE}": STUB}, {ONE: WORK},
                             f"a/{ONE} counts: b/{ONE} is as it was handed out", [f"b/{ONE}"]),
    "by the week, with more": ({f"a/{ONE}": WORK, f"b/{TWO}": NEXT, "b/ex03_anna.py": OTHER},
                               {ONE: WORK, TWO: NEXT}, "a, b, and count together",
                               ["b/ex03_anna.py"]),
    "two kits": ({f"a/exercises/{ONE}": WORK, f"b/exercises/{TWO}": NEXT,
                  f"b/solutions/{TWO}": OTHER}, {ONE: WORK, TWO: NEXT},
                 "a/exercises, b/exercises, and count together", [f"b/solutions/{TWO}"]),
    "twice the same": ({f"a/{ONE}": WORK, f"b/{ONE}": WORK, f"b/{TWO}": NEXT},
                       {ONE: WORK, TWO: NEXT}, "its chapters lie in a, b, and count together",
                       [f"b/{ONE}"]),
    "a final copy in one": ({f"a/{ONE}": WORK, "a/ex01_scores_final.py": OTHER, f"b/{TWO}": NEXT},
                            {ONE: WORK, TWO: NEXT},
                            f"ex01_scores_final.py is not read, {ONE} counts",
                            ["a/ex01_scores_final.py"]),
    "an archive beside": ({f"a/{ONE}": WORK, "a/data.zip": WORK}, {ONE: WORK},
                          "not opened: a/data.zip", ["a/data.zip"]),
    "a whole copy": ({f"a/{ONE}": WORK, f"a copy/{ONE}": WORK + b"\r\n"}, {ONE: WORK},
                     "its chapters lie in a, a copy, and", [f"a copy/{ONE}"]),
    "worked on above": ({ONE: WORK, f"old/{ONE}": OTHER}, {ONE: WORK}, "", [f"old/{ONE}"]),
    "several": ({ONE: STUB, f"a/{ONE}": WORK, f"b/{ONE}": OTHER}, {ONE: STUB},
                f"it is not clear which one is {ONE}: leave one", [f"a/{ONE}", f"b/{ONE}"]),
    "the whole kit": ({f"exercises/{ONE}": STUB, f"solutions/{ONE}": OWN,
                       f"grader/coach/{ONE}": WORK}, {ONE: STUB}, "", [f"solutions/{ONE}"]),
    "damaged": ({ONE: STUB, f"a/{ONE}": b"#" * 2**21}, {ONE: STUB}, "", [f"a/{ONE}"]),
}  # fmt: skip


def written(folder: Path, held: dict[str, bytes]) -> Path:
    for name, data in held.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_was_worked_on_counts(tmp_path, shape, packed):
    held, counts, says, unused = SHAPES[shape]
    place = written(tmp_path / "anna", held)
    if packed:
        place = Path(shutil.make_archive(str(tmp_path / "berta"), "zip", place))
    told = Told()
    assert read(place, told=told) == counts
    assert says in "; ".join(told.notes)
    assert bool(told.notes) == bool(says)
    assert sorted(told.unused) == sorted(unused)


def test_an_archive_that_was_uploaded_twice_counts_once(tmp_path):
    place = tmp_path / "anna"
    place.mkdir()
    inside = written(tmp_path / "inside", {ONE: WORK})
    shutil.make_archive(str(place / "work"), "zip", inside)
    shutil.copy(place / "work.zip", place / "work (1).zip")
    told = Told()
    assert read(place, told=told) == {ONE: WORK}
    assert told.notes == ["work.zip is the same as work (1).zip, which counts"]
    assert told.unused == ["work.zip"]
    # and it is as early as it was the first time
    for name, moment in (("work (1).zip", 2_000_000), ("work.zip", 1_000_000)):
        os.utime(place / name, (moment, moment))
    assert [moment.timestamp() for moment in changed(Submission("anna", place)).values()] == [
        1_000_000
    ]
    written(inside, {TWO: NEXT})
    shutil.make_archive(str(place / "work"), "zip", inside)
    with pytest.raises(Unusable, match="it is not clear which one counts"):
        read(place)


@pytest.mark.parametrize("lines", [True, False], ids=["in lines", "in one"])
def test_a_notebook_that_is_further_along_elsewhere_is_told(tmp_path, lines):
    def book(text: str) -> bytes:
        source = text.splitlines(keepends=True) if lines else text
        cell: dict[str, Any] = {"cell_type": "code", "source": source, "metadata": {}}
        return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}).encode()

    name, begun = "ex01_scores.ipynb", STUB.decode()
    held = {name: book(begun), f"nb/{name}": book(OWN.decode() + "# mine")}
    told = Told()
    read(written(tmp_path / "anna", held), told=told)
    assert told.notes[0].startswith(f"nb/{name} has less left to do than {name}, which counts")


def test_two_that_were_worked_on_are_refused(tmp_path):
    held = {f"a/{ONE}": WORK, f"b/{ONE}": OTHER, f"b/{TWO}": NEXT}
    with pytest.raises(Unusable, match="its chapters lie in a, b: hand in one"):
        read(written(tmp_path / "anna", held))


def test_an_archive_beside_stubs_counts_and_is_not_opened_by_the_main_process(tmp_path):
    inside = written(tmp_path / "inside", {ONE: WORK})
    place = written(tmp_path / "anna", {ONE: STUB})
    shutil.make_archive(str(place / "homework"), "zip", inside)
    told = Told()
    assert not is_plain(place)
    assert read(place, told=told) == {ONE: WORK}
    assert told.notes == ["homework.zip counts: what lies beside it is as it was handed out"]
    assert told.unused == [ONE]


def test_an_archive_that_counts_has_the_time_that_counts(tmp_path):
    place = written(tmp_path / "anna", {ONE: STUB})
    made = shutil.make_archive(
        str(place / "homework"), "zip", written(tmp_path / "in", {ONE: WORK})
    )
    os.utime(made, (1e9, 1e9))
    [(chapter, moment)] = changed(Submission("anna", place)).items()
    assert (chapter, moment.timestamp()) == ("", 1e9)
    (place / ONE).write_bytes(WORK)
    assert list(changed(Submission("anna", place))) == ["ex01_scores"]


def test_a_time_that_no_date_has_is_a_late_one(tmp_path, monkeypatch):
    place = written(tmp_path / "anna", {ONE: WORK})
    known = os.lstat

    def of_the_year_10000(path):
        state = known(path)
        return os.stat_result((*state[:8], 253_403_300_801, state[9]))

    monkeypatch.setattr("grader.batch.handed_in.os.lstat", of_the_year_10000)
    assert changed(Submission("anna", place))["ex01_scores"].year == 9999


def test_folders_within_folders_have_an_end(tmp_path):
    place = written(tmp_path / "anna", {ONE: WORK})
    # os.walk of Python 3.11 goes no deeper than Python's own stack
    written(place / "/".join("a" * 60), {"notes.txt": b"deep", TWO: NEXT})
    assert max(len(one.path.parts) for one in everything(place)) <= DEEPEST + 1
    assert is_plain(place)
    assert list(changed(Submission("anna", place))) == ["ex01_scores"]
    assert read(place) == {ONE: WORK}


def test_very_many_copies_are_refused_unread(tmp_path, monkeypatch):
    held = {f"week{week}/{ONE}": b"worked = %d\n" % week for week in range(101)}
    place = written(tmp_path / "anna", held)
    monkeypatch.setattr("grader.batch.copies._text", lambda *_: pytest.fail("it was read"))
    with pytest.raises(Unusable, match="hand in one of these folders by itself"):
        read(place)


def test_an_archive_beside_work_does_not_count(tmp_path):
    inside = written(tmp_path / "inside", {ONE: OTHER})
    place = written(tmp_path / "anna", {ONE: WORK})
    shutil.make_archive(str(place / "homework"), "zip", inside)
    told = Told()
    assert read(place, told=told) == {ONE: WORK}
    assert told.unused == ["homework.zip"]
    assert told.notes == ["not opened: homework.zip: hand in what is in it, beside the chapters"]
