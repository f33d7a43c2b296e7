"""Grades land in the right rows of Canvas's and Moodle's exports, and nothing else changes."""

from __future__ import annotations

import csv
import html
import io
import json
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from grader.batch.wanted import Wanted, reports_for
from grader.reports import formats, sheet
from grader.reports.gradebook import fill
from grader.reports.platforms import read
from grader.reports.roster import Roster, Student
from grader.results import CheckResult, ExerciseResult, Run, SubmissionResult

CANVAS = '''\
Student,ID,SIS User ID,SIS Login ID,Section,Quiz 1 (23),Attention (24),Current Score
,,,,,,Manual Posting,
    Points Possible,,,,,10.00,20.00,(read only)
"Doe, Jane",101,S101,jdoe@uni.edu,"A, morning",8.00,,80.00
"Müller, Jörg",102,S102,jm@uni.edu,A,,3.00,70.00
"O'Brien, ""Pat""",103,S103,pat@uni.edu,A,,EX,
"Lee, An",104,S104,an1@uni.edu,A,,,
"Lee, An",105,S105,an2@uni.edu,B,,,
"Student, Test",106,,,A,,,
'''
MOODLE = '''\
Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",\
"Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 501","Jane Doe",jane@uni.edu,"Submitted, late",,"50,00",Yes,"Monday, 1 June",-,
"Participant 502","Jörg Müller",jm@uni.edu,Submitted,"12,00","50,00",Yes,-,-,"Good, ""really"""
"Participant 503","Maria de la Cruz",maria@uni.edu,Submitted,,,Yes,-,-,
'''


def graded(name, score=87.5):
    """A submission with a score of 100, as one exercise has it."""
    exercise = ExerciseResult("ex.a", Fraction(str(score)), 1, (CheckResult("c", "cpu", "passed"),))
    rest = ExerciseResult("ex.b", 100 - exercise.points, 1, (CheckResult("c", "cpu", "failed"),))
    return SubmissionResult(name, exercises=(exercise, rest), devices=("cpu",))


def filled(tmp_path, export, *submissions, assignment=None):
    """Fill an export; return its rows by the second column, and the notes."""
    path = tmp_path / "export.csv"
    path.write_bytes(export.encode() if isinstance(export, str) else export)
    run = Run("0", "0", 1, {"cpu": "run", "cuda": "absent"}, submissions)
    data, notes = fill(read(path, assignment), run)
    rows = csv.reader(io.StringIO(data.decode("utf-8-sig")))
    return {row[1]: row for row in rows}, notes, data


def canvas(tmp_path, *names):
    rows, notes, _ = filled(tmp_path, CANVAS, *map(graded, names), assignment="Attention")
    return {key: row[6] for key, row in rows.items() if key.isdigit()}, notes


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("doejane_101_7001_homework", "101"),
        ("doejane_LATE_101_7001_homework-1", "101"),
        ("müllerjörg_102_7002_my_2_3_files", "102"),
        ("mullerjorg_999_7002_x", "102"),  # another shard's number: the name decides
        ("doejane_101", "101"),
        ("101", "101"),
        ("S102", "102"),
        ("JDoe@uni.edu", "101"),
        ("jdoe", "101"),
        ("Jane Doe", "101"),
        ("doe_jane", "101"),
        ("Mu\u0308ller, Jo\u0308rg", "102"),
        ("an2", "105"),
    ],
)
def test_canvas_students_are_found(name, row, tmp_path):
    grades, notes = canvas(tmp_path, name)
    assert grades[row] == "17.50"
    assert sum(value == "17.50" for value in grades.values()) == 1
    assert notes == ["1 of 6 students filled in, out of 20"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("An Lee", "2 students could be meant"),
        ("leean_999_1_x", "2 students could be meant"),
        ("doejane_102_7001_x", "number 102 belongs to somebody of another name"),
        ("group7_104_7001_x", "number 104 belongs to somebody of another name"),
        ("doejane_102", "number 102 belongs to somebody of another name"),
        ("doejane_999", "no student is called so"),
        ("somebody", "no student is called so"),
        ("jane", "no student is called so"),
        ("", "no student is called so"),
        ("...", "no student is called so"),
        ("obrienpat_103_1_x", "the gradebook says EX"),
    ],
)
def test_nobody_is_guessed(name, why, tmp_path):
    grades, notes = canvas(tmp_path, name)
    assert "17.50" not in grades.values()
    assert notes == [f"{name} is not filled in: {why}", "0 of 6 students filled in"]


def test_where_a_roster_has_no_numbers_those_of_a_platform_are_no_part_of_a_name():
    roster = Roster([Student(1, "", ("jd@x.org",), "Doe, Jane"), Student(2, "", (), "Roe, Pat")])
    assert roster.find("doejane_1001") == roster.students[0]
    assert roster.absent(["doejane_1001", "roepat_2"]) == []
    assert roster.absent(["doejane_x"]) == ["Doe, Jane", "Roe, Pat"]


def test_two_submissions_of_one_student_fill_nothing(tmp_path):
    grades, notes = canvas(tmp_path, "jdoe", "doejane_101_7001_x")
    assert grades["101"] == ""
    assert [note.partition(": ")[2] for note in notes[:2]] == [
        "2 submissions are of the same student"
    ] * 2


def test_what_could_not_be_graded_leaves_the_gradebook_as_it_was(tmp_path):
    broken = SubmissionResult("müllerjörg_102_1_x", problem="the archive is broken")
    text = SubmissionResult("Jane Doe_501_assignsubmission_onlinetext", problem="no ex*.py")
    rows, notes, data = filled(tmp_path, CANVAS, broken, assignment="Attention")
    assert data == CANVAS.encode()
    assert "could not be graded" in notes[0]
    file = graded("Jane Doe_501_assignsubmission_file")
    rows, notes, _ = filled(tmp_path, MOODLE, text, file)
    assert rows["Jane Doe"][4] == "43,75"


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("Jane Doe_501_assignsubmission_file", "Jane Doe"),
        ("Jane Doe_501_assignsubmission_file_", "Jane Doe"),
        ("Jane Doe_501_assignsubmission_file_homework", "Jane Doe"),
        ("jdoe7 Jane Doe_501_assignsubmission_file", "Jane Doe"),
        ("Jorg Muller_502_assignsubmission_file", "Jörg Müller"),
        ("502", "Jörg Müller"),
        ("jane@uni.edu", "Jane Doe"),
    ],
)
def test_moodle_students_are_found(name, who, tmp_path):
    rows, _, _ = filled(tmp_path, MOODLE, graded(name))
    assert rows[who][4] == "43,75"


def test_moodle_doubts(tmp_path):
    group = graded("Team 4_502_assignsubmission_file")
    scale = graded("Maria de la Cruz_503_assignsubmission_file")
    _, notes, data = filled(tmp_path, MOODLE, group, scale)
    assert data == MOODLE.encode()
    assert "somebody of another name" in notes[0]
    assert "does not say how much" in notes[1]


def test_moodle_without_names(tmp_path):
    blind = 'Identifier,Status,Grade,"Maximum Grade"\n"Participant 77",x,,10.00\n'
    _, _, data = filled(tmp_path, blind, graded("Participant_77_assignsubmission_file"))
    assert data.decode().endswith('"Participant 77",x,8.75,10.00\n')


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("export", [CANVAS, CANVAS.replace(",", ";"), MOODLE])
def test_all_else_stays_byte_for_byte(codec, newline, export, tmp_path):
    data = export.replace("\n", newline).encode(codec)
    path = tmp_path / "export.csv"
    path.write_bytes(data)
    assignment = None if export is MOODLE else "Attention"
    run = Run("0", "0", 1, {"cpu": "run", "cuda": "absent"}, (graded("Jörg Müller"),))
    out, _ = fill(read(path, assignment), run)
    old, new = ('"12,00"', '"43,75"') if export is MOODLE else ("3.00", "17.50")
    assert out.decode(codec) == data.decode(codec).replace(old, new)
    assert out[:3] == data[:3]


def test_a_comma_is_written_where_the_gradebook_writes_one(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(CANVAS.replace(",", ";").replace("20.00", "20,00"), encoding="utf-8")
    run = Run("0", "0", 1, {"cpu": "run", "cuda": "absent"}, (graded("jdoe"),))
    out, _ = fill(read(path, "Attention"), run)
    assert '"A; morning";8.00;17,50;80.00' in out.decode()


@pytest.mark.parametrize(
    ("assignment", "says"),
    [
        (None, "name the assignment with --assignment: the gradebook has `Quiz 1 (23)`, `Atten"),
        ("Attension", "no assignment is called `Attension`"),
        ("Current Score", "no assignment is called"),
    ],
)
def test_the_assignment_must_be_there(assignment, says, tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(CANVAS)
    with pytest.raises(ValueError, match=r"the gradebook has") as caught:
        read(path, assignment)
    assert says in str(caught.value)


def test_titles_and_their_numbers(tmp_path):
    for assignment in ("attention", "Attention (24)"):
        rows, _, _ = filled(tmp_path, CANVAS, graded("jdoe"), assignment=assignment)
        assert rows["101"][6] == "17.50"


@pytest.mark.parametrize("text", ["", "\n\n", "a,b\n1,2\n", "Kennung,Name,Grade\n", "\0\1\2"])
def test_other_files_are_refused(text, tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"neither Canvas's gradebook|is empty"):
        read(path)


def test_through_the_format(tmp_path, capsys):
    export = tmp_path / "export.csv"
    export.write_text(CANVAS, encoding="utf-8")
    asked = Wanted((f"csv={tmp_path / 'x.csv'}",), gradebook=export, assignment="Attention")
    ((write, _),) = reports_for(asked, 2).writers
    run = Run("0", "0", 1, {"cpu": "run", "cuda": "absent"}, (graded("jdoe"), graded("\x1b[2J")))
    write(run, tmp_path / "grades.csv")
    assert ",8.00,17.50,80.00" in (tmp_path / "grades.csv").read_text(encoding="utf-8")
    assert capsys.readouterr().err == (
        "grades.csv: \\x1b[2J is not filled in: no student is called so\n"
        "grades.csv: 1 of 6 students filled in, out of 20\n"
        "grades.csv: handed in nothing: "
        'Müller, Jörg; O\'Brien, "Pat"; Lee, An (an1@uni.edu); Lee, An (an2@uni.edu)\n'
    )


@pytest.mark.parametrize("seed", range(40))
def test_sheets_are_read_as_the_csv_module_does(seed, tmp_path):
    dice = random.Random(seed)
    rows = [
        ["".join(dice.choices('ab ",;\n\r\t=é"', k=dice.randint(0, 6))) for _ in range(4)]
        for _ in range(6)
    ]
    rows[0] = ["a", "b", "c", "d"]
    text = io.StringIO()
    csv.writer(text, quoting=dice.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])).writerows(rows)
    path = tmp_path / "x.csv"
    path.write_bytes(text.getvalue().encode())
    found = sheet.read(path)
    assert [[cell.value for cell in row] for row in found.rows] == rows
    assert found.changed({}) == path.read_bytes()
    changed = found.changed({(3, 2): "9.50", (3, 1): "1"})
    want = [list(row) for row in rows]
    want[3][1:3] = ["1", "9.50"]
    assert list(csv.reader(io.StringIO(changed.decode(), newline=""))) == want


ABSENT = ["Müller, Jörg", 'O\'Brien, "Pat"', "Lee, An (an1@uni.edu)", "Lee, An (an2@uni.edu)"]
PAGES = {"class": "class.json", "html": "class.html", "json": "scores.json"}


@pytest.mark.parametrize("export", [CANVAS, MOODLE], ids=["Canvas", "Moodle"])
def test_the_class_page_names_who_is_absent(tmp_path, export):
    file = tmp_path / "export.csv"
    file.write_text(export.replace("Müller", "<b>Müller"), encoding="utf-8")
    asked = Wanted((), gradebook=file, assignment="Attention" if export == CANVAS else None)
    names_them = [f"{form}={tmp_path / file}" for form, file in PAGES.items()]
    told = reports_for(replace(asked, reports=names_them), 2)
    jane = "jdoe" if export == CANVAS else "Jane Doe_501_assignsubmission_file"
    run = Run("0", "0", 1, {"cpu": "run", "cuda": "absent"}, (graded(jane), graded("nobody")))
    run = told.with_absent(run)
    told.write(run)
    names = json.loads((tmp_path / "class.json").read_bytes())["absent"]
    everybody = [name.replace("Müller", "<b>Müller") for name in ABSENT]
    assert names == (everybody if export == CANVAS else ["Jörg <b>Müller", "Maria de la Cruz"])
    assert json.loads((tmp_path / "scores.json").read_bytes())["absent"] == names
    page = (tmp_path / "class.html").read_text(encoding="utf-8")
    assert f"<dt>handed in nothing</dt><dd>{len(names)}</dd>" in page
    listed = page[page.index('<h2 id="absent">') :]
    assert all(f"<bdi>{html.escape(name)}</bdi>" in listed.replace("&#34;", "&quot;")
               .replace("&#39;", "&#x27;") for name in names)  # fmt: skip


def test_without_a_gradebook_nobody_is_absent(tmp_path):
    run = Run("0", "0", 1, {"cpu": "run", "cuda": "absent"}, (graded("anna"), graded("berta")))
    formats.FORMATS["class"](run, tmp_path / "class.json")
    assert json.loads((tmp_path / "class.json").read_bytes())["absent"] is None
    formats.FORMATS["json"](run, tmp_path / "scores.json")
    assert "absent" not in json.loads((tmp_path / "scores.json").read_bytes())
    formats.FORMATS["html"](run, tmp_path / "class.html")
    assert "handed in nothing" not in (tmp_path / "class.html").read_text(encoding="utf-8").lower()


def test_a_gradebook_needs_a_report_that_it_tells_something(tmp_path):
    file = tmp_path / "export.csv"
    file.write_text(MOODLE, encoding="utf-8")
    alone = Wanted((f"junit={tmp_path / 'x.xml'}",), gradebook=file)
    with pytest.raises(ValueError, match="fills the csv report; html, class and json name"):
        reports_for(alone, 2)
    for form in ("csv", "html", "class", "json"):
        one = replace(alone, reports=(f"{form}={tmp_path / 'x'}",))
        assert reports_for(one, 2).writers


@pytest.mark.parametrize(
    ("table", "absent"),
    [
        ("name,email\nJane Doe,jdoe@uni.edu\nMüller Jörg,jm@uni.edu\n", ["Müller Jörg"]),
        ("Last Name;First Name;Login\nDoe;Jane;jd1\nMüller;Jörg;jm2\n", ["Müller, Jörg"]),
        ("Name,Section,Email\nJane Doe,A,jd1\nJörg Müller,B,jm2\n", ["Jörg Müller"]),
        ("email\njdoe@uni.edu\njm@uni.edu\n\n", ["jm@uni.edu"]),
        ("Nachname;Vorname;E-Mail\nDoe;Jane;jd\nMüller;Jörg;jm@x\n", ["Müller, Jörg"]),
        ("Name;Vorname;Matrikelnummer\nDoe;Jane;12\nMüller;Jörg;13\n", ["Müller, Jörg"]),
        ("Vollständiger Name;E-Mail-Adresse\nDoe Jane;a@x\nM J;m@x\n", ["M J"]),
        (CANVAS, ABSENT),
        (MOODLE, ["Jörg Müller", "Maria de la Cruz"]),
    ],
    ids=["names", "two columns", "sections", "emails", "German", "German, family names",
         "German Moodle", "Canvas", "Moodle"],
)  # fmt: skip
def test_any_table_says_who_is_in_the_course(tmp_path, table, absent):
    (tmp_path / "roster.csv").write_text(table, encoding="utf-8")
    told = reports_for(Wanted((), roster=tmp_path / "roster.csv"), 2)
    who = "Jane Doe" if "email\njdoe" not in table else "jdoe"
    run = Run("0", "0", 1, {"cpu": "run", "cuda": "absent"}, (graded(who), graded("nobody")))
    assert list(told.with_absent(run).absent or ()) == absent
    assert told.in_doubt(run) == [
        "nobody is matched with nobody of roster.csv: no student is called so"
    ]


def test_two_of_one_name_are_told_apart_and_who_is_in_doubt_is_said(tmp_path):
    table = "name,email\nJane Doe,a@x\nJane Doe,b@x\nVera Roe,v@x\n"
    (tmp_path / "roster.csv").write_text(table, encoding="utf-8")
    told = reports_for(Wanted((), roster=tmp_path / "roster.csv"), 2)
    run = Run("0", "0", 1, {"cpu": "run"}, (graded("jane_doe"), graded("Vera Roe")))
    assert told.with_absent(run).absent == ("Jane Doe (a@x)", "Jane Doe (b@x)")
    assert told.in_doubt(run) == [
        "jane_doe is matched with nobody of roster.csv: 2 students could be meant"
    ]


def test_two_of_one_name_are_not_absent_where_two_have_handed_in(tmp_path):
    (tmp_path / "roster.csv").write_text('name\n"Lee, An"\nAn Lee\nJane Doe\n', encoding="utf-8")
    told = reports_for(Wanted((), roster=tmp_path / "roster.csv"), 2)
    both = [graded(f"An Lee_{n}_assignsubmission_file") for n in (501, 502)]
    for some, absent in ((both, ("Jane Doe",)), (both[:1], ("Lee, An", "An Lee", "Jane Doe"))):
        run = Run("0", "0", 1, {"cpu": "run"}, tuple(some))
        assert told.with_absent(run).absent == absent


def test_who_is_in_another_part_is_not_absent(tmp_path):
    (tmp_path / "roster.csv").write_text("login\nanna\nbob\ncarl\n", encoding="utf-8")
    told = reports_for(Wanted((), roster=tmp_path / "roster.csv"), 1)
    run = Run("0", "0", 1, {"cpu": "run"}, (graded("anna"),))
    assert told.with_absent(run, ["carl"]).absent == ("bob",)


def test_a_table_that_says_nobody_is_refused(tmp_path):
    (tmp_path / "roster.csv").write_text("grade,room\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"its first row has to name columns.*not grade, room"):
        reports_for(Wanted((), roster=tmp_path / "roster.csv"), 2)
