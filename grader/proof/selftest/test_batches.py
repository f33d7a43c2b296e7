"""Batches lose nothing: results are kept, taken up again, and one submission costs no other."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import typing

import pytest

from grader import places
from grader.batch import plan, store
from grader.chapters import catalogue
from grader.cli import main
from grader.reports import table
from grader.results import CheckResult, SubmissionResult

pytestmark = pytest.mark.slow
EX01 = "ex01_scores"
ONLY = ("--only", "dot_product")
WRONG = "\n\ndef dot_product(a, b):\n    return (a * b).sum(-1) + 1\n"
LOOPS = "\n\ndef dot_product(a, b):\n    while True:\n        pass\n"
on_posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture
def batch(submission, solution):
    """Write submissions that are all right but for their ex01, and return the folder of them."""

    def write(**endings):
        text = solution(EX01)
        for name, ending in endings.items():
            folder = submission(name, **{EX01: text + ending})
        return folder.parent

    return write


@pytest.fixture
def grade(tmp_path, capsys):
    """Run `grade` and return its report, as bytes, and what was printed."""

    def run(*arguments, status=0):
        file = tmp_path / "scores.json"
        command = ["grade", *ONLY, *map(str, arguments), "--report", f"json={file}"]
        capsys.readouterr()
        assert main(command) == status
        return file.read_bytes(), capsys.readouterr()

    return run


class AtOnce:
    """A judge for the tests in which it does not matter who judges: it reads the answer's text."""

    opened = 0
    seeds: typing.ClassVar[list[int]] = []

    def __init__(self, isolation, hidden=(), core=None, earlier="own", on_gpu=None):
        AtOnce.opened += 1

    def wait(self):
        """There is nothing to wait for."""

    def stop(self):
        """Nothing runs."""

    def close(self):
        """Nothing is open."""

    def hear(self, sources, exercises, device, seed, limits):
        """Call an answer right unless it ends like the wrong one."""
        AtOnce.seeds.append(seed)
        text = sources[f"{EX01}.py"].decode()
        if "raise SystemError" in text:
            raise SystemError("nobody \x1b[31mforesaw this")
        verdict, message = ("failed", "x" * 50_000) if text.endswith(WRONG) else ("passed", "")
        return [
            CheckResult(check.name, device, verdict, check.core, message)
            for exercise in exercises
            for check in catalogue().exercise(exercise).checks
        ]


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr("grader.batch.slots.JudgeProcess", AtOnce)
    monkeypatch.setattr(AtOnce, "opened", 0)
    monkeypatch.setattr(AtOnce, "seeds", [])


def scores(report):
    return {s["id"]: s["score"]["cpu"] for s in json.loads(report)["submissions"]}


def seed(report):
    return json.loads(report)["kit"]["seed"]


def own_seeds(report):
    return {s["id"]: s["seed"] for s in json.loads(report)["submissions"] if "seed" in s}


def unchanged(printed):
    lines = [line for line in printed.err.splitlines() if "(unchanged)" in line]
    return {line.split()[1].strip(":") for line in lines}


def results(tmp_path):
    return ("--results", tmp_path / "results.db")


# what is kept


def test_only_what_changed_is_graded_again(at_once, batch, grade, tmp_path, solution):
    folder = batch(anna="", berta=WRONG, carl="")
    first, printed = grade(folder, *results(tmp_path))
    assert unchanged(printed) == set()
    assert scores(first)["anna"] > scores(first)["berta"] == 0
    opened = AtOnce.opened
    again, printed = grade(folder, *results(tmp_path))
    assert again == first
    assert unchanged(printed) == {"anna", "berta", "carl"}
    assert AtOnce.opened == opened
    (folder / "anna" / "notes.txt").write_text("only ex*.py count")
    (folder / "berta" / f"{EX01}.py").write_text(solution(EX01))
    after, printed = grade(folder, *results(tmp_path))
    assert unchanged(printed) == {"anna", "carl"}
    assert scores(after)["berta"] == scores(after)["anna"]


def test_the_seed_is_taken_up_again(at_once, batch, grade, tmp_path):
    folder = batch(anna="")
    kept = results(tmp_path)
    first, printed = grade(folder, *kept)
    assert "as before" not in printed.err
    again, printed = grade(folder, *kept)
    assert f"seed {seed(first)}, as before in" in printed.err
    assert seed(again) == seed(first)
    other, printed = grade(folder, *kept, "--seed", 8)
    assert (seed(other), unchanged(printed)) == (8, set())
    last, printed = grade(folder, *kept)
    assert (seed(last), unchanged(printed)) == (8, {"anna"})
    assert seed(grade(folder)[0]) != seed(grade(folder)[0])


def test_options_that_matter_and_options_that_do_not(at_once, batch, grade, tmp_path):
    folder = batch(anna="")
    kept = (*results(tmp_path), "--seed", 3)
    grade(folder, *kept)
    assert unchanged(grade(folder, *kept, "--jobs", 2)[1]) == {"anna"}
    assert unchanged(grade(folder, *kept, "--time-limit", 9)[1]) == set()
    assert unchanged(grade(folder, *kept, "--memory", 3000)[1]) == set()
    assert unchanged(grade(folder, *kept, "--only", "dot_product_scores")[1]) == set()
    assert unchanged(grade(folder, *kept)[1]) == {"anna"}


def test_a_changed_kit_grades_anew(at_once, batch, grade, tmp_path, monkeypatch):
    folder = batch(anna="")
    grade(folder, *results(tmp_path))
    monkeypatch.setattr("grader.batch.plan._kit", lambda: "another kit")
    assert unchanged(grade(folder, *results(tmp_path))[1]) == set()


def test_the_fingerprint_of_the_kit_is_of_its_suites_and_judges():
    names = {name for name, _ in plan._kit_files()}
    assert {f"tests/test_{EX01}.py", f"grader/coach/{EX01}.py", "grader/suite/compare.py"} < names
    assert "grader/judging/judge.py" in names
    assert {f"solutions/{EX01}.py", "RULES.md"} < names
    assert not any(name.startswith(("grader/proof/selftest", "grader/reports")) for name in names)


@pytest.fixture
def kit(tmp_path, monkeypatch):
    """Give a copy of what lies outside of the package, and tell whether a change counts."""
    for name in ("SUITES", "SOLUTIONS"):
        shutil.copytree(getattr(places, name), tmp_path / "kit" / name)
        monkeypatch.setattr(places, name, tmp_path / "kit" / name)
    monkeypatch.setattr(places, "RULES", tmp_path / "kit" / "RULES.md")
    before = plan._kit.__wrapped__()

    def counts(name, text="x = 1\n"):
        path = tmp_path / "kit" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return plan._kit.__wrapped__() != before

    return counts


@pytest.mark.parametrize(
    "name", [f"SUITES/test_{EX01}.py", "SUITES/conftest.py", f"SOLUTIONS/{EX01}.py", "RULES.md"]
)
def test_what_a_verdict_or_its_message_is_made_from_grades_anew(kit, name):
    assert kit(name)


@pytest.mark.parametrize(
    "name",
    [
        f"SUITES/.test_{EX01}.py.swp", f"SUITES/test_{EX01}.py~", f"SUITES/#test_{EX01}.py#",
        f"SUITES/.#test_{EX01}.py", f"SUITES/._test_{EX01}.py", "SUITES/4913", "SUITES/.DS_Store",
        "SUITES/__pycache__/x.pyc", "SUITES/.idea/x.py", f"SUITES/test_{EX01}.py.orig",
    ],
)  # fmt: skip
def test_what_editors_and_systems_leave_in_the_kit_grades_nothing_anew(kit, name):
    assert not kit(name)


def test_a_row_that_was_tampered_with_is_graded_again(at_once, batch, grade, tmp_path):
    folder = batch(anna=WRONG)
    first, _ = grade(folder, *results(tmp_path))
    for damage in ("no json", "[]", '{"a": 1}', '{"ex01_scores.dot_product": []}', "[" * 99_999):
        with contextlib.closing(sqlite3.connect(tmp_path / "results.db")) as database:
            database.execute("UPDATE result SET checks = ?", (damage,))
            database.commit()
        again, printed = grade(folder, *results(tmp_path))
        assert (again, unchanged(printed)) == (first, set())


def test_whatever_a_result_holds_comes_back(tmp_path):
    plain = CheckResult("c", "cpu", "passed", core=True)
    full = CheckResult("d", "cuda", "failed", message="\x00 'ü' \u2028", slip="s")
    for field, kind in typing.get_type_hints(CheckResult).items():
        if typing.get_origin(kind) is tuple:
            full = dataclasses.replace(full, **{field: ("a", "b")})
    found = {"ex01_scores.dot_product": [plain, full], "ex02_scaling.softmax": []}
    for expected in (None, found):
        with store.opened(tmp_path / "results.db") as opened:
            assert opened.find("anna", "content", "way") == expected
            opened.keep("anna", "content", "way", 3, found)
            assert opened.find("anna", "other", "way") is None
            assert opened.problem is None


def test_halves_of_characters_in_a_message(batch, grade, tmp_path):
    raises = "\n\ndef dot_product(a, b):\n    raise ValueError('half \\udcff \\0 \\x1b[31m')\n"
    folder = batch(anna=raises)
    first, _ = grade(folder, *results(tmp_path))
    assert b"half" in first
    again, printed = grade(folder, *results(tmp_path))
    assert (again, unchanged(printed)) == (first, {"anna"})
    json.loads(first)["submissions"][0]["exercises"][0]["checks"][0]["message"].encode()


# what has changed is asked anew


@pytest.fixture
def hand_in(solution):
    """Put another ex01 into a submission."""

    def write(folder, ending):
        (folder / f"{EX01}.py").write_text(solution(EX01) + ending)

    return write


def test_a_changed_submission_has_a_seed_of_its_own(at_once, batch, grade, tmp_path, hand_in):
    folder, kept = batch(anna="", berta=""), results(tmp_path)
    first, printed = grade(folder, *kept, "--seed", 7)
    assert own_seeds(first) == {}
    assert "changed" not in printed.out
    hand_in(folder / "anna", "\n# changed\n")
    second, printed = grade(folder, *kept)
    assert (seed(second), list(own_seeds(second)), unchanged(printed)) == (7, ["anna"], {"berta"})
    own = own_seeds(second)["anna"]
    assert f"changed or new since, so with new inputs: anna: seed {own}\n" in printed.out
    assert AtOnce.seeds == [7, 7, own]
    assert grade(folder, *kept)[0] == second
    hand_in(folder / "anna", "\n# changed again\n")
    third, _ = grade(folder, *kept)
    assert len({7, own, *own_seeds(third).values()}) == 3
    hand_in(folder / "anna", "\n# changed\n")
    assert grade(folder, *kept)[0] == second
    hand_in(folder / "anna", "")
    assert grade(folder, *kept)[0] == first
    assert len(AtOnce.seeds) == 4


def test_a_seed_of_its_own_can_be_asked_for(at_once, batch, grade, tmp_path, hand_in):
    folder, kept = batch(anna=""), results(tmp_path)
    grade(folder, *kept, "--seed", 7)
    hand_in(folder / "anna", WRONG)
    changed, _ = grade(folder, *kept)
    (own,) = own_seeds(changed).values()
    for asked in ((), kept):
        again, printed = grade(folder / "anna", *asked, "--seed", own)
        assert own_seeds(again) == {}
        (was,), (now,) = (json.loads(report)["submissions"] for report in (changed, again))
        assert {**now, "seed": own} == was
    assert unchanged(printed) == {"anna"}
    hand_in(folder / "anna", "\n# written for that seed\n")
    assert len({7, own, *own_seeds(grade(folder, *kept)[0]).values()}) == 3


def test_who_comes_after_a_run_shares_a_seed_with_those_who_do(
    at_once, batch, grade, tmp_path, hand_in
):
    folder, kept = batch(anna="", berta="", carl=""), results(tmp_path)
    late = [*folder.glob("berta/*.py"), *folder.glob("carl/*.py")]
    for chapter in late:
        chapter.unlink()
    grade(folder, *kept, "--seed", 7, status=1)
    for name in ("anna", "berta", "carl"):
        hand_in(folder / name, "\n# changed\n")
    second = grade(folder, *kept)[0]
    own = own_seeds(second)
    assert list(own) == ["anna", "berta", "carl"]
    assert own["anna"] != own["berta"] == own["carl"]
    assert grade(folder, *kept)[0] == second
    assert own_seeds(grade(folder, *kept, "--seed", 8)[0]) == {}


def test_only_the_one_that_changed_of_two_that_are_called_alike(
    at_once, batch, grade, tmp_path, hand_in
):
    folders = [batch(**{f"{group}/anna": ""}) for group in ("red", "blue")]
    both = (*folders, *results(tmp_path), "--seed", 7)
    assert list(scores(grade(*both)[0])) == ["red/anna", "blue/anna"]
    hand_in(folders[1] / "anna", "\n# changed\n")
    assert list(own_seeds(grade(*both)[0])) == ["blue/anna"]


def test_a_new_kit_does_not_forget_what_a_student_has_seen(
    at_once, batch, grade, tmp_path, hand_in, monkeypatch
):
    folder, kept = batch(anna="", berta=""), results(tmp_path)
    grade(folder, *kept)
    monkeypatch.setattr("grader.batch.plan._kit", lambda: "another kit")
    hand_in(folder / "anna", "\n# changed\n")
    assert list(own_seeds(grade(folder, *kept)[0])) == ["anna"]


# the file


def test_files_that_are_no_results(batch, tmp_path, capsys):
    folder = batch(anna="")
    text = tmp_path / "text.db"
    text.write_text("these are not the results that you are looking for" * 99)
    foreign = tmp_path / "foreign.db"
    with contextlib.closing(sqlite3.connect(foreign)) as database:
        database.executescript("CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('x')")
    newer, damaged = tmp_path / "newer.db", tmp_path / "damaged.db"
    for path in (newer, damaged):
        with store.opened(path) as opened:
            check = CheckResult("c", "cpu", "failed", message="x" * 50_000)
            opened.keep("anna", "content", "way", 3, {"ex": [check]})
    with contextlib.closing(sqlite3.connect(newer)) as database:
        database.execute("PRAGMA user_version = 99")
    data = bytearray(damaged.read_bytes())
    data[4096 : 4096 * 8] = b"\xa5" * 4096 * 7
    damaged.write_bytes(data)
    expected = {
        text: "no results database",
        foreign: "another program's database",
        newer: "another version of the grader",
        damaged: "damaged",
        tmp_path: "or a folder",
        tmp_path / "no" / "where.db": "no such folder",
    }
    for path, says in expected.items():
        before = path.read_bytes() if path.is_file() else None
        assert main(["grade", str(folder), *ONLY, "--results", str(path)]) == 2
        printed = capsys.readouterr().err
        assert says in printed
        assert len(printed.splitlines()) == 1
        if path != damaged:
            assert (path.read_bytes() if path.is_file() else None) == before


def test_a_file_in_use(batch, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(store, "WAIT", 0.1)
    with store.opened(tmp_path / "results.db"):
        assert main(["grade", str(batch(anna="")), *map(str, results(tmp_path))]) == 2
    assert "another grader is still running on it" in capsys.readouterr().err


def test_a_full_disk_costs_the_keeping_but_not_the_grading(
    at_once, batch, grade, tmp_path, monkeypatch
):
    real = store.opened

    @contextlib.contextmanager
    def small(path):
        with real(path) as opened:
            opened._connection.execute("PRAGMA max_page_count = 1")
            yield opened

    monkeypatch.setattr(store, "opened", small)
    report, printed = grade(batch(anna=WRONG, berta=""), *results(tmp_path))
    assert (scores(report)["anna"], scores(report)["berta"]) == (0, 1)
    assert "is not complete: database or disk is full" in printed.err


# side by side


def test_the_number_of_jobs_changes_nothing(batch, grade):
    folder = batch(anna="", berta=WRONG, carl=LOOPS, dora="", emil="\n\n)")
    alone, _ = grade(folder, "--seed", 5, "--jobs", 1, "--time-limit", 1)
    for jobs in (2, 6):
        several, _ = grade(folder, "--seed", 5, "--jobs", jobs, "--time-limit", 1)
        assert alone == several
    assert list(scores(alone)) == ["anna", "berta", "carl", "dora", "emil"]


def test_one_bad_submission_costs_no_other(at_once, batch, grade):
    folder = batch(anna="", zoe="")
    for name in ("empty", "huge", "folder", "link"):
        (folder / name).mkdir()
    with (folder / "huge" / f"{EX01}.py").open("wb") as file:
        file.truncate(2**33)
    (folder / "folder" / f"{EX01}.py").mkdir()
    (folder / "link" / f"{EX01}.py").symlink_to(places.SOLUTIONS / f"{EX01}.py")
    (folder / "broken.zip").write_bytes(b"PK\3\4 not a zip")
    report, printed = grade(folder, status=1)
    found = {s["id"]: s["problem"] for s in json.loads(report)["submissions"]}
    assert sorted(found) == ["anna", "broken", "empty", "folder", "huge", "link", "zoe"]
    assert [name for name, problem in found.items() if problem is None] == ["anna", "zoe"]
    assert scores(report)["anna"] == scores(report)["zoe"] > 0
    for name in ("broken", "empty", "folder", "huge", "link"):
        assert f"{name} could not be graded: {found[name]}" in " ".join(printed.out.split())


def test_what_nobody_foresaw_is_that_submissions_problem(at_once, batch, grade, tmp_path):
    """Also, whatever broke a judge is not to meet the next submission."""
    folder = batch(anna="", berta="\n\nraise SystemError\n", carl="", dora="")
    kept = ("--jobs", 1, *results(tmp_path))
    report, _ = grade(folder, *kept, status=1)
    problems = {s["id"]: s["problem"] for s in json.loads(report)["submissions"]}
    assert "SystemError: nobody \\x1b[31mforesaw this" in problems.pop("berta")
    assert problems == {"anna": None, "carl": None, "dora": None}
    assert AtOnce.opened == 2
    assert unchanged(grade(folder, *kept, status=1)[1]) == {"anna", "carl", "dora"}


def test_no_judge_at_all_is_one_sentence(at_once, batch, capsys, monkeypatch):
    def fails(self):
        raise OSError("there is no judge here")

    monkeypatch.setattr(AtOnce, "wait", fails)
    assert main(["grade", str(batch(anna="", berta="")), *ONLY]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "grader: there is no judge here"


def test_one_job_for_each_core_and_no_more_than_there_is_work(monkeypatch):
    from grader.batch.plan import jobs_for

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert [jobs_for(count) for count in (1, 2, 3, 100)] == [1, 2, 3, 3]


# how far it is


def test_a_pipe_gets_a_line_for_each_submission(at_once, batch, grade):
    _, printed = grade(batch(anna="", berta=WRONG), "--jobs", 1)
    assert printed.err.splitlines()[0].startswith("1/2 anna: ")
    assert printed.err.splitlines()[1] == "2/2 berta: 0.00 on cpu"
    assert "\x1b" not in printed.err + printed.out


@on_posix
def test_a_terminal_gets_a_bar(batch):
    import pty

    master, slave = pty.openpty()
    command = [sys.executable, "-m", "grader", "grade", str(batch(anna="", berta=WRONG)), *ONLY]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"}
    run = subprocess.Popen(
        command, cwd=places.ROOT, stderr=slave, stdout=subprocess.PIPE, env=environment
    )
    os.close(slave)
    shown = b""
    with contextlib.suppress(OSError):  # how the end of a terminal reads on Linux
        while chunk := os.read(master, 1024):
            shown += chunk
    run.communicate(timeout=60)
    assert run.returncode == 0
    os.close(master)
    text = shown.decode()
    for part in ("grading", "2/2", "a second", r"\d:\d\d:\d\d", r"berta: 0\.00 on cpu"):
        assert re.search(part, text)


def test_a_long_problem_takes_nothing_from_the_bar(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    for name, value in {"TERM": "xterm", "COLUMNS": "80", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", Screen())
    with table.progress(12) as progress:
        progress.after_each(SubmissionResult("[b]" + "x" * 99, problem="it is wrong " * 20), False)
        assert isinstance(progress, table.Bar)
        progress.bar.refresh()
        shown = sys.stderr.getvalue()
    assert re.search(r"grading .* 1/12 .*\[b\]xxx", shown)


# stopping


@contextlib.contextmanager
def running(folder, *arguments, first="1/3 "):
    """Start the grader as from a terminal, and wait for the beginning of its first line."""
    mark = f"{folder}-{time.monotonic()}"
    run = subprocess.Popen(
        [sys.executable, "-m", "grader", "grade", str(folder), *ONLY, *map(str, arguments)],
        cwd=places.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "GRADER_SELFTEST": mark}, start_new_session=True,
    )  # fmt: skip
    try:
        assert run.stderr is not None
        line = run.stderr.readline() if first else ""
        assert line.startswith(first), line + run.stderr.read()
        yield run, mark
    finally:
        run.kill()
        run.wait()


def left_behind(mark, patience=5.0):
    """Find what still runs of a grader that has ended, by its environment."""
    deadline = time.monotonic() + patience
    while (found := still_running(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def still_running(mark):
    return [place for place in os.listdir("/proc") if place.isdigit() and marked(place, mark)]


def marked(place, mark):
    try:
        with open(f"/proc/{place}/environ", "rb") as file:
            return mark.encode() in file.read()
    except OSError:
        return False


@on_posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_stopping_keeps_what_is_graded_and_leaves_nothing(at_once, batch, grade, tmp_path, name):
    folder, number = batch(anna="", berta=LOOPS, carl=LOOPS), getattr(signal, name)
    kept = ("--seed", 4, "--time-limit", 60)
    with running(folder, *kept, *results(tmp_path)) as (run, mark):
        time.sleep(0.5)
        os.killpg(run.pid, number)  # as a terminal does: to the workers as well
        os.killpg(run.pid, number)  # and by an impatient hand
        _, said = run.communicate(timeout=20)
        assert run.returncode == 128 + number
        if os.path.isdir("/proc/self"):
            assert left_behind(mark) == []
    (line,) = said.splitlines()
    assert line.startswith("grader: stopped by ")
    assert f"after 1 of 3: {tmp_path / 'results.db'} keeps" in line
    resumed, printed = grade(folder, *kept[2:], *results(tmp_path))
    assert (unchanged(printed), seed(resumed)) == ({"anna"}, 4)
    assert scores(resumed) == dict.fromkeys(["anna", "berta", "carl"], 1)


@on_posix
def test_stopping_without_results_says_what_would_have_kept_them(batch):
    with running(batch(anna="", berta=LOOPS, carl=LOOPS), "--time-limit", 60) as (run, _):
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=20)
    assert said == "grader: stopped by Ctrl-C after 1 of 3; --results FILE would have kept them\n"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_stopping_while_the_judge_is_starting(batch):
    with running(batch(anna=LOOPS, berta=LOOPS, carl=LOOPS), first="") as (run, mark):
        while len(still_running(mark)) < 3:  # itself, Python's tracker of resources, the judge
            assert run.poll() is None
            time.sleep(0.01)
        os.killpg(run.pid, signal.SIGINT)
        _, said = run.communicate(timeout=30)
        assert left_behind(mark) == []
    assert said == "grader: stopped by Ctrl-C after 0 of 3; --results FILE would have kept them\n"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_killed_at_random_moments(capsys):
    from grader.proof import killing

    assert killing.main(["--submissions", "6", "--kills", "3", "--only", "dot_product"]) == 0
    assert "0 reports differ, 0 processes were left behind" in capsys.readouterr().out
