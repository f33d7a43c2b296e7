"""No batch disappears and nothing is passed over in silence, whatever lies beside submissions."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import shutil
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest

from grader.batch.entries import LOOSE, NO_WORK, NOWHERE, TWO_WAYS
from grader.batch.meant import meant
from grader.batch.reader import SubmissionReader
from grader.batch.sources import Told, Unusable
from grader.batch.submissions import Submission, find
from grader.cli import main
from grader.notebooks.chapter import read_chapter
from grader.notebooks.write import notebook
from grader.places import EXERCISES as STUBS
from grader.whose import by_a_platform

NAME = "ex01_scores.py"
TEXT = b"x = 1\n"
on_posix = pytest.mark.skipif(os.name == "nt", reason="names or pipes that Windows lacks")


@pytest.fixture
def subs(tmp_path):
    """Lay out a folder: a name that ends in / is an empty folder."""

    def make(*names):
        for name in names:
            path = tmp_path / "subs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith("/"):
                path.mkdir()
            elif name.endswith(".zip"):
                with zipfile.ZipFile(path, "w") as archive:
                    archive.writestr(NAME, TEXT)
            else:
                path.write_bytes(TEXT)
        return tmp_path / "subs"

    return make


CLASS = (f"anna/{NAME}", f"berta/exercises/{NAME}", "carl.zip")


def outcome(*paths):
    """Return who can be graded, why the others cannot, and what is said."""
    told = Told()
    graded, problems = [], {}
    for submission in find(paths, told):
        try:
            submission.files()
            graded.append(submission.identity)
        except Unusable as problem:
            problems[submission.identity] = str(problem)
    return graded, problems, told.notes


# a class, or one submission


@pytest.mark.parametrize("stray", [NAME, "EX01_Scores.PY", "ex01_scores.ipynb"])
def test_a_stray_chapter_is_named_and_the_class_is_graded(subs, stray):
    graded, problems, said = outcome(subs(*CLASS, stray))
    assert graded == ["anna", "berta", "carl"]
    assert list(problems) == [stray]
    assert "put it in a folder of its own" in problems[stray]
    assert said == []


def test_several_stray_chapters_are_one_sentence(subs):
    _, problems, said = outcome(subs(*CLASS, NAME, "ex02_scaling.py", "ex03_masking.py"))
    assert list(problems) == [NAME]
    assert "with 2 more" in problems[NAME]
    assert said == []


@pytest.mark.parametrize("below", ["exercises", "EXERCISES", "Exercises"])
def test_exercises_beside_a_class_is_named(subs, below):
    graded, problems, _ = outcome(subs(*CLASS, f"{below}/{NAME}"))
    assert graded == ["anna", "berta", "carl"]
    assert list(problems) == [below]
    assert "whose it is cannot be told" in problems[below]


@pytest.mark.parametrize("below", ["exercises", "EXERCISES", "Exercises"])
def test_a_student_whom_exercises_belongs_to_is_one_submission(subs, below):
    assert outcome(subs(f"{below}/{NAME}", "README.md")) == (["subs"], {}, [])


@pytest.mark.parametrize("notes", ["EX99_Notes.PY", "ex99_notes.py"])
def test_what_is_only_called_like_a_chapter_makes_no_submission_of_a_class(subs, notes):
    graded, problems, said = outcome(subs(f"anna/{NAME}", notes))
    assert (graded, said) == (["anna"], [])
    assert "it is called like no chapter: call it" in problems[notes]


def test_what_is_no_students_work_beside_a_class_is_nobodys(subs):
    names = ("README.md", "report_2024_11_final.csv", "roster.csv")
    graded, problems, said = outcome(subs(*CLASS, *names))
    assert (graded, problems) == (["anna", "berta", "carl"], {})
    assert said == [f"passed over {', '.join(names)} in subs: {LOOSE}"]


@pytest.mark.parametrize("name", ["jane_homework1.py", "task.ipynb"])
def test_loose_work_called_like_no_chapter_is_somebodys(subs, name):
    graded, problems, said = outcome(subs(*CLASS, name))
    assert (graded, said) == (["anna", "berta", "carl"], [])
    assert "it is called like no chapter: call it" in problems[name]
    # in one's own folder it is what lies beside the chapters
    assert outcome(subs(f"alone/{NAME}", f"alone/{name}") / "alone")[0] == ["alone"]


def test_what_is_only_called_like_a_chapter_stays_a_submission_of_its_own(subs):
    graded, problems, said = outcome(subs("EX99_Notes.PY", "data/"))
    assert (graded, said) == ([], [])
    assert "not in small letters" in problems["subs"]


@pytest.mark.parametrize(
    "beside",
    [
        ("data/numbers.txt", "notes/", "tests/test_ex01_scores.py", ".git/config"),
        (f"solutions/{NAME}", f"__pycache__/{NAME}", f".git/{NAME}", "tests/mine.py"),
        (f"grader/coach/{NAME}", "tests/mine.py"),
        ("data.zip/", "broken.tar.gz", "more.rar"),
        (f".old/{NAME}", f"__new/{NAME}"),
    ],
)
def test_other_folders_beside_the_chapters_change_nothing(subs, beside):
    assert outcome(subs(NAME, *beside)) == (["subs"], {}, [])


def test_an_older_version_beside_the_chapters_is_told(subs):
    graded, problems, said = outcome(subs(NAME, f"old/{NAME}"))
    assert (graded, problems) == (["subs"], {})
    assert len(said) == 1
    assert said[0].startswith("passed over old in subs: ")
    assert "move it elsewhere to have it graded" in said[0]


@pytest.mark.parametrize(
    "beside",
    [(f"old/{NAME}", f"backup/{NAME}"), ("ex01_scores_slow.py", "ex01_scores_fast.py")],
)
def test_what_is_known_to_be_one_students_is_one_submission(subs, beside):
    folder = subs(NAME, *beside, "ex01_scores_loop.py")
    assert len(find([folder])) > 1
    assert [one.path for one in find([folder], one=True)] == [folder]


@pytest.mark.parametrize("beside", [("data/numbers.txt",), ("src/mine.py", "lib/more.py")])
def test_no_work_that_can_be_read_makes_no_class_of_ones_own_folder(subs, beside):
    assert outcome(subs(NAME, *beside)) == (["subs"], {}, [])


@on_posix
def test_a_link_beside_the_chapters_is_nobody(subs, tmp_path):
    folder = subs(NAME, f"old/{NAME}")
    for name in ("one", "two"):
        (folder / name).symlink_to(folder / "old")
    assert outcome(folder)[0] == ["subs"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo] if hasattr(os, "mkfifo") else [Path.mkdir])
def test_a_chapter_that_is_no_file_costs_a_sentence(subs, make):
    folder = subs(*CLASS)
    make(folder / NAME)
    graded, problems, said = outcome(folder)
    assert graded == ["anna", "berta", "carl"]
    assert list(problems) == [NAME]
    assert said == []


def test_a_folder_called_like_a_chapter_leaves_a_class_of_one_a_class(subs):
    graded, problems, _ = outcome(subs(f"anna/{NAME}", f"{NAME}/"))
    assert graded == ["anna"]
    assert "it holds no file" in problems[NAME]


# what is passed over


def test_what_is_passed_over_is_told_in_a_line_for_each_reason(subs):
    names = [f"{letter}.txt" for letter in "abcde"]
    graded, problems, said = outcome(subs(*CLASS, ".x/", "__y/notes.md", *names))
    assert (len(graded), problems) == (3, {})
    assert said == [
        "passed over .x, __y in subs: "
        "named as by a tool, with . or __ in front, and no chapters were found",
        "passed over a.txt, b.txt, c.txt and 2 more in subs: "
        "neither a folder nor a .zip or .tar.gz",
    ]


def test_what_systems_leave_behind_is_passed_over_without_a_word(subs):
    left = [".DS_Store", "__MACOSX/a", "Thumbs.db", ".git/x", "desktop.ini", "._anna.zip"]
    graded, problems, said = outcome(subs(*CLASS, *left))
    assert (len(graded), problems, said) == (3, {}, [])


@pytest.mark.parametrize("hidden", [f".dora/{NAME}", f"__dora/exercises/{NAME}", ".dora.zip"])
def test_chapters_in_a_folder_that_hides_are_somebodys(subs, hidden):
    graded, problems, said = outcome(subs(*CLASS, hidden))
    assert (len(graded), len(problems), said) == (3, 1, [])
    assert "give it another name" in problems.popitem()[1]


def test_a_hidden_folder_that_was_given_is_graded(subs):
    folder = subs(*CLASS, f".dora/{NAME}")
    graded, problems, _ = outcome(folder, folder / ".dora")
    assert (graded, problems) == ([".dora", "anna", "berta", "carl"], {})


@on_posix
def test_links_get_their_sentences(subs, tmp_path):
    folder = subs(*CLASS)
    (folder / "lost").symlink_to(tmp_path / "nowhere")
    (folder / "round").symlink_to(folder / "round")
    (folder / "lost.zip").symlink_to(tmp_path / "nowhere")
    (folder / "whole").symlink_to(folder / "anna")
    (folder / "notes").symlink_to(folder / "anna" / NAME)
    graded, problems, said = outcome(folder)
    assert graded == ["anna", "berta", "carl"]
    assert problems == {
        **dict.fromkeys(["lost", "lost.zip", "round"], NOWHERE),
        "whole": "it is a link, and links are not followed: give the place it leads to",
    }
    assert said == ["passed over notes in subs: neither a folder nor a .zip or .tar.gz"]


@on_posix
def test_names_that_are_told_can_be_printed(subs):
    _, _, said = outcome(subs(*CLASS, "\x1b[31m\n" + "x" * 200, "\u202eevil"))
    assert len(said) == 1
    assert said[0].isprintable()
    assert len(said[0]) < 300


# what cannot be read


@pytest.fixture
def unreadable(monkeypatch):
    """Refuse to list a folder as the system does; the one who tests may be root."""

    def refuse(folder):
        listed, went = os.listdir, Path.iterdir
        refused = PermissionError(13, "Permission denied", str(folder))

        def listdir(path="."):
            if os.fspath(path) == str(folder):
                raise refused
            return listed(path)

        def iterdir(path):
            if path == folder:
                raise refused
            return went(path)

        monkeypatch.setattr(os, "listdir", listdir)
        monkeypatch.setattr(Path, "iterdir", iterdir)

    return refuse


@pytest.mark.parametrize("name", ["berta", "berta/exercises"])
def test_a_folder_without_permission_costs_no_other(subs, unreadable, name):
    folder = subs(*CLASS)
    unreadable(folder / name)
    graded, problems, _ = outcome(folder)
    assert graded == ["anna", "carl"]
    assert "Permission denied" in problems["berta"]


def test_a_given_folder_without_permission_costs_no_other(subs, unreadable):
    folder = subs(*CLASS)
    unreadable(folder / "berta")
    graded, problems, _ = outcome(folder / "anna", folder / "berta")
    assert graded == ["anna"]
    assert "Permission denied" in problems["berta"]


def test_a_stray_beside_a_folder_without_permission(subs, unreadable):
    folder = subs(*CLASS, NAME)
    unreadable(folder / "berta")
    graded, problems, _ = outcome(folder)
    assert graded == ["anna", "carl"]
    assert sorted(problems) == ["berta", NAME]


def test_the_command_says_what_is_passed_over(subs, submission, graded, capsys):
    folder = submission("anna").parent
    (folder / "notes.txt").write_bytes(TEXT)
    report = graded(folder, "--only", "dot_product")
    assert [one["id"] for one in report["submissions"]] == ["anna"]
    said = "grader: passed over notes.txt in submissions: neither a folder nor a .zip or .tar.gz"
    assert said in capsys.readouterr().err.splitlines()
    (folder / ".berta").mkdir()
    (folder / ".berta" / NAME).write_bytes(TEXT)
    report = graded(folder, "--only", "dot_product", status=1)
    assert [one["status"] for one in report["submissions"]] == ["ungradable", "graded"]


# loose files, as platforms write them and people rename them

CANVAS = "obrienvera_12960_600620_"


def test_loose_files_of_canvas_are_a_class(subs):
    names = (f"{CANVAS}{NAME}", "obrienvera_LATE_12960_600621_ex02_scaling-1.py",
             f"litim_77_600622_{NAME}", "litim_77_600623_report.pdf",
             "zoe_78_600624_homework.docx", "zoe_LATE_78_600625_notes.pdf", *CLASS)  # fmt: skip
    folder = subs(*names)
    graded, problems, said = outcome(folder)
    assert graded == ["anna", "berta", "carl", "litim_77", "obrienvera_12960"]
    assert list(problems) == ["zoe_78"]
    assert (
        "but zoe_78_600624_homework.docx, zoe_LATE_78_600625_notes.pdf: hand" in problems["zoe_78"]
    )
    assert said == []
    everybody = {one.identity: one for one in find([folder])}
    assert everybody["obrienvera_12960"].files() == {NAME: TEXT, "ex02_scaling.py": TEXT}
    told = Told()
    everybody["litim_77"].files(told=told)
    assert told.unused == ["litim_77_600623_report.pdf"]


def test_beside_archives_of_canvas_a_file_of_another_kind_is_somebodys(subs):
    _, problems, said = outcome(subs("anna_1_22_hw.zip", "bob_3_44_essay.docx"))
    assert (list(problems), said) == (["bob_3"], [])


def test_in_moodle_who_hands_in_no_chapter_is_somebody_too(subs):
    of_moodle = "{}_{}_assignsubmission_file_{}".format
    names = (of_moodle("Jane Doe", 501, NAME), of_moodle("Pat Poe", 502, "essay.pdf"),
             of_moodle("Jane Doe", 501, "notes.pdf"))  # fmt: skip
    folder = subs(*names)
    graded, problems, said = outcome(folder)
    assert graded == ["Jane Doe_501_assignsubmission_file"]
    assert list(problems) == ["Pat Poe_502_assignsubmission_file"]
    assert said == []
    told = Told()
    find([folder])[0].files(told=told)
    assert told.unused == [of_moodle("Jane Doe", 501, "notes.pdf")]


@pytest.mark.parametrize(
    ("names", "who"),
    [
        (("ex01_scores_jane_doe.py", "ex01_scores-bob.py"), ["bob", "jane_doe"]),
        (("Jane Doe - ex01_scores.py", "ex02_scaling_Jane_Doe.py", "ex01_bob.py"),
         ["Jane_Doe", "bob"]),
        ((f"{CANVAS}{NAME}",), ["obrienvera_12960"]),
        # as macOS writes an accent, it is a letter of its own
        (("ex01_scores_Jürgen Groß.py", "ex02_scaling_Ju\u0308rgen Groß.py", "ex01_bob.py"),
         ["Jürgen_Groß", "bob"]),
        (("Jürgen_12_34_ex01_scores.py", "Ju\u0308rgen_12_35_report.pdf"), ["Jürgen_12"]),
        (("ex01_scores_Ann Lee.py", "ex02-scaling_Ann Lee.py", "Ann Lee ex03 masking.py",
          "ex01-scores_bob.py"), ["Ann_Lee", "bob"]),
        (("ex01_scores_max_roe.py", "ex02_scaling (max roe).py", "ex01_bob.py"),
         ["bob", "max_roe"]),
        # two of one name, in Moodle, with numbers of their own; and where names are numbers
        ((f"Ann Smith_2014_assignsubmission_file_{NAME}",
          "Ann Smith_2015_assignsubmission_file_ex02_scaling.py"),
         ["Ann Smith_2014_assignsubmission_file", "Ann Smith_2015_assignsubmission_file"]),
        ((f"Participant_3001_assignsubmission_file_{NAME}",
          f"Participant_3002_assignsubmission_file_{NAME}"),
         ["Participant_3001_assignsubmission_file", "Participant_3002_assignsubmission_file"]),
        ((f"20231234_{NAME}", "ex01_scores_20231235.py"), ["20231234", "20231235"]),
        ((f"12345-678 - Jo Roe - Oct 1, 2026 - {NAME}",
          f"12346-678 - Jo Roe - Oct 1, 2026 - {NAME}"),
         ["12345_678_Jo_Roe_Oct_2026", "12346_678_Jo_Roe_Oct_2026"]),
    ],
)  # fmt: skip
def test_loose_files_are_grouped_by_the_names_of_people(subs, names, who):
    graded, problems, said = outcome(subs(*names))
    assert (graded, problems, said) == (who, {}, [])


@pytest.mark.parametrize(
    ("names", "who"),
    [
        (("ex01_scores_ann.py", "ex01_scores_bob.py", "ex01_carl.py"), ["ann", "bob", "carl"]),
        ((f"{CANVAS}{NAME}", "litim_77_600622_ex02_scaling.py"), ["litim_77", "obrienvera_12960"]),
    ],
)
def test_a_chapter_without_a_name_among_loose_files_is_nobodys(subs, names, who):
    graded, problems, said = outcome(subs(NAME, *names))
    assert (graded, said) == (who, [])
    assert list(problems) == [NAME]
    assert "whose it is cannot be told" in problems[NAME]


@pytest.mark.parametrize("names", [("ex01_scores_try.py", "ex01_scores_slow.py"),
                                   (f"{CANVAS}{NAME}",)])  # fmt: skip
def test_ones_own_drafts_beside_a_chapter_are_no_class(subs, names):
    graded, problems, said = outcome(subs(NAME, *names))
    assert (graded, problems, said) == (["subs"], {}, [])


def test_a_copy_is_called_so_in_other_languages():
    for name in ("Kopie von ex03_masking.py", "Copy of ex03_masking.py", "ex03_masking - Kopie.py"):
        said = meant(name)
        assert said is not None
        assert (said.file, said.whose) == ("ex03_masking.py", "")
    assert meant("ex03_masking_anna_von_berg.py").whose == "anna_von_berg"


def test_of_what_canvas_marks_as_a_later_version_the_last_counts(subs):
    names = ("obrienvera_LATE_12960_600630_ex01_scores-10.py", f"{CANVAS}{NAME}",
             f"{CANVAS}ex01_scores-2.py", f"{CANVAS}ex02_scaling.py")  # fmt: skip
    folder = subs(*names)
    (folder / names[0]).write_bytes(b"y = 2\n")
    assert outcome(folder) == (["obrienvera_12960"], {}, [])
    [one], told = find([folder]), Told()
    assert one.files(told=told) == {NAME: b"y = 2\n", "ex02_scaling.py": TEXT}
    before = [names[1], names[2]]
    assert told.unused == before
    assert told.notes == [f"{names[0]} counts as {NAME}, not {', '.join(before)}, handed in before"]


def test_of_two_without_a_mark_the_later_upload_counts(subs):
    folder = subs("litim_77_99_ex01_scores.py", "litim_LATE_77_100_ex01_scores.py")
    (folder / "litim_LATE_77_100_ex01_scores.py").write_bytes(b"y = 2\n")
    [one] = find([folder])
    assert one.files() == {NAME: b"y = 2\n"}


def test_which_of_two_loose_files_counts_is_asked_where_no_platform_says_it(subs):
    names = ("ex01_scores_jane.py", "ex01_jane.py", "ex01_scores_bob.py")
    graded, problems, _ = outcome(subs(*names))
    assert graded == ["bob"]
    assert "it is not clear which one is ex01_scores.py: leave one, or say" in problems["jane"]


@pytest.mark.parametrize("names", [("ex01_scores_v2.py", "ex02_scaling_final.py"),
                                   ("ex01_scores_jane.py", "ex02_scaling_jane.py"),
                                   ("ex01-scores.py", "ex02 scaling (jane).py"),
                                   ("ex01 (1).py", "ex02_scaling.py.txt")])  # fmt: skip
def test_one_persons_files_stay_one_submission(subs, names):
    folder = subs(*names)
    [one] = find([folder])
    told = Told()
    assert one.files(told=told) == {NAME: TEXT, "ex02_scaling.py": TEXT}
    assert told.notes == [f"{names[0]} counts as {NAME}", f"{names[1]} counts as ex02_scaling.py"]


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_a_file_that_is_nearly_called_like_a_chapter_counts_or_is_named(tmp_path, kind):
    def handed_in(*names):
        folder = tmp_path / str(len(list(tmp_path.iterdir()))) / "anna"
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_bytes(name.encode())
        if kind == "zip":
            with zipfile.ZipFile(folder.parent / "anna.zip", "w") as archive:
                for name in names:
                    archive.writestr(f"anna/{name}", name)
            folder = folder.parent / "anna.zip"
        told = Told()
        [one] = find([folder])
        return one.files(told=told), told.notes

    near = "ex01_scores (1).py"
    assert handed_in(near) == ({NAME: near.encode()}, [f"{near} counts as {NAME}"])
    assert handed_in(NAME, near) == ({NAME: NAME.encode()}, [f"{near} is not read, {NAME} counts"])
    loud = "EX01_Scores.PY"
    files, notes = handed_in("ex02_scaling.py", loud)
    assert files == {NAME: loud.encode(), "ex02_scaling.py": b"ex02_scaling.py"}
    assert notes == [f"{loud} counts as {NAME}"]
    files, [note] = handed_in("ex02_scaling.py", "ex01_anna.py")
    assert list(files) == ["ex02_scaling.py"]
    assert note == f"ex01_anna.py is not read: if it is chapter {NAME}, it has to be called so"
    with pytest.raises(Unusable, match=r"it is not clear which one is ex01_scores\.py"):
        handed_in(near, "ex01_scores-final.py")
    assert handed_in("ex01_scores_helpers.py", NAME)[1] == []


def test_what_moodles_students_typed_belongs_to_what_they_uploaded(subs):
    ann, ben = "Ann Smith_3001_assignsubmission", "Ben Note_3002_assignsubmission"
    folder = subs(f"{ann}_file_/{NAME}", f"{ann}_onlinetext_/onlinetext.html",
                  f"{ben}_onlinetext_/onlinetext.html")  # fmt: skip
    graded, problems, _ = outcome(folder)
    assert graded == [f"{ann}_file_"]
    assert list(problems) == [f"{ben}_onlinetext_"]
    told = Told()
    find([folder])[0].files(told=told)
    assert told.unused == [f"{ann}_onlinetext_"]


def test_people_are_called_as_what_lies_beside_chapters(subs):
    graded, _, _ = outcome(subs(f"bakann_1001_5001_{NAME}", f"note_1002_5002_{NAME}",
                                f"Eva Tests_3003_assignsubmission_file_{NAME}"))  # fmt: skip
    assert graded == ["Eva Tests_3003_assignsubmission_file", "bakann_1001", "note_1002"]


@on_posix
def test_two_names_that_look_the_same_stay_short(subs):
    names = ["M\u00fcller", "Mu\u0308ller"]
    if len(list(subs(*(f"{name}/{NAME}" for name in names)).iterdir())) < 2:
        pytest.skip("this file system takes them for one")
    graded, _, _ = outcome(subs())
    # who is called so in truth stays so
    assert sorted(graded) == ["M\u00fcller", "M\u00fcller (1)"]


@on_posix
def test_no_number_makes_two_names_one(subs):
    graded, _, _ = outcome(subs(*(f"{name}/{NAME}" for name in ("a\u200b", "a\\u200b",
                                                                "a\\u200b (1)"))))  # fmt: skip
    assert sorted(graded) == ["a\\u200b", "a\\u200b (1)", "a\\u200b (2)"]


@pytest.mark.parametrize("behind", ["", "Vera OBrien_12960_assignsubmission_file_",
                                    "obrienvera_12960_600620_"])  # fmt: skip
@pytest.mark.parametrize("front", ["malloryeve_777_600999_", "Eve M_777_assignsubmission_file_"])
def test_what_a_file_is_called_makes_it_nobody_elses(front, behind):
    match = by_a_platform(f"{front}{behind}{NAME}")
    assert match is not None
    assert match["number"] == "777"


def test_a_folder_that_is_called_like_loose_files_is_not_lost(subs):
    loose = ("ex01_scores_jane.py", "ex01_scores_bob.py")
    graded, problems, _ = outcome(subs(*loose, "jane/ex02_scaling.py"))
    assert graded == ["bob"]
    assert problems == {"jane": TWO_WAYS}


def test_a_folder_without_chapters_takes_nothing_from_loose_files(subs):
    loose = ("ex01_scores_jane.py", "ex01_jane.py", "ex01_scores_bob.py")
    graded, problems, notes = outcome(subs(*loose, "jane/notes.txt"))
    assert graded == ["bob"]
    assert "it is not clear which one" in problems["jane"]
    assert any(NO_WORK in note for note in notes)


def test_nothing_that_is_passed_over_in_a_batch_is_left_out(subs):
    told = Told(most=sys.maxsize)
    find([subs(*CLASS, *(f"student{n:03}.docx" for n in range(150)))], told)
    assert len(told.unused) == 150


def test_two_archives_of_one_student_are_named(subs):
    folder = subs("anna/first.zip", "anna/second.zip", "carl.zip")
    with zipfile.ZipFile(folder / "anna" / "second.zip", "a") as archive:
        archive.writestr("ex02_scaling.py", TEXT)
    graded, problems, _ = outcome(folder)
    assert graded == ["carl"]
    assert "first.zip and second.zip" in problems["anna"]


def test_the_table_and_the_page_say_what_counted_as_what(tmp_path, capsys):
    folder = tmp_path / "anna"
    folder.mkdir()
    (folder / "ex01 (1).py").write_bytes(TEXT)
    page = tmp_path / "anna.html"
    assert main(["grade", str(folder), "--only", "dot_product", "--report", f"html={page}"]) == 0
    says = "ex01 (1).py counts as ex01_scores.py"
    assert f"anna: {says}" in capsys.readouterr().out
    assert says in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["folder", "zip", "tar.gz"])
def test_modules_beside_the_chapters_are_named(tmp_path, kind):
    folder = tmp_path / "anna"
    folder.mkdir()
    for name in (NAME, "utils.py", "conftest.py", "test_mine.py", "__init__.py", "notes.txt"):
        (folder / name).write_bytes(TEXT)
    if kind != "folder":
        form = {"zip": "zip", "tar.gz": "gztar"}[kind]
        folder = Path(shutil.make_archive(str(tmp_path / "berta"), form, folder))
    told = Told()
    [one] = find([folder])
    assert one.files(told=told) == {NAME: TEXT}
    assert told.notes == ["not read: utils.py: what a chapter needs goes into it"]
    beside = {"utils.py", "conftest.py", "test_mine.py", "__init__.py", "notes.txt"}
    assert set(told.unused) == beside


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("below", ["", "exercises/"])
def test_files_further_away_from_the_chapters_are_named(tmp_path, subs, kind, below):
    names = ("lib/mine.py", "data/deep/readme.txt", "tests/mine.py")
    of_the_kit = ("tests/conftest.py", "grader/cli.py", "__pycache__/a.pyc", ".git/config")
    many = (f"many/{n % 7}/{n}.txt" for n in range(300))
    folder = subs(f"{below}{NAME}", *names, *of_the_kit, *many)
    if kind == "zip":
        folder = Path(shutil.make_archive(str(tmp_path / "berta"), "zip", folder))
    told = Told()
    [one] = find([folder])
    one.files(told=told)
    assert sorted(told.unused) == sorted([*names, "more than 10 files in many/"])
    assert told.notes == []


def test_what_lies_above_the_chapters_is_named_unless_all_have_it(subs):
    told = Told()
    [one] = find([subs(f"exercises/{NAME}", "README.md", "pyproject.toml", "essay.docx")])
    one.files(told=told)
    assert told.unused == ["essay.docx"]


def test_one_file_that_cannot_be_read_costs_its_own_chapter(submission, graded):
    folder = submission("anna")
    (folder / "ex03_masking.py").write_bytes(b"#" * 2**21)
    only = ("--device", "cpu", "--only", "ex02_scaling,causal_mask", "--only", "attention_weights")
    [one] = graded(folder.parent, *only)["submissions"]
    found = {e["exercise"]: e["devices"]["cpu"]["outcome"] for e in one["exercises"]}
    assert list(found.values()) == ["solved", "solved", "solved", "wrong", "wrong"]
    for exercise in one["exercises"][3:]:
        assert exercise["checks"][0]["message"].startswith("ex03_masking.py is larger than 1 MiB")


def test_of_a_chapter_that_is_there_twice_it_is_said_which_counts(submission):
    folder = submission("anna")
    (folder / "ex04_softmax.ipynb").write_bytes(notebook(read_chapter(STUBS / "ex04_softmax.py")))
    book = nbformat.read(folder / "ex04_softmax.ipynb", 4)
    [cell] = [c for c in book.cells if c.metadata.get("tags") == ["answer:softmax"]]
    cell.source = "def softmax(scores, dim=-1):\n    return scores"
    nbformat.write(book, folder / "ex04_softmax.ipynb")
    told = Told()
    [one] = find([folder])
    one.files(told=told)
    assert told.notes == [
        "ex04_softmax: the file counts (2 of 2 started), not the notebook (1 of 2)"
    ]


# what is there instead of chapters


def inside(*names):
    """Make a zip file's bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, TEXT)
    return packed.getvalue()


EVERYWHERE = [
    ({}, "it holds no file: hand in ex*.py or ex*.ipynb", []),
    ({"a/b/": b""}, "it holds no file: hand in", []),
    ({"essay.docx": TEXT}, "but essay.docx: hand in the code itself", ["essay.docx"]),
    ({"a.pdf": TEXT, "task1.py": TEXT}, "but task1.py: give each file the name of its chapter",
     ["a.pdf", "task1.py"]),
    ({"__pycache__/ex01_scores.pyc": TEXT}, "but ex01_scores.pyc: Python has made that",
     ["__pycache__/ex01_scores.pyc"]),
    ({"old/hand.zip": TEXT}, "but hand.zip: it is not opened here: hand in what is in it",
     ["old/hand.zip"]),
    ({NAME: b"#" * 2**21}, "larger than 1 MiB: take out what is not code", [NAME]),
    ({NAME: b"x = 1\0"}, f"{NAME} holds null bytes, so it is no code", [NAME]),
    ({NAME: "x = 1\n".encode("utf-16")}, f"{NAME} is saved as UTF-16", [NAME]),
]  # fmt: skip
IN_A_FOLDER = [
    ({"hand.rar": TEXT}, "hand.rar is not opened: hand in a .zip", ["hand.rar"]),
    ({"hand.zip": b"PK"}, "the archive hand.zip cannot be read: it is damaged", ["hand.zip"]),
    ({"hand.zip": inside("hw/task1.py"), "notes.md": TEXT}, "but task1.py: give each file",
     ["notes.md", "hw/task1.py"]),
    ({"hand.zip": inside("inner.zip")}, "but inner.zip: it is not opened here", ["inner.zip"]),
    ({f"a/{NAME}": TEXT, f"b/{NAME}": b"other = 1\n"},
     "its chapters lie in a, b: hand in one of these folders", [f"a/{NAME}", f"b/{NAME}"]),
]  # fmt: skip
KINDS = {"zip": "zip", "tar.gz": "gztar"}


@pytest.fixture(scope="module")
def reader():
    with SubmissionReader() as one:
        yield one


@pytest.mark.parametrize(
    ("kind", "held", "says", "unused"),
    [(kind, *case) for kind in ("folder", *KINDS) for case in EVERYWHERE]
    + [("folder", *case) for case in IN_A_FOLDER],
)
def test_what_is_there_instead_of_chapters_is_said_and_named(
    tmp_path, reader, kind, held, says, unused
):
    place = tmp_path / "anna"
    place.mkdir()
    for name, data in held.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            (place / name).mkdir()
        else:
            (place / name).write_bytes(data)
    if kind != "folder":
        place = Path(shutil.make_archive(str(tmp_path / "berta"), KINDS[kind], place))
    one = Submission("anna", place)
    with pytest.raises(Unusable) as problem:
        one.files(reader)
    assert says in str(problem.value)
    assert one.held(reader) == unused


@on_posix
def test_links_are_named_and_not_followed(tmp_path, reader):
    folder = tmp_path / "anna"
    folder.mkdir()
    (folder / "work").symlink_to(tmp_path)
    (folder / "lost.md").symlink_to(tmp_path / "nowhere")
    one = Submission("anna", folder)
    with pytest.raises(Unusable, match=r"but lost\.md, work: links are not followed"):
        one.files(reader)
    assert one.held(reader) == ["lost.md", "work"]


def test_every_report_names_what_an_ungradable_submission_held(tmp_path, capsys):
    for name in ("anna/essay.docx", "berta/ex01 notes.doc"):
        (tmp_path / "class" / name).parent.mkdir(parents=True)
        (tmp_path / "class" / name).write_bytes(TEXT)
    forms = {
        form: tmp_path / f"report.{form}" for form in ("json", "csv", "html", "class", "junit")
    }
    reports = [part for form, file in forms.items() for part in ("--report", f"{form}={file}")]
    assert main(["grade", str(tmp_path / "class"), "--only", "dot_product", *reports]) == 1
    assert "not used: essay.docx" in capsys.readouterr().out
    for form, key in (("json", "unused"), ("class", "unused")):
        found = json.loads(forms[form].read_bytes())["submissions"]
        assert [one[key] for one in found] == [["essay.docx"], ["ex01 notes.doc"]]
    rows = list(csv.DictReader(forms["csv"].read_text(encoding="utf-8").splitlines()))
    assert [row["unused"] for row in rows] == ["essay.docx", "ex01 notes.doc"]
    page = tmp_path / "report-pages" / "anna.html"
    assert "Not used: essay.docx" in page.read_text(encoding="utf-8")
    suites = ElementTree.parse(forms["junit"]).getroot()
    unused = [one.get("value") for one in suites.iter("property") if one.get("name") == "unused"]
    assert unused == ["essay.docx", "ex01 notes.doc"]


def test_what_goes_to_one_student_names_what_was_not_used(submission, tmp_path):
    folder = submission("anna")
    (folder / "notes.md").write_bytes(TEXT)
    forms = {form: tmp_path / f"report.{form}" for form in ("gradescope", "classroom")}
    reports = [part for form, file in forms.items() for part in ("--report", f"{form}={file}")]
    assert main(["grade", str(folder), "--only", "dot_product", *reports]) == 0
    assert json.loads(forms["gradescope"].read_bytes())["output"].endswith("not used: notes.md")
    line = forms["classroom"].read_text().splitlines()[0].partition("=")[2]
    runner = json.loads(base64.b64decode(line))
    assert [one["name"] for one in runner["tests"]][-1] == "not used: notes.md"
    assert {one["status"] for one in runner["tests"]} == {"pass"}


def test_what_is_passed_over_and_who_is_absent_is_in_the_reports(submission, tmp_path, capsys):
    folder = submission("anna").parent
    submission("bob")
    submission("dora")
    (folder / "notes.txt").write_bytes(TEXT)
    (tmp_path / "roster.csv").write_text("login\nanna\nbob\ncarl\n")
    forms = {form: tmp_path / f"report.{form}" for form in ("json", "html", "class")}
    reports = [part for form, file in forms.items() for part in ("--report", f"{form}={file}")]
    kept = ("--results", str(tmp_path / "kept.db"))
    roster = ("--roster", str(tmp_path / "roster.csv"))
    graded = ["grade", str(folder), "--only", "dot_product", *kept, *roster, *reports]
    for command in (graded, ["merge", str(tmp_path / "kept.db"), *roster, *reports]):
        assert main(command) == 0
        out, err = capsys.readouterr()
        said = out.splitlines()
        assert [line for line in err.splitlines() if "is matched" in line] == [
            "grader: dora is matched with nobody of roster.csv: no student is called so"
        ]
        assert "passed over: notes.txt" in said
        assert "handed in nothing: carl" in said
        for form in ("json", "class"):
            found = json.loads(forms[form].read_bytes())
            assert (found["passed_over"], found["absent"]) == (["notes.txt"], ["carl"])
        page = forms["html"].read_text(encoding="utf-8")
        assert "<bdi>notes.txt</bdi>" in page
        for file in forms.values():
            file.unlink()


def test_a_chapter_that_is_too_large_is_named_as_unused(submission):
    folder = submission("anna", ex03_masking=b"#" * 2**21)
    (folder / "ex04_softmax.ipynb").write_bytes(notebook(read_chapter(STUBS / "ex04_softmax.py")))
    [one], told = find([folder]), Told()
    one.files(told=told)
    assert told.unused == ["ex03_masking.py", "ex04_softmax.ipynb"]
