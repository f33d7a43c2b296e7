"""A student who has handed in more than once: what counts, and what is said."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from grader.batch.duplicates import several, sorted_out
from grader.batch.submissions import find
from grader.cli import main


def spoilt(text, name):
    return text.replace(f"def {name}(", f"def {name}(*_, **__):\n    return 7\n\n\ndef _own(", 1)


@pytest.fixture
def twice(submission, solution, tmp_path):
    """A class in which anna has handed in a wrong archive, and later on a right folder."""
    text = solution("ex01_scores")
    wrong = spoilt(text, "dot_product")
    folder = submission("class/anna", ex01_scores=text).parent
    made = submission("elsewhere", ex01_scores=wrong)
    archive = shutil.make_archive(str(folder / "anna (1)"), "zip", made)
    submission("class/berta", ex01_scores=text)
    os.utime(archive, (1e9, 1e9))
    return folder


def graded(folder, tmp_path, *options):
    file = tmp_path / "report.json"
    status = main(["grade", str(folder), "--device", "cpu", "--seed", "3", "--only", "dot_product",
                   *options, "--report", f"json={file}"])  # fmt: skip
    found = json.loads(file.read_bytes())["submissions"]
    return status, {one["id"]: (one["score"]["cpu"], one["problem"], one["notes"]) for one in found}


def test_each_is_graded_and_it_is_said(twice, tmp_path, capsys):
    status, found = graded(twice, tmp_path)
    assert status == 0
    assert {name: score for name, (score, _, _) in found.items()} == {
        "anna": 1, "anna (1)": 0, "berta": 1
    }  # fmt: skip
    assert "anna, anna (1).zip look like one student's" in capsys.readouterr().err


def test_the_latest_counts(twice, tmp_path):
    told = ["anna counts, the latest of anna, anna (1).zip"]
    assert graded(twice, tmp_path, "--duplicates", "latest") == (
        0, {"anna": (1, None, told), "berta": (1, None, [])}
    )  # fmt: skip
    for file in (twice / "anna").iterdir():
        os.utime(file, (1e8, 1e8))
    _, found = graded(twice, tmp_path, "--duplicates", "latest")
    # by the name that she has in a roster, whichever copy counts
    assert set(found) == {"anna", "berta"}
    assert found["anna"][0] == 0


def test_canvas_says_which_is_the_latest(submission, solution, tmp_path):
    """The times of files change as they are copied."""
    folder = submission("class/berta", ex01_scores=solution("ex01_scores")).parent
    right = solution("ex01_scores")
    for number, text in (("67890", spoilt(right, "dot_product")), ("67899", right)):
        made = submission(number, ex01_scores=text)
        shutil.make_archive(str(folder / f"doejane_12345_{number}_homework"), "zip", made)
    for file in folder.glob("*67890*"):
        os.utime(file, (2e9, 2e9))
    _, found = graded(folder, tmp_path, "--duplicates", "latest")
    assert [score for score, _, _ in found.values()] == [1, 1]


def test_the_best_counts(twice, tmp_path):
    for file in (twice / "anna").iterdir():
        os.utime(file, (1e8, 1e8))
    told = ["anna counts, the best of anna, anna (1).zip"]
    assert graded(twice, tmp_path, "--duplicates", "best") == (
        0, {"anna": (1, None, told), "berta": (1, None, [])}
    )  # fmt: skip


@pytest.mark.parametrize(("weights", "best"), [((9, 1), "anna (1).zip"), ((1, 9), "anna")])
def test_the_best_is_the_one_by_the_courses_rules(submission, solution, tmp_path, weights, best):
    first, second = solution("ex01_scores"), solution("ex02_scaling")
    folder = submission("class/anna", ex01_scores=spoilt(first, "dot_product")).parent
    made = submission("elsewhere", ex02_scaling=spoilt(second, "scale_scores"))
    shutil.make_archive(str(folder / "anna (1)"), "zip", made)
    names = ("dot_product", "scale_scores")
    (folder / "course.toml").write_text(
        "".join(
            f'[[week]]\nchapters = "{name}"\nweight = {weight}\n'
            for name, weight in zip(names, weights, strict=True)
        )
    )
    file = tmp_path / "report.json"
    asks = ["grade", str(folder), "--device", "cpu", "--seed", "3", "--duplicates", "best"]
    assert main([*asks, "--report", f"json={file}"]) == 0
    [anna] = json.loads(file.read_bytes())["submissions"]
    assert anna["score"]["cpu"] == 9
    assert best not in anna["unused"]


def test_the_best_is_not_merged(twice, tmp_path, capsys):
    kept = tmp_path / "kept.db"
    graded(twice, tmp_path, "--duplicates", "best", "--results", str(kept))
    assert main(["merge", str(kept)]) == 2
    assert "graded with --duplicates best" in capsys.readouterr().err


def test_the_best_is_as_late_as_it_was_handed_in(submission, solution, tmp_path):
    text = solution("ex01_scores")
    folder = submission("class/anna", ex01_scores=spoilt(text, "dot_product")).parent
    made = submission("elsewhere", ex01_scores=text)
    archive = shutil.make_archive(str(folder / "anna (1)"), "zip", made)
    submission("class/berta", ex01_scores=text)
    for file in (*(folder / "anna").iterdir(), *(folder / "berta").iterdir()):
        os.utime(file, (1e9, 1e9))
    os.utime(archive, (1e9 + 4 * 86_400,) * 2)
    (folder / "course.toml").write_text(
        '[[week]]\nchapters = "dot_product"\ndeadline = 2001-09-09T02:00:00Z\n'
        "[late]\nper_day = 10\n"
    )
    _, found = graded(folder, tmp_path, "--duplicates", "best")
    assert {name: score for name, (score, *_) in found.items()} == {"anna": 0.6, "berta": 1}


def test_neither_counts_if_that_is_refused(twice, tmp_path):
    status, found = graded(twice, tmp_path, "--duplicates", "refuse")
    assert status == 1
    says = "handed in 2 times, as anna, anna (1).zip: leave one"
    assert {name: problem for name, (_, problem, _) in found.items()} == {
        "anna": says, "anna (1)": says, "berta": None
    }  # fmt: skip


FIRST, SECOND = "overa_12_600_ex01_scores.py", "overa_12_601_ex01_scores-1.py"


@pytest.fixture
def uploads(solution, tmp_path):
    """A class of loose files, in which vera has put something wrong in the place of the right."""
    text = solution("ex01_scores")
    folder = tmp_path / "uploads"
    folder.mkdir()
    (folder / FIRST).write_text(text)
    (folder / SECOND).write_text("def dot_product(*_):\n    return 7\n")
    (folder / "litim_77_602_ex01_scores.py").write_text(text)
    return folder


def of_vera(folder, tmp_path, *options):
    """Return the status, vera's score and problem, and all that is told of her."""
    file = tmp_path / "report.json"
    status = main(["grade", str(folder), "--device", "cpu", "--seed", "3", "--only", "dot_product",
                   *options, "--report", f"json={file}"])  # fmt: skip
    found = {one["id"]: one for one in json.loads(file.read_bytes())["submissions"]}
    assert set(found) == {"overa_12", "litim_77"}
    vera = found["overa_12"]
    return status, vera["score"]["cpu"], vera["problem"], vera["notes"], vera["unused"]


@pytest.mark.parametrize("options", [(), ("--duplicates", "latest")])
def test_of_loose_files_the_latest_counts(uploads, tmp_path, options):
    notes = [f"{SECOND} counts as ex01_scores.py, not {FIRST}, handed in before"]
    assert of_vera(uploads, tmp_path, *options) == (0, 0, None, notes, [FIRST])


def test_of_loose_files_the_best_counts(uploads, tmp_path):
    notes = [f"the best of 2 versions counts: {FIRST}"]
    found = of_vera(uploads, tmp_path, "--duplicates", "best")
    assert found == (0, 1, None, notes, [SECOND])


def test_loose_files_are_refused(uploads, tmp_path):
    says = f"handed in more than once, as {FIRST}, {SECOND}: leave one of each"
    found = of_vera(uploads, tmp_path, "--duplicates", "refuse")
    assert found == (1, 0, says, [], [SECOND, FIRST])


def test_the_latest_of_what_people_renamed_is_told_by_the_clock(tmp_path):
    files = [("ex01_scores_jane.py", "x = 1\n", 2e8), ("ex01_jane.py", "x = 2\n", 1e8),
             ("ex01_bob.py", "x = 3\n", 1e8)]  # fmt: skip
    for name, text, at in files:
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (at, at))
    bob, jane = sorted_out(find([tmp_path]), "latest")
    assert (bob.identity, bob.files()) == ("bob", {"ex01_scores.py": b"x = 3\n"})
    assert (jane.identity, jane.files()) == ("jane", {"ex01_scores.py": b"x = 1\n"})


def test_the_latest_is_told_by_what_counts_and_not_by_the_folder(tmp_path):
    for folder, name, at in [("jane", "ex01_scores_jane.py", 2e8), ("jane (1)", "EX01.py", 1e8)]:
        (tmp_path / folder / "exercises").mkdir(parents=True)
        file = tmp_path / folder / "exercises" / name
        file.write_text("x = 1\n")
        os.utime(file, (at, at))
    os.utime(tmp_path / "jane" / "exercises", (1e8, 1e8))
    os.utime(tmp_path / "jane", (1e8, 1e8))
    (one,) = sorted_out(find([tmp_path]), "latest")
    assert one.path.name == "jane"


@pytest.mark.parametrize(
    ("names", "together"),
    [
        (["student1", "student2", "team-1", "team-2"], []),
        (["Vera O_123_assignsubmission_file", "Vera O_123_assignsubmission_onlinetext"], [2]),
        (["Vera O_123_assignsubmission_file", "Vera O_124_assignsubmission_file"], []),
        (["J\u00fcrgen", "Ju\u0308rgen (1)"], [2]),
        (["anna", "Copy of anna", "anna - Copy", "Anna - Kopie (2)", "anna copy 2"], [5]),
        (["Copy of", "kopie", "anna copywriter", "(1)", "(2)"], []),
        (["overa_12_600_attention", "overa_LATE_12_601_attention", "Anna", "anna (2)"], [2, 2]),
    ],
)
def test_whose_it_is(names, together, tmp_path):
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "ex01_scores.py").write_text("x = 1\n")
    assert [len(one) for one in several(find([tmp_path]))] == together


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        (("a/anna", "b/anna"), "a/anna"),
        (("jane_doe.zip", "jane_doe", "jane_doe (2)", "Copy of jane_doe"), "jane_doe.zip"),
    ],
)
def test_the_one_that_counts_is_named_and_called_as_the_student_is(tmp_path, names, counts):
    for name in names:
        place = tmp_path / name.removesuffix(".zip")
        place.mkdir(parents=True, exist_ok=True)
        (place / "ex01_scores.py").write_text("x = 1\n")
        os.utime(place / "ex01_scores.py", (1e9, 1e9))
    last = tmp_path / counts / "ex01_scores.py"
    if counts.endswith(".zip"):
        last = shutil.make_archive(str(tmp_path / "jane_doe"), "zip", tmp_path / "jane_doe")
    os.utime(last, (2e9, 2e9))
    folders = {(tmp_path / name).parent for name in names}
    (one,) = sorted_out(find(sorted(folders)), "latest")
    assert one.identity == counts.removesuffix(".zip")
    [note] = one.notes
    assert note.startswith(f"{counts} counts, the latest of ")
    assert set(one.unused) == set(names) - {counts}


def test_a_tie_is_said(twice, tmp_path):
    for path in (*(twice / "anna").iterdir(), twice / "anna (1).zip"):
        os.utime(path, (1e8, 1e8))
    _, found = graded(twice, tmp_path, "--duplicates", "latest")
    [told] = found["anna"][2]
    assert told.endswith("of anna, anna (1).zip, changed at the same time, counts")
