"""The students' pack: what is in it and what is not, the same bytes each time, and it works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader.chapters import catalogue, places
from grader.cli import main
from grader.release.closure import needed
from grader.release.leaks import leaks, telling
from grader.release.pack import pack
from grader.release.texts import constraints, project_file, readme
from grader.release.trouble import ReleaseError

SECRET = sorted([*places.SOLUTIONS.glob("ex*.py"), *places.VARIANTS.glob("*/ex*.py")])
PUBLIC = sorted([*places.EXERCISES.glob("ex*.py"), *places.SUITES.glob("*.py")])


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    """Release once, as a folder and as an archive."""
    folder = tmp_path_factory.mktemp("release") / "pack"
    assert main(["release", str(folder), "--zip", "--notebooks"]) == 0
    return folder


@pytest.fixture
def kit(tmp_path, monkeypatch) -> Path:
    """Put a copy in the place of the exercises."""
    copy = tmp_path / "exercises"
    shutil.copytree(places.EXERCISES, copy)
    monkeypatch.setattr(places, "EXERCISES", copy)
    return copy


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a pack, as if the pack and nothing else were installed."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


# ---- what is in it ----


def test_a_student_finds_what_a_student_needs_and_nothing_else(released):
    found = names(released)
    for stem in catalogue().names():
        stub = (places.EXERCISES / f"{stem}.py").read_bytes()
        assert (released / "exercises" / f"{stem}.py").read_bytes() == stub
        assert (released / "grader" / "stubs" / f"{stem}.py").read_bytes() == stub
        assert {f"exercises/{stem}.ipynb", f"tests/test_{stem}.py"} <= set(found)
    assert {".ci/constraints.txt", "README.md", "pyproject.toml", "LICENSE"} <= set(found)
    unwanted = r"solutions|proof|selftest|release|drill|commands/(grade|check)|__pycache__|\.pyc"
    assert [name for name in found if re.search(unwanted, name)] == []
    commands = {Path(name).stem for name in found if name.startswith("grader/commands/")}
    assert {"board", "hint", "notebook"} <= commands


def test_no_line_of_a_solution_is_in_it(released):
    # on its own, and more simply than the release does it
    def lines(path: Path) -> set[str]:
        text = path.read_text(encoding="utf-8")
        return {" ".join(line.split("  #")[0].split()) for line in text.splitlines()}

    public = set().union(*map(lines, PUBLIC))
    pack_lines = set().union(*(lines(released / name) for name in names(released)))
    secret = set()
    for path in SECRET:
        stub = places.EXERCISES / path.name
        secret |= {line for line in lines(path) - lines(stub) - public if len(line) >= 30}
    assert len(secret) > 500
    # the signatures of the variants are in no body
    signature = re.compile(r"def |except |.*: Tensor")
    assert [line for line in secret & pack_lines if not signature.match(line)] == []


def test_a_line_that_leaks_is_found(released):
    files = {"a.py": b"def f(a, b):\n    # nothing\n    return 1\n"}
    assert leaks(files, SECRET, PUBLIC) == []
    files["b.md"] = b"Here:\n\n    return powers / total.masked_fill(total == 0, 1)  # mine\n"
    files["c.py"] = b"x = scores.masked_fill(\n    ~mask, -torch.inf\n)\n"
    answer = "def f(scores, mask):\n    x = scores.masked_fill(~mask, -torch.inf)\n"
    secret = released.parent / "secret.py"
    secret.write_text(answer)
    found = leaks(files, [*SECRET, secret], PUBLIC)
    assert [(leak.file, leak.number) for leak in found] == [("b.md", 3), ("c.py", 1)]


@pytest.mark.parametrize(
    ("line", "tells"),
    [
        ("else:", False),
        ("return total", False),
        ("loss.backward()", False),
        ("self.n_heads = n_heads", False),
        ("except RuntimeError as problem:", False),
        ("out = x @ weight", True),
        ("return x.mean(1)", True),
        ("memory = x if memory is None else memory", True),
    ],
)
def test_what_is_trivial(line, tells):
    assert telling(line) == tells


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
    for gone in ("[tool.ruff", "[tool.mypy", "dev =", "ruff>="):
        assert gone in whole
        assert gone not in project
    versions = (released / ".ci/constraints.txt").read_text(encoding="utf-8")
    assert "torch==" in versions
    assert "ruff" not in versions


def test_texts_that_have_changed_are_refused():
    text = (places.ROOT / "README.md").read_text(encoding="utf-8")
    with pytest.raises(ReleaseError, match="should hold once"):
        readme(text.replace("Set up and pass the tests", "Set up"))
    with pytest.raises(ReleaseError, match="one section called Students"):
        readme(text.replace("## Students", "## Pupils"))
    with pytest.raises(ReleaseError, match="names the solutions"):
        readme(text.replace("## Students\n", "## Students\nSee solutions.\n"))


def test_extras_of_instructors_go_with_their_versions():
    whole = (
        '[project]\ndependencies = ["a>=1"]\n[project.optional-dependencies]\n'
        'dev = [\n  "b>=2",\n  "c",\n]\nnotebooks = ["c>=1"]\n[tool.ruff]\nx = 1\n'
    )
    mine = project_file(whole)
    assert 'notebooks = ["c>=1"]' in mine
    assert "dev" not in mine
    assert "ruff" not in mine
    kept = constraints("# all\na==1\nB==2\nc==3\nd==4\n", whole, mine).splitlines()[1:]
    assert kept == ["a==1", "c==3", "d==4"]


def test_late_imports_and_files_that_are_named_come_along(tmp_path):
    (tmp_path / "kit" / "inner").mkdir(parents=True)
    for name, text in {
        "__init__": "",
        "a": '"""Not kit.nothing."""\ndef f():\n    from kit import b\n    open("page.html")',
        "b": 'START = "from kit.inner import c; c.main()"',
        "nothing": "",
        "never": "",
        "inner/__init__": "",
        "inner/c": "from . import d\nfrom ..e import x\nimport kit.never",
        "inner/d": "run('-m', __package__)",
        "inner/__main__": "",
        "e": "",
    }.items():
        (tmp_path / "kit" / f"{name}.py").write_text(text)
    (tmp_path / "kit" / "page.html").write_text("")
    (tmp_path / "kit" / "other.html").write_text("")
    found = {
        path.relative_to(tmp_path / "kit").as_posix()
        for path in needed(["kit.a"], tmp_path, ["kit.never"])
    }
    assert found == {
        "__init__.py", "a.py", "page.html", "b.py", "e.py",
        "inner/__init__.py", "inner/c.py", "inner/d.py", "inner/__main__.py",
    }  # fmt: skip


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


def test_a_solution_in_the_kits_own_code_is_refused(monkeypatch, tmp_path, capsys):
    line = "    return powers / total.masked_fill(total == 0, 1)\n"
    from grader.release import pack as module

    monkeypatch.setattr(module, "_texts", lambda: [("README.md", f"Like so:\n\n{line}".encode())])
    assert main(["release", str(tmp_path / "pack")]) == 2
    said = capsys.readouterr().err
    assert "README.md:3: return powers / total.masked_fill" in said
    assert not (tmp_path / "pack").exists()


# ---- the same bytes ----


def test_two_releases_are_the_same(released, tmp_path):
    before = os.umask(0o077)
    try:
        again = tmp_path / "another name"
        assert main(["release", str(again), "--zip", "--notebooks"]) == 0
    finally:
        os.umask(before)
    assert names(again) == names(released)
    for path in sorted(released.rglob("*")):
        twin = again / path.relative_to(released)
        assert path.stat().st_mode == twin.stat().st_mode
        assert path.stat().st_mtime == twin.stat().st_mtime
        assert path.is_dir() or path.read_bytes() == twin.read_bytes()
    archives = released.with_name("pack.zip"), tmp_path / "another name.zip"
    assert archives[0].read_bytes() == archives[1].read_bytes()
    with zipfile.ZipFile(archives[0]) as archive:
        inside = {name.removeprefix("attention-kit/") for name in archive.namelist()}
    assert sorted(inside) == names(released)


def test_another_content_has_another_time():
    from grader.release.write import _moment

    files = pack()
    other = {**files, "README.md": files["README.md"].replace(b"a", b"b")}
    assert _moment(files) != _moment(other)
    assert _moment(files) % 2 == 0


# ---- and it works ----


def test_the_pack_works(released, tmp_path):
    folder = tmp_path / "pack"
    shutil.copytree(released, folder)
    done = run(folder, "-m", "pytest", "-q")
    total = sum(len(exercise.checks) for exercise in catalogue().exercises())
    assert f"{total} not started" in done.stdout.splitlines()[-1]
    assert "total         0 of 100 points: 0 solved, 0 wrong" in done.stdout

    path = folder / "exercises" / "ex02_scaling.py"
    stub = '    raise NotImplementedError("ex02_scaling.scale_scores")'
    text = path.read_text(encoding="utf-8")
    assert stub in text
    path.write_text(text.replace(stub, "    return scores / d_k**0.5"), encoding="utf-8")
    done = run(folder, "-m", "pytest", "-q", "-k", "scale_scores")
    assert done.returncode == 0, done.stdout
    done = run(folder, "-m", "grader")
    assert done.returncode == 0, done.stderr
    assert "1 solved, 0 wrong" in done.stdout

    done = run(folder, "-m", "grader", "hint", "dot_product")
    assert "hint 1 of 3" in done.stdout
    done = run(folder, "-m", "grader", "notebook", "ex01_scores", "--to", "mine")
    assert (folder / "mine" / "ex01_scores.ipynb").is_file(), done.stderr
    done = run(folder, "-m", "grader", "--help")
    assert "hint" in done.stdout
    assert re.search(r"^ +(grade|check|release) ", done.stdout, re.MULTILINE) is None
    done = run(folder, "-c", "import grader; print(grader.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(folder)
