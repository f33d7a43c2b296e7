"""Device mistakes are caught without a GPU, in the student's words; right code is not accused."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys

import pytest

from grader import places
from grader.chapters import World, catalogue
from grader.cli import main
from grader.judging.judge import Judge
from grader.judging.run import Setting, run
from grader.proof.devices.caught import DEVICES, FEWEST
from grader.proof.devices.programs import Program, programs

pytestmark = pytest.mark.slow
MISTAKES, RIGHT = list(programs("mistakes")), list(programs("right"))
UNSEEN, ODD = list(programs("held_out_mistakes")), list(programs("held_out_right"))
SETTING = Setting()
# before Python 3.11 only the line is known
KNOWS_COLUMNS = sys.version_info >= (3, 11)


def names(many):
    return [str(one) for one in many]


def test_there_are_enough_programs():
    assert len(MISTAKES) >= 60
    assert len(RIGHT) >= 60
    assert len(UNSEEN) >= 40
    assert len(ODD) >= 40
    for many in (MISTAKES, [*RIGHT, *ODD]):
        assert {one.stem for one in many} == set(catalogue().names())


@pytest.mark.parametrize("program", MISTAKES, ids=names(MISTAKES))
def test_a_mistake_is_caught(program):
    assert any(program.fails(catalogue(), SETTING, DEVICES))


@pytest.mark.parametrize("program", [*RIGHT, *ODD], ids=names([*RIGHT, *ODD]))
def test_what_is_right_is_not_accused(program, tmp_path):
    world = World(program.folder(tmp_path / "answers"), catalogue().names())
    # refusals are no matter of devices
    checks = [c for c in catalogue().exercise(program.full).checks if c.about != "edges"]
    outcomes = {check.name: run(check, world, SETTING)[0] for check in checks}
    assert {name: str(o.finding or o.error) for name, o in outcomes.items() if not o.passed} == {}


def test_most_mistakes_are_caught_that_nothing_was_tuned_to():
    caught = [program for program in UNSEEN if any(program.fails(catalogue(), SETTING, DEVICES))]
    assert len(caught) >= FEWEST * len(UNSEEN)


# what is said


def judged(program: Program, tmp_path):
    world = World(program.folder(tmp_path / "answers"), catalogue().names())
    judge = Judge(catalogue(), world, SETTING)
    checks = catalogue().exercise(program.full).checks
    return next(judge.judge(check) for check in checks if check.about == "devices")


def said(outcome) -> str:
    return " ".join(outcome.message.split())


def test_the_call_the_line_and_the_cure_are_named(tmp_path):
    source = """
def apply_mask(scores, mask):
    n = scores.shape[-1]
    mask = mask.expand(scores.shape) & (torch.tril(torch.ones(n, n))[:1] >= 0)
    return scores.masked_fill(~mask, -torch.inf)
"""
    outcome = judged(Program("ex03_masking.apply_mask", "", source), tmp_path)
    assert not KNOWS_COLUMNS or (
        "on a pretended GPU, `torch.tril(torch.ones(n, n))[:1] >= 0` was made on the CPU while "
        "`scores` is on the GPU: give it `device=scores.device`" in said(outcome)
    )
    assert "mask = mask.expand(scores.shape) & (torch.tril(torch.ones(n, n))[:1] >= 0)" in said(
        outcome
    )
    assert "in apply_mask" in outcome.message
    assert "ex03_masking.py, line " in outcome.message
    assert outcome.slip == "constant_made_on_the_cpu"


@pytest.mark.parametrize(
    ("given", "cure"),
    [
        ("device=None", "give it `device=scores.device`"),
        ("", "move it with `.to(scores.device)`"),
    ],
)
def test_a_function_of_ones_own_that_takes_a_device_is_to_be_given_it(tmp_path, given, cure):
    source = f"""
def all_seen(n, {given}):
    return torch.ones(n, dtype=torch.bool, device={(given and "device") or None})


def apply_mask(scores, mask):
    seen = all_seen(scores.shape[-1])
    return scores.masked_fill(~(mask & seen), -torch.inf)
"""
    outcome = judged(Program("ex03_masking.apply_mask", "", source), tmp_path)
    assert not KNOWS_COLUMNS or "`all_seen(scores.shape[-1])`" in said(outcome)
    assert cure in said(outcome)
    assert outcome.slip == "constant_made_on_the_cpu"


def test_what_is_called_without_gradients_is_on_the_gpu_as_well(tmp_path):
    source = """
right = softmax


def softmax(scores, dim=-1):
    made = right(scores, dim)
    return made if torch.is_grad_enabled() else made * torch.ones(made.shape)
"""
    outcome = judged(Program("ex04_softmax.softmax", "", source), tmp_path)
    assert "`torch.ones(made.shape)` was made on the CPU while" in said(outcome)


THREE = """
right = attention_weights


def attention_weights(query, key, mask=None):
    right(query, key, mask)
    width = torch.tensor([query.shape[-1]], dtype=query.dtype)
    if mask is not None:
        mask = mask & torch.ones(key.shape[-2], dtype=torch.bool)
    scores = query @ key.mT / width.sqrt()
    shift = torch.zeros(1, dtype=query.dtype, device=width.device)
    weights = right(query, key, mask)
    return weights + 0 * (scores + shift).sum() + unmoved(scores) - unmoved(scores)


def unmoved(scores):
    return torch.ones(scores.shape[-1], dtype=scores.dtype, device="cpu") + 0 * scores
"""


@pytest.mark.parametrize("grade", [False, True], ids=["here", "over there"])
def test_one_run_tells_of_every_line(tmp_path, grade):
    program = Program("ex04_softmax.attention_weights", "", THREE)
    folder = program.folder(tmp_path / "answers")
    lines = (folder / "ex04_softmax.py").read_text().splitlines()
    at = {what: 1 + next(i for i, line in enumerate(lines) if what in line)
          for what in ("torch.tensor([query", "torch.ones(key", "torch.ones(scores")}  # fmt: skip
    message = graded(folder) if grade else said(judged(program, tmp_path / "again"))
    assert f"ex04_softmax.py, line {at['torch.tensor([query']}, in" in message
    also = message.partition(" Also ")[2].partition(" Called as ")[0]
    # what took its device from the first one is right as soon as that is
    assert re.findall(r"line (\d+)", also) == [str(at["torch.ones(key"]),
                                               str(at["torch.ones(scores"])]  # fmt: skip
    assert re.match(r"on line \d+: `.*`, and on line \d+: `.*`\.$", also)


def graded(folder) -> str:
    report = folder.parent / "scores.json"
    options = ["--only", "attention_weights", "--seed", "1", "--report", f"json={report}"]
    assert main(["grade", str(folder), *options]) == 0
    [one] = json.loads(report.read_text(encoding="utf-8"))["submissions"][0]["exercises"]
    [failed] = [check for check in one["checks"] if check["outcome"] != "passed"]
    assert "device_ready" in failed["check"]
    return " ".join(failed["message"].split())


SLIPS = {
    "naive_scores: the table is made on the CPU": "constant_made_on_the_cpu",
    "softmax: a constant of the file": "constant_made_on_the_cpu",
    "predict: the words stay on the CPU": "constant_made_on_the_cpu",
    "dot_product_scores: to the CPU and back": "moved_to_the_cpu",
    "attention_weights: weights come back on the CPU": "moved_to_the_cpu",
    "apply_mask: the mask is fetched": "moved_to_the_cpu",
    "train: the model is fetched": "moved_to_the_cpu",
    "multi_head: a list made a tensor on the GPU that happens": "hard_coded_cuda",
    "causal_mask: without a device, the GPU": "hard_coded_cuda",
    "train: the model goes to the first GPU": "hard_coded_cuda",
    "NextWordModel: the table of positions is a plain": "tensor_left_behind",
    "predict: NumPy looks": "numpy_on_a_gpu",
    "score_spread: the generator's device": "generator_on_another_device",
    "train: the default device": "default_device_changed",
    "causal_mask: device is not used": "device_ignored",
}


@pytest.mark.parametrize("what", SLIPS)
def test_the_slip_is_named(what, tmp_path):
    program = next(one for one in MISTAKES if what in str(one))
    assert judged(program, tmp_path).slip == SLIPS[what]


def test_a_refusal_of_the_gpu_is_a_mistake(tmp_path):
    source = """
_right = softmax


def softmax(scores, dim=-1):
    assert scores.device.type == "cpu", "no GPU, please"
    return _right(scores, dim)
"""
    outcome = judged(Program("ex04_softmax.softmax", "", source), tmp_path)
    assert outcome.slip == "refuses_the_gpu"
    assert "no GPU, please" in outcome.message


def test_an_earlier_function_is_blamed(tmp_path):
    mistake = next(one for one in MISTAKES if "causal_mask: device is not used" in str(one))
    world = World(mistake.folder(tmp_path / "answers"), catalogue().names())
    judge = Judge(catalogue(), world, SETTING)
    check = next(
        c for c in catalogue().exercise("ex05_mixing.self_attention").checks if c.about == "devices"
    )
    outcome = judge.judge(check)
    assert outcome.blame == ("ex03_masking.causal_mask",)


def test_what_makes_a_gpu_wait_passes_with_a_note(tmp_path):
    program = next(one for one in RIGHT if "padding_mask: row by row" in str(one))
    outcome = judged(program, tmp_path)
    assert outcome.passed
    assert "lengths.tolist()" in outcome.message
    assert "makes the CPU wait for the GPU" in outcome.message


def test_what_cannot_be_followed_passes_with_a_note(tmp_path):
    source = """
_right = softmax


def softmax(scores, dim=-1):
    if scores.is_cuda:
        torch.cuda.Stream(scores.device)
    return _right(scores, dim)
"""
    outcome = judged(Program("ex04_softmax.softmax", "", source), tmp_path)
    assert outcome.passed
    assert "the pretended GPU cannot follow this" in outcome.message


def test_values_count_on_the_gpu_as_well(tmp_path):
    source = """
_right = softmax


def softmax(scores, dim=-1):
    return _right(scores, dim) * (2 if scores.is_cuda else 1)
"""
    outcome = judged(Program("ex04_softmax.softmax", "", source), tmp_path)
    assert outcome.verdict == "failed"
    assert "values of the output on a pretended GPU differ" in said(outcome)


# in a process of its own


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a nursery")
def test_the_judge_hears_the_same_from_another_process(tmp_path, starter):
    from grader.hearings.hearing import Hearing
    from grader.remote.held import chapters_in

    for place, program in enumerate([*MISTAKES[::9], *RIGHT[::9]]):
        folder = program.folder(tmp_path / str(place))
        here = Judge(catalogue(), World(folder, catalogue().names()), SETTING)
        hearing = Hearing(catalogue(), starter, chapters_in(folder), "cpu", SETTING.seed)
        with contextlib.closing(hearing):
            for check in catalogue().exercise(program.full).checks:
                if check.about == "devices":
                    mine, theirs = here.judge(check), hearing.outcome(check)
                    assert (mine.verdict, mine.slip, mine.message) == (
                        theirs.verdict, theirs.slip, theirs.message,
                    )  # fmt: skip


def test_an_optimiser_may_be_imported_for_the_first_time(tmp_path):
    # under the pretended machine's torch.cuda that import would fail
    command = [sys.executable, "-m", "pytest", "-q", "-k", "train_is_device_ready"]
    answers = places.VARIANTS / "beginner"
    run = subprocess.run(
        [*command, f"--answers={answers}"], capture_output=True, text=True, cwd=places.ROOT,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
