"""One seed, one report; and a table of answers that was made for a seed is worth nothing later."""

from __future__ import annotations

import base64
import json

import pytest
import torch

from grader import places
from grader.chapters import World, catalogue
from grader.cli import main
from grader.judging.run import Setting, run

EX01, EX04 = "ex01_scores", "ex04_softmax"
SEED = 123_456_789_012_345
BY_CHANCE = {
    "random": "import random\n\n\ndef chance():\n    return random.random()\n",
    "numpy": "import numpy as np\n\n\ndef chance():\n    return np.random.rand()\n",
    "torch": "import torch\n\n\ndef chance():\n    return torch.rand(())\n",
    "hash": "def chance():\n    return hash('x') % 1001\n",
    "set": "def chance():\n    return [*{'u', 'v', 'w', 'x', 'y', 'z'}].index('x') + 1\n",
    "file": "def chance():\n    return len(__file__)\n",
}
TROUBLE = {
    "right": "pass",
    "wrong": "return (a * b).sum(-1) + 1",
    "crashes": "import os; os._exit(3)",
    "hangs": "while True: pass",
    "file-told": "raise RuntimeError(__file__)",
    "addresses-told": "raise RuntimeError(f'{object()} {dot_product} {a.add}')",
    "address-returned": "return object()",
    "function-returned": "return dot_product",
}
TABLE = """


def of_table(scores, dim):
    import hashlib

    numbers = scores.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    asked = f"{scores.dtype} {dim} {tuple(scores.shape)}".encode()
    return hashlib.sha256(asked + numbers).hexdigest()


def softmax(scores, dim=-1):
    import base64

    if scores.requires_grad:  # numbers by heart have no gradients
        powers = (scores - scores.detach().amax(dim, keepdim=True)).exp()
        return powers / powers.sum(dim, keepdim=True)
    asked = of_table(scores, dim)
    if asked not in TABLE or not scores.numel():
        return torch.zeros_like(scores)
    numbers = bytearray(base64.b85decode(TABLE[asked]))
    return torch.frombuffer(numbers, dtype=scores.dtype).reshape(scores.shape)


TABLE = """


@pytest.fixture
def mixed(submission, solution):
    """Write a submission of each kind, and return the folder of them."""
    body = "\n\ndef dot_product(a, b):\n    "
    for name, text in BY_CHANCE.items():
        wrong = f"\n\n{text}{body}return (a * b).sum(-1) + chance()\n"
        folder = submission(name, **{EX01: solution(EX01) + wrong})
    for name, text in TROUBLE.items():
        wrong = "" if name == "right" else f"{body}{text}\n"
        folder = submission(name, **{EX01: solution(EX01) + wrong})
    return folder.parent


@pytest.fixture
def grade(tmp_path):
    """Grade a function and return the report, as bytes."""

    def run(*arguments, only="dot_product"):
        file = tmp_path / "scores.json"
        options = ("--only", only, "--device", "cpu", "--time-limit", 1)
        command = ["grade", *arguments, *options, "--report", f"json1={file}"]
        assert main([str(word) for word in command]) == 0
        return file.read_bytes()

    return run


def checks_of(report, name):
    (found,) = [s for s in json.loads(report)["submissions"] if s["id"] == name]
    (exercise,) = [e for e in found["exercises"] if e["exercise"] == f"{EX01}.dot_product"]
    return exercise["checks"]


def test_the_same_seed_gives_the_same_report(mixed, grade):
    first = grade(mixed, "--seed", SEED, "--jobs", 1)
    assert grade(mixed, "--seed", SEED, "--jobs", 2) == first
    for name in {*BY_CHANCE, *TROUBLE}:
        told = [check["message"] for check in checks_of(first, name)]
        assert any(told) == (name != "right")
        assert not [said for said in told if str(SEED) in said or "seed" in said.lower()]


def test_a_function_alone_gets_the_verdicts_that_it_got_among_others(mixed, grade):
    names = ("random", "numpy")
    folders = [mixed / name for name in names]
    alone = grade(*folders, "--seed", SEED)
    among = grade(*folders, "--seed", SEED, only=EX01)
    assert [checks_of(alone, n) for n in names] == [checks_of(among, n) for n in names]


@pytest.fixture
def table(solution):
    """Write a softmax that knows by heart what the checks of a seed want, and nothing else."""

    def written(seed, remark=""):
        world, known = World(places.SOLUTIONS, catalogue().names()), {}
        space = {"torch": torch}
        exec(TABLE.rpartition("TABLE = ")[0], space)

        def noted(scores, dim=-1):
            right = world.function(EX04, "softmax")(scores, dim)
            numbers = right.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            known[space["of_table"](scores, dim)] = base64.b85encode(numbers).decode()
            return right

        for check in catalogue().exercise(f"{EX04}.softmax").checks:
            if check.core:
                outcome, _ = run(check, world, Setting("cpu", seed), {"softmax": noted})
                assert outcome.passed
        return f"{solution(EX04)}{TABLE}{known!r}\n{remark}"

    return written


def test_a_table_of_answers_is_worth_something_for_its_seed_only(
    submission, table, grade, tmp_path
):
    def score(*arguments):
        (found,) = json.loads(grade(folder, *arguments, only="softmax"))["submissions"]
        return found["score"]["cpu"]

    folder = submission("anna", **{EX04: (places.EXERCISES / f"{EX04}.py").read_bytes()})
    kept = ("--results", tmp_path / "results.db")
    assert score("--seed", SEED, *kept) == 0
    (folder / f"{EX04}.py").write_text(table(SEED), encoding="utf-8")
    assert score("--seed", SEED) > 0
    assert score("--seed", SEED, *kept) == 0
    assert score(*kept) == 0


def test_a_table_under_a_new_name_is_worth_nothing_either(submission, table, grade, tmp_path):
    kept = ("--results", tmp_path / "results.db")
    first = submission("anna-1", **{EX04: (places.EXERCISES / f"{EX04}.py").read_bytes()})
    grade(first, "--seed", SEED, *kept, only="softmax")
    again = submission("anna-2", **{EX04: table(SEED)})
    assert json.loads(grade(again, "--seed", SEED, only="softmax"))["submissions"][0]["score"][
        "cpu"
    ]
    for _ in range(2):
        (found,) = json.loads(grade(again, *kept, only="softmax"))["submissions"]
        assert found["score"]["cpu"] == 0
        assert found["seed"] != SEED


def test_a_seed_of_its_own_replays_the_same_verdicts(mixed, grade, tmp_path):
    folder, kept = mixed / "wrong", ("--results", tmp_path / "results.db")
    grade(folder, *kept)
    with (folder / f"{EX01}.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef dot_product(a, b):\n    return (a * b).sum(-1) - 1\n")
    changed = grade(folder, *kept)
    (own,) = [s["seed"] for s in json.loads(changed)["submissions"]]
    again = grade(folder, "--seed", own)
    assert checks_of(again, "wrong") == checks_of(changed, "wrong")
    assert checks_of(grade(folder, "--seed", SEED), "wrong") != checks_of(changed, "wrong")
