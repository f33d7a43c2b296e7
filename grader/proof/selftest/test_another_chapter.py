"""A chapter is four files: with four more, or four less, nothing else has to change.

The example of grader/WRITING.md is put into a copy of the kit, and what `new` writes.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import pytest

from grader import places
from grader.chapters import ChapterError
from grader.proof.selftest.written import STEM, copy_of_the_kit, put_example

pytestmark = pytest.mark.slow
NEW = "ex15_shares"
CAPSTONE = "ex07_model"


def run(kit, *arguments):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=kit, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    folder = copy_of_the_kit(tmp_path_factory.mktemp("kit"))
    put_example(folder)
    return folder


@pytest.fixture
def changed(kit):
    """Change a file for the time of a test."""
    before = {}

    def change(name, old, new):
        path = kit / name
        text = path.read_text(encoding="utf-8")
        before.setdefault(path, text)
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    yield change
    for path, text in before.items():
        path.write_text(text, encoding="utf-8")


def test_the_pages_example_is_proved(kit):
    done = run(kit, "grader", "check", STEM, "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "slips named                                  3/3" in done.stdout


def test_what_new_writes_is_proved_and_counts(kit):
    assert run(kit, "grader", "new", NEW, "tokens", "Share").returncode == 0
    again = run(kit, "grader", "new", NEW)
    assert again.returncode == 2
    assert f"exercises/{NEW}.py is there already" in again.stderr
    done = run(kit, "grader", "new", "ex14_more")
    assert f"{STEM} is chapter 14 already" in done.stderr
    done = run(kit, "grader", "new", "ex16_layers", "softmax")
    assert "ex04_softmax has a `softmax` already" in done.stderr
    done = run(kit, "grader", "new", "ex16_layers", "weigh", "2Layers")
    assert done.returncode == 2
    assert "`2Layers` is no name of a function or a class" in done.stderr
    for names, says in (
        (("class",), "`class` is a word of Python's"),
        (("a", "a"), "`a` is named twice"),
    ):
        done = run(kit, "grader", "new", "ex16_layers", *names)
        assert says in done.stderr
    done = run(kit, "grader", "check", NEW, "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "slips named                                  2/2" in done.stdout
    graded = run(
        kit, "grader", "grade", "exercises", "solutions", "--report", "json=report.json",
        "--only", NEW,
    )  # fmt: skip
    assert graded.returncode == 0, graded.stderr
    found = json.loads((kit / "report.json").read_text())["submissions"]
    stubs, solved = ({e["devices"]["cpu"]["outcome"] for e in one["exercises"]} for one in found)
    assert (stubs, solved) == ({"not started"}, {"solved"})


WRONG = {
    "return (total, count), total / count": "return total / count",
    '"largest": tokens': '"most": tokens',
    "return tokens * share, share": "return tokens * share, 2 * share",
}
SAID = [
    "advance: it has to return a tuple of 2, and a tensor came",
    "summarise: it has to be a dict with the keys 'mean' and 'largest', and has 'mean' and 'most'",
    "Gate: 15 of 15 values of the second output (`output[1]`) differ",
    "Every value is 2 times the right one.",
]
IN_PLACE = {
    "total, count = total + token, count + 1": "total += token; count += 1",
    '"mean": tokens.mean(-2)': '"mean": tokens.mean(-2).detach()',
    "return tokens * share, share": "return [tokens * share, share]",
}
SAID_THEN = [
    "advance: the call changed the input `state[0]`",
    'summarise: no gradient reaches `tokens` from `output["mean"]`',
    "Gate: it has to return a tuple of 2, and a list of 2 came",
]


@pytest.mark.parametrize(("wrong", "said"), [(WRONG, SAID), (IN_PLACE, SAID_THEN)])
def test_a_message_names_the_part_that_is_wrong(kit, tmp_path, wrong, said):
    text = (kit / "solutions" / f"{STEM}.py").read_text(encoding="utf-8")
    for right, other in wrong.items():
        assert right in text
        text = text.replace(right, other)
    (tmp_path / f"{STEM}.py").write_text(text, encoding="utf-8")
    told = run(kit, "pytest", "-q", f"--answers={tmp_path}", f"tests/test_{STEM}.py")
    shown = " ".join(told.stdout.split())
    assert [one for one in said if one not in shown] == []


SUITE, COACH = f"tests/test_{STEM}.py", f"grader/coach/{STEM}.py"
DRAWING = """

from grader.pictures.drawings import draws


@draws(summarise)
def draw_summarise(sketch):
    \"\"\"What two tokens have in common.\"\"\"
    made = sketch.call("summarise", torch.tensor([[1.0, 4.0], [3.0, 0.0]]), part=("largest",))
    sketch.draw("largest", made, ["both"], range(2))
"""
PROBLEMS = [
    (SUITE, '@check("advance")', '@check("advanse")', "checks advanse, which the coach does not"),
    (SUITE, '@check("advance")\n', "", "test_advance_by_hand checks no exercise"),
    (SUITE, "n=5, d=3):", "n=5, d=3)", "this is not Python"),
    (SUITE, "REFUSALS = [", "REFUSALS = oops + [", "it stops while it is imported: NameError"),
    (SUITE, "a_gate, gated,", "a_gate, lambda *given: gated(*given),", "which is no @reference"),
    (SUITE, "@reference\ndef gated", "def gated", "worked out by `gated`, which is no @reference"),
    (SUITE, "    return (draw(*batch, n, d),)\n",
     "    return (summarise(draw(*batch, n, d, d))['mean'],)\n",
     "inputs are drawn with the help of `summarise`, a @reference"),
    (
        SUITE,
        '"ValueError: `token` is not as large as the sum.",\n        ("the sum is [3] and `token`',
        '"KeyError: `token` is not as large as the sum.",\n        ("the sum is [3] and token',
        'the misfit "the sum is [3] and token is [5]" of a KeyError says no word',
    ),
    (COACH, '"summarise",', '"summarize",', "there is no Task for summarise, which the stubs have"),
    (COACH, '        "A mean is a sum and a number.",\n', "", "advance needs three hints"),
    (COACH, 'TRACK = "beyond"\n', "", "it does not say its track"),
    (COACH, "@advance.slip(STATE)", "@advance.slip", "`@advance.slip(PLACE)` above mean_kept"),
    (COACH, "points=2", 'points="2"', "advance has to be worth a point or more, a whole number"),
    (SUITE, '@check("advance")', "@check", "test_advance_by_hand checks no exercise"),
    (SUITE, "the sum is [3] and `token` is [5]", "it is so", '"it is so" names no size'),
]  # fmt: skip
STUBS = f"exercises/{STEM}.py"
WRITTEN = [
    (SUITE, "def test_gate_of_a_layer_of_zeros", "def test_advance_by_hand",
     "test_advance_by_hand takes the place of line "),
    (SUITE, "CASES = [", 'EXPLAINS = ("Take",)\nCASES = [', "EXPLAINS is a dict"),
    (COACH, "mean = (total + token)", "mean = (totl + token)", "stops with NameError: name 'totl'"),
    (COACH, "mean_kept_for_the_sum(state, token)", "mean_kept_for_the_sum(state, token, more)",
     "stops with TypeError: "),
    (SUITE, "def test_advance_by_hand(answer, draw):\n",
     "def test_advance_by_hand(answer, draw):\n    assert draw\n", "an assert blames the kit"),
    (STUBS, f'    raise NotImplementedError("{STEM}.advance")\n', "    pass\n",
     f'has to end with `raise NotImplementedError("{STEM}.advance")`'),
    (STUBS, "about 10 minutes", "about 9 minutes", "the coach says 'Difficulty 2 of 5, about 10"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "says"), PROBLEMS)
def test_what_an_author_gets_wrong_is_said_with_file_and_line(kit, changed, file, old, new, says):
    changed(file, old, new)
    done = run(kit, "grader", "check", STEM)
    assert done.returncode == 2
    assert done.stderr.startswith(f"grader: {file}, line ")
    assert says in done.stderr


@pytest.mark.parametrize(("file", "old", "new", "says"), WRITTEN)
def test_what_check_finds_is_said_with_file_and_line(kit, changed, file, old, new, says):
    changed(file, old, new)
    done = run(kit, "grader", "check", f"{STEM}.advance")
    assert done.returncode == 1
    [line] = [one for one in done.stdout.split("\n") if says in one]
    assert line.startswith(f"    {file}, line ")


def test_a_file_that_is_called_wrongly_is_named(kit):
    coach = kit / COACH
    coach.rename(coach.with_stem("ex14_runing"))
    done = run(kit, "grader", "check", STEM)
    coach.with_stem("ex14_runing").rename(coach)
    assert "grader/coach/ex14_runing.py: it is there without the other three files" in done.stderr
    assert f"is {STEM} meant?" in done.stderr


def test_it_is_said_by_another_process_as_well():
    problem = ChapterError(places.SUITES / "test_ex01_scores.py", 7, "it is wrong")
    handed_on = pickle.loads(pickle.dumps(problem))
    assert str(handed_on) == str(problem)
    assert str(problem).endswith("test_ex01_scores.py, line 7: it is wrong")


def test_a_suite_that_stops_is_said_in_a_line_with_sizes_and_seed(kit, changed):
    text = (kit / SUITE).read_text(encoding="utf-8")
    head = "def a_state(draw, *batch, d=3):\n"
    stops = "    if draw.seed == 3:\n        raise ValueError('not so')\n"
    changed(SUITE, head, head + stops)
    done = run(kit, "grader", "check", f"{STEM}.advance", "--jobs", "1")
    line = text[: text.index(head)].count("\n") + 3
    assert done.returncode == 1
    said = (
        f"{STEM} values[advance], seed 3: {SUITE}, line {line} stops with d=3: ValueError: not so"
    )
    assert [one for one in done.stdout.split("\n") if said in one] != []
    assert "please report it" not in done.stdout


def test_a_missing_file_is_named_by_plain_pytest_too(kit):
    coach = kit / COACH
    text = coach.read_bytes()
    coach.unlink()
    done = run(kit, "pytest", "-q")
    coach.write_bytes(text)
    assert f"ERROR: {COACH}: this file is missing" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_chapter_can_be_left_out(kit):
    names = [f"{folder}/{CAPSTONE}.py" for folder in ("exercises", "solutions", "grader/coach")]
    names.append(f"tests/test_{CAPSTONE}.py")
    texts = {kit / name: (kit / name).read_bytes() for name in names}
    for path in texts:
        path.unlink()
    done = run(kit, "pytest", "-q", "--answers=solutions", "-k", "scale_scores")
    finish = run(kit, "grader", "finish")
    board = run(kit, "grader")
    for path, data in texts.items():
        path.write_bytes(data)
    assert done.returncode == 0, done.stdout
    assert "the end" not in done.stdout
    assert CAPSTONE not in board.stdout
    assert "of 100 points" in board.stdout
    assert finish.returncode == 2
    assert CAPSTONE in finish.stderr


OWN_CHECKS = """
@check("summarise", about="calls", cites=Rule("ready-made"))
def test_summarise_is_your_own(answer, draw):
    family = Family("mean", "mean", (("mean.dim", ""),))
    your_own(answer, draw, family, [CASES[1]])


@check("advance", about="devices", cites=Rule("device"))
def test_advance_elsewhere(answer, draw):
    device_ready(answer, draw, [CASES[0]])
"""
AFTER = '\n\n@check("Gate", cites="The share is")'
IMPORTS = """from grader.reading.families import Family
from grader.suite import Rule
from grader.suite.devices import device_ready
from grader.suite.your_own import your_own

from grader.suite import ("""
OWN_FINDINGS = """from grader.coach import Task
from grader.coach.common import Common
from grader.coach.error_slips import error_like

FINDINGS = (
    Common(
        "mean_alone", lambda found: found.kind == "built", "The state is what you have to hand on."
    ),
)
ERRORS = (error_like("no_row", "no such row", "Rows are counted from the first token."),)
"""


def test_a_chapter_says_itself_what_is_forbidden_and_what_mistakes_show(kit, changed, tmp_path):
    changed(SUITE, "from grader.suite import (", IMPORTS)
    changed(SUITE, AFTER, OWN_CHECKS + AFTER)
    changed(COACH, "from grader.coach import Task\n", OWN_FINDINGS)
    changed(COACH, 'TRACK = "beyond"', 'TRACK = "core"')  # schema 1 knows of no other one
    text = (kit / "solutions" / f"{STEM}.py").read_text(encoding="utf-8")
    text = text.replace("return (total, count), total / count", "return total / count")
    text = text.replace("return tokens * share, share", "raise LookupError('no such row')")
    (tmp_path / "handed in").mkdir()
    (tmp_path / "handed in" / f"{STEM}.py").write_text(text, encoding="utf-8")
    graded = run(
        kit, "grader", "grade", str(tmp_path / "handed in"), "solutions", "--only", STEM,
        "--report", "json1=report.json", "--report", "csv=report.csv",
    )  # fmt: skip
    assert graded.returncode == 0, graded.stderr
    wrong, right = json.loads((kit / "report.json").read_text())["submissions"]
    said = {c["check"]: c for e in wrong["exercises"] for c in e["checks"]}
    assert said["advance_by_hand"]["slip"] == "mean_alone"
    assert said["gate_of_a_layer_of_zeros"]["slip"] == "no_row"
    ended = {c["check"]: c["outcome"] for e in right["exercises"] for c in e["checks"]}
    assert ended.pop("summarise_is_your_own") == "forbidden"
    assert set(ended.values()) == {"passed"}
    # three by law, and the one that is called otherwise
    assert graded.stdout.splitlines()[2].endswith("4 of 4")


def test_a_part_of_an_output_is_drawn(kit, changed, tmp_path):
    last = "torch.softmax(self.shares(tokens), -1)\n        return tokens * share, share\n"
    changed(COACH, last, last + DRAWING)
    drawn = run(kit, "grader", "--answers", "solutions", "show", "summarise")
    assert "largest" in drawn.stdout
    assert "error" not in drawn.stdout + drawn.stderr
    text = (kit / "solutions" / f"{STEM}.py").read_text(encoding="utf-8")
    (tmp_path / f"{STEM}.py").write_text(text.replace('"largest": tok', '"most": tok'))
    drawn = run(kit, "grader", "--answers", str(tmp_path), "show", "summarise")
    assert "expected a tensor, got dict" in drawn.stdout
    assert "Traceback" not in drawn.stdout + drawn.stderr
