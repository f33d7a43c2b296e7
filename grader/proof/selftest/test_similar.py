"""Copies are found, also in disguise; who has written alone is left alone."""

from __future__ import annotations

import ast
import itertools
import json
import random
import re
import symtable
from fractions import Fraction

import pytest

from grader import places
from grader.batch.reader import SubmissionReader
from grader.chapters import catalogue
from grader.cli import main
from grader.proof.selftest.test_batches import EX01, AtOnce
from grader.reports import similar
from grader.results import CheckResult, ExerciseResult, Run, SubmissionResult
from grader.written.shapes import shapes

NAMES = {"ex01_scores": ("f", "g")}
PLAIN = """
import torch
def f(query, key, scale=2):
    total = query @ key.transpose(-2, -1)
    peak = total.amax(dim=-1, keepdim=True)
    if scale > peak.numel():
        total = total * scale + query
    return torch.exp(total - peak)
"""
WAYS = {
    "names": PLAIN.replace("total", "x").replace("peak", "biggest").replace("query", "q"),
    "comments": PLAIN.replace("    peak", "    # the largest\n\n    peak"),
    "a docstring": PLAIN.replace(":\n    total", ':\n    """Says much."""\n    total', 1),
    "annotations": PLAIN.replace("(query, key, scale=2)", "(query: int, key: int, scale: int = 2)"),
    "an order of its own": PLAIN.replace("total * scale + query", "query + scale * total"),
    "turned": PLAIN.replace("scale > peak.numel()", "peak.numel() < scale"),
    "keywords": PLAIN.replace("dim=-1, keepdim=True", "keepdim=True, dim=-1"),
}  # fmt: skip


def read(folder):
    return {path.name: path.read_bytes() for path in folder.glob("ex*.py")}


def of(text, name="f"):
    return shapes({"ex01_scores.py": text.encode()}, NAMES).get(f"ex01_scores.{name}")


@pytest.fixture(scope="module")
def names():
    return catalogue().names()


@pytest.fixture(scope="module")
def variants(names):
    """The shapes of right answers that were written independently of one another."""
    folders = [path for path in sorted(places.VARIANTS.iterdir()) if path.is_dir()]
    return {path.name: shapes(read(path), names) for path in folders}


def graded(name, found, exercises=None):
    every = exercises or found
    results = tuple(
        ExerciseResult(full, Fraction(1), 1, (CheckResult("c", "cpu", "passed", True),))
        for full in every
    )
    return SubmissionResult(name, None, results, ("cpu",), shapes=found)


def compared(known=None, exercises=None, **found):
    made = tuple(graded(name, of, exercises) for name, of in found.items())
    run = Run("0", "0", 1, {"cpu": "run", "cuda": "absent"}, made)
    return similar.found(run, known)


class Renamed(ast.NodeTransformer):
    """Gives every name that is bound in a function another one, and nothing else."""

    def __init__(self, text):
        self.local, waiting = set(), [symtable.symtable(text, "x", "exec")]
        while waiting:
            table = waiting.pop()
            waiting += table.get_children()
            if table.get_type() == "function":
                bound = [s for s in table.get_symbols() if s.is_assigned() or s.is_parameter()]
                self.local |= {symbol.get_name() for symbol in bound}

    def visit_Name(self, node):
        """Rename a use."""
        return ast.Name(f"{node.id}_of_mine" if node.id in self.local else node.id, node.ctx)

    def visit_arg(self, node):
        """Rename a parameter, without its annotation."""
        return ast.arg(f"{node.arg}_of_mine")


def disguised(source):
    """Rename all local names, drop comments, and lay the text out anew."""
    text = source.decode()
    return ast.unparse(Renamed(text).visit(ast.parse(text))).encode()


@pytest.mark.parametrize("way", WAYS)
def test_what_does_not_matter_leaves_the_shapes_as_they_are(way):
    assert WAYS[way] != PLAIN
    assert len(of(PLAIN)) > 8
    assert of(WAYS[way]) == of(PLAIN)


@pytest.mark.parametrize(
    ("old", "new"),
    [("-2, -1", "0, 1"), ("query @ key", "key @ query"), ("total - peak", "peak - total"),
     ("amax", "amin"), ("scale > peak", "scale < peak"), ("torch.exp", "torch.exp2")],
)  # fmt: skip
def test_what_matters_changes_them(old, new):
    changed = set(of(PLAIN.replace(old, new)))
    assert changed != set(of(PLAIN))
    assert changed & set(of(PLAIN))


def test_helpers_belong_to_the_functions_that_need_them_and_exercises_do_not():
    helper = "def _h(a):\n    return (a + 1) * (a - 2) + a.sum(dim=3)\n"
    renamed = "def _inner(of):\n    return (of + 1) * (of - 2) + of.sum(dim=3)\n"
    calls = "def f(x):\n    return _h(x) - g(x)\ndef g(x):\n    return x ** 7 / x.mean(dim=1)\n"
    assert of(helper + calls) == of(renamed + calls.replace("_h", "_inner"))
    assert len(of(helper + calls)) > len(of(calls)) > 0
    assert not set(of(helper + calls, "g")) & set(of(helper + calls))
    recursive = "def f(x):\n    return f(x) + _a(x)\ndef _a(x):\n    return _b(x)\n"
    assert of(recursive + "def _b(x):\n    return _a(x - 1) * 2\n")


def test_stubs_and_what_is_not_python_have_none():
    stub = 'def f(x):\n    """Text."""\n    raise NotImplementedError("ex01_scores.f")\n'
    assert of(stub) is None
    assert of("def f(:") is None
    assert of("def f(x):\n    return " + "(" * 5000 + "x" + ")" * 5000) is None
    long = "def f(x):\n" + "    x = x + 1\n" * 2000
    assert of(long) == ()
    assert len(of("def f(x):\n" + "".join(f"    x = x.a{n} + 1\n" for n in range(300)))) == 64


def test_the_weight_is_what_few_others_have():
    one = {"ex.f": tuple(range(40)), "ex.g": (100, 101)}
    two = {"ex.f": (*range(36), 50), "ex.g": (101, 102)}
    (pair,) = compared([], anna=one, bert=two).pairs
    assert pair.who == ("anna", "bert")
    assert (pair.weight, pair.begun) == (36.0, 2)
    # 36 that both have, and 4 and 1 that one has; of g a third is shared, which is not alike
    assert [(f.exercise, f.part) for f in pair.functions] == [("ex.f", round(36 / 41, 2))]
    # what the kit has says nothing
    assert compared([{"ex.f": tuple(range(10))}], anna=one, bert=two).pairs == ()
    # and what one more has counts half
    third = compared([], anna=one, bert=two, carl={"ex.f": tuple(range(12))}).pairs
    assert [(p.who, p.weight) for p in third] == [(("anna", "bert"), 24 + 12 / 2)]
    # other weeks' functions are not looked at
    assert compared([], exercises=["ex.g"], anna=one, bert=two).pairs == ()


@pytest.mark.parametrize("name", ["beginner", "lambdas", "small_steps", "closures"])
def test_a_copy_with_other_names_is_found(name, names, variants):
    source = read(places.VARIANTS / name)
    copy = shapes({file: disguised(text) for file, text in source.items()}, names)
    result = compared(**variants, copy=copy)
    (pair,) = result.pairs
    assert pair.who == (name, "copy")
    assert len(pair.functions) >= 0.85 * pair.begun
    assert min(function.part for function in pair.functions) >= 0.8


@pytest.mark.parametrize("name", ["beginner", "small_steps"])
def test_a_copy_with_functions_of_its_own_is_found(name, variants):
    dice = random.Random(name)
    own = dice.sample(sorted(variants[name]), 10)
    copy = variants[name] | {full: variants["loops"][full] for full in own}
    pairs = {pair.who: pair for pair in compared(**variants, copy=copy).pairs}
    told = {function.exercise for function in pairs[(name, "copy")].functions}
    assert not told & set(own)
    assert len(told) >= 15


def test_independent_answers_are_left_alone(variants):
    assert compared(**variants).pairs == ()
    assert len(variants) > 20
    for one, other in itertools.combinations(variants, 2):
        result = compared(a=variants[one], b=variants[other])
        assert result.pairs == (), (one, other)


def test_who_hands_in_the_reference_is_like_nobody(names):
    source = read(places.SOLUTIONS)
    found = shapes({file: disguised(text) for file, text in source.items()}, names)
    assert len(found) == sum(map(len, names.values()))
    result = compared(a=found, b=found, c=found)
    assert result.pairs == result.same == ()
    assert result.compared == 3


def test_what_many_have_is_no_pairs_own(variants):
    """Twenty have one chapter from one place, as after a tutorial; two have more than that."""
    tutorial = {full: of for full, of in variants["small_steps"].items() if "ex01" in full}
    rest = {full: of for full, of in variants["beginner"].items() if "ex01" not in full}
    every = {f"s{n}": tutorial for n in range(20)}
    whole = compared(**every, alone=rest)
    assert whole.pairs == ()
    assert whole.same == (tuple(every),)
    assert len(compared(a=tutorial, b=tutorial).pairs) == 1
    (pair,) = compared(**every, a=tutorial | rest, b=tutorial | rest).pairs
    assert pair.who == ("a", "b")


def test_hostile_text_is_parsed_in_the_limited_process(monkeypatch):
    deep = b"def dot_product(a, b):\n    return " + b"-" * 90_000 + b"a\n"
    wide = b"def dot_product(a, b):\n    return " + b"a if a else " * 8_000 + b"b\n"
    digits = b"def dot_product(a, b):\n    return 0x" + b"f" * 90_000 + b" + 1\n"
    helpers = b"".join(b"def h%d(a):\n    return h%d(a)\n" % (n, n + 1) for n in range(2000))
    helpers += b"def dot_product(a, b):\n    return h0(a)\n"
    good = (places.SOLUTIONS / f"{EX01}.py").read_bytes()
    monkeypatch.setattr(ast, "parse", None)  # here nothing is parsed
    with SubmissionReader(seconds=5) as reader:
        for text in (deep, wide, digits, helpers, b"\x00", b"def dot_product(:", b"[" * 100_000):
            found = reader.shapes({f"{EX01}.py": text})
            assert f"{EX01}.dot_product" not in found or not found[f"{EX01}.dot_product"]
        assert len(reader.shapes({f"{EX01}.py": good})) == 6


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr("grader.batch.slots.JudgeProcess", AtOnce)


def test_through_the_command_line_resumed_and_merged(at_once, tmp_path, monkeypatch):
    comparisons = []
    found = similar.found
    monkeypatch.setattr(similar, "found", lambda run: comparisons.append(run) or found(run))
    folder = tmp_path / "class"
    for name, variant in {"anna": "beginner", "bert": "beginner", "carl": "loops"}.items():
        (folder / name).mkdir(parents=True)
        text = (places.VARIANTS / variant / f"{EX01}.py").read_bytes()
        (folder / name / f"{EX01}.py").write_bytes(disguised(text) if name == "bert" else text)
    (folder / "dora.zip").write_bytes(b"no zip")
    base = ["grade", str(folder), "--only", "ex01", "--device", "cpu", "--seed", "5"]
    page = tmp_path / "class.html"

    def reported(*command):
        file = tmp_path / "similar.json"
        comparisons.clear()
        main([*command, "--report", f"similar={file}", "--report", f"html={page}"])
        assert len(comparisons) == 1
        return file.read_bytes(), page.read_bytes()

    once = reported(*base)
    said = json.loads(once[0])
    assert (said["compared"], said["not_compared"]) == (3, ["dora"])
    assert [pair["who"] for pair in said["pairs"]] == [["anna", "bert"]]
    assert "never a proof" in said["caution"]
    assert "never a proof" in page.read_text(encoding="utf-8")
    for student in (tmp_path / "class-pages").iterdir():
        own = student.read_text(encoding="utf-8")
        assert not re.search("[Ss]imilar|proof", own)
        assert sum(name in own for name in ("anna", "bert", "carl", "dora")) == 1
    results = ["--results", str(tmp_path / "all.db")]
    main([*base, *results])
    assert reported(*base, *results) == once
    parts = [str(tmp_path / f"{n}.db") for n in (1, 2)]
    for n, part in enumerate(parts, 1):
        main([*base, "--shard", f"{n}/2", "--results", part])
    assert reported("merge", *parts) == once
    main([*base, "--report", f"html={page}"])
    assert "never a proof" not in page.read_text(encoding="utf-8")
