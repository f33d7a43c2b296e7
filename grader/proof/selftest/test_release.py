"""The students' pack: what is in it and what is not, the same bytes each time, and it works."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader import places
from grader.chapters import catalogue
from grader.cli import main
from grader.coach import declared
from grader.proof.selftest.packs import run_in
from grader.release import ReleaseError, without_answers
from grader.release.pack import pack
from grader.release.texts import project_file, readme


@pytest.fixture
def kit(tmp_path, monkeypatch) -> Path:
    """Put a copy in the place of the exercises."""
    copy = tmp_path / "exercises"
    shutil.copytree(places.EXERCISES, copy)
    monkeypatch.setattr(places, "EXERCISES", copy)
    return copy


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


# ---- what is in it ----


def test_a_student_finds_what_a_student_needs_and_nothing_else(released):
    found = names(released)
    for stem in catalogue().names():
        stub = (places.EXERCISES / f"{stem}.py").read_bytes()
        assert (released / "exercises" / f"{stem}.py").read_bytes() == stub
        assert (released / "grader" / "stubs" / f"{stem}.py").read_bytes() == stub
        assert {f"exercises/{stem}.ipynb", f"tests/test_{stem}.py"} <= set(found)
    assert {".ci/constraints.txt", "README.md", "pyproject.toml", "LICENSE"} <= set(found)
    assert {f"exercises/{name}" for name in ("RULES.md", "CARDS.md", "pytest.ini")} <= set(found)
    unwanted = r"solutions|proof|selftest|release|drill|commands/(grade|check)|__pycache__|\.pyc"
    assert [name for name in found if re.search(unwanted, name)] == []
    commands = {Path(name).stem for name in found if name.startswith("grader/commands/")}
    assert {"board", "hint", "notebook"} <= commands


def test_suites_and_coaches_hold_no_answer(released):
    for stem in catalogue().names():
        suite = ast.parse((released / "tests" / f"test_{stem}.py").read_bytes())
        whole = ast.parse((places.SUITES / f"test_{stem}.py").read_bytes())
        references = {node.name for node in whole.body if marked(node, "reference")}
        left = [node for node in suite.body if marked(node, "recorded")]
        assert {node.name for node in left} <= references
        assert references
        for node in left:
            assert len(node.body) == 1
            assert isinstance(node.body[0], ast.Expr)
            assert isinstance(node.body[0].value, ast.Constant)
        coach = (released / "grader" / "coach" / f"{stem}.py").read_text(encoding="utf-8")
        assert ".slip(" not in coach
        told = (*declared(stem, "ERRORS"), *declared(stem, "FINDINGS"))
        assert [one.name for one in told if f'"{one.name}"' not in coach] == []
        for exercise in catalogue().exercises():
            if exercise.stem == stem:
                assert all(repr(slip.name) in coach for slip in exercise.task.slips)


def test_a_reference_inside_a_function_leaves_its_head():
    suite = (
        "from grader.suite import Case, reference\n"
        "def helper(x):\n    return x.exp()\n"
        "def best(m):\n"
        "    @reference\n    def inner(x):\n        '''Say it.'''\n"
        "        @reference\n        def deeper(x):\n            return helper(x)\n"
        "        return deeper(x) * m\n"
        "    @reference\n    def other(x):\n        return helper(x)\n"
        "    return inner, other\n"
        "def test_it(answer):\n    best(3)\n"
    )
    left = without_answers.suite(suite)
    body = (
        'def best(m):\n    @recorded\n    def inner(x):\n        """Say it."""\n'
        "    @recorded\n    def other(x):\n        ...\n    return inner, other\n"
    )
    assert body in left
    assert "helper" not in left


def marked(node: ast.stmt, name: str) -> bool:
    """Tell whether a function or a class is decorated with a name."""
    return name in [ast.unparse(one) for one in getattr(node, "decorator_list", [])]


def test_texts_for_students(released):
    text = (released / "README.md").read_text(encoding="utf-8")
    commands = [
        line.strip() for line in text.splitlines() if line.startswith("    python3 -m venv")
    ]
    assert [command.split(" && ")[1] for command in commands] == [
        ".venv/bin/python -m pip install -q -c .ci/constraints.txt -e ."
    ] * 2
    assert [command.split(" && ")[2] for command in commands] == [
        ".venv/bin/python -m grader",
        ".venv/bin/python -m pytest",
    ]
    assert "## Students" in text
    assert "## Instructors" not in text
    assert "solutions" not in text
    project = (released / "pyproject.toml").read_text(encoding="utf-8")
    whole = (places.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for kept in ("[build-system]", "[project.scripts]", "[tool.pytest.ini_options]", "torch>="):
        assert kept in project
    for gone in ("[tool.ruff", "[tool.mypy", "solutions", "dev =", "ruff>="):
        assert gone in whole
        assert gone not in project
    versions = (released / ".ci/constraints.txt").read_text(encoding="utf-8")
    assert "torch==" in versions


def test_texts_that_have_changed_are_refused():
    text = (places.ROOT / "README.md").read_text(encoding="utf-8")
    with pytest.raises(ReleaseError, match="should hold once"):
        readme(text.replace("Set up and pass the tests", "Set up"))
    with pytest.raises(ReleaseError, match="one section called Students"):
        readme(text.replace("## Students", "## Pupils"))
    with pytest.raises(ReleaseError, match="names the solutions"):
        readme(text.replace("## Students\n", "## Students\nSee solutions.\n"))


def test_a_suite_that_works_out_answers_in_a_check_is_refused(tmp_path, monkeypatch):
    text = (places.SUITES / "test_ex04_softmax.py").read_text(encoding="utf-8")
    line = (
        "\n\n@check('softmax', about='calls')\ndef test_outside(answer, draw):\n"
        "    assert weights64(draw(2, 3), draw(5, 3))\n"
    )
    (tmp_path / "test_ex04_softmax.py").write_text(text + line, encoding="utf-8")
    catalogue()  # else it would be this suite's for all tests to come
    monkeypatch.setattr(places, "SUITES", tmp_path)
    with pytest.raises(ReleaseError, match=r"test_ex04_softmax\.py uses .* outside"):
        pack(stems=["ex04_softmax"])


def test_what_maintainers_install_is_not_in_the_project_file():
    whole = (
        '[project]\ndependencies = ["a>=1"]\n[project.optional-dependencies]\n'
        'dev = [\n  "b>=2",\n  "c",\n]\nnotebooks = ["c>=1"]\n[tool.ruff]\nx = 1\n'
    )
    mine = project_file(whole)
    assert 'notebooks = ["c>=1"]' in mine
    assert "dev" not in mine
    assert "ruff" not in mine


def not_there(folder: Path) -> str:
    """Import all that a pack's code may import, and return what is not there."""
    done = run_in(folder, str(places.ROOT / "grader" / "proof" / "pack" / "try_imports.py"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_that_a_pack_may_import_is_there(released, week):
    for folder in (released, week):
        (only,) = not_there(folder).splitlines()
        # where there are no seals: a pack has them
        assert only.startswith("grader/comparing/sealed.py: from grader.comparing.kit import ")


def test_a_module_that_is_forgotten_is_found(week, tmp_path):
    pack = Path(shutil.copytree(week, tmp_path / "pack"))
    forgotten = {"hints/ladder", "reports/next_step", "trial/warm", "suite/queries_and_keys"}
    for name in forgotten:
        (pack / "grader" / f"{name}.py").unlink()
    told = not_there(pack)
    assert {name for name in forgotten if name.rpartition("/")[2] in told} == forgotten


# ---- when it is refused ----


def test_a_folder_with_something_in_it_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["release", str(tmp_path)]) == 2
    assert "already and not empty" in capsys.readouterr().err
    assert names(tmp_path) == ["mine.txt"]


@pytest.mark.parametrize(
    ("stem", "old", "new", "says"),
    [
        ("ex04_softmax", 'NotImplementedError("ex04_softmax.softmax")', "None", "softmax"),
        # in the forward of a class whose `__init__` is still a stub
        ("ex06_heads", "", "self.w_o(x)", "forward"),
        ("ex01_scores", "from torch import Tensor", "TOP = 1", "line"),
        (
            "ex01_scores",
            "def dot_product(",
            "def _mine(x): return x\n\n\ndef dot_product(",
            "_mine",
        ),
    ],
)
def test_exercises_that_are_begun_are_refused(kit, tmp_path, capsys, stem, old, new, says):
    path = kit / f"{stem}.py"
    text = path.read_text(encoding="utf-8")
    head, found, tail = text.partition(old) if old else text.rpartition("raise NotImpl")
    assert found
    path.write_text(head + new + (tail if old else ""), encoding="utf-8")
    assert main(["release", str(tmp_path / "pack")]) == 2
    said = capsys.readouterr().err
    assert "not as students get them" in said
    assert says in said
    assert not (tmp_path / "pack").exists()


# ---- the same bytes ----


def test_two_releases_are_the_same(week, tmp_path):
    again = tmp_path / "another name"
    command = [sys.executable, "-m", "grader", "release", again, "--zip"]
    week_of = ["--chapters", "ex03..ex04"]
    subprocess.run([*command, *week_of], cwd=places.ROOT, check=True, umask=0o077)
    assert names(again) == names(week)
    for path in sorted(week.rglob("*")):
        twin = again / path.relative_to(week)
        assert path.stat().st_mode == twin.stat().st_mode
        assert path.stat().st_mtime == twin.stat().st_mtime
        assert path.is_dir() or path.read_bytes() == twin.read_bytes()
    archives = week.with_name("pack.zip"), tmp_path / "another name.zip"
    assert archives[0].read_bytes() == archives[1].read_bytes()


def test_a_chapter_is_the_same_in_every_pack(released, week):
    of_chapters = [name for name in names(week) if re.search(r"ex0[34]_", name)]
    assert len(of_chapters) > 10
    for name in of_chapters:
        assert (week / name).read_bytes() == (released / name).read_bytes(), name


def test_the_archive_holds_what_the_folder_holds(released):
    with zipfile.ZipFile(released.with_name("pack.zip")) as archive:
        inside = {name.removeprefix("attention-kit/") for name in archive.namelist()}
    assert sorted(inside) == names(released)


def test_another_content_has_another_time():
    from grader.release.write import _moment

    files = {"README.md": b"a"}
    other = {"README.md": b"b"}
    assert _moment(files) != _moment(other)
    assert _moment(files) % 2 == 0


# ---- and it works ----


def test_the_pack_works(released, tmp_path):
    folder = tmp_path / "pack"
    shutil.copytree(released, folder)
    done = run_in(folder, "-m", "pytest", "-q")
    total = sum(len(one.checks) for one in catalogue().exercises() if one.track == "core")
    assert f"{total} not started" in done.stdout.splitlines()[-1]
    assert "total         0 of 100 points: 0 solved, 0 wrong" in done.stdout
    further = r"^beyond +\S+ more chapters?, 100 points besides: exercises/ex08_positions\.py$"
    assert re.search(further, done.stdout, re.MULTILINE)

    path = folder / "exercises" / "ex02_scaling.py"
    stub = '    raise NotImplementedError("ex02_scaling.scale_scores")'
    text = path.read_text(encoding="utf-8")
    assert stub in text
    path.write_text(text.replace(stub, "    return scores / d_k**0.5"), encoding="utf-8")
    done = run_in(folder, "-m", "pytest", "-q", "-k", "scale_scores")
    assert done.returncode == 0, done.stdout
    done = run_in(folder, "-m", "grader")
    assert done.returncode == 0, done.stderr
    assert "1 solved, 0 wrong" in done.stdout

    done = run_in(folder, "-m", "grader", "hint", "dot_product")
    assert "hint 1 of 3" in done.stdout
    done = run_in(folder, "-m", "grader", "hint", "strides")
    assert "x.stride()" in done.stdout
    done = run_in(folder, "-m", "grader", "notebook", "ex01_scores", "--to", "mine")
    assert (folder / "mine" / "ex01_scores.ipynb").is_file(), done.stderr
    done = run_in(folder, "-m", "grader", "--help")
    assert "hint" in done.stdout
    assert re.search(r"^ +(grade|check|release) ", done.stdout, re.MULTILINE) is None
    done = run_in(folder, "-c", "import grader; print(grader.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(folder)


def test_the_packs_pytest_accepts_what_is_right(released):
    for folder in (places.SOLUTIONS, *places.variants()[:2]):
        done = run_in(
            released, "-m", "pytest", "-q", f"--answers={folder}", "-p", "no:cacheprovider"
        )
        assert " passed" in done.stdout.splitlines()[-1], done.stdout
        assert "failed" not in done.stdout.splitlines()[-1]


def test_the_packs_messages_are_those_of_the_kit(released, tmp_path):
    answers = tmp_path / "answers"
    shutil.copytree(places.SOLUTIONS, answers)
    change(answers / "ex02_scaling.py", "return scores / d_k**0.5", "return scores / d_k")
    change(answers / "ex04_softmax.py", "return powers / total", "return powers * total")
    names = "scale_scores"
    command = ("-m", "pytest", "-q", f"--answers={answers}", "-p", "no:cacheprovider", "-k", names)
    in_pack, in_kit = run_in(released, *command), run_in(places.ROOT, *command)
    assert "divided by d_k" in in_pack.stdout
    # how long it took stands in the last line
    told = in_kit.stdout.splitlines()[:-1]
    assert "Likely slip" in in_kit.stdout
    assert in_pack.stdout.splitlines()[:-1] == told


@pytest.mark.parametrize("name", ["NextWordModel", "train", "predict"])
def test_a_pack_draws_the_answers_own_model(released, name):
    # what is right for a model that was trained here is on no tape, however often it is asked for
    done = run_in(released, "-m", "grader", "show", name, "--answers", str(places.SOLUTIONS))
    assert "The picture ends here" not in done.stdout
    assert done.stdout.count("head 0") == (0 if name == "train" else 4)


def change(path: Path, old: str, new: str) -> None:
    """Change a line of an answer."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_pack_blames_the_deepest(released, tmp_path):
    answers = tmp_path / "answers"
    shutil.copytree(places.SOLUTIONS, answers)
    change(answers / "ex04_softmax.py", "return powers / total", "return powers * total")
    command = ("-m", "pytest", "-q", f"--answers={answers}", "-k", "ex05", "-p", "no:cacheprovider")
    done = run_in(released, *command)
    assert "mend that first" in done.stdout


def test_the_pack_blames_nothing_that_had_not_run(released, tmp_path):
    answers = tmp_path / "answers"
    shutil.copytree(places.SOLUTIONS, answers)
    change(answers / "ex04_softmax.py", "return powers / total", "return powers * total")
    change(answers / "ex06_heads.py", "        super().__init__()\n", "")
    command = ("-m", "pytest", "-q", f"--answers={answers}", "-p", "no:cacheprovider")
    done = run_in(released, *command, "-k", "ex06 and MultiHeadAttention")
    assert "`super().__init__()` is missing" in done.stdout
    assert "mend that first" not in done.stdout


def test_a_pack_knows_one_seed(released):
    done = run_in(released, "-m", "pytest", "--seed", "1", "-p", "no:cacheprovider")
    assert "this pack holds what is right for seed 0 only" in done.stderr
