"""`compare`: what a student sees once a function is solved, and what opens its seal."""

from __future__ import annotations

import ast
import base64
import json
import zlib

import pytest
import torch

from grader import comparing as here
from grader import places
from grader.chapters import World, catalogue
from grader.cli import main
from grader.comparing.excerpt import excerpt
from grader.comparing.kit import ways_in_kit
from grader.comparing.screen import folded
from grader.comparing.seal import NoKey, key_of, on_the_edge, opened, seal
from grader.comparing.sealed import Closed, questions, ways_of
from grader.comparing.style import difference, label
from grader.comparing.ways import two_more
from grader.comparing.worth_showing import WORTH_SHOWING
from grader.proof.selftest.packs import run_in

EXERCISES = [exercise.full for exercise in catalogue().exercises()]
NAMES = [full.split(".")[1] for full in EXERCISES]
# unlike one another, and quick
SOME = ("loops", "log_space", "transforms", "float64_inside")


@pytest.fixture
def compared(capfd, monkeypatch):
    """Run `compare` in so many columns and return the status and what it printed."""

    def run(folder, *arguments, width=80):
        monkeypatch.setenv("COLUMNS", str(width))
        status = main(["--answers", str(folder), "compare", *map(str, arguments)])
        printed = capfd.readouterr()
        assert "Traceback" not in printed.out + printed.err
        lines = printed.out.splitlines()
        assert all(len(line) <= width or '"' in line for line in lines)
        return status, printed.out + printed.err

    return run


def answers_to_questions(folder, names=None):
    """Put every question to a folder of answers."""
    world = World(folder, catalogue().names())
    for full in names or EXERCISES:
        stem, name = full.split(".")
        torch.manual_seed(0)
        with world.active():
            yield full, questions(stem)[name](getattr(world.load(stem), name))


# ---- what is shown ----


def test_yours_the_reference_two_more_ways_and_pytorch(compared):
    status, said = compared(places.VARIANTS / "beginner", "attention")
    assert status == 0
    assert "ex05_mixing.attention" in said
    assert "yours   " in said
    assert "ex05_mixing.py:38" in said
    assert "# step 1: how much of each value" in said
    assert "the reference answer" in said
    assert "return mix_values(attention_weights(query, key, mask), value)" in said
    assert said.count("another way, ") == 2
    assert "F.scaled_dot_product_attention(query, key, value, attn_mask=mask)" in said
    assert "No number differs" in said
    assert "True = may attend" in said


def test_what_differs_is_marked_and_the_other_mask_is_said(compared):
    _, said = compared(places.SOLUTIONS, "softmax")
    assert "nan*" in said
    assert "3 of 9 numbers differ." in said
    _, said = compared(places.SOLUTIONS, "project_linear")
    assert "theirs = F.linear(x, weight, bias)" in said
    assert "No number differs" in said
    _, said = compared(places.SOLUTIONS, "MultiHeadAttention")
    assert "attn_mask=~mask" in said
    assert "No number differs" in said


@pytest.mark.parametrize("width", [60, 80, 200])
def test_side_by_side_where_it_fits(compared, width):
    _, said = compared(places.SOLUTIONS, "causal_mask", width=width)
    lines = said.splitlines()
    assert any("yours" in line and "the reference answer" in line for line in lines) == (
        width == 200
    )


def test_a_chapter_shows_what_is_solved_and_says_what_is_missing(submission, solution, compared):
    text = solution("ex04_softmax").replace("powers.sum(dim,", "powers.sum(-2,")
    stub = (places.EXERCISES / "ex03_masking.py").read_text(encoding="utf-8")
    folder = submission("half", ex04_softmax=text, ex03_masking=stub)
    status, said = compared(folder, "softmax")
    assert status == 1
    assert "ex04_softmax.softmax is not solved yet: " in said
    assert "pytest tests/test_ex04_softmax.py::softmax" in said
    assert "powers" not in said
    status, said = compared(folder, "ex03_masking")
    assert status == 1
    told = "is not started: once you have solved it, you can compare it."
    assert " ".join(said.split()).count(told) == 4


def test_names_that_are_none_and_folders_that_are_not(compared, tmp_path):
    assert compared(places.SOLUTIONS, "softmux")[0] == 2
    status, said = compared(tmp_path / "nowhere", "softmax")
    assert (status, "there is no folder" in " ".join(said.split())) == (2, True)


def test_nothing_to_compare_with(compared, monkeypatch, tmp_path):
    monkeypatch.setattr(here, "SOLUTIONS", tmp_path / "none")
    status, said = compared(places.SOLUTIONS, "softmax")
    assert status == 2
    assert "your instructor left them out" in said


# ---- the ways ----


@pytest.mark.parametrize("full", EXERCISES)
def test_every_function_has_two_more_ways_that_can_be_read_alone(full):
    ways = ways_in_kit(full, NAMES)
    name = full.split(".")[1]
    chosen = two_more(ways, ways.reference, name)
    assert len(chosen) == 2
    assert chosen[0][1] != chosen[1][1]
    for said, text in chosen:
        assert said
        assert difference(text, ways.reference) > 0
        assert name in [getattr(node, "name", "") for node in ast.parse(text).body]
    # one's own way is not shown as another
    again = two_more(ways, chosen[0][1], name)
    assert chosen[0][1] not in [text for _, text in again]


def test_an_excerpt_brings_what_it_needs():
    source = (
        "import torch\nfrom ex01_scores import helper, dot_product\nHALF = 0.5\n"
        "def no(x):\n    raise ValueError(x)\n"
        "def twice(x):\n    '''Twice.'''\n    return x / HALF\n"
        "def unused():\n    pass\n"
        "def softmax(x):\n    '''Says.'''\n    if x is None:\n        no(x)\n"
        "    if not x:\n        why = 'nothing'\n        raise ValueError(why)\n"
        "    return twice(dot_product(x))\n"
    )
    whole = excerpt(source, "softmax", ["dot_product", "softmax"])
    assert all(part in whole.text for part in ("HALF", "def twice", "def no"))
    assert not any(part in whole.text for part in ("Says", "unused", "import"))
    assert (whole.line, whole.strange) == (11, frozenset())
    short = excerpt(source, "softmax", ["dot_product", "softmax"], refusals=False)
    assert short.text.endswith("def softmax(x):\n    return twice(dot_product(x))")
    assert "def no" not in short.text
    assert excerpt(source, "softmax", ["softmax"]).strange == {"dot_product"}
    assert excerpt(source, "other", []) is None


def test_a_style_is_what_the_others_have_not():
    one = "def f(a, b):\n    return (a * b).sum()\n"
    assert difference(one, one.replace("a", "x").replace("b", "y")) == 0
    assert label("def f(a, b):\n    return einsum('i,i', a, b)\n", "f", [one]) == "with einsum"
    loop = "def f(a, b):\n    t = 0\n    for x, y in zip(a, b):\n        t += x * y\n    return t\n"
    assert label(loop, "f", [one]) == "with a loop"
    assert label(loop, "f", [one, loop]) == "in other words"
    assert label("def f(a, b):\n    return a @ b\n", "f", [one]) == "with @"
    assert label("def f(a):\n    return f(a[1:])\n", "f", [one]) == "by recursion"


def test_long_lines_of_code_are_folded():
    line = "    return something(one_argument, another_argument, yet_another_argument, 1234)"
    assert folded(line, 50).splitlines() == [
        "    return something(one_argument,",
        "        another_argument, yet_another_argument,",
        "        1234)",
    ]
    assert folded("", 40) == ""


@pytest.mark.parametrize("width", [40, 60, 80])
def test_code_that_is_folded_has_the_same_words(width):
    for full in EXERCISES:
        text = ways_in_kit(full, NAMES).reference
        lines = folded(text, width).splitlines()
        assert " ".join(lines).split() == text.split()
        assert all(len(line) <= width or len(line.split()) == 1 for line in lines)
        assert len(lines) > len(text.splitlines()) or len(max(text.splitlines(), key=len)) <= width


def test_what_is_worth_showing_is_there():
    assert list(WORTH_SHOWING) == [full for full in EXERCISES if full in WORTH_SHOWING]
    for full in EXERCISES:
        stem, _ = full.split(".")
        for folder in WORTH_SHOWING.get(full, ()):
            assert (places.VARIANTS / folder / f"{stem}.py").is_file()
        assert len(ways_in_kit(full, NAMES).others) >= 2


# ---- the seal ----


def test_every_function_has_a_question_and_no_answer_turns_with_rounding():
    keys = {}
    for full, answer in answers_to_questions(places.SOLUTIONS):
        assert on_the_edge(answer) == [], full
        keys[full] = key_of(full, answer)
    assert len(set(keys.values())) == len(EXERCISES)


@pytest.mark.parametrize("style", SOME)
def test_every_right_answer_has_the_same_key(style):
    right = {full: key_of(full, said) for full, said in answers_to_questions(places.SOLUTIONS)}
    folder = places.VARIANTS / style
    held = [full for full in EXERCISES if (folder / f"{full.split('.')[0]}.py").is_file()]
    for full, said in answers_to_questions(folder, held):
        assert key_of(full, said) == right[full], full


@pytest.mark.parametrize(
    ("full", "old", "new"),
    [
        ("ex02_scaling.scale_scores", "scores / d_k**0.5", "scores / d_k"),
        (
            "ex03_masking.causal_mask",
            "position <= position[:, None]",
            "position < position[:, None]",
        ),
        ("ex04_softmax.softmax", "powers.sum(dim,", "powers.sum(-2,"),
        ("ex05_mixing.attention", "(query, key, mask)", "(query, key)"),
        ("ex06_heads.merge_heads", "x.transpose(-3, -2).flatten(-2)", "x.flatten(-2)"),
        ("ex06_heads.MultiHeadAttention", "self.w_o(multi_head(", "(multi_head("),
        ("ex07_model.NextWordModel", "mean_pool(x, lengths)", "mean_pool(x)"),
    ],
)
def test_a_wrong_answer_has_another_key(full, old, new, submission, solution):
    stem = full.split(".")[0]
    text = solution(stem)
    assert old in text
    wrong = submission("wrong", **{stem: text.replace(old, new)})
    (_, right), (_, said) = (
        next(answers_to_questions(folder, [full])) for folder in (places.SOLUTIONS, wrong)
    )
    assert key_of(full, said) != key_of(full, right)


def test_a_seal_opens_with_its_key_alone():
    key = key_of("a.b", [torch.tensor([1.0, -torch.inf]), True, "word", 3])
    text = seal(b"what is sealed", key)
    assert opened(text, key) == b"what is sealed"
    assert opened(text, key_of("a.c", [torch.tensor([1.0, -torch.inf]), True, "word", 3])) is None
    assert key_of("a", torch.tensor([0.9999, 2.0001])) == key_of("a", torch.tensor([1.0, 2.0]))
    assert key_of("a", torch.zeros(2, 1)) != key_of("a", torch.zeros(1, 2))
    assert on_the_edge([torch.tensor([0.45, 0.3]), 7.58]) == pytest.approx([0.45, 7.58])
    with pytest.raises(NoKey, match="neither numbers"):
        key_of("a", None)


# ---- in a students' pack ----


def test_a_pack_opens_what_is_solved_and_nothing_else(released):
    for folder in (places.SOLUTIONS, places.VARIANTS / "einsum"):
        done = run_in(released, "-m", "grader", "--answers", str(folder), "compare", "ex04_softmax")
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("the reference answer") == 2
        assert done.stdout.count("another way, ") == 4
        assert "torch.softmax(scores, -1)" in done.stdout
    done = run_in(released, "-m", "grader", "compare", "softmax")
    assert done.returncode == 1
    assert "is not started" in done.stdout


def test_nothing_sealed_can_be_read(released):
    whole = b"\n".join(path.read_bytes() for path in released.rglob("*") if path.is_file())
    for full in EXERCISES:
        stem, name = full.split(".")
        sealed = json.loads((released / here_in(released) / f"{stem}.json").read_text())[name]
        data = base64.b64decode(sealed)
        assert len(zlib.compress(data)) > 0.99 * len(data)
        ways = ways_in_kit(full, NAMES)
        for text in (ways.reference, *ways.others, ways.ready_made):
            said = [line.strip() for line in text.splitlines() if line.startswith("    ")]
            telling = [line for line in said if "return" in line and len(line) > 40]
            assert not [line for line in telling if line.encode() in whole], full


def here_in(released):
    """Say where the sealed files lie in a pack."""
    return released / here.FOLDER.relative_to(places.ROOT)


def test_a_function_that_passes_without_the_right_answer_is_told_so(released, monkeypatch):
    monkeypatch.setattr("grader.comparing.sealed.FOLDER", here_in(released))
    right = dict(answers_to_questions(places.SOLUTIONS, ["ex01_scores.dot_product"]))
    ways = ways_of("ex01_scores.dot_product", NAMES, lambda _: right["ex01_scores.dot_product"])
    assert ways == ways_in_kit("ex01_scores.dot_product", NAMES)
    with pytest.raises(Closed, match="show it to your instructor"):
        ways_of("ex01_scores.dot_product", NAMES, lambda _: [1.0, 2.0, 3.0])
    with pytest.raises(Closed, match="show it to your instructor"):
        ways_of("ex01_scores.dot_product", NAMES, lambda _: None)
    with pytest.raises(Closed, match="holds no reference answer"):
        ways_of("ex14_more.function", NAMES, lambda _: None)


def test_an_instructor_leaves_them_out(tmp_path, monkeypatch):
    from grader.release import pack as packing

    monkeypatch.setattr(packing, "record", lambda suites: {})
    assert main(["release", str(tmp_path / "pack"), "--no-compare"]) == 0
    assert not here_in(tmp_path / "pack").exists()
    answers = ("--answers", str(places.SOLUTIONS))
    done = run_in(tmp_path / "pack", "-m", "grader", *answers, "compare", "softmax")
    assert done.returncode == 2
    assert "your instructor left them out" in done.stderr


def test_no_helper_of_an_excerpt_loses_its_whole_body():
    source = (
        "def _refuse(why, *tensors):\n"
        '    """Say no."""\n'
        "    sizes = [tuple(one.shape) for one in tensors]\n"
        "    raise ValueError(why, sizes)\n\n\n"
        "def double(x):\n"
        "    ways = {True: _refuse}\n"
        "    _refuse('not a vector', x)\n"
        "    return ways.get(x.ndim != 1, torch.add)(x, x)\n"
    )
    cut = excerpt(source, "double", (), refusals=False)
    assert cut is not None
    assert [type(one).__name__ for one in ast.parse(cut.text).body] == ["FunctionDef"] * 2
    assert "raise ValueError(why, sizes)" in cut.text
    assert "not a vector" not in cut.text
