"""Bad arguments get one sentence and the right exit status; good ones the promised report."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile

import pytest

from grader import places
from grader.chapters import catalogue
from grader.cli import main


def status_of(*arguments: object) -> int:
    try:
        return main([str(argument) for argument in arguments])
    except SystemExit as problem:
        assert isinstance(problem.code, int)
        return problem.code


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["grade", "/no/such/place"], "there is no /no/such/place"),
        (["grade", "solutions", "--device", "tpu"], "no device `tpu`"),
        (["grade", "solutions", "--report", "json"], "FORMAT=FILE"),
        (["grade", "solutions", "--report", "pdf=x"], "no report format `pdf`"),
        (["grade", "solutions", "--report", "json=/no/where/x.json"], "cannot be written"),
        (["grade", "solutions", "--report", "csv=solutions/ex01_scores.py"], "somebody's work"),
        (["grade", "solutions", "--report", "csv=x.csv", "--report", "json=./x.csv"], "is JSON"),
        (
            ["grade", "solutions", "--report", "csv=x.csv", "--report", "junit=./x.csv"],
            "would take the place of",
        ),
        (
            ["grade", "solutions", "--results", "x.json", "--report", "json=x.json"],
            "would take the place of",
        ),
        (["grade", "solutions", "--only", "softmx"], "did you mean `softmax`"),
        (["grade", "solutions", "--jobs", "0"], "must be above 0"),
        (["grade", "solutions", "--time-limit", "soon"], "invalid"),
        (["grade", "pyproject.toml"], "neither a folder nor"),
        (["hint", "nothing_like_it"], "no chapter or exercise"),
        (["nonsense"], "invalid choice"),
    ],
)
def test_bad_arguments(arguments, says, capsys, monkeypatch):
    monkeypatch.chdir(places.ROOT)
    assert status_of(*arguments) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert "Traceback" not in printed.err + printed.out


def test_cuda_that_is_not_there(capsys):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    assert status_of("grade", places.SOLUTIONS, "--device", "cpu,cuda") == 2
    assert "no CUDA device" in capsys.readouterr().err


def test_empty_folder_and_broken_archives(tmp_path, graded):
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "empty").mkdir()
    (tmp_path / "all" / "broken.zip").write_bytes(b"PK\3\4 not a zip")
    (tmp_path / "all" / "broken.tar.gz").write_bytes(b"\x1f\x8b nor a tar")
    report = graded(tmp_path / "all", status=1)
    problems = {found["id"]: found["problem"] for found in report["submissions"]}
    assert "cannot be read" in problems["broken.zip"]
    assert "cannot be read" in problems["broken.tar.gz"]
    assert "it holds no file" in problems["empty"]
    empty = graded(tmp_path / "all" / "empty", status=1)
    assert empty["submissions"][0]["status"] == "ungradable"


def test_every_shape_of_submission(tmp_path, graded):
    file = places.SOLUTIONS / "ex03_masking.py"
    folder = tmp_path / "all"
    (folder / "direct").mkdir(parents=True)
    (folder / "below" / "exercises").mkdir(parents=True)
    for place in ("direct", "below/exercises"):
        (folder / place / file.name).write_bytes(file.read_bytes())
    (folder / "direct" / "conftest.py").write_text("raise SystemExit('never run')")
    with zipfile.ZipFile(folder / "zipped.zip", "w") as archive:
        archive.write(file, f"homework/exercises/{file.name}")
        archive.writestr("homework/torch.py", "raise SystemExit('never run')")
        archive.writestr("__MACOSX/exercises/._ex03_masking.py", "rubbish")
    with tarfile.open(folder / "tarred.tar.gz", "w:gz") as archive:
        archive.add(file, f"homework/{file.name}")
        archive.add(places.SOLUTIONS / "ex02_scaling.py", "../ex02_scaling.py")
    report = graded(folder, "--only", "causal_mask")
    names = [found["id"] for found in report["submissions"]]
    assert names == ["below", "direct", "tarred", "zipped"]
    assert {found["score"]["cpu"] for found in report["submissions"]} == {3.0}


def test_report_has_the_contracts_fields(graded):
    report = graded(places.EXERCISES, places.SOLUTIONS, "--device", "cpu")
    assert report["schema"] == 1
    assert set(report["kit"]) == {"version", "torch", "seed", "devices", "isolation"}
    assert report["kit"]["devices"] == {"cpu": "run", "cuda": "not asked"}
    stubs, solved = report["submissions"]
    assert set(solved) == {"id", "status", "problem", "max", "score", "exercises"}
    assert (stubs["score"], solved["score"]) == (
        {"cpu": 0.0, "cuda": None},
        {"cpu": 100.0, "cuda": None},
    )
    assert sum(e["points"] for e in solved["exercises"]) == pytest.approx(100)
    first = stubs["exercises"][0]
    assert set(first) == {"exercise", "points", "devices", "checks"}
    assert first["devices"] == {"cpu": {"earned": 0.0, "outcome": "not started"}, "cuda": None}
    assert set(first["checks"][0]) == {"check", "device", "outcome", "message", "slip"}


def test_schema_2_counts_what_passed_and_says_why(submission, solution, tmp_path):
    text = solution("ex03_masking").replace("return position <= pos", "return position < pos")
    folder = submission("anna", ex03_masking=text)
    for name in ("utils.py", "notes.txt"):
        (folder / name).write_text("x = 1\n")
    listed, counted = tmp_path / "1.json", tmp_path / "2.json"
    assert main(["grade", str(folder), "--only", "ex03_masking", "--seed", "3", "--device", "cpu",
                 "--report", f"json1={listed}", "--report", f"json={counted}"]) == 0  # fmt: skip
    first, second = (json.loads(path.read_bytes()) for path in (listed, counted))
    assert second["schema"] == 2
    [[was], [now]] = first["submissions"], second["submissions"]
    assert set(now) == set(was) | {"follow_through", "beyond", "unused", "notes"}
    assert sorted(now["unused"]) == ["notes.txt", "utils.py"]
    assert now["score"] == was["score"] == {"cpu": 14.0 - 4 - 3, "cuda": None}
    through = 0.0
    for before, after in zip(was["exercises"], now["exercises"], strict=True):
        failed = [check for check in before["checks"] if check["outcome"] != "passed"]
        told = [{k: v for k, v in c.items() if k != "because"} for c in after["checks"]]
        assert told == failed
        on = after["devices"]["cpu"]
        assert on["total"] == len(before["checks"]) == on["passed"] + len(failed)
        assert after["track"] == "core"
        through += on["follow_through"]
    by_name = {one["exercise"].partition(".")[2]: one for one in now["exercises"]}
    assert by_name["decoder_mask"]["because"] == ["ex03_masking.causal_mask"]
    assert by_name["causal_mask"]["because"] == by_name["apply_mask"]["because"] == []
    assert by_name["decoder_mask"]["devices"]["cpu"]["earned"] == 0
    # only the slip itself costs points
    assert now["follow_through"] == {"cpu": through, "cuda": None}
    assert through == sum(e["points"] for e in now["exercises"]) - by_name["causal_mask"]["points"]


def test_same_seed_same_verdicts(submission, solution, graded):
    text = solution("ex04_softmax").replace("torch.exp(", "torch.exp2(")
    folder = submission("anna", ex04_softmax=text)
    assert graded(folder, "--only", "softmax") == graded(folder, "--only", "softmax")


def test_blame_names_the_earlier_exercise(submission, solution, graded):
    text = solution("ex01_scores") + "\n\n_right = dot_product_scores\n\n\n"
    text += "def dot_product_scores(query, key):\n    return _right(query, key) * 1.5\n"
    report = graded(submission("anna", ex01_scores=text), "--only", "attention_weights")
    checks = report["submissions"][0]["exercises"][0]["checks"]
    wrong = [check for check in checks if check["outcome"] == "failed"]
    assert wrong
    for check in wrong:
        assert "only ex01_scores.dot_product_scores is wrong" in check["message"]


def test_module_and_console_script_are_the_same():
    for command in (["-m", "grader"], ["-c", "from grader.cli import main; main()"]):
        done = subprocess.run(
            [sys.executable, *command, "--version"], capture_output=True, text=True, cwd=places.ROOT
        )
        assert done.stdout.startswith("grader ")


def test_several_chapters_and_functions_are_proved_together(monkeypatch, capsys):
    asked = []

    def take(_, chosen, *__):
        asked.extend(chosen)
        return []

    monkeypatch.setattr("grader.proof.prove._of_some", take)
    assert main(["check", "ex02..ex03,softmax", "dot_product"]) == 0
    known = catalogue()
    chapters = [*known.select("ex02_scaling"), *known.select("ex03_masking")]
    assert asked == [*known.select("dot_product"), *chapters, *known.select("softmax")]
    for command in (["check", "softmax", "sofmax"], ["check", "--mutants", "solutions", "sofmax"]):
        assert main(command) == 2
        assert "no chapter or exercise is called `sofmax`; did you mean `softmax`?" in (
            capsys.readouterr().err
        )


def test_what_every_student_has_from_the_kit_is_no_file_that_is_not_used(submission, tmp_path):
    folder, file = submission("ann"), tmp_path / "report.json"
    for name in ("RULES.md", "CARDS.md", "pytest.ini", "notes.txt"):
        (folder / name).write_text("mine", encoding="utf-8")
    command = ["grade", str(folder), "--only", "dot_product_scores", "--report", f"json={file}"]
    assert main(command) == 0
    (graded,) = json.loads(file.read_text(encoding="utf-8"))["submissions"]
    assert graded["unused"] == ["notes.txt"]
