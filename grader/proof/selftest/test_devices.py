"""Devices by their names, one that torch gets from a package, and packages that do harm."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from grader import devices, places
from grader.batch.devices import devices_of, named_in
from grader.cli import main
from grader.proof.second_device import NAME, is_possible, package
from grader.results import CheckResult, ExerciseResult

SUITE = "tests/test_ex04_softmax.py"
HARMFUL = {
    "raises": "raise OSError('no such device')",
    "exits": "import sys; sys.exit(7)",
    "ends": "import os; os._exit(9)",
    "prints": "print('{\"hello\": 1}')",
}
possible = pytest.mark.skipif(
    not is_possible() or sys.platform != "linux", reason="no backends in Python here"
)
no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")


def run(python: Path | str, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python), "-m", *map(str, words)], capture_output=True, text=True, cwd=places.ROOT,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture(scope="module")
def second(tmp_path_factory) -> Path:
    return package(tmp_path_factory.mktemp("second") / "env")


@no_gpu
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mps", "mps was asked for, but PyTorch sees no MPS device here"),
        ("xpu", "xpu was asked for, but PyTorch sees no XPU device here"),
        ("cpu,cuda", "cuda was asked for, but PyTorch sees no CUDA device here"),
        ("gpu", "there is no device `gpu`: PyTorch calls it cuda"),
        ("rocm", "there is no device `rocm`: PyTorch calls it cuda"),
        ("meta", "there is no device `meta`: cpu, cuda, cpu,cuda or auto"),
        ("toaster", "there is no device `toaster`: cpu, cuda, cpu,cuda or auto"),
        ("no such", "there is no device `no such`: cpu, cuda, cpu,cuda or auto"),
    ],
)
def test_what_is_not_there_is_refused_before_anything_is_graded(name, says, capsys, tmp_path):
    assert main(["grade", str(places.SOLUTIONS), "--device", name]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert not said.out


@no_gpu
def test_pytest_refuses_what_is_not_there():
    done = run(sys.executable, "pytest", "--device", "mps", SUITE, "-q")
    assert done.returncode == 4
    assert "--device mps: mps was asked for, but PyTorch sees no MPS device here" in done.stderr
    assert "passed" not in done.stdout


@no_gpu
def test_auto_and_lists():
    assert devices_of("auto") == (("cpu",), {"cpu": "run", "cuda": "absent"})
    assert devices_of("cpu") == (("cpu",), {"cpu": "run", "cuda": "not asked"})
    assert named_in("cpu, mps,cpu") == ("cpu", "mps")


def test_an_accelerator_is_a_device_of_its_own(monkeypatch):
    monkeypatch.setattr(devices, "_is_there", lambda name: name == "xpu")
    states = {"cpu": "not asked", "cuda": "not asked", "xpu": "run"}
    assert devices_of("xpu") == (("xpu",), states)
    assert [devices.indexed(one) for one in ("cpu", "cuda", "xpu")] == ["cpu", "cuda:0", "xpu:0"]


def test_torch_before_it_had_a_word_for_accelerators(monkeypatch):
    monkeypatch.delattr(torch, "accelerator", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(devices, "_is_there", lambda name: name == "mps")
    assert devices.there() == ("cpu", "mps")


def test_the_key_of_the_dispatcher():
    named = [devices.key(one) for one in ("cpu", "cuda:0", "mps:0", "xpu:0", "npu:0")]
    assert named == ["CPU", "CUDA", "MPS", "XPU", "PrivateUse1"]


def test_names_that_an_answer_may_mean():
    assert all(map(devices.is_name, ("cpu", "cuda", "cuda:1", "mps", "xpu:0")))
    assert not any(map(devices.is_name, ("like", "", "cpus", "hates:0")))


def check(device: str, verdict: str, core: bool = False) -> CheckResult:
    return CheckResult(f"{verdict} {core}", device, verdict, core)


def test_a_check_that_a_device_cannot_do_costs_nothing_and_earns_nothing():
    checks = (
        check("cpu", "passed", core=True), check("cpu", "failed"),
        check("mps", "passed", core=True), check("mps", "not run"),
    )  # fmt: skip
    one = ExerciseResult("ex04_softmax.softmax", places_points := 8, 2, checks)  # type: ignore[arg-type]
    assert (one.state("cpu"), one.earned("cpu")) == ("to polish", 4)
    assert (one.state("mps"), one.earned("mps")) == ("solved", places_points)
    only = ExerciseResult("ex04_softmax.softmax", 8, 1, (check("mps", "not run"),))  # type: ignore[arg-type]
    assert (only.state("mps"), only.earned("mps")) == ("not run", 0)


@possible
def test_pytest_on_a_device_from_a_package(second):
    done = run(second, "pytest", "--answers=solutions", "--device", NAME, SUITE, "-q")
    assert done.returncode == 0, done.stdout[-3000:]
    wrong = run(second, "pytest", "--answers=solutions", "--device", "cpu", SUITE, "-q")
    assert wrong.stdout.splitlines()[-1].split()[:2] == done.stdout.splitlines()[-1].split()[:2]


@possible
@pytest.mark.parametrize("chapter", ["ex06_heads", "ex08_positions"])
def test_gradients_on_a_device_from_a_package(second, chapter):
    # of stacked heads, and of complex numbers: both go by how their tensors are laid out
    suite = f"tests/test_{chapter}.py"
    options = ("--answers=solutions", "--device", NAME, suite, "-q", "-k", "gradients")
    done = run(second, "pytest", *options)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout.splitlines()[-1]


LAID_OUT = f"""
import torch
from grader import devices
devices.require({NAME!r})
def both(deed):
    here, there = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3).to({NAME!r})
    out = [deed(one) for one in (here, there)]
    assert out[1].device.type == {NAME!r}
    assert out[0].stride() == out[1].stride() and torch.equal(out[0], out[1].cpu()), out
both(lambda x: x.T)
both(lambda x: (x[:, 1].mul_(10), x)[1])
both(lambda x: x.t_())
both(lambda x: x.T.as_strided((2, 2), (1, 2), 1))
both(lambda x: x.unfold(1, 2, 1).transpose(0, 1))
both(lambda x: torch.add(x, 1, out=torch.empty(0, device=x.device)))
both(lambda x: torch.view_as_complex(x.T.contiguous().reshape(3, 2)).conj()[1:])
both(lambda x: x[torch.tensor([1, 0])] * torch.tensor(2.0))
for mixed in (lambda x: x + torch.ones(3), lambda x: x.masked_fill(torch.ones(2, 3) > 0, 1)):
    try:
        mixed(torch.ones(2, 3, device={NAME!r}))
    except RuntimeError as problem:
        assert "at least two devices" in str(problem)
    else:
        raise AssertionError("it mixes devices")
"""


@possible
def test_the_second_device_lays_out_tensors_as_the_cpu_does_and_mixes_none(second):
    done = subprocess.run([second, "-c", LAID_OUT], capture_output=True, text=True, cwd=places.ROOT)
    assert done.returncode == 0, done.stderr[-3000:]


@possible
def test_the_judge_on_a_device_from_a_package(second, submission, solution, tmp_path):
    text = solution("ex04_softmax").replace("powers.sum(dim,", "powers.sum(-2,")
    right, wrong = submission("right"), submission("wrong", ex04_softmax=text)
    options = ("--only", "softmax", "--seed", 3, "--report", f"json1={tmp_path / 'r.json'}")
    done = run(second, "grader", "grade", right.parent, "--device", f"cpu,{NAME}", *options)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["kit"]["devices"] == {"cpu": "run", "cuda": "not asked", NAME: "run"}
    for one in report["submissions"]:
        assert one["score"]["cuda"] is None
        assert one["score"]["cpu"] == one["score"][NAME]
        (exercise,) = one["exercises"]
        verdicts: dict[str, list[tuple[str, str, str | None]]] = {"cpu": [], NAME: []}
        for told in exercise["checks"]:
            verdicts[told["device"]].append((told["check"], told["outcome"], told["slip"]))
        assert verdicts["cpu"] == verdicts[NAME]
    assert [one["score"][NAME] for one in report["submissions"]][1] == 0
    assert wrong.name == "wrong"


@possible
def test_float64_on_a_device_without_it_is_not_run(tmp_path):
    own = Path(package.__code__.co_filename).read_text(encoding="utf-8")
    code = own + '\n\ndef load():\n    use(("float64",))\n'
    python = package(tmp_path / "env", code)
    done = run(python, "pytest", "--answers=solutions", "--device", NAME, SUITE, "-q", "-rs")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "not run, for second has no float64" in done.stdout
    where = ("--report", f"json1={tmp_path / 'r.json'}")
    options = ("--device", NAME, "--only", "softmax", "--seed", 3, *where)
    done = run(python, "grader", "grade", "solutions", *options)
    assert done.returncode == 0, done.stderr
    (one,) = json.loads((tmp_path / "r.json").read_text())["submissions"]
    (exercise,) = one["exercises"]
    told = {c["check"]: c["outcome"] for c in exercise["checks"]}
    assert set(told.values()) == {"passed", "not run"}
    assert told["softmax_keeps_float64"] == told["gradients_in_float64[softmax]"] == "not run"
    assert exercise["devices"][NAME] == {"earned": exercise["points"], "outcome": "solved"}


@possible
@pytest.mark.parametrize("harm", HARMFUL)
def test_a_package_that_does_harm_breaks_nothing(harm, tmp_path):
    code = f"def load():\n    {HARMFUL[harm]}\n"
    python = package(tmp_path / "env", code, name="harmful")
    done = run(python, "pytest", "--answers=solutions", SUITE, "-q", "-k", "softmax_sums_to_1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hello" not in done.stdout
    options = ("--only", "softmax", "--device", "cpu", "--seed", 3)
    done = run(python, "grader", "grade", "solutions", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hello" not in done.stdout
    if harm != "ends":  # what ends the process that asked for it, has been asked for
        done = run(python, "grader", "grade", "solutions", "--device", "harmful")
        assert done.returncode == 2
        assert "there is no device `harmful`" in done.stderr
        assert ("`harmful` cannot be loaded: " in done.stderr) == (harm != "prints")
        assert not done.stdout


@possible
def test_no_fork_after_a_device_has_started(second):
    code = f"""
import os
import signal
import torch
from grader import devices
from grader.workers import warm
devices.require({NAME!r})
warm.up()
child = os.fork()
if not child:
    signal.alarm(15)
    try:
        warm.up()
    except RuntimeError as problem:
        os._exit(3 if "autograd" in str(problem) else 4)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([second, "-c", code], capture_output=True, text=True, cwd=places.ROOT)
    # why workers on a device come from a nursery of their own, which has worked nothing out
    assert done.stdout.split()[-1:] in (["3"], [f"-{signal.SIGALRM:d}"]), done.stderr
