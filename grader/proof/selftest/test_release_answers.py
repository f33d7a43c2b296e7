"""Nothing in a students' pack answers as an exercise must, whatever it is called by."""

from __future__ import annotations

import pytest

from grader import places
from grader.chapters import catalogue
from grader.proof.pack.right_calls import save
from grader.proof.selftest.packs import run_in

TRY_ALL = places.ROOT / "grader" / "proof" / "pack" / "try_all.py"
TRY_SEALS = TRY_ALL.with_name("try_seals.py")


# what it is asked for shows what it is
CACHE = """

class Cache:
    def __init__(self, capacity):
        self.pieces = []

    def update(self, key, value):
        import torch

        self.pieces.append((key, value))
        return [torch.cat(rows, -2) for rows in zip(*self.pieces)]
"""


@pytest.mark.slow
def test_nothing_that_can_be_called_is_an_answer(released, tmp_path):
    save(tmp_path / "calls.pt")
    *found, last = run_in(released, str(TRY_ALL), str(tmp_path / "calls.pt")).stdout.splitlines()
    assert last.endswith(f"tried as one of {len(list(catalogue().exercises()))} exercises"), last
    assert int(last.split()[0]) > 2000
    assert found == []


def test_an_answer_that_is_left_in_is_found(released, tmp_path):
    save(tmp_path / "calls.pt")
    path = released / "grader" / "naming.py"
    before = path.read_text(encoding="utf-8")
    body = "class Mine:\n    @staticmethod\n    def scores(draw, q, k):\n        return q @ k.mT\n"
    body += CACHE
    path.write_text(before + body, encoding="utf-8")
    try:
        told = run_in(released, str(TRY_ALL), str(tmp_path / "calls.pt"), "grader.naming").stdout
    finally:
        path.write_text(before, encoding="utf-8")
    assert "ex01_scores.dot_product_scores: grader.naming.Mine.scores by as_a_check" in told
    assert "ex11_cache.KeyValueCache: grader.naming.Cache by as_it_is" in told


def test_nothing_that_can_be_called_opens_a_seal(released):
    *found, last = run_in(released, str(TRY_SEALS)).stdout.splitlines()
    assert last.endswith(f"tried on {len(list(catalogue().exercises()))} seals"), last
    assert int(last.split()[0]) > 2000
    assert found == []


def test_an_answer_that_is_left_in_opens_its_seal(released):
    path = released / "grader" / "naming.py"
    before = path.read_text(encoding="utf-8")
    path.write_text(before + "\n\ndef mine(q, k):\n    return q @ k.mT\n", encoding="utf-8")
    try:
        told = run_in(released, str(TRY_SEALS), "grader.naming").stdout
    finally:
        path.write_text(before, encoding="utf-8")
    assert told.splitlines()[:-1] == [
        "ex01_scores.dot_product_scores: opened by grader.naming.mine"
    ]


@pytest.mark.parametrize(
    "through",
    [
        "sys.modules['test_{stem}'].{name}(*args, **kwargs)",
        "next(c for c in sys.modules['test_{stem}'].CASES if c.exercise == '{name}')"
        ".expected(*args, **kwargs)",
        "reference('{stem}', '{name}')(*args, **kwargs)",
    ],
)
def test_the_suites_answer_no_student(released, tmp_path, through):
    for stem in catalogue().names():
        names = [e.name for e in catalogue().exercises() if e.stem == stem]
        bodies = [
            f"def {name}(*args, **kwargs):\n    return {through.format(stem=stem, name=name)}\n"
            for name in names
        ]
        head = (
            "import sys\nfrom grader.suite.check import load_suite\n"
            "from grader import places\n"
            "def reference(stem, name):\n"
            "    return getattr(load_suite(places.SUITES / f'test_{stem}.py'), name)\n"
        )
        (tmp_path / f"{stem}.py").write_text(head + "\n".join(bodies), encoding="utf-8")
    command = ("-m", "pytest", "-q", "-rp", f"--answers={tmp_path}", "-p", "no:cacheprovider")
    told = run_in(released, *command).stdout
    passed = {line.split("::test_")[1] for line in told.splitlines() if line.startswith("PASSED")}
    core = {check.name for e in catalogue().exercises() for check in e.checks if check.core}
    assert "failed" in told
    assert passed & core == set()
