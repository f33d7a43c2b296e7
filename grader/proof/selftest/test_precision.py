"""What a GPU reckons less exactly by default is switched off in a check, and put back after it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

from grader import places
from grader.answers.precision import be_exact, exact
from grader.proof.second_device import NAME, is_possible, package

MATMUL, CUDNN = torch.backends.cuda.matmul, torch.backends.cudnn
SETS = {
    "TF32 of matmul": lambda: setattr(MATMUL, "allow_tf32", True),
    "TF32 of everything": lambda: torch.set_float32_matmul_precision("medium"),
    "TF32 of cuDNN": lambda: setattr(CUDNN, "allow_tf32", True),
    "float16": lambda: setattr(MATMUL, "allow_fp16_reduced_precision_reduction", True),
    "bfloat16": lambda: setattr(MATMUL, "allow_bf16_reduced_precision_reduction", True),
}


def stands() -> list[object]:
    return [
        MATMUL.allow_tf32, CUDNN.allow_tf32, MATMUL.allow_fp16_reduced_precision_reduction,
        MATMUL.allow_bf16_reduced_precision_reduction, torch.get_float32_matmul_precision(),
    ]  # fmt: skip


EXACT = [False, False, False, False, "highest"]


@pytest.fixture(autouse=True)
def put_back():
    with exact("cuda"):
        torch.set_float32_matmul_precision("highest")
        yield


def test_torch_is_less_exact_by_default():
    code = "import torch; print(torch.backends.cudnn.allow_tf32, "
    code += "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True"], "then this module is needed no more"


@pytest.mark.parametrize("what", SETS)
def test_a_check_is_exact_whatever_was_set_and_it_is_put_back(what):
    SETS[what]()
    before = (CUDNN.allow_tf32, MATMUL.allow_bf16_reduced_precision_reduction)
    with exact("cuda:0"):
        assert stands() == EXACT
        SETS[what]()
        be_exact("cuda:0")  # as the next check begins
        assert stands() == EXACT
    assert before == (CUDNN.allow_tf32, MATMUL.allow_bf16_reduced_precision_reduction)


def test_nothing_is_touched_for_the_cpu():
    CUDNN.allow_tf32 = True
    with exact("cpu"):
        be_exact("cpu")
        assert CUDNN.allow_tf32


@pytest.mark.skipif(
    not hasattr(MATMUL, "fp32_precision"), reason="this torch has no newer words for it"
)
def test_old_words_and_new_ones_mixed_break_no_check():
    MATMUL.fp32_precision = "tf32"
    with exact("cuda"):
        assert MATMUL.fp32_precision == "ieee"
    MATMUL.fp32_precision = "ieee"


SAYS = """    if scores.device.type != "cpu":
        matmul = torch.backends.cuda.matmul
        flags = (torch.backends.cudnn.allow_tf32, matmul.allow_tf32,
                 matmul.allow_bf16_reduced_precision_reduction)
        torch.backends.cudnn.allow_tf32 = True
        raise RuntimeError(f"flags {flags}")
"""


@pytest.mark.skipif(
    not is_possible() or sys.platform != "linux", reason="no backends in Python here"
)
def test_a_worker_on_a_device_is_exact_in_every_check(submission, solution, tmp_path):
    begins = "    if scores.numel() == 0:\n"
    text = solution("ex04_softmax").replace(begins, SAYS + begins)
    folder, report = submission("says", ex04_softmax=text), tmp_path / "r.json"
    command = [package(tmp_path / "env"), "-m", "grader", "grade", folder, "--only", "softmax",
               "--seed", "3", "--device", NAME, "--report", f"json1={report}"]  # fmt: skip
    subprocess.run([*map(str, command)], cwd=places.ROOT, check=True, capture_output=True)
    (one,) = json.loads(report.read_text())["submissions"]
    messages = [check["message"] for check in one["exercises"][0]["checks"]]
    assert sum("flags (False, False, False)" in message for message in messages) > 3
    assert not any("flags (True" in message for message in messages)
