"""`course.toml`: what is wrong with one is said, and what it makes of results."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
from fractions import Fraction
from pathlib import Path

import pytest

from grader.batch.by_course import course_for, scored
from grader.batch.handed_in import times_of_files
from grader.batch.submissions import Submission
from grader.chapters import catalogue
from grader.cli import main
from grader.course.rules import applied, unknown_students
from grader.course.settings import read
from grader.course.tables import CourseError
from grader.course.times import Times, from_table
from grader.reports import recipes
from grader.reports.visible import for_students
from grader.results import CheckResult, ExerciseResult, Run, SubmissionResult
from grader.whose import meant_by

FOUR_WEEKS = """
pass_mark = 50
follow_through = "half"
messages = "first sentences"

[[week]]
title = "scores"
chapters = ["ex01_scores", "ex02_scaling"]
weight = 20
deadline = 2026-10-05T23:59:00+02:00

[[week]]
chapters = "ex03_masking"
weight = 10
deadline = 2026-10-12T23:59:00+02:00

[[week]]
chapters = ["ex04_softmax", "ex05_mixing"]
weight = 30

[[week]]
chapters = ["ex06_heads", "ex07_model"]
weight = 40

[late]
per_day = 10
most = 50
grace_minutes = 15
days = 7

[extensions]
berta = 3
carl = { 2 = 1 }

[columns]
cpu = "Score"
"""


@pytest.fixture
def rules(tmp_path):
    def write(text, *single):
        file = tmp_path / "course.toml"
        file.write_text(text, encoding="utf-8")
        return read(file, catalogue().names(), single)

    return write


def made(core, polish, because=0):
    """An exercise of so many core and polish checks that pass, and core ones that wait."""
    checks = [CheckResult(f"core {n}", "cpu", "passed", core=True) for n in range(core)]
    checks += [CheckResult(f"polish {n}", "cpu", "passed") for n in range(polish)]
    checks += [
        CheckResult(f"waits {n}", "cpu", "failed", core=True, message="One.\n\nTwo.",
                    because=("ex01_scores.dot_product",), follows=True)
        for n in range(because)
    ]  # fmt: skip
    return checks


def run_of(**students):
    """A run in which each student's exercises hold the checks that `students` gives for them."""
    submissions = []
    for name, waiting in students.items():
        exercises = []
        for one in catalogue().exercises():
            checks = made(3, 1, 2 if one.full in waiting else 0)
            exercises.append(
                ExerciseResult(one.full, one.points, len(checks), tuple(checks), track=one.track)
            )
        submissions.append(SubmissionResult(name, exercises=tuple(exercises), devices=("cpu",)))
    return Run("1", "2", 3, {"cpu": "run", "cuda": "not asked"}, tuple(submissions))


def handed_in(**days):
    """Times: so many days after the first deadline, for every chapter."""
    first = dt.datetime.fromisoformat("2026-10-05T23:59:00+02:00")
    return Times({name: {"": first + dt.timedelta(days=d)} for name, d in days.items()})


def scores(course, run, times):
    return {one.identity: one.score("cpu") for one in applied(course, run, times).submissions}


def test_weights_make_the_points(rules):
    course = rules(FOUR_WEEKS)
    run = applied(course, run_of(anna=()), Times({}))
    [anna] = run.submissions
    assert anna.maximum == anna.score("cpu") == 100
    by_stem = {}
    for exercise in anna.exercises:
        stem = exercise.exercise[:4]
        by_stem[stem] = by_stem.get(stem, 0) + exercise.points
    assert by_stem["ex01"] + by_stem["ex02"] == 20
    assert by_stem["ex03"] == 10
    assert by_stem["ex06"] + by_stem["ex07"] == 40
    assert all(e.points * 100 == int(e.points * 100) for e in anna.exercises)


def test_what_no_week_names_does_not_count(rules):
    course = rules('[[week]]\nchapters = ["ex04_softmax"]\nweight = 10')
    [anna] = applied(course, run_of(anna=()), Times({})).submissions
    assert {one.stem for one in anna.exercises} == {"ex04_softmax"}
    assert anna.maximum == anna.score("cpu") == 10


def test_each_day_that_has_begun_costs_up_to_a_limit(rules):
    course = rules(FOUR_WEEKS)
    names = {"intime": -1, "grace": 10 / 1440, "one": 0.5, "two": 1.5, "six": 5.5, "eight": 7.5}
    # a week after the first deadline is the second one's
    lost = {"intime": 0, "grace": 0, "one": 2, "two": 4, "six": 10, "eight": 20 + 1}
    found = scores(course, run_of(**dict.fromkeys(names, ())), handed_in(**names))
    # each function's points are in hundredths, so that they add up to what a report prints
    assert found == pytest.approx({n: 100 - points for n, points in lost.items()}, abs=0.05)


def test_extensions_are_for_every_week_or_for_one(rules):
    course = rules(FOUR_WEEKS)
    days = {"anna": 8, "berta": 2.9, "carl": 8}
    found = scores(course, run_of(anna=(), berta=(), carl=()), handed_in(**days))
    assert found == pytest.approx({"anna": 79, "berta": 100, "carl": 80}, abs=0.05)
    assert unknown_students(course, run_of(anna=(), carl=())) == ["berta"]


def test_a_deadline_that_means_none_can_be_extended(rules):
    week = '[[week]]\nchapters = "ex01_scores"\nweight = 10\ndeadline = 9999-12-31T23:59:59Z\n'
    course = rules(f"{week}[extensions]\nanna = 5\n")
    assert scores(course, run_of(anna=()), handed_in(anna=8)) == {"anna": 10}


def test_being_late_is_said(rules):
    run = applied(rules(FOUR_WEEKS), run_of(anna=()), handed_in(anna=1.5))
    assert run.submissions[0].notes == ("scores: 2 days late, 20 % less",)


@pytest.mark.parametrize(("credit", "lost"), [("none", 4), ("half", 2), ("full", 0)])
def test_follow_through(rules, credit, lost):
    course = rules(f'follow_through = "{credit}"')
    assert catalogue().exercise("ex04_softmax.softmax").points == 8
    run = run_of(anna=("ex02_scaling.scaled_scores", "ex03_masking.decoder_mask"))
    worth = sum(catalogue().exercise(n).points
                for n in ("ex02_scaling.scaled_scores", "ex03_masking.decoder_mask"))  # fmt: skip
    assert scores(course, run, Times({}))["anna"] == 100 - Fraction(worth * lost, 4)


def test_the_follow_through_score_is_as_late_as_the_score(rules):
    run, times = run_of(anna=("ex02_scaling.scaled_scores",)), handed_in(anna=4.5)

    def told(credit):
        course = rules(FOUR_WEEKS, f"follow_through={credit}")
        [anna] = applied(course, run, times).submissions
        return anna.score("cpu"), anna.follow_through("cpu")

    found = {credit: told(credit) for credit in ("none", "half", "full")}
    full, through = found["full"]
    assert full == through == pytest.approx(90, abs=0.05)
    assert {through for _, through in found.values()} == {full}
    assert found["none"][0] < found["half"][0] < full


def test_students_see_what_the_course_shows(rules):
    run = run_of(anna=("ex04_softmax.softmax",))

    def told(messages):
        seen = for_students(applied(rules(f'messages = "{messages}"'), run, Times({})))
        return {c.message for e in seen.submissions[0].exercises for c in e.checks}

    assert told("all") == {"", "One.\n\nTwo."}
    assert told("first sentences") == {"", "One."}
    assert told("none") == {""}


def test_the_pass_mark_is_of_the_maximum(rules):
    run = run_of(anna=())
    assert applied(rules("pass_mark = 100"), run, Times({})).is_enough(run.submissions[0])
    assert run.is_enough(run.submissions[0]) is None
    nothing = SubmissionResult("berta", problem="lost")
    assert applied(rules("pass_mark = 50"), run, Times({})).is_enough(nothing) is False


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pass_mark = [", "is no TOML file"),
        ("pas_mark = 50", "there is no key `pas_mark`: did you mean `pass_mark`?"),
        ("pass_mark = 101", "`pass_mark` is a number from 0 to 100, not 101"),
        ("pass_mark = true", "`pass_mark` is a number from 0 to 100, not True"),
        ("pass_mark = nan", "`pass_mark` is a number from 0 to 100, not nan"),
        ('follow_through = "some"', '`follow_through` is one of "none", "half", "full"'),
        ("[[week]]\nweight = 3", "[[week]] 1: `chapters` is names, as in"),
        ('[[week]]\nchapters = "ex44"', "[[week]] 1: chapters: "),
        ("[[week]]\nchapters = []", "[[week]] 1: `chapters` is names, as in"),
        ('[[week]]\nchapters = ""', "[[week]] 1: `chapters` is names, as in"),
        ('[[week]]\nchapters = ["ex01", " , "]', "[[week]] 1: `chapters` is names, as in"),
        ('[[week]]\nchapters = "ex01_scores"\n[[week]]\nchapters = "dot_product"',
         "[[week]] 2: ex01_scores.dot_product counts already in week 1"),
        ('[[week]]\nchapters = "ex01_scores"\ndeadline = 2026-10-05', "`deadline` is a date with"),
        ('[[week]]\nchapters = "ex01_scores"\ndeadline = 2026-10-05T10:00:00',
         "its distance from UTC, as in 2026-10-05T23:59:00+02:00, not 2026-10-05T10:00:00"),
        ('[[week]]\nchapters = "ex01_scores"\npoints = 3', "[[week]] 1: there is no key `points`"),
        ("[late]\nper_day = 10", "it has rules for what is late, and no deadline"),
        ("week = 3", "`week` is tables, each with [[week]] above it, not 3"),
        ("[extensions]\nanna = { first = 2 }", "`anna` is a number of days, or a table by week"),
        ('[[week]]\nchapters = "ex01_scores"\ndeadline = 2026-10-05T10:00:00Z\n'
         "[extensions]\nanna = { 2 = 1 }", "[extensions] anna: there is no week 2, the last one"),
        ('[[week]]\nchapters = "ex01_scores"\ndeadline = 2026-10-05T10:00:00Z\n'
         "[extensions]\nanna = 1e30", "`anna` is a number from 0 to 3650"),
        ("[late]\ngrace_minutes = 1e30", "`grace_minutes` is a number from 0 to"),
        ("[columns]\ncpu = 3", "[columns]: `cpu` is a text in quotes, not 3"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_a_sentence(rules, text, says):
    with pytest.raises(CourseError) as problem:
        rules(text)
    assert str(problem.value).startswith(("course.toml", "/"))
    assert says in str(problem.value)


def test_single_rules_count_over_those_of_the_file(rules):
    course = rules(
        FOUR_WEEKS, "pass_mark=60", "follow_through = full", "late.per_day=5", "week.2.weight=15",
        "week.3.deadline=2026-10-19T23:59:00+02:00", "extensions.carl=2",
        'columns.cpu="Points, CPU"',
    )  # fmt: skip
    assert (course.pass_mark, course.follow_through) == (60, 1)
    assert (course.late.per_day, course.late.most) == (5, 50)
    assert [week.weight for week in course.weeks] == [20, 15, 30, 40]
    assert course.weeks[2].deadline == dt.datetime.fromisoformat("2026-10-19T23:59:00+02:00")
    assert course.extensions == {
        "berta": {0: dt.timedelta(days=3)}, "carl": {0: dt.timedelta(days=2)}
    }  # fmt: skip
    assert course.columns == {"cpu": "Points, CPU"}


def test_single_rules_need_no_file():
    single = ['week=[{chapters="ex01_scores", weight=10}]', "messages=none"]
    course = read(None, catalogue().names(), single)
    assert course.exercises == tuple(one.full for one in catalogue().select("ex01_scores"))
    assert course.messages == "none"


@pytest.mark.parametrize(
    ("single", "says"),
    [
        ("pass_mark", "`pass_mark` is no rule: say KEY=VALUE"),
        ("= 3", "`= 3` is no rule"),
        ("pass_mark=many", "`pass_mark` is a number from 0 to 100, not 'many'"),
        ("passmark=3", "there is no key `passmark`: did you mean `pass_mark`?"),
        ("week.5.weight=3", "`week.5.weight=3`: there are 4, from 1, and no `5`"),
        ("week.0.weight=3", "and no `0`"),
        ("pass_mark=3\nmessages='none'", "is no rule"),
    ],
)
def test_what_is_wrong_with_a_single_rule_is_a_sentence(rules, single, says):
    with pytest.raises(CourseError) as problem:
        rules(FOUR_WEEKS, single)
    assert says in str(problem.value)


def test_the_recipe_is_a_course(tmp_path):
    text = (Path(recipes.__file__).parent / "course.md").read_text(encoding="utf-8")
    file = tmp_path / "course.toml"
    file.write_text(text.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    (tmp_path / "times.csv").write_text("id,time\njane_doe,2026-10-05T20:00:00Z\n")
    course = course_for(file, (), (), catalogue())
    assert course is not None
    core = [one.full for one in catalogue().exercises() if one.track == "core"]
    assert list(course.exercises) == core
    assert sum(week.weight for week in course.weeks) == 100
    assert course.extensions["jane_doe"] == {0: dt.timedelta(days=3)}
    assert course.extensions["obrienvera_12960"] == {2: dt.timedelta(days=7)}


def test_a_class_is_scored_by_the_course_beside_it(submission, solution, tmp_path, capsys):
    wrong = solution("ex03_masking").replace("return position <= pos", "return position < pos")
    folder = submission("class/anna", ex03_masking=wrong).parent
    submission("class/berta")
    for file in folder.rglob("ex*.py"):
        os.utime(file, (1e9, 1e9))  # in 2001
    rules = 'follow_through = "full"\n[[week]]\nchapters = "ex03"\nweight = 28\n'
    late = "deadline = 2001-09-08T00:00:00Z\n[late]\nper_day = 25\n"
    report = tmp_path / "report.json"

    def graded():
        assert main(["grade", str(folder), "--device", "cpu", "--seed", "3", "--report",
                     f"json={report}", "--results", str(tmp_path / "r.db")]) == 0  # fmt: skip
        found = json.loads(report.read_bytes())["submissions"]
        return {one["id"]: one["score"]["cpu"] for one in found}, capsys.readouterr()

    (folder / "course.toml").write_text(rules)
    found, said = graded()
    # causal_mask has 3 of the chapter's 14 points, and decoder_mask waits for it alone
    assert found == {"anna": 22.0, "berta": 28.0}
    assert "by the rules of" in said.err
    lines = [line.partition("/2 ")[2] for line in said.err.splitlines() if "/2 " in line]
    assert sorted(lines) == ["anna: graded", "berta: graded"], "points that are none of the course"
    (folder / "course.toml").write_text(rules + late)
    found, said = graded()
    assert found == {"anna": 11.0, "berta": 14.0}
    assert "2 before, and unchanged" in said.out
    assert "berta: week 1: 2 days late, 50 % less" in said.out


WEEKS_OF_30 = """
pass_mark = 0
[[week]]
chapters = "ex01_scores"
weight = 10
[[week]]
chapters = ["ex02_scaling", "ex03_masking"]
weight = 20
"""


@pytest.mark.parametrize(
    ("course", "options", "out_of"),
    [
        (WEEKS_OF_30, (), 30),
        (WEEKS_OF_30, ("--only", "ex01"), 10),
        (WEEKS_OF_30.replace("weight = 20", ""), ("--only", "ex02"), 8),
        (WEEKS_OF_30.replace("weight = 20", "").replace('"]', '", "ex03", "ex02..ex03"]'), (), 32),
        ("", ("--only", "dot_product"), 1),
        ("", (), 100),
    ],
)
def test_what_cannot_be_graded_is_out_of_what_the_course_is(tmp_path, course, options, out_of):
    for name in ("anna", "berta"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "essay.docx").write_bytes(b"x")
    file, kept = tmp_path / "report.json", tmp_path / "kept.db"
    report = ("--report", f"json={file}")
    if course:
        (tmp_path / "class" / "course.toml").write_text(course, encoding="utf-8")
        report += ("--course", str(tmp_path / "class" / "course.toml"))
    graded = ["grade", str(tmp_path / "class"), *options, *report, "--results", str(kept)]
    for command in (graded, ["merge", str(kept), *report]):
        file.unlink(missing_ok=True)
        assert main(command) == 1
        found = json.loads(file.read_bytes())["submissions"]
        assert [one["max"] for one in found] == [out_of] * 2
        assert [one.get("passed") for one in found] == [False if course else None] * 2


def test_a_students_own_rules_are_none(submission, tmp_path):
    folder = submission("anna")
    (folder / "course.toml").write_text("follow_through = 7")
    assert main(["grade", str(folder), "--device", "cpu", "--only", "dot_product"]) == 0


def test_times_from_a_table(tmp_path):
    file = tmp_path / "times.csv"
    file.write_text(
        "id,time,chapter\nanna,2026-10-05T20:00:00Z,ex01_scores\n"
        "anna,2026-10-06T20:00:00+02:00,ex02_scaling\nberta,2026-10-01T00:00:00+00:00,\n"
    )
    times = from_table(file, [*catalogue().names()])
    both = ["ex01_scores.dot_product", "ex02_scaling.scaled_scores"]
    assert times.of("anna", both[:1]) == dt.datetime(2026, 10, 5, 20, tzinfo=dt.timezone.utc)
    assert times.of("anna", both) == dt.datetime(2026, 10, 6, 18, tzinfo=dt.timezone.utc)
    assert times.of("berta", both) == dt.datetime(2026, 10, 1, tzinfo=dt.timezone.utc)
    assert times.of("carl", both) is None
    for text, says in [("id\nanna\n", "no column `time`"), ("id,time\nanna,x\n", "line 2: `x`")]:
        file.write_text(text)
        with pytest.raises(CourseError, match=says):
            from_table(file, [*catalogue().names()])


def last_changed(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    os.utime(path, (1e9, 1e9))


@pytest.mark.parametrize(
    ("file", "stem"),
    [
        ("ex01_scores.py", "ex01_scores"),
        ("ex01 (1).py", "ex01_scores"),
        ("ex01_scores.py.txt", "ex01_scores"),
        ("Ex01_Scores.ipynb", "ex01_scores"),
        ("exercises/ex01_scores.py", "ex01_scores"),
        ("below/homework/ex01_scores.py", "ex01_scores"),
        ("homework.zip", ""),
    ],
)
def test_whatever_a_file_is_called_it_has_its_time(tmp_path, file, stem):
    last_changed(tmp_path / file)
    (tmp_path / "notes.md").write_text("of today")
    times = times_of_files([Submission("anna", tmp_path)])
    first = dt.datetime.fromtimestamp(1e9, dt.timezone.utc)
    assert times.of("anna", ["ex01_scores.dot_product"]) == first
    assert (times.of("anna", ["ex02_scaling.scale_scores"]) is not None) == (stem == "")


def test_a_copy_below_the_folder_that_is_read_makes_nobody_late(tmp_path):
    file = tmp_path / "ex01_scores.py"
    last_changed(file)
    os.utime(file, (1e9, 1e9))
    for copy in ("backup/ex01_scores.py", "exercises/kept/ex01_scores.1.py", "old/Ex01_Scores.py"):
        last_changed(tmp_path / copy)
        os.utime(tmp_path / copy, (2e9, 2e9))
    submission = Submission("anna", tmp_path)
    assert submission.files() == {"ex01_scores.py": file.read_bytes()}
    moment = times_of_files([submission]).of(submission.identity, ["ex01_scores.dot_product"])
    assert moment == dt.datetime.fromtimestamp(1e9, dt.timezone.utc)


def test_what_is_not_there_has_no_time(tmp_path):
    (tmp_path / "anna.zip").symlink_to(tmp_path / "nowhere")
    times = times_of_files([Submission("anna", tmp_path / "anna.zip", "a link")])
    assert times.of("anna", ["ex01_scores.dot_product"]) is None


def test_a_time_that_nobody_knows_is_said(rules):
    run = run_of(anna=(), berta=())
    anna, berta = applied(rules(FOUR_WEEKS), run, handed_in(berta=-1)).submissions
    assert "scores: nothing says when it was handed in: taken as in time" in anna.notes
    assert not any("nothing says" in note for note in berta.notes)


PLATFORM = {
    "nguyenan_1004_5004_homework": ["nguyenan", "nguyenan_1004", "nguyenan_1004_5004_homework"],
    "doe_LATE_1005_5005_hw": ["doe", "doe_1005"],
    "obrienvera_12960": ["obrienvera", "obrienvera_12960"],
    "Ann Smith_3001_assignsubmission_file_": ["Ann Smith", "Ann Smith_3001"],
}


@pytest.mark.parametrize("identity", PLATFORM)
def test_a_student_is_found_by_what_stands_before_a_platforms_numbers(rules, identity):
    for key in PLATFORM[identity]:
        run = run_of(**{identity: (), "other": ()})
        course = rules(FOUR_WEEKS, f'extensions."{key}"=9')
        assert key not in unknown_students(course, run)
        points = scores(course, run, handed_in(**{key: 8, "other": 8}))
        assert points[identity] == 100
        assert points["other"] < 100


def test_no_one_of_two_students_is_taken():
    two = ["Participant_3001_assignsubmission_file_", "Participant_3002_assignsubmission_file_"]
    assert meant_by(["Participant"], two) == {}
    assert meant_by(["Participant_3002"], two) == {two[1]: "Participant_3002"}
    assert meant_by(["Zoe\u0308"], ["Zo\u00eb"]) == {"Zo\u00eb": "Zoe\u0308"}
    assert meant_by(["doe", "doe_1_2_hw"], ["doe_1_2_hw"]) == {"doe_1_2_hw": "doe_1_2_hw"}


def test_both_uploads_of_one_student_are_meant():
    uploads = ["doe_12_67_homework", "doe_12_68_homework-1"]
    assert meant_by(["doe_12"], uploads) == dict.fromkeys(uploads, "doe_12")
    assert meant_by(["doe"], [*uploads, "doe_13_69_homework"]) == {}


def test_what_windows_writes_in_front_of_a_file_is_no_rule(tmp_path):
    file = tmp_path / "course.toml"
    file.write_text("pass_mark = 60\n", encoding="utf-8-sig")
    assert read(file, catalogue().names()).pass_mark == 60


@pytest.mark.parametrize("chapter", ["ex01", "1", "ex01_scores.py", " EX1 ", "ex01..ex02"])
def test_a_table_of_times_calls_chapters_as_people_do(tmp_path, chapter):
    file = tmp_path / "times.csv"
    rows = f"ID ; Time;Chapter\n J\u00fcrgen ; 2026-10-14T00:00:00+02:00 ;{chapter}\n"
    file.write_bytes(rows.encode("cp1252"))
    times = from_table(file, [*catalogue().names()])
    moment = dt.datetime.fromisoformat("2026-10-14T00:00:00+02:00")
    assert times.of("J\u00fcrgen", ["ex01_scores.dot_product"]) == moment
    later = times.of("J\u00fcrgen", ["ex02_scaling.scale_scores"])
    assert later == (moment if ".." in chapter else None)


def test_what_is_no_chapter_in_a_table_of_times_is_said_with_its_line(tmp_path):
    file = tmp_path / "times.csv"
    for chapter in ("ex77", "dot_product"):
        file.write_text(
            "id,time,chapter\n\nanna,2026-10-05T20:00:00Z,ex01\n"
            f"berta,2026-10-05T20:00:00Z,{chapter}\n"
        )
        with pytest.raises(CourseError, match=f"line 4: no chapter is called `{chapter}`"):
            from_table(file, [*catalogue().names()])


@pytest.mark.parametrize("latest_last", [True, False])
def test_of_several_attempts_the_latest_counts_and_it_is_said(tmp_path, rules, capsys, latest_last):
    rows = ["anna,2026-10-01T00:00:00Z", "anna,2026-10-07T00:00:00Z"][:: 1 if latest_last else -1]
    twice = ["berta,2026-10-01T00:00:00Z"] * 2
    (tmp_path / "times.csv").write_text("\n".join(["id,time", *rows, *twice, ""]))
    course = rules('handed_in = "times.csv"\n' + FOUR_WEEKS)
    anna, berta = scored(course, run_of(anna=(), berta=()), []).submissions
    assert anna.notes == ("scores: 2 days late, 20 % less",)
    assert berta.notes == ()
    said = capsys.readouterr().err.splitlines()
    assert "grader: times.csv has several times of one chapter, the latest counts: anna" in said


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_of_times_of_any_spreadsheet(tmp_path, separator):
    file = tmp_path / "times.csv"
    rows = [["id", "time"], ["anna", "2026-10-05T20:00:00Z"]]
    file.write_text("".join(separator.join(row) + "\r\n" for row in rows), "utf-8-sig")
    assert from_table(file, [*catalogue().names()]).students == ("anna",)


def test_a_table_of_times_is_held_against_who_is_there(submission, tmp_path, capsys):
    folder = submission("class/anna").parent
    submission("class/berta")
    (folder / "times.csv").write_text("id,time\nanna,2026-10-05T20:00:00Z\ncarl,x\n")
    rules = 'handed_in = "times.csv"\n[[week]]\nchapters = "ex01_scores"\n'
    (folder / "course.toml").write_text(f"{rules}deadline = 2026-10-05T23:59:00Z\n")
    asks = ["grade", str(folder), "--device", "cpu", "--only", "dot_product"]
    assert main(asks) == 2
    said = capsys.readouterr().err
    assert "times.csv, line 3: `x` is no time" in said
    assert "berta" not in said, "graded before the table was read"
    (folder / "times.csv").write_text(
        "id,time\nanna,2026-10-05T20:00:00Z\ncarl,2026-10-05T20:00:00Z\n"
    )
    (folder / "notes.txt").write_text("of nobody")
    assert main(asks) == 0
    out, said = capsys.readouterr()
    assert "passed over: notes.txt" in out.splitlines(), "the table that the rules name is read"
    assert "passed over notes.txt in class" in said
    assert "`carl` stands in times.csv, and no submission is called so" in said
    assert "`berta` does not stand in times.csv: taken as in time" in said


def test_a_column_that_is_not_there_is_said(submission, tmp_path, capsys):
    folder = submission("class/anna").parent
    asks = ["grade", str(folder), "--device", "cpu", "--only", "dot_product"]
    rules = ('columns."cpu"="Points"', 'columns."CPU score"="x"', 'columns."unusd"="rest"')
    assert main([*asks, *(f"--rule={rule}" for rule in rules)]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "[columns]" in line]
    assert said == [
        "grader: [columns] `CPU score`: the csv report has no such column",
        "grader: [columns] `unusd`: the csv report has no such column: did you mean `unused`?",
    ]


def test_two_columns_of_one_name_are_said(rules, capsys):
    course = rules('[columns]\ncpu = "Score"\nmax = "Score"\nseed = "id"\nunused = "files"')
    scored(course, run_of(anna=()), [])
    assert capsys.readouterr().err.splitlines() == [
        "grader: [columns] `id` and `seed` would be called `id`: give each its own name",
        "grader: [columns] `cpu` and `max` would be called `Score`: give each its own name",
    ]


def test_a_merge_says_by_which_rules_scores_were(submission, tmp_path, capsys):
    folder = submission("class/anna").parent
    submission("class/berta")
    (folder / "course.toml").write_text(WEEKS_OF_30)
    kept = tmp_path / "kept.db"
    assert main(["grade", str(folder), "--device", "cpu", "--results", str(kept)]) == 0
    capsys.readouterr()
    says = "grader: scores are the kit's own: say --course FILE to score by course.toml again"
    assert main(["merge", str(kept)]) == 0
    assert says in capsys.readouterr().err.splitlines()
    assert main(["merge", str(kept), "--course", str(folder / "course.toml")]) == 0
    assert says not in capsys.readouterr().err.splitlines()


def test_rules_that_a_student_hands_in_count_for_nobody(submission, tmp_path, capsys):
    anna, berta = submission("anna/answers").parent, submission("berta")
    file, report = anna / "course.toml", tmp_path / "report.json"
    file.write_text('[[week]]\nchapters = "dot_product"\nweight = 100\n')
    asks = ["--device", "cpu", "--only", "dot_product", "--report", f"json={report}"]
    for paths in ([anna], [anna, berta]):
        assert main(["grade", *map(str, paths), *asks]) == 0
        assert f"{file} does not count: say --course, if it is yours" in capsys.readouterr().err
        assert json.loads(report.read_text())["submissions"][0]["max"] == 1


def test_brackets_that_lie_too_deep_are_a_sentence(rules):
    with pytest.raises(CourseError, match="its brackets lie too deep"):
        rules("a = " + "[" * 5000)


def test_what_lies_beyond_and_was_not_begun_counts_where_a_week_asks_for_it(rules):
    run = run_of(anna=(), berta=())
    anna, berta = run.submissions
    begun = tuple(one for one in berta.exercises if one.track == "core")
    run = dataclasses.replace(run, submissions=(anna, dataclasses.replace(berta, exercises=begun)))
    course = rules('[[week]]\nchapters = "ex01"\nweight = 50\n'
                   '[[week]]\nchapters = "ex08"\nweight = 50\n')  # fmt: skip
    anna, berta = scored(course, run, list(catalogue().exercises())).submissions
    assert (anna.final, berta.final) == (100, 50)
    assert anna.maximum == berta.maximum == 100
