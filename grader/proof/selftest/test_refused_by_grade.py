"""What pytest passes and `grade` refuses is said in pytest; switches mean the same in both."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import ChainMap
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from grader import places
from grader.answers.refused import Refused
from grader.answers.switches import SWITCHES
from grader.batch.sources import LARGEST
from grader.chapters import World, catalogue
from grader.cli import main
from grader.judging.judge import Judge
from grader.judging.run import Setting
from grader.proof.selftest.test_plain_pytest import run

pytestmark = pytest.mark.slow
SUITE = "tests/test_ex01_scores.py"
TOP = "HERE = __import__('pathlib').Path(__file__).parent"
OLD = Path(tempfile.gettempdir(), "of_another_program.txt")
REFUSED = {
    "HERE.joinpath('data.json').read_text()": "opens data.json: `grade` runs",
    "open(HERE / 'data.json')": "opens data.json",
    "import torch; torch.load(HERE / 'weights.pt')": "opens weights.pt",
    "import numpy; numpy.load(HERE / 'weights.npy')": "opens weights.npy",
    "import sys; sys.path.insert(0, str(HERE)); import own_module": "imports own_module.py",
    "import sys, importlib as i; sys.path += [str(HERE)]; i.import_module('m2')": "imports m2.py",
    "open(__file__).read()": "opens ex99_number_",
    "open(HERE / 'made.txt', 'w')": "writes made.txt",
    "import os; os.listdir(HERE)": "lists the files of",
    "list(HERE.iterdir())": "lists the files of",
    "import glob; assert glob.glob(str(HERE / '*.json'))": "lists the files of",
    "import fileinput; list(fileinput.input(HERE / 'data.json'))": "opens data.json",
    "import runpy; runpy.run_path(str(HERE / 'm2.py'))": "opens m2.py",
    "import sqlite3; sqlite3.connect(HERE / 'data.json').close()": "opens data.json",
    f"open({str(OLD)!r}).read()": f"opens {OLD.name}",
    "import subprocess, sys; subprocess.run([sys.executable, '-V'])": "starts another process",
    "import os; assert os.system('exit 0') == 0": "starts another process",
    "import socket; socket.socket().close()": "opens a socket",
    "import asyncio; asyncio.new_event_loop().close()": "opens a socket",
    "import multiprocessing; multiprocessing.Lock()": "makes a lock",
}
ALLOWED = (
    "import torch; open(torch.__file__).read()",
    "import inspect, torch; inspect.getsource(torch.nn.Linear)",
    "import tempfile; tempfile.TemporaryFile().write(b'x')",
    "import tempfile; d = tempfile.mkdtemp() + '/x'; open(d, 'w').close(); open(d).close()",
    "import os; os.listdir()",
    "import os, tempfile; os.listdir(tempfile.mkdtemp())",
    "import traceback; traceback.format_stack()",
    "import warnings; warnings.warn('of the chapter')",
    "import importlib.metadata; importlib.metadata.version('torch')",
    "import concurrent.futures.process, multiprocessing.synchronize",
    "import platform; platform.processor()",
    "import threading; t = threading.Thread(target=int); t.start(); t.join()",
    "import torch; torch.optim.Adam([torch.ones(1, requires_grad=True)])",
    "import contextlib\nwith contextlib.suppress(OSError): open('not_there.json')",
)
SWITCHED = {
    "ex01_scores": "torch.set_grad_enabled(False)",
    "ex02_scaling": "torch.set_default_dtype(torch.float64)",
    "ex03_masking": "kept = torch.inference_mode(); kept.__enter__()",
    "ex04_softmax": "torch.set_default_device('meta')",
    "ex05_mixing": "torch.manual_seed(3)",
    "ex06_heads": "import numpy; numpy.seterr(all='raise')",
    "ex07_model": "torch.set_num_threads(torch.get_num_threads() + 1)",
}
MORE_SWITCHED = (
    "torch.autograd.set_detect_anomaly(True)",
    "torch.use_deterministic_algorithms(True)",
)


def at_the_top(text: str, line: str) -> str:
    return text.replace("import torch\n", f"import torch\n{line}\n", 1)


def with_files_beside(folder: Path) -> None:
    for name in ("data.json", "own_module.py", "m2.py"):
        (folder / name).write_text("")
    OLD.write_text("")
    os.utime(OLD, (0, 0))
    torch.save(torch.ones(2), folder / "weights.pt")
    np.save(folder / "weights.npy", np.ones(2))


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], list[str]]]:
    """Import a chapter, and return the notes; one hook for all: Python keeps it for good."""
    folder = tmp_path_factory.mktemp("answers")
    with_files_beside(folder)
    world = World(folder, catalogue().names())
    refused = Refused(folder, world.imported)

    def notes(text: str) -> list[str]:
        stem = f"ex99_number_{len(world.switched)}"
        (folder / f"{stem}.py").write_text(f"{TOP}\n{text}\n")
        world.load(stem)
        return refused.told()

    yield notes
    refused.end()


@pytest.mark.parametrize(("text", "says"), REFUSED.items())
def test_what_grade_refuses_is_said_with_file_and_line(noted, monkeypatch, text, says):
    monkeypatch.delitem(sys.modules, "multiprocessing.synchronize", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    [note] = noted(text)
    assert f".py, line 2, {says}" in note


def test_a_line_that_is_read_on_the_way_is_said(noted):
    [note] = noted("import linecache; linecache.getline(str(HERE / 'm2.py'), 1)")
    assert ".py, line 2, opens m2.py" in note


@pytest.mark.parametrize("text", ALLOWED)
def test_what_grade_allows_is_not_noted(noted, text):
    assert noted(text) == []


@pytest.mark.skipif(sys.platform != "linux", reason="a submission is shut in on Linux only")
def test_what_is_noted_is_refused_and_what_is_not_is_accepted(submission, solution, graded):
    texts = {f"{at:02}": text for at, text in enumerate((*REFUSED, *ALLOWED))}
    for name, text in texts.items():
        changed = f"{solution('ex01_scores')}\n\n{TOP}\n{text}\n"
        folder = submission(name, ex01_scores=changed)
        with_files_beside(folder)
    found = graded(folder.parent, "--only", "dot_product")["submissions"]
    accepted = {texts[one["id"]] for one in found if one["score"]["cpu"] > 0}
    assert accepted == set(ALLOWED)


@pytest.mark.skipif(sys.platform != "linux", reason="a submission is shut in on Linux only")
@pytest.mark.parametrize(
    "line", ["import grader.nested", "def own():\n    from grader import nested\nown()"]
)
def test_the_kit_is_refused_in_grade_and_noted_by_pytest(submission, solution, graded, line):
    text = at_the_top(solution("ex01_scores"), line)
    folder = submission("of the kit", ex01_scores=text)
    done = run(f"--answers={folder}", SUITE, "-k", "dot_product")
    assert done.returncode == 0
    at = 1 + text[: text.index("grader")].count("\n")
    assert f"ex01_scores.py, line {at}, imports grader" in done.stdout.split(" board ")[1]
    [one] = graded(folder, "--only", "dot_product")["submissions"]
    assert one["score"]["cpu"] == 0
    assert "No module named" in json.dumps(one)


def test_each_right_answer_gives_no_note():
    known, setting = catalogue(), Setting("cpu", 0)
    worlds = [World(folder, known.names()) for folder in places.variants()]
    refused = Refused(places.VARIANTS, ChainMap(*(world.imported for world in worlds)))
    try:
        for world in worlds:
            judge = Judge(known, world, setting)
            for exercise in (e for e in known.exercises() if world.path(e.stem).is_file()):
                assert judge.judge(exercise.checks[0]).passed
        assert refused.told() == []
    finally:
        refused.end()
    assert len(worlds) > 20
    assert not any(any(world.switched.values()) for world in worlds)


@pytest.mark.parametrize("line", [*SWITCHED.values(), *MORE_SWITCHED])
def test_a_switch_is_put_back_and_that_is_said(tmp_path, line):
    before = [switch.read() for switch in SWITCHES]
    (tmp_path / "ex01_scores.py").write_text(f"import torch\n{line}\n")
    world = World(tmp_path, catalogue().names())
    world.load("ex01_scores")
    assert [switch.read() for switch in SWITCHES] == before
    [found] = world.switched["ex01_scores"]
    assert found.says.startswith("ex01_scores.py, line 2, sets ")


def test_a_switch_at_the_top_means_the_same_in_pytest_and_grade(submission, solution, graded):
    changed = {stem: at_the_top(solution(stem), line) for stem, line in SWITCHED.items()}
    folder = submission("switched", **changed)
    done = run(f"--answers={folder}", "-q")
    assert done.returncode == 0
    assert "put back after the import" in done.stdout
    [graded_one] = graded(folder)["submissions"]
    assert graded_one["score"]["cpu"] == graded_one["max"]


@pytest.mark.parametrize("options", [(), ("-n", 2, "-p", "xdist")])
def test_the_notes_stand_below_the_board(submission, solution, options):
    text = at_the_top(solution("ex01_scores"), "import pathlib; here = pathlib.Path(__file__)")
    text = text.replace(
        "    return torch.dot(a, b)",
        "    here.with_name('data.json').read_text()\n    return torch.dot(a, b)",
    )
    folder = submission("beside", ex01_scores=text)
    (folder / "data.json").write_text("[]")
    done = run(f"--answers={folder}", SUITE, "-k", "dot_product", *options)
    assert done.returncode == 0
    line = 1 + text[: text.index("here.with_name")].count("\n")
    assert f"ex01_scores.py, line {line}, opens data.json" in done.stdout.split(" board ")[1]
    assert done.stdout.count("data.json") == 1


def test_a_file_too_large_for_grade_is_said(submission, solution):
    folder = submission("large", ex01_scores=solution("ex01_scores") + "#" * LARGEST[".py"])
    done = run(f"--answers={folder}", SUITE, "-k", "dot_product")
    assert done.returncode == 0
    assert "`grade` cannot read this chapter: ex01_scores.py is larger than" in done.stdout


def test_a_gradient_lies_in_memory_as_it_does_in_pytest(submission, solution, tmp_path):
    first = "    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:\n"
    text = solution("ex12_flash")
    changed = text.replace(first, f"{first}        grad = grad.view(-1).view(grad.shape)\n")
    assert changed != text
    folder = submission("flat", ex12_flash=changed)
    known = catalogue()
    judge = Judge(known, World(folder, known.names()), Setting("cpu", 3))
    checks = known.exercise("ex12_flash.flash_attention").checks
    here = {check.name: judge.judge(check).verdict for check in checks}
    assert "error" in here.values()
    asks = ("--only", "flash_attention", "--device", "cpu", "--seed", "3")
    file = tmp_path / "scores.json"
    assert main(["grade", str(folder), *asks, f"--report=json={file}"]) == 0
    [one] = json.loads(file.read_bytes())["submissions"]
    [exercise] = one["exercises"]
    failed = {check["check"]: check["outcome"] for check in exercise["checks"]}
    assert failed == {name: verdict for name, verdict in here.items() if verdict != "passed"}
