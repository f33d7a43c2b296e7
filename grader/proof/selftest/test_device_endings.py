"""What may become of a device; the endings themselves are tried by test_cuda_command.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from grader import places
from grader.batch.devices import Usable
from grader.proof.cuda.endings import SAYS, problems
from grader.proof.second_device import NAME, is_possible, package

possible = pytest.mark.skipif(
    not is_possible() or sys.platform != "linux", reason="no backends in Python here"
)


def made_up(**outcomes: str) -> dict[str, list[dict[str, str]]]:
    good = {"outcome": "passed", "message": ""}
    told = {"does nothing": [good, good]}
    for harm, (outcome, says) in SAYS.items():
        lost = {"outcome": outcome, "message": f"softmax: {says}"}
        told[harm] = [good, lost, lost if harm == "holds" else good]
    for harm, outcome in outcomes.items():
        told[harm.replace("_", " ")][1] = {"outcome": outcome, "message": "another"}
    return told


def test_other_endings_are_told():
    assert not problems(made_up())
    for wrong in ({"breaks": "error"}, {"holds": "error"}, {"does_nothing": "failed"}):
        assert len(problems(made_up(**wrong))) == 1
    told = made_up()
    told["fills"].pop()  # nothing goes on
    assert len(problems(told)) == 1


SLOW = """

def load():
    global WHOLE
    WHOLE = 2**31
    until = time.process_time() + 3
    while time.process_time() < until:
        pass
    use()
"""


@possible
def test_the_start_of_a_context_is_no_part_of_a_check_and_memory_bounds_the_jobs(
    submission, tmp_path
):
    own = Path(package.__code__.co_filename).read_text(encoding="utf-8")
    python = package(tmp_path / "env", own + SLOW)
    folders = [submission(name) for name in ("anna", "berta", "carl")]
    report = tmp_path / "r.json"
    command = [python, "-m", "grader", "grade", folders[0].parent, "--only", "mean_pool",
               "--seed", 3, "--device", NAME, "--report", f"json={report}",
               "--time-limit", 1, "--memory", 1024, "--jobs", 3]  # fmt: skip
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=places.ROOT)
    assert done.returncode == 0, done.stderr
    assert "2 at a time: the device's memory holds no more of 1024 MB" in done.stderr
    read = json.loads(report.read_text())["submissions"]
    assert [one["score"][NAME] for one in read] == [one["max"] for one in read]


def test_memory_that_is_unknown_bounds_nothing():
    assert Usable(("cpu",)).jobs(8) == 8
    assert Usable(("cuda",), most=2).jobs(8) == 2
    assert Usable(("cuda",), most=9).jobs(8) == 8


BROKEN = """
_right = softmax


def softmax(scores, dim=-1):
    beyond = torch.full((1,), scores.shape[0] + 3, dtype=torch.long, device=scores.device)
    torch.zeros(2, device=scores.device)[beyond]
    return _right(scores, dim)
"""


@possible
def test_a_device_that_an_answer_breaks_ends_plain_pytest_with_a_sentence(submission, tmp_path):
    text = (places.SOLUTIONS / "ex04_softmax.py").read_text(encoding="utf-8")
    folder = submission("anna", ex04_softmax=text + BROKEN)
    command = [package(tmp_path / "env"), "-m", "pytest", "tests/test_ex04_softmax.py",
               f"--answers={folder}", "--device", NAME, "-p", "no:cacheprovider"]  # fmt: skip
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=places.ROOT)
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert "ex04_softmax.softmax left second broken: second error: device-side assert" in said
    assert "On the CPU it is an IndexError in the line where it happens" in said
    assert "1 failed in" in said
    assert "fault of the kit" not in said
