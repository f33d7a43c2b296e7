"""Hints: the answer's own slip first, then three steps, and never the line itself."""

from __future__ import annotations

import ast
import json
import re
import shutil
from fractions import Fraction

import pytest

from grader import places
from grader.chapters import catalogue
from grader.cli import main
from grader.hints.advice import advise
from grader.hints.ladder import FILE, Ladder, LadderPlace
from grader.reports.message import with_polish
from grader.results import CheckResult, ExerciseResult
from grader.trial.plan import DEVICE, PlannedTask

EVERY = [(e.full, e.task.hints) for e in catalogue().exercises()]
ANSWERS = [places.SOLUTIONS, *places.variants()]


@pytest.fixture
def hint(tmp_path, capsys):
    """Ask for a hint about a copy of a folder, with a memory of one's own."""

    def ask(folder, *name, status=0):
        mine = tmp_path / "project" / folder.name
        if folder.is_dir():
            shutil.rmtree(mine, ignore_errors=True)
            shutil.copytree(folder, mine)
            folder = mine
        assert main(["--answers", str(folder), "hint", *name]) == status
        printed = capsys.readouterr()
        assert "Traceback" not in printed.out + printed.err
        return " ".join((printed.out or printed.err).split())

    return ask


@pytest.mark.parametrize(("full", "hints"), EVERY, ids=[full for full, _ in EVERY])
def test_no_hint_gives_the_line_away(full, hints):
    stem, name = full.split(".")
    lines = set()
    for folder in ANSWERS:
        path = folder / f"{stem}.py"
        if path.is_file():
            lines |= set(_lines(path.read_text(encoding="utf-8"), name))
    assert lines
    for told in hints:
        flat = re.sub(r"[\s`]", "", told)
        assert not [line for line in lines if line in flat]


def _lines(text, name):
    """List what a function assigns and returns, without spaces, where it takes some thought."""
    defined = [node for node in ast.parse(text).body if name in _names(node)]
    for node in (inner for one in defined for inner in ast.walk(one)):
        value = getattr(node, "value", None) if isinstance(node, ast.stmt) else None
        if value is not None and any(isinstance(n, ast.Call | ast.BinOp) for n in ast.walk(value)):
            line = re.sub(r"\s", "", ast.unparse(value))
            if len(line) > 9:
                yield line


def _names(node):
    """Name what a statement defines."""
    targets = getattr(node, "targets", [])
    return {getattr(node, "name", None), *(getattr(target, "id", None) for target in targets)}


@pytest.mark.parametrize(("full", "hints"), EVERY, ids=[full for full, _ in EVERY])
def test_three_hints_that_lead_from_the_fact_to_the_operation(full, hints):
    assert len(set(hints)) == 3
    assert all(len(told.split()) >= 10 for told in hints), "a hint that says next to nothing"
    assert re.search(r"\[[^\]]*\]|`", hints[2]), "no shape, and no operation"


def test_three_steps_then_all_of_them(hint):
    said = [hint(places.EXERCISES, "causal_mask") for _ in range(4)]
    for step in (1, 2, 3):
        assert f"hint {step} of 3:" in said[step - 1]
        assert f"hint {step} of 3:" in said[3]
        assert f"hint {step % 3 + 1} of 3:" not in said[step - 1]


def test_progress_is_remembered_for_each_function(hint, tmp_path):
    hint(places.EXERCISES, "causal_mask")
    hint(places.EXERCISES, "softmax")
    assert "hint 2 of 3" in hint(places.EXERCISES, "ex03_masking.causal_mask")
    kept = json.loads((tmp_path / "project" / FILE).read_text())
    assert kept["ex03_masking.causal_mask"]["step"] == 2
    assert kept["ex04_softmax.softmax"]["step"] == 1


@pytest.mark.parametrize("rubbish", ["", "{", "[1]", '{"ex03_masking.causal_mask": {"step": "x"}}'])
def test_a_spoiled_memory_is_no_trouble(tmp_path, rubbish):
    (tmp_path / ".kit").mkdir()
    (tmp_path / FILE).write_text(rubbish)
    ladder = Ladder(tmp_path)
    assert ladder.place("ex03_masking.causal_mask") == LadderPlace()
    ladder.remember("ex03_masking.causal_mask", LadderPlace(1, ["looks_ahead"]))
    assert ladder.place("ex03_masking.causal_mask") == LadderPlace(1, ["looks_ahead"])


def test_the_next_unsolved_function(hint, submission):
    assert "ex01_scores.dot_product, difficulty" in hint(places.EXERCISES)
    stub = (places.EXERCISES / "ex02_scaling.py").read_text(encoding="utf-8")
    folder = submission("anna", ex02_scaling=stub)
    assert "ex02_scaling.scale_scores, difficulty" in hint(folder)
    assert "ex02_scaling.scale_scores, difficulty" in hint(folder, "ex02_scaling")


def test_what_is_solved_needs_none(hint):
    said = hint(places.SOLUTIONS, "softmax")
    assert "softmax is solved: it needs no hint. Another way: python -m grader compare" in said
    assert "ex03_masking is solved" in hint(places.SOLUTIONS, "ex03_masking")
    assert "every chapter is solved" in hint(places.SOLUTIONS)


def test_the_slip_of_the_answer_comes_first(hint, submission, solution):
    text = solution("ex03_masking")
    wrong = text.replace("position <= position[:, None]", "position >= position[:, None]")
    assert wrong != text
    folder = submission("anna", ex03_masking=wrong)
    first = hint(folder, "causal_mask")
    assert "Your answer now: Your queries look ahead instead of back" in first
    assert "hint 1 of 3:" not in first
    assert "ask again for hint 1 of 3" in first
    assert "hint 1 of 3:" in hint(folder, "causal_mask")
    other = text.replace("position <= position[:, None]", "position < position[:, None]")
    folder = submission("berta", ex03_masking=other)
    assert "The diagonal is False" in hint(folder, "causal_mask")
    assert "hint 2 of 3:" in hint(folder, "causal_mask")


def test_what_waits_leads_to_what_it_waits_for(hint, submission, solution):
    wrong = solution("ex01_scores").replace("return query @ key.mT", "return query @ key.mT * 2")
    folder = submission("anna", ex01_scores=wrong)
    said = hint(folder, "attention_weights")
    assert "It waits for ex01_scores.dot_product_scores" in said
    assert "python -m grader hint dot_product_scores" in said
    assert "ex01_scores.dot_product_scores, difficulty" in hint(folder)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def softmax(", "ex04_softmax.py, line 1 is not Python yet"),
        ("x = 1\n", "To put the stub back: python -m grader reset softmax"),
        ("1 / 0\n", "ZeroDivisionError"),
    ],
)
def test_a_file_that_has_to_be_mended_first(hint, submission, text, says):
    assert says in hint(submission("anna", ex04_softmax=text), "softmax")


def test_a_loop_that_never_ends(hint, submission, solution, monkeypatch):
    monkeypatch.setattr("grader.trial.children.SECONDS", 1.0)
    loop = "\n\ndef softmax(scores, dim=-1):\n    while True:\n        pass\n"
    folder = submission("anna", ex04_softmax=solution("ex04_softmax") + loop)
    said = hint(folder, "softmax")
    line = solution("ex04_softmax").count("\n") + 4
    assert re.search(
        rf"at ex04_softmax\.py, line ({line}|{line + 1}), in softmax: `(while|pass)", said
    )
    assert "Each round of a `while` has to change what its condition asks" in said
    assert "hint 1 of 3: " in hint(folder, "softmax")


def polished(**verdicts):
    """Make a function that is right, with checks of polish that fail by these slips."""
    failed = [
        CheckResult(
            name, DEVICE, "failed", message=f"f: {name}\n\n  Likely slip  {name}.", slip=slip
        )
        for name, slip in verdicts.items()
    ]
    core = CheckResult("core", DEVICE, "passed", core=True)
    return ExerciseResult("ex04_softmax.softmax", Fraction(1), 9, (core, *failed))


def test_of_polish_it_says_what_is_not_on_the_screen(tmp_path):
    task = PlannedTask("ex04_softmax.softmax", Fraction(1), 4, 20, ("1", "2", "3"), ())
    result = polished(first="a", again="a", other="b")
    screen = with_polish(result.checks[1].message, "softmax", "failed")

    def said(on_screen, result=result):
        return advise(task, result, DEVICE, Ladder(tmp_path), on_screen).lines()

    told = said(screen)
    assert "Likely slip: other." in told
    assert "Likely slip: first." not in told
    assert "hint 1 of 3: 1" in said(screen)
    assert "hint 2 of 3: 2" in said(screen, polished(first="a"))


def test_bad_names(hint, tmp_path):
    assert "did you mean `softmax`" in hint(places.EXERCISES, "softmx", status=2)
    masks = "`causal_mask`, `padding_mask`, `decoder_mask`, `apply_mask`, `causal_mask_at` or"
    assert f"did you mean {masks}" in hint(places.EXERCISES, "mask", status=2)
    assert "did you mean `broadcasting`?" in hint(places.EXERCISES, "brodcasting", status=2)
    told = hint(places.EXERCISES, "kv", status=2)
    last = list(catalogue().names())[-1]
    assert f" and {last}, and the words that are explained are batch," in told
    assert "there is no folder" in hint(tmp_path / "nowhere", "softmax", status=2)
