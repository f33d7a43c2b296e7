"""A student's commands see notebooks as they see files, and name the cell where things stand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from grader import places
from grader.chapters import World, catalogue
from grader.cli import main
from grader.judging.judge import Judge
from grader.judging.run import Setting
from grader.proof.selftest.test_notebooks import filled, solutions
from grader.proof.selftest.test_plain_pytest import run
from grader.stubs.pristine import Pristine
from grader.written.folder import Folder

pytestmark = pytest.mark.slow
STEM = "ex04_softmax"
SUITE = f"tests/test_{STEM}.py"
NAMES = catalogue().names()
EARLIER = ("ex01_scores", "ex02_scaling", "ex03_masking")
STOPS = """\
%%time

def softmax(scores, dim=-1):
    powers = torch.exp(scores)
    return powers.sums()"""
HALF = "def softmax(scores, dim=-1):\n    x = (scores\n    return x"
STUB = (places.EXERCISES / f"{STEM}.py").read_text(encoding="utf-8")


@pytest.fixture
def books(tmp_path: Path) -> Callable[..., Path]:
    """Write a folder: earlier chapters in files, chapter 4 as a notebook with other answers."""

    def write(script: str | None = None, notebook: str | None = None, **other: str) -> Path:
        folder = tmp_path / "exercises"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for stem in EARLIER:
            shutil.copy(places.SOLUTIONS / f"{stem}.py", folder)
        text = nbformat.writes(filled(STEM, **other)) if notebook is None else notebook
        (folder / f"{STEM}.ipynb").write_text(text, encoding="utf-8")
        if script is not None:
            (folder / f"{STEM}.py").write_text(script, encoding="utf-8")
        return folder

    return write


def stub(name: str) -> str:
    return Pristine().chapters[STEM].functions[name].decode().rstrip("\n")


def messages(folder: Path, name: str = f"{STEM}.softmax", seed: int = 0) -> set[str]:
    """Return what the checks of a function say that do not pass."""
    judge = Judge(catalogue(), World(folder, NAMES), Setting("cpu", seed))
    outcomes = [judge.judge(check) for check in catalogue().exercise(name).checks]
    return {one.message for one in outcomes if not one.passed}


def board(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["--answers", str(folder)]) == 0
    return " ".join(capsys.readouterr().out.split())


# ---- all chapters ----


def test_seven_notebooks_and_no_file_are_solved(tmp_path, capsys):
    for stem in NAMES:
        nbformat.write(filled(stem), tmp_path / f"{stem}.ipynb")
    done = run(f"--answers={tmp_path}", "-q")
    assert done.returncode == 0, done.stdout
    assert "100 of 100 points: 30 solved" in done.stdout
    assert "note " not in done.stdout
    seen = board(tmp_path, capsys)
    assert "100 of 100 points: 30 solved, 0 wrong, 0 not started" in seen
    assert "nothing: every function is solved" in seen
    assert main(["--answers", str(tmp_path), "hint"]) == 0
    assert "every chapter is solved" in capsys.readouterr().out


def test_a_pack_with_notebooks_alone(released, tmp_path):
    pack = tmp_path / "pack"
    shutil.copytree(released, pack)
    for stem in NAMES:
        (pack / "exercises" / f"{stem}.py").unlink()
    for stem in (*EARLIER, STEM):
        nbformat.write(filled(stem), pack / "exercises" / f"{stem}.ipynb")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", SUITE, "-q"]
    variables = {**os.environ, "PYTHONPATH": str(pack)}
    done = subprocess.run(command, cwd=pack, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    where = f"exercises{os.sep}ex05_mixing.ipynb, cell 3"
    assert f"{STEM} is done. linear_combination, {where}" in " ".join(done.stdout.split())


# ---- which of two counts ----


@pytest.mark.parametrize("options", [(), ("-n", 2, "-p", "xdist")])
def test_the_notebook_counts_where_more_is_started_in_it(books, options):
    half = STUB.replace(stub("softmax"), solutions(STEM)["softmax"])
    done = run(f"--answers={books(half)}", SUITE, "-q", *options)
    assert done.returncode == 0
    said = f"{STEM}: the notebook counts (2 of 2 started), not the file (1 of 2)"
    assert done.stdout.count(said) == 1


def test_the_file_counts_if_both_are_equally_far(books, capsys):
    folder = books((places.SOLUTIONS / f"{STEM}.py").read_text(encoding="utf-8"), softmax=STOPS)
    seen = board(folder, capsys)
    assert re.search(rf"{STEM} +16 of 16 +solved: all", seen)
    assert f"note {STEM}: the file counts, not the notebook (2 of 2 started in both)" in seen
    assert main(["--answers", str(folder), "show", "softmax"]) == 0
    assert "the file counts, not the notebook" in capsys.readouterr().out


def test_grade_takes_what_pytest_takes(books, graded):
    half = STUB.replace(stub("softmax"), solutions(STEM)["softmax"])
    folder = books(half, softmax=STOPS)
    report = graded(folder.parent, "--device", "cpu", "--only", "softmax")
    [one] = report["submissions"]
    graded_so = {check["message"] for e in one["exercises"] for check in e["checks"]} - {""}
    assert f"{STEM}.ipynb, cell 3, line 5, in softmax" in "".join(graded_so)
    assert messages(folder, seed=report["kit"]["seed"]) == graded_so


def test_nothing_is_said_where_only_one_was_touched(books, capsys):
    assert "note " not in board(books(STUB), capsys)
    assert Folder(books(STUB), NAMES).notes(NAMES) == []
    assert Folder(books("def softmax("), NAMES).notes(NAMES) != []
    # nor where the notebook was written from the file, and not changed since
    alike = (places.SOLUTIONS / f"{STEM}.py").read_text(encoding="utf-8")
    assert Folder(books(alike), NAMES).notes(NAMES) == []


def test_who_works_in_notebooks_is_led_to_the_next_one(books, capsys):
    folder = books(STUB)
    shutil.copy(places.EXERCISES / "ex05_mixing.py", folder)
    stubs = Pristine().chapters["ex05_mixing"].functions
    untouched = {name: text.decode().rstrip("\n") for name, text in stubs.items()}
    nbformat.write(filled("ex05_mixing", **untouched), folder / "ex05_mixing.ipynb")
    assert re.search(
        r"next +linear_combination, .*ex05_mixing\.ipynb, cell 3 ", board(folder, capsys)
    )
    (folder / f"{STEM}.ipynb").unlink()
    shutil.copy(places.SOLUTIONS / f"{STEM}.py", folder)
    assert re.search(r"next +linear_combination, .*ex05_mixing\.py:\d+ ", board(folder, capsys))


# ---- where things stand ----


def test_an_error_names_the_cell_and_its_line(books, capsys):
    folder = books(softmax=STOPS)
    for said in messages(folder):
        assert said.startswith(f"{STEM}.softmax stopped with AttributeError")
        lines = [f"{STEM}.ipynb, cell 3, line 5, in softmax", "return powers.sums()"]
        assert all(line in said for line in lines)
    assert re.search(rf"next +softmax, .*{STEM}\.ipynb, cell 3 ", board(folder, capsys))
    main(["--answers", str(folder), "show", "softmax"])
    assert f"{STEM}.ipynb, cell 3, line 5, in softmax" in capsys.readouterr().out
    main(["--answers", str(folder), "hint", "softmax"])
    assert "There is no such method or attribute" in capsys.readouterr().out


def test_a_cell_that_is_not_python_yet_is_named(books, capsys):
    folder = books(softmax=HALF)
    said = f"{STEM}.ipynb, cell 3, line 2 is not Python yet: '(' was never closed"
    assert messages(folder) == {f"{said}\n\n    x = (scores"}
    where = rf"next +\S*{STEM}\.ipynb, cell 3, line 2 is not Python yet: '\(' was never closed"
    seen = board(folder, capsys)
    assert re.search(where, seen)
    assert "waiting for softmax: attention_weights" in seen


def test_what_stops_at_the_top_names_its_cell(books, capsys):
    weights = "LIMIT = 1 / 0\n\n" + solutions(STEM)["attention_weights"].replace(
        "return", "LIMIT\n    return", 1
    )
    folder = books(attention_weights=weights)
    [said] = messages(folder)
    assert said.startswith(f"{STEM}.ipynb stops while it is imported: ZeroDivisionError")
    assert f"{STEM}.ipynb, cell 6, line 1, in <module>\n        LIMIT = 1 / 0" in said
    assert re.search(rf"{STEM}\.ipynb, cell 6, line 1 stops while", board(folder, capsys))


def test_a_later_chapter_waits_for_the_notebook(books):
    folder = books("", notebook="{}")
    shutil.copy(places.SOLUTIONS / "ex05_mixing.py", folder)
    [said] = messages(folder, "ex05_mixing.attention")
    assert said.startswith(f"{STEM}.ipynb is not a notebook: it has no cells")
    said = " ".join(said.split())
    assert "saved again (ex05_mixing.py imports it) What helps an earlier copy" in said
    assert said.endswith(f"python -m grader reset {STEM}")


@pytest.mark.parametrize("cut", ["", "def apply_mask"])
def test_what_needs_a_broken_chapter_waits_and_nothing_else(books, capsys, cut):
    folder = books()
    (folder / "ex03_masking.py").unlink()
    made = filled("ex03_masking")
    made.cells = [cell for cell in made.cells if not cut or cut not in cell.source]
    text = nbformat.writes(made)
    (folder / "ex03_masking.ipynb").write_text(text if cut else text[:3000], encoding="utf-8")
    seen = board(folder, capsys)
    if cut:
        assert "solved: softmax waiting for ex03_masking.apply_mask: attention_w" in seen
        where = "has no apply_mask: python -m grader reset apply_mask"
    else:
        assert "waiting for ex03_masking.ipynb: softmax, attention_weights" in seen
        where = "is not a notebook: it cannot be read as JSON"
    assert re.search(rf"next +\S*ex03_masking\.ipynb +{where}", seen)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("{", "it cannot be read as JSON"),
        ('{\n<<<<<<< HEAD\n "cells": []\n', "git has left a conflict in it"),
        ('{"nbformat": 3, "worksheets": []}', "has to be opened in Jupyter"),
    ],
)
def test_a_broken_notebook_is_a_sentence(books, capsys, text, says):
    folder = books(notebook=text)
    for script in (None, STUB):
        if script is not None:
            (folder / f"{STEM}.py").write_text(script, encoding="utf-8")
        [said] = messages(folder)
        assert said.startswith(f"{STEM}.ipynb is not a notebook: ")
        assert says in " ".join(said.split())
    assert re.search(rf"next +\S*{STEM}\.ipynb is not a notebook: ", board(folder, capsys))
    # what is started goes before what cannot be read
    shutil.copy(places.SOLUTIONS / f"{STEM}.py", folder)
    assert messages(folder) == set()
    assert f"{STEM}.py counts" in board(folder, capsys)


def test_notes_name_the_cell(books):
    folder = books()
    (folder / "data.json").write_text("[]")
    top = f"SEED = torch.manual_seed(3)\nDATA = open({str(folder / 'data.json')!r}).close()\n\n"
    body = "def softmax(scores, dim=-1):\n    return SEED, DATA"
    nbformat.write(filled(STEM, softmax=top + body), folder / f"{STEM}.ipynb")
    done = run(f"--answers={folder}", SUITE, "-k", "softmax and values", "-q")
    assert f"note          {STEM}.ipynb, cell 3, line 1, sets torch's seed" in done.stdout
    assert f"note          {STEM}.ipynb, cell 3, line 2, opens data.json" in done.stdout


def test_what_grade_takes_of_a_notebook_is_all_that_runs(books, tmp_path):
    folder = books()
    made = filled(STEM)
    mark = tmp_path / "mark"
    for cell in (f"!touch {mark}", f"open({str(mark)!r}, 'w')", "display(1 / 0)", "import no_such"):
        made.cells.insert(0, nbformat.v4.new_code_cell(cell))
    nbformat.write(made, folder / f"{STEM}.ipynb")
    assert messages(folder) == messages(folder, f"{STEM}.attention_weights") == set()
    assert not mark.exists()


def test_annotations_are_worked_out_as_the_notebook_says(books):
    late = "import torch\n\n\ndef softmax(scores: NoSuchName, dim=-1):\n    return scores"
    made = filled(STEM, softmax=late)
    for first, says in (("from __future__ import annotations\n", False), ("", True)):
        [header] = [c for c in made.cells if c.metadata.get("tags") == ["imports"]]
        header.source = first + header.source.replace("from __future__ import annotations\n", "")
        folder = books(notebook=nbformat.writes(made))
        assert any("NoSuchName" in said for said in messages(folder)) == says


# ---- reset ----


def reset(folder: Path, name: str) -> int:
    return main(["--answers", str(folder), "reset", name])


def read(folder: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(folder / f"{STEM}.ipynb", 4).cells]


@pytest.mark.parametrize(
    "answer", [STOPS, HALF, "LIMIT = 3\n\n" + STOPS.removeprefix("%%time\n\n")]
)
def test_a_stub_comes_back_in_its_cell_alone(books, capsys, answer):
    folder = books(STUB, softmax=answer)
    before = read(folder)
    assert reset(folder, "softmax") == 0
    seen = capsys.readouterr().out
    assert f"softmax is as it was at first, in {folder / f'{STEM}.ipynb'}" in seen
    assert "if it is open in Jupyter, reload it there" in seen
    assert "from now on" not in seen
    after = read(folder)
    [at] = [at for at, source in enumerate(before) if source != after[at]]
    assert after[at].endswith(stub("softmax"))
    assert ("LIMIT = 3" in after[at]) == ("LIMIT = 3" in before[at])
    kept = (folder / "kept" / "softmax.1.py").read_text(encoding="utf-8")
    assert kept.strip() in before[at]
    assert "def softmax(scores, dim=-1):" in kept
    nbformat.validate(nbformat.read(folder / f"{STEM}.ipynb", 4))
    data = (folder / f"{STEM}.ipynb").read_bytes()
    assert reset(folder, "softmax") == 0
    assert "nothing was changed" in capsys.readouterr().out
    assert (folder / f"{STEM}.ipynb").read_bytes() == data


def test_a_function_whose_cell_is_gone_gets_a_new_one(books):
    folder = books()
    made = filled(STEM)
    made.cells = [c for c in made.cells if c.metadata.get("tags") != ["answer:softmax"]]
    nbformat.write(made, folder / f"{STEM}.ipynb")
    assert messages(folder) == {f"{STEM}.softmax is not started: {STEM}.ipynb has no `softmax`"}
    assert reset(folder, "softmax") == 0
    assert messages(folder) == {f"{STEM}.softmax is not started"}
    nbformat.validate(nbformat.read(folder / f"{STEM}.ipynb", 4))


def test_another_cell_that_defines_it_is_named(books, capsys):
    folder = books()
    made = filled(STEM)
    made.cells.append(nbformat.v4.new_code_cell("softmax = None\ndef softmax(s, dim=-1): return s"))
    nbformat.write(made, folder / f"{STEM}.ipynb")
    assert reset(folder, "softmax") == 0
    assert re.search(r"but cell \d+ gives the name another meaning", capsys.readouterr().out)


def test_a_whole_notebook_is_kept(books, capsys):
    folder = books()
    before = (folder / f"{STEM}.ipynb").read_bytes()
    assert reset(folder, f"{STEM}.ipynb") == 0
    assert messages(folder) == {f"{STEM}.softmax is not started"}
    assert (folder / "kept" / f"{STEM}.1.ipynb").read_bytes() == before


def test_a_notebook_that_cannot_be_read_makes_room_for_the_file(books, capsys):
    folder = books(notebook="{")
    assert reset(folder, "softmax") == 2
    assert (
        f"To put back the whole chapter: python -m grader reset {STEM}" in capsys.readouterr().err
    )
    assert reset(folder, STEM) == 0
    assert (folder / "kept" / f"{STEM}.1.ipynb").read_text() == "{"
    assert not (folder / f"{STEM}.ipynb").exists()
    assert messages(folder) == {f"{STEM}.softmax is not started"}


def test_it_is_said_if_the_other_one_counts_from_then_on(books, capsys):
    half = STUB.replace(stub("softmax"), solutions(STEM)["softmax"])
    folder = books(half)
    assert reset(folder, STEM) == 0
    assert f"{STEM}.py counts from now on" in capsys.readouterr().out


# ---- what it costs ----


def test_files_alone_load_nothing_that_reads_notebooks(tmp_path):
    code = f"""
import sys
from pathlib import Path
import grader.pytest_plugin
from grader.chapters import World, catalogue
from grader.written.folder import Folder
folder = Path({str(places.SOLUTIONS)!r})
World(folder, catalogue().names()).load({STEM!r})
assert Folder(folder, catalogue().names()).notes(catalogue().names()) == []
assert not [name for name in ("grader.written.read", "symtable", "nbformat") if name in sys.modules]
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=places.ROOT)


def test_reading_needs_no_extra(books):
    folder = books(softmax=STOPS)
    code = f"""
import sys
sys.modules["nbformat"] = None
from grader.cli import main
main(["--answers", {str(folder)!r}])
main(["--answers", {str(folder)!r}, "reset", "softmax"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=places.ROOT
    )
    assert "wrong: softmax" in done.stdout
    assert "softmax is as it was at first" in done.stdout


# ---- watch ----


def test_a_save_in_jupyter_is_a_save(books):
    pytest.importorskip("pyte", reason="a terminal to look at is in the extra `dev`")
    if not sys.platform.startswith("linux"):
        pytest.skip("a terminal is played here on Linux only")
    from grader.proof.selftest.terminal import Terminal

    folder = books(STUB)
    path = folder / f"{STEM}.ipynb"
    for stem in ("ex05_mixing", "ex06_heads", "ex07_model"):
        shutil.copy(places.EXERCISES / f"{stem}.py", folder)
    terminal = Terminal("--answers", folder, "watch", VISUAL="", EDITOR="vi", columns=140)
    try:
        terminal.until(r"total +48 of 100 points")
        nbformat.write(filled(STEM, softmax=STOPS), path)
        seen = terminal.until(r"attention_weights waits for ex04_softmax.softmax")
        assert f"{STEM}.ipynb saved at " in seen
        assert f"{STEM}.ipynb, cell 3, line 5, in softmax" in seen
        assert re.search(rf"next +softmax, .*{STEM}\.ipynb, cell 3\n", seen)
        terminal.press("o")
        terminal.until(rf"softmax: go to .*{STEM}\.ipynb, cell 3, in Jupyter")
        before = terminal.look(3)
        book = json.loads(path.read_text(encoding="utf-8"))
        for cell in book["cells"]:
            if cell["cell_type"] == "code":
                cell["execution_count"] = 7
        path.write_text(json.dumps(book), encoding="utf-8")
        checkpoints = folder / ".ipynb_checkpoints"
        checkpoints.mkdir()
        (checkpoints / f"{STEM}-checkpoint.ipynb").write_text("{}")
        assert terminal.look(2) == before
        nbformat.write(filled(STEM), path)
        seen = terminal.until("softmax and attention_weights are solved")
        shutil.copy(places.SOLUTIONS / f"{STEM}.py", folder)
        terminal.until(f"{STEM}.py saved at ")
        nbformat.write(filled(STEM, softmax=STOPS), path)
        seen = terminal.until(f"{STEM}: the file counts, not the notebook")
        assert f"{STEM}.ipynb saved at " in seen
        assert "nothing has changed" in seen
    finally:
        terminal.press("q")
        assert terminal.ended() == 0
