"""Notebooks: what is written, what a check cell says, and what counts when one is handed in."""

from __future__ import annotations

import ast
import json
import re
import sys
import threading
import types
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.core.compilerop import CachingCompiler
from markdown_it import MarkdownIt
from nbclient import NotebookClient

from grader import places
from grader.answers.clock import limit
from grader.chapters import World, catalogue
from grader.cli import main
from grader.judging.judge import Judge
from grader.judging.outcome import TimeLimit
from grader.notebooks import check, hinting
from grader.notebooks.chapter import read_chapter
from grader.notebooks.drawing import drawn
from grader.notebooks.session import close_all
from grader.notebooks.text import markdown
from grader.notebooks.write import notebook
from grader.written.counts import the_one_that_counts
from grader.written.read import LARGEST, LONGEST_CELL, chapter_source
from grader.written.source import twice
from grader.written.started import started

pytestmark = pytest.mark.slow
SOFTMAX = ("softmax", "attention_weights")
OVERFLOWS = """\
def softmax(scores, dim=-1):
    print("a look inside")
    powers = torch.exp(scores)
    return powers / powers.sum(dim, keepdim=True)
"""


def book(*cells: str | tuple[str, ...]) -> bytes:
    """Write a notebook of code cells; a tuple is a cell and its tags."""
    made = []
    for cell in cells:
        source, *tags = (cell,) if isinstance(cell, str) else cell
        made.append({"cell_type": "code", "source": source, "metadata": {"tags": tags}})
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "cells": made}).encode()


def counted(*cells: str | tuple[str, ...]) -> str:
    return chapter_source(book(*cells), "ex04_softmax.ipynb", SOFTMAX).decode()


def space_of(*cells: str | tuple[str, ...]) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(counted(*cells), space)
    return space


def solutions(stem: str) -> dict[str, str]:
    """Return the functions of a solution, by name; helpers stand with the imports."""
    text = (places.SOLUTIONS / f"{stem}.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    named = {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    helpers = [source for name, source in named.items() if name.startswith("_")]
    return {**named, "": "\n\n\n".join(helpers)}


def filled(stem: str, **other: str) -> Any:
    """Return a chapter's notebook with the solutions in its answer cells, or `other` answers."""
    made = nbformat.reads(notebook(read_chapter(places.EXERCISES / f"{stem}.py")).decode(), 4)
    answers = {**solutions(stem), **other}
    for cell in made.cells:
        kind, _, name = "".join(cell.metadata.get("tags", [])).partition(":")
        if kind == "answer":
            cell.source = answers[name]
        if kind == "imports":
            cell.source += "\n\n\n" + answers[""]
    return made


# ---- what is written ----


@pytest.mark.parametrize("stem", catalogue().names())
def test_the_text_keeps_every_word_and_none_becomes_markup(stem):
    text = read_chapter(places.EXERCISES / f"{stem}.py").text
    html = MarkdownIt("commonmark").enable("table").render(markdown(text))
    assert set(re.findall(r"<(\w+)", html)) <= {"h1", "h2", "p", "pre", "code"}
    shown = unescape(re.sub(r"<[^>]+>", "", html))
    # a title loses its full stop, code its backticks
    assert shown.split() == re.sub(r"\A(.*)\.", r"\1", text).replace("`", "").split()


def test_tables_keep_their_columns():
    made = markdown(
        "T.\n\nShapes\n    Two words:\n    a  [ 1 ]   b\n      c\n\n    Then prose, on.\n"
    )
    assert (
        made
        == "# T\n\n## Shapes\n\nTwo words:\n\n```text\na  [ 1 ]   b\n  c\n```\n\nThen prose, on."
    )


def test_notebooks_are_valid_and_the_same_each_time(tmp_path, capsys):
    assert main(["notebook", "--to", str(tmp_path / "one")]) == 0
    assert main(["notebook", "--to", str(tmp_path / "two")]) == 0
    one, two = (sorted((tmp_path / name).iterdir()) for name in ("one", "two"))
    assert [path.name for path in one] == [f"{stem}.ipynb" for stem in catalogue().names()]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    for path in one:
        made = nbformat.read(path, 4)
        nbformat.validate(made)
        tags = [tag for cell in made.cells for tag in cell.metadata.get("tags", [])]
        names = catalogue().names()[path.stem]
        assert tags[0] == "set-up"
        for kind in ("answer", "check", "show"):
            assert [t for t in tags if t.startswith(f"{kind}:") and t != "check:all"] == [
                f"{kind}:{name}" for name in names
            ]


def test_a_notebook_whose_file_was_put_away_is_kept(tmp_path, monkeypatch, capsys):
    for stem in ("ex01_scores", "ex02_scaling"):
        (tmp_path / f"{stem}.py").write_bytes((places.EXERCISES / f"{stem}.py").read_bytes())
    monkeypatch.setattr(places, "EXERCISES", tmp_path)
    assert main(["notebook", "ex01_scores"]) == 0
    (tmp_path / "ex01_scores.py").unlink()
    capsys.readouterr()
    assert main(["notebook", "ex01_scores"]) == 0
    assert f"kept {tmp_path / 'ex01_scores.ipynb'}" in capsys.readouterr().out


def test_a_notebook_that_is_there_is_kept(tmp_path, capsys):
    path = tmp_path / "ex04_softmax.ipynb"
    path.write_text("my work")
    assert main(["notebook", "ex04_softmax", "--to", str(tmp_path)]) == 0
    assert path.read_text() == "my work"
    assert "kept" in capsys.readouterr().out
    assert main(["notebook", "softmaxx", "--to", str(tmp_path)]) == 2
    assert "did you mean `softmax`" in capsys.readouterr().err


def test_an_answer_that_is_begun_comes_along(tmp_path):
    chapter = read_chapter(places.SOLUTIONS / "ex04_softmax.py")
    made = nbformat.reads(notebook(chapter).decode(), 4)
    [answer] = [c for c in made.cells if c.metadata.get("tags") == ["answer:softmax"]]
    assert answer.source == solutions("ex04_softmax")["softmax"]


@pytest.fixture
def set_up(tmp_path, monkeypatch):
    """Run the set-up cell as IPython would, with the places of others' machines in tmp_path."""
    from IPython.core.inputtransformer2 import TransformerManager

    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)

    def run() -> list[str]:
        ran: list[str] = []
        cell = filled("ex04_softmax").cells[0].source
        for place in ("/kaggle", "/content"):
            cell = cell.replace(f'"{place}', f'"{tmp_path}{place}')
        shell = types.SimpleNamespace(system=ran.append, getoutput=ran.append)
        exec(TransformerManager().transform_cell(cell), {"get_ipython": lambda: shell})
        return ran

    return run


def test_the_set_up_cell_installs_the_kit_in_colab(set_up, tmp_path, monkeypatch, capsys):
    kit, drives = tmp_path / "content/drive/MyDrive/attention-kit", []
    (kit / "exercises").mkdir(parents=True)
    drive = types.SimpleNamespace(mount=drives.append)
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    monkeypatch.setitem(sys.modules, "google.colab", types.SimpleNamespace(drive=drive))
    [ran] = set_up()
    assert drives == [str(tmp_path / "content/drive")]
    assert "pip install" in ran
    assert str(Path.cwd()) == str(kit / "exercises")
    assert str(kit) in sys.path
    assert "ex04_softmax is ready" in capsys.readouterr().out


def test_the_set_up_cell_copies_and_installs_the_kit_in_kaggle(
    set_up, tmp_path, monkeypatch, capsys
):
    given, kit = tmp_path / "kaggle/input/some/name/kit", tmp_path / "kaggle/working/attention-kit"
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    with pytest.raises(AssertionError, match="add it as a dataset"):
        set_up()
    for folder in ("exercises", "grader"):
        (given / folder).mkdir(parents=True)
    (given / "grader/__init__.py").touch()
    [ran] = set_up()
    assert "pip install" in ran
    assert str(kit) in sys.path
    assert str(Path.cwd()) == str(kit / "exercises")
    (kit / "exercises/mine.py").touch()
    set_up()
    assert (kit / "exercises/mine.py").exists()
    assert "ex04_softmax is ready" in capsys.readouterr().out


# ---- what counts when it is handed in ----


def test_only_the_answers_and_what_they_use_count():
    source = counted(
        "!pip install something\nimport os, sys",
        ("from __future__ import annotations\nimport torch\nimport math", "imports"),
        "import not_installed\nfrom math import tau\nEPS = tau; print(EPS)\nscores = broken()",
        (
            "%%time\ndef softmax(scores, dim=-1):\n    return _mine(scores)\nprint(softmax(1))",
            "answer:softmax",
        ),
        "def _mine(scores):\n    return scores + EPS",
        "%timeit softmax(scores)\n!rm -rf /\nsoftmax?\nfor _ in range(3): print(_)",
    )
    lines = [line for line in source.splitlines() if line and not line.startswith("#")]
    assert lines == [
        "from __future__ import annotations",
        "from math import tau",
        "EPS = tau",
        "def softmax(scores, dim=-1):",
        "    return _mine(scores)",
        "def _mine(scores):",
        "    return scores + EPS",
    ]


MINE = "answer:softmax"
STUB = "def softmax():\n    'text'\n    raise NotImplementedError('ex04_softmax.softmax')"


def gives(value: object) -> str:
    return f"def softmax(): return {value!r}"


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        # the tag decides, even against a later cell
        ([(gives("tag"), MINE), gives("late")], "tag"),
        # without tags the last
        ([gives("first"), gives("last")], "last"),
        # a cell that was copied has its tag twice
        ([(gives(1), MINE), (gives(2), MINE)], 2),
        # a stub gives way, wherever it stands
        ([(STUB, MINE), gives("new")], "new"),
        ([gives("old"), (STUB, MINE)], "old"),
        # a helper beside an answer goes before one elsewhere
        (
            [
                ("def _help(): return 'beside'\ndef softmax(): return _help()", MINE),
                "def _help(): return 'elsewhere'",
            ],
            "beside",
        ),
        # what is set on a function elsewhere is not a definition of it
        ([(gives("mine"), MINE), "softmax.calls = 0"], "mine"),
        (["from math import *", "def softmax(): return floor(2.5)"], 2),
        # without a tag, a later cell may go on with it
        (["def softmax(): return softmax.times", "softmax.times = 6"], 6),
        (["def _more(f): return lambda: f() + 1", gives(1), "softmax = _more(softmax)"], 2),
        (["x = 3; softmax = lambda: x"], 3),
        (["@staticmethod\ndef softmax(): return 'é'  # ü"], "é"),
        (["if True:\n    !ls\n    LIMIT = 7\ndef softmax(): return LIMIT"], 7),
        (["def softmax():\n    names = !ls\n    return '''\n%time\n'''"], "\n%time\n"),
        (["def softmax():\r\n    return 5\r\n"], 5),
    ],
)
def test_which_of_several_counts(cells, says):
    assert space_of(*cells)["softmax"]() == says


def test_what_is_put_on_top_of_itself_over_and_over_is_read_at_once():
    again = ["softmax = softmax"] * 1900
    with limit(5):
        assert space_of(gives(1), *again)["softmax"]() == 1


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (
            [(gives("tag"), MINE), "x = 1", gives("late")],
            ["1 and 3: cell 1 counts, where its stub"],
        ),
        ([gives(1), gives(2), gives(3)], ["1, 2 and 3: cell 3 counts, the last of them"]),
        ([(STUB, MINE), gives("new")], []),
        ([gives("# note: softmax is mine")], []),
    ],
)
def test_it_is_said_which_of_several_counts(cells, says):
    said = twice(counted(*cells).encode())
    assert len(said) == len(says)
    for one, part in zip(said, says, strict=True):
        assert one.startswith("softmax is written in cells ")
        assert part in one


def test_an_untouched_notebook_is_not_started():
    chapter = read_chapter(places.EXERCISES / "ex04_softmax.py")
    source = chapter_source(notebook(chapter), "ex04_softmax.ipynb", SOFTMAX)
    assert started(source, SOFTMAX) == 0
    assert started(counted("def softmax(): return 1").encode(), SOFTMAX) == 1


def test_a_cell_that_is_not_python_costs_its_function_alone():
    space = space_of(
        ("def softmax(:\n    return 1", "answer:softmax"), "def attention_weights(): return 2"
    )
    assert space["attention_weights"]() == 2
    with pytest.raises(SyntaxError, match=r"ex04_softmax\.ipynb, cell 1, line 1"):
        space["softmax"]()


def test_nothing_of_a_notebook_runs_while_it_is_read(tmp_path):
    mark = tmp_path / "mark"
    cells = [
        f"!touch {mark}",
        f"open({str(mark)!r}, 'w')",
        f"def softmax(x=open({str(mark)!r}, 'w')): 1",
    ]
    assert "def softmax" in counted(*cells)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not a notebook"),
        (b"\xff\xfe\x00", "not a notebook"),
        (b"[]", "not a notebook"),
        (b"[" * 10**6, "not a notebook"),
        (b'{"a":' * 10**5, "not a notebook"),
        (b'{"cells": {}}', "not a notebook"),
        (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "cell 1 holds no text"),
        (b'{"cells": [' + b"1," * 3000 + b"1]}", "more than 2000 cells"),
        (b" " * (LARGEST + 1), "clear its outputs"),
        (book("x" * (LONGEST_CELL + 1)), "too long"),
        (book("+".join(["a"] * 10**6)), "too long"),
        (book(*["x\n" * 40_000] * 20), "too long"),
        (book("a = 1\n" * 6000), "more than 5000 statements"),
    ],
)
def test_what_is_no_notebook_is_a_sentence(data, says):
    with pytest.raises(ValueError, match=says) as caught:
        chapter_source(data, "ex04_softmax.ipynb", SOFTMAX)
    assert "ex04_softmax.ipynb" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "cell",
    [
        "def softmax(): " + "-" * 50_000 + "1",
        "softmax = a" + ".b" * 40_000,
        "softmax = " + "(" * 250,
        'def softmax(): "\0"',
        "def softmax(): return '\ud800'",
        "'''" * 30_000,
        "\n".join(" " * i + "def softmax():" for i in range(200)),
        "%t\\\n" * 20_000,
    ],
)
def test_a_hostile_cell_is_read_all_the_same(cell):
    data = json.dumps({"cells": [{"cell_type": "code", "source": cell}, None, {"source": {}}]})
    compile(chapter_source(data.encode(), "ex04_softmax.ipynb", SOFTMAX), "it", "exec")


def test_of_a_file_and_a_notebook_the_one_that_is_further_counts():
    def counts(script, notebook):
        return the_one_that_counts("ex04_softmax", script, notebook, SOFTMAX)

    stub, done = b"def softmax(): raise NotImplementedError\n", b"def softmax(): return 1\n"
    one, two = book("def softmax(): return 2"), book(gives(2), "def attention_weights(): return 3")
    assert b"return 3" in counts(done, two).text
    assert counts(done, two).note == (
        "ex04_softmax: the notebook counts (2 of 2 started), not the file (1 of 2)"
    )
    assert b"return 2" in counts(stub, one).text
    assert counts(stub, one).note == counts(done, book(STUB)).note == ""
    assert counts(done, one).text == done
    assert "the file counts, not the notebook (1 of 2 started in both)" in counts(done, one).note
    assert counts(done, b"no notebook").text == done
    assert "not a notebook" in counts(done, b"no notebook").note
    assert "not a notebook" in counts(stub, b"no notebook").problem


def test_notebooks_earn_what_the_files_would(tmp_path):
    known = catalogue()
    for stem, names in known.names().items():
        data = nbformat.writes(filled(stem)).encode()
        (tmp_path / f"{stem}.py").write_bytes(chapter_source(data, f"{stem}.ipynb", names))
    judge = Judge(known, World(tmp_path, known.names()))
    for exercise in known.exercises():
        outcomes = [judge.judge(one) for one in exercise.checks]
        assert outcomes
        assert [one.message for one in outcomes if not one.passed] == []


def test_the_grader_takes_notebooks_and_files_alike(submission, graded):
    files = submission("files")
    books = submission("books", ex04_softmax=None)
    both = submission("both", ex04_softmax=(places.EXERCISES / "ex04_softmax.py").read_bytes())
    for folder in (books, both):
        cells = filled("ex04_softmax")
        cells.cells.append(nbformat.v4.new_code_cell("import os\nos._exit(3)\n!exit\n1 / 0"))
        nbformat.write(cells, folder / "ex04_softmax.ipynb")
    report = graded(files.parent, "--device", "cpu", "--only", "ex04_softmax")
    scores = {one["id"]: (one["status"], one["score"]["cpu"]) for one in report["submissions"]}
    assert scores["files"][1] > 0
    assert scores == dict.fromkeys(["books", "both", "files"], scores["files"])


def test_a_broken_notebook_costs_its_own_chapter(submission, graded):
    broken = submission("broken", ex04_softmax=None)
    (broken / "ex04_softmax.ipynb").write_text("{}")
    report = graded(broken.parent, "--device", "cpu", "--only", "ex04_softmax,ex02_scaling")
    [one] = report["submissions"]
    assert one["problem"] is None
    found = {e["exercise"]: e["devices"]["cpu"]["outcome"] for e in one["exercises"]}
    assert found["ex02_scaling.scaled_scores"] == "solved"
    assert found["ex04_softmax.softmax"] == "wrong"
    says = one["exercises"][-1]["checks"][0]["message"]
    assert "ex04_softmax.ipynb is not a notebook" in says


# ---- what a check cell says ----


class Bench:
    """A namespace at work, as a kernel has one."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"__name__": "__main__", "check": check}
        self.run("from grader.notebooks import start\nstart('ex04_softmax')")

    def run(self, cell: str) -> None:
        """Run a cell."""
        exec(cell, self.space)


@pytest.fixture
def bench(tmp_path, monkeypatch, solution, capsys) -> Iterator[Bench]:
    monkeypatch.chdir(tmp_path)
    for stem in ("ex01_scores", "ex02_scaling", "ex03_masking"):
        (tmp_path / f"{stem}.py").write_text(solution(stem))
    try:
        made = Bench()
        made.run(read_chapter(places.EXERCISES / "ex04_softmax.py").header)
        capsys.readouterr()
        yield made
    finally:
        close_all()


def test_from_not_started_by_wrong_to_solved(bench, capsys):
    bench.run("check('softmax')")
    not_run = "ex04_softmax.softmax: not run in this session: run its cell first\n"
    assert capsys.readouterr().out == not_run
    bench.run("def softmax(scores, dim=-1): raise NotImplementedError('ex04_softmax.softmax')")
    bench.run("check('ex04_softmax.softmax')")
    assert capsys.readouterr().out == "ex04_softmax.softmax is not started\n"
    bench.run(OVERFLOWS + "check('softmax')")
    wrong = capsys.readouterr().out
    assert "ex04_softmax.softmax: wrong, " in wrong
    assert "Likely slip  exp of a large score is infinity" in wrong
    assert "a look inside" in wrong
    bench.run(solutions("ex04_softmax")["softmax"] + "\n\ncheck('softmax')")
    assert "solved, all of its" in capsys.readouterr().out


def test_a_hint_is_of_what_was_run_and_a_function_is_as_good_as_its_name(
    bench, capsys, monkeypatch, tmp_path
):
    monkeypatch.setattr(hinting.places, "ROOT", tmp_path)
    bench.run("from grader.notebooks import hint")
    bench.run(OVERFLOWS + "hint(softmax)")
    said = " ".join(capsys.readouterr().out.split())
    assert "Your answer now: exp of a large score is infinity" in said
    assert "ask again for hint 1 of 3" in said
    bench.run("hint('softmax')")
    assert "hint 1 of 3:" in capsys.readouterr().out
    bench.run(solutions("ex04_softmax")["softmax"] + "\n\nhint('softmax'); check(softmax)")
    said = capsys.readouterr().out
    assert "ex04_softmax.softmax is solved: it needs no hint." in said
    assert "solved, all of its" in said
    bench.run("hint('dtype')")
    assert "float64" in capsys.readouterr().out


def test_where_nothing_is_named_the_chapter_is_meant(bench, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(hinting.places, "ROOT", tmp_path)
    bench.run("from grader.notebooks import hint, show")
    bench.run(OVERFLOWS + "check()")
    assert "softmax            wrong, " in capsys.readouterr().out
    bench.run("hint()")
    assert "Your answer now: exp of a large score is infinity" in capsys.readouterr().out
    bench.run(solutions("ex04_softmax")["softmax"] + "\n\nhint()")
    assert "ex04_softmax.attention_weights: not run in this session" in capsys.readouterr().out
    bench.run(solutions("ex04_softmax")["attention_weights"] + "\n\nhint()")
    assert "ex04_softmax: every function is solved." in capsys.readouterr().out
    bench.run("drawn = show()")
    assert all(name in bench.space["drawn"].text for name in ("softmax", "attention_weights"))
    bench.space.pop("__kit__")
    bench.run("hint()")
    assert capsys.readouterr().out == "say which: no chapter has been started here\n"


def test_the_messages_are_those_of_pytest(bench, submission, solution, capsys):
    code = solution("ex04_softmax").replace("def softmax", "def _") + "\n\n" + OVERFLOWS
    known = catalogue()
    judge = Judge(known, World(submission("wrong", ex04_softmax=code), known.names()))
    exercise = known.exercise("ex04_softmax.softmax")
    said = [outcome.message for outcome in map(judge.judge, exercise.checks) if outcome.message]
    capsys.readouterr()
    bench.run(OVERFLOWS + "check('softmax')")
    assert said[0] in capsys.readouterr().out


def test_an_error_names_the_line_of_the_cell_and_nothing_of_ours(bench, capsys):
    bench.run("def softmax(scores, dim=-1):\n    x = 1\n    return scores.softmaxx()")
    bench.run("check('softmax')")
    said = capsys.readouterr().out
    assert "your cell, line 3, in softmax" in said
    assert "Traceback" not in said
    assert "grader" not in said


def in_ipython(bench: Bench, number: int, code: str) -> None:
    """Run a cell as IPython does, which gives each cell a file of its own."""
    compiler = CachingCompiler()
    bench.space["get_ipython"] = lambda: types.SimpleNamespace(compile=compiler)
    exec(compile(code, compiler.cache(code, number), "exec"), bench.space)


def test_a_check_cell_says_which_cell_will_count(bench, tmp_path, capsys):
    late = "def softmax(scores, dim=-1):\n    return scores"
    made = filled("ex04_softmax")
    made.cells.append(nbformat.v4.new_code_cell(late))
    nbformat.write(made, tmp_path / "ex04_softmax.ipynb")
    bench.run(late + "\n\n\ncheck('softmax')")
    said = " ".join(capsys.readouterr().out.split())
    assert "wrong, " in said
    assert "what is saved: ex04_softmax.ipynb: softmax is written in cells 3 and " in said
    assert "cell 3 counts, where its stub was." in said


def test_commands_are_named_as_cells_call_them(bench, capsys):
    code = solutions("ex04_softmax")["softmax"].replace("return powers", "return powers.float()")
    bench.run(code + "\n\n\ncheck('softmax')")
    said = capsys.readouterr().out
    assert 'CARDS.md: hint("dtype")' in said
    assert "python -m grader" not in said


def test_a_mistake_of_devices_is_polish_and_names_the_cell(bench, capsys):
    code = solutions("ex04_softmax")["softmax"]
    in_ipython(bench, 7, code.replace("exp(scores - peak)", "exp(scores - peak) + torch.zeros(1)"))
    bench.run("check('softmax')")
    said = capsys.readouterr().out
    assert said.startswith("ex04_softmax.softmax: right, 4 things to polish\n")
    assert "`torch.zeros(1)` was made on the CPU" in " ".join(said.split())
    assert "    cell [7], line 32, in softmax\n        powers = torch.exp(scores" in said
    assert said.count("  Polish       softmax is right for ordinary inputs. This can wait") == 2
    bench.run("check('ex04_softmax')")
    assert capsys.readouterr().out.startswith("softmax            right, 4 things to polish\n")


def test_what_only_waits_is_not_called_wrong(bench, tmp_path, solution, capsys):
    answers = solutions("ex04_softmax")
    bench.run(answers["softmax"] + "\n\n\n" + answers["attention_weights"])
    path = tmp_path / "ex02_scaling.py"
    path.write_text(solution("ex02_scaling").replace("d_k**0.5", "d_k"))
    bench.run("check('attention_weights')")
    said = capsys.readouterr().out
    waits = "waiting for ex02_scaling.scale_scores"
    assert f"ex04_softmax.attention_weights: {waits}\n" in said
    assert "wrong, " not in said
    bench.run("check('ex04_softmax')")
    assert f"attention_weights  {waits}\n" in capsys.readouterr().out


def test_a_cell_that_is_not_python_is_wrong_as_on_the_board(bench, capsys):
    right, broken = (
        solutions("ex04_softmax")["softmax"],
        "def softmax(s):\n    x = (s\n    return x",
    )
    bench.run(right)
    bench.space["In"] = ["", right, broken]
    bench.run("check('softmax')")
    said = capsys.readouterr().out
    assert said.startswith("ex04_softmax.softmax: wrong, its cell is not Python yet\n")
    assert "cell [2], line 2 is not Python yet: '(' was never closed\n\n    x = (s\n" in said
    bench.run("check('ex04_softmax')")
    assert "softmax            wrong, its cell is not Python yet" in capsys.readouterr().out
    bench.space["In"].append(right)
    bench.run("check('softmax')")
    assert "solved, all of its" in capsys.readouterr().out


def test_an_endless_loop_ends(bench, capsys):
    bench.run("def softmax(scores, dim=-1):\n    while True:\n        pass\n")
    bench.run("check('softmax', seconds=0.3)")
    said = capsys.readouterr().out
    assert "did not come back in time" in said
    assert said.count("not tried") == 0


def test_stale_cells_are_noticed(bench, capsys):
    bench.run(OVERFLOWS + "check('softmax')")
    again = "The same code as at the last check"
    assert again not in capsys.readouterr().out
    bench.run("check('softmax')")
    assert again in capsys.readouterr().out
    bench.run(OVERFLOWS + "check('softmax')")
    assert again not in capsys.readouterr().out
    bench.run("softmax = softmax(torch.zeros(2))\ncheck('softmax')")
    assert "`softmax` is a Tensor by now, not a function" in capsys.readouterr().out


def test_a_forgotten_cell_is_named(bench, capsys):
    bench.run("def softmax(scores, dim=-1): return _helper(scores)\ncheck('softmax')")
    assert "No cell that has been run defines `_helper`" in capsys.readouterr().out
    bench.run("def softmax(scores, dim=-1): return np.exp(scores)\ncheck('softmax')")
    said = capsys.readouterr().out
    assert "an import is missing" in " ".join(said.split())
    assert "No cell that has been run" not in said


def test_a_notebook_asks_its_questions(bench, capsys, monkeypatch):
    replies = iter(["", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(replies))
    bench.run("from grader.notebooks import quiz\nquiz(seed=3)")
    said = capsys.readouterr().out
    assert "on ex04_softmax. Nothing is scored or kept." in said
    assert "The answer: " in said
    assert "Question 2 of" in said
    bench.run("quiz('no_such')")
    assert "no chapter or exercise is called `no_such`" in capsys.readouterr().err


def test_an_earlier_chapter_that_is_mended_is_taken_anew(bench, tmp_path, solution, capsys):
    answers = solutions("ex04_softmax")
    bench.run(answers["softmax"] + "\n\n\n" + answers["attention_weights"])
    path = tmp_path / "ex02_scaling.py"
    path.write_text(solution("ex02_scaling").replace("d_k**0.5", "d_k"))
    bench.run("check('attention_weights')")
    said = capsys.readouterr().out
    assert said.startswith("taken anew, because it has changed: ex02_scaling\n")
    assert "only ex02_scaling" in said
    path.write_text("def scaled_scores(:")
    bench.run("check('attention_weights')")
    assert "ex02_scaling.py, line 1 is not Python yet" in capsys.readouterr().out
    data = nbformat.writes(filled("ex02_scaling")).encode()
    (tmp_path / "ex02_scaling.ipynb").write_bytes(data)
    bench.run("check('attention_weights')")
    assert "solved, all of its" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("check('softmaxx')", "did you mean `softmax`"),
        ("check('softmax', device='tpu')", "there is no device `tpu`"),
        ("check('ex02_scaling.scale_scores')", "solved, all of its"),
        ("check('ex04_softmax')", "attention_weights  not run"),
    ],
)
def test_whatever_is_asked_the_answer_is_a_sentence(bench, capsys, cell, says):
    bench.run(cell)
    assert says in capsys.readouterr().out


def test_the_notebook_is_left_as_it_was(bench, capsys):
    bench.run("before = dict(torch=torch.get_num_threads(), seed=torch.get_rng_state())")
    bench.run(solutions("ex04_softmax")["softmax"] + "\n\ncheck('softmax')")
    bench.run("same = torch.equal(before['seed'], torch.get_rng_state())")
    bench.run("same = same and before['torch'] == torch.get_num_threads()")
    assert bench.space["same"]


def test_time_is_limited_where_there_are_no_signals():
    ended: list[type[BaseException]] = []

    def work() -> None:
        try:
            with limit(0.1):
                while True:
                    pass
        except TimeLimit as problem:
            ended.append(type(problem))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    assert ended == [TimeLimit]


def test_a_picture_takes_what_is_further_down_from_the_saved_notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for stem in list(catalogue().names())[:-1]:
        (tmp_path / f"{stem}.py").write_text((places.SOLUTIONS / f"{stem}.py").read_text())
    made = filled("ex07_model")
    code = [cell.source for cell in made.cells if cell.cell_type == "code"]
    last = next(i for i, text in enumerate(code) if text.startswith("class NextWordModel"))
    ran = ["", *(text for text in code[: last + 1] if "check(" not in text and "show(" not in text)]
    space: dict[str, Any] = {"In": ran, "NextWordModel": object}
    try:
        unsaved = repr(drawn("NextWordModel", space))
        nbformat.write(made, tmp_path / "ex07_model.ipynb")
        saved = repr(drawn("NextWordModel", space))
        asked_for = repr(drawn("train", space))
    finally:
        close_all()
    assert "your ex07_model.train is not there yet" in unsaved
    assert "not started" not in unsaved
    assert "not there yet" not in saved
    assert "Not trained" not in saved
    assert "ex07_model.train is not started" in asked_for


# ---- in a real kernel ----


def executed(folder: Path, *books: Any) -> list[list[Any]]:
    """Run notebooks' code cells, each in a fresh namespace, in one kernel; return their cells."""
    whole = nbformat.v4.new_notebook(metadata=books[0].metadata)
    for one in books:
        whole.cells += [cell for cell in one.cells if cell.cell_type == "code"]
        whole.cells.append(nbformat.v4.new_code_cell("%reset -f"))
    NotebookClient(whole, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    left = iter(whole.cells)
    return [
        [next(left) for cell in one.cells if cell.cell_type == "code"] + [next(left)]
        for one in books
    ]


def said(cells: list[Any], kind: str) -> dict[str, str]:
    """Return what cells of a kind have printed, by function; no cell may have stopped."""
    found = {}
    for cell in cells:
        assert [one for one in cell.outputs if one.output_type == "error"] == []
        tag, _, name = "".join(cell.metadata.get("tags", [])).partition(":")
        if tag == kind:
            found[name] = "".join(one.get("text", "") for one in cell.outputs)
    return found


def test_solutions_in_every_notebook_are_solved_in_a_kernel(tmp_path):
    books = {stem: filled(stem) for stem in catalogue().names()}
    for stem, made in books.items():
        nbformat.write(made, tmp_path / f"{stem}.ipynb")
        # a picture takes seconds, and one chapter's are enough: see below
        made.cells = [
            c for c in made.cells if not "".join(c.metadata.get("tags", [])).startswith("show")
        ]
    for (stem, names), cells in zip(
        catalogue().names().items(), executed(tmp_path, *books.values()), strict=True
    ):
        answers = said(cells, "check")
        for name in names:
            assert f"{stem}.{name}: solved, all of its" in answers[name]
        assert answers["all"].count("solved") == len(names)


def test_stubs_slips_and_pictures_in_a_kernel(tmp_path):
    for stem in catalogue().names():
        nbformat.write(filled(stem), tmp_path / f"{stem}.ipynb")
    stubs = nbformat.reads(notebook(read_chapter(places.EXERCISES / "ex04_softmax.py")).decode(), 4)
    stubs.cells = [c for c in stubs.cells if c.metadata.get("tags") != ["show:attention_weights"]]
    slip = filled("ex04_softmax", softmax=OVERFLOWS)
    [own] = [c for c in slip.cells if c.metadata.get("tags") == ["show:attention_weights"]]
    own.source = 'show("attention_weights", text="tea is hot")'
    untouched, wrong = executed(tmp_path, stubs, slip)
    assert said(untouched, "check")["softmax"] == "ex04_softmax.softmax is not started\n"
    assert said(untouched, "check")["all"].count("not started") == 2
    assert "Likely slip  exp of a large score is infinity" in said(wrong, "check")["softmax"]
    assert "only ex04_softmax.softmax is wrong" in said(wrong, "check")["attention_weights"]
    [drawn] = [c.outputs for c in wrong if c.metadata.get("tags") == ["show:softmax"]]
    [data] = [one.data for one in drawn if one.output_type == "execute_result"]
    assert "data:image/svg+xml;base64," in data["text/html"]
    assert "0.955" in data["text/plain"]
    [drawn] = [c.outputs for c in wrong if c.metadata.get("tags") == ["show:attention_weights"]]
    assert all(word in str(drawn) for word in ("tea", "is", "hot"))
