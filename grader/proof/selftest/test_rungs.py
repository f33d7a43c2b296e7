"""Walls come down for a device one at a time, in the written order, and only those that must."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader import places
from grader.cli import main
from grader.proof.second_device import NAME, is_possible, package
from grader.sandbox import Isolation, offered
from grader.sandbox.rungs import ORDER, highest

pytestmark = pytest.mark.slow
ALL = Isolation(
    "linux", landlock=7, seccomp=True, namespaces="root", spaces=("mount", "pid"), own_uid=True,
    capabilities=True, threads="own", limits=True,
)  # fmt: skip
# what a computation needs, so that it meets each wall; the last one no wall has to do with
NEEDS = {
    "a call": "os.getpgid(1)",
    "a file": "open('/etc/passwd').read()",
    "memory": "mmap.mmap(-1, 13 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)",
    "luck": "raise_(RuntimeError('CUDA error: OS call failed, 304'))",
}
DOWN = {
    "a call": ("seccomp",),
    "a file": ("namespaces", "landlock"),
    "memory": ("limits",),
}
linux = pytest.mark.skipif(
    sys.platform != "linux" or not is_possible(), reason="walls are Linux's, and so is this device"
)


def stands(isolation: Isolation, layer: str) -> bool:
    return isolation.without(layer) != isolation


class Attempt:
    """Works once all of some walls are down."""

    def __init__(self, *needs: str) -> None:
        self.needs = needs
        self.tried: list[list[str]] = []

    def __call__(self, isolation: Isolation) -> str:
        """Say what is wrong within some walls."""
        down = [layer for layer in ORDER if not stands(isolation, layer)]
        self.tried.append(down)
        return "" if set(self.needs) <= set(down) else f"refused, {len(self.tried)}"


def test_where_it_works_nothing_comes_down_and_nothing_else_is_tried():
    attempt = Attempt()
    assert highest(ALL, attempt).isolation == ALL
    assert attempt.tried == [[]]


@pytest.mark.parametrize("layer", ORDER)
def test_one_wall_comes_down_alone(layer):
    rung = highest(ALL, Attempt(layer))
    assert rung.down == (layer,)
    assert rung.isolation == ALL.without(layer)
    assert rung.why == "refused, 1"
    assert rung.says


def test_walls_come_down_in_the_written_order_and_go_up_again():
    attempt = Attempt("landlock", "limits")
    rung = highest(ALL, attempt)
    assert attempt.tried[:6] == [list(ORDER[:n]) for n in range(6)]
    assert rung.down == ("limits", "landlock")
    assert rung.isolation == ALL.without("limits").without("landlock")


def test_walls_that_this_machine_does_not_have_are_not_tried():
    attempt = Attempt("nothing helps")
    rung = highest(Isolation("linux", seccomp=True, limits=True), attempt)
    assert len(attempt.tried) == 3
    assert rung.isolation is None
    assert rung.why == "refused, 3"


def grade(python: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [python, "-m", "grader", "grade", "solutions", "--only", "mean_pool", "--seed", "3"]
    return subprocess.run(
        [*map(str, command), *map(str, words)], capture_output=True, text=True, cwd=places.ROOT
    )


def needing(what: str, folder: Path) -> Path:
    own = Path(package.__code__.co_filename).read_text(encoding="utf-8")
    inside = "os.environ.get('LOGNAME') == 'student'"  # it is asked for outside, too
    code = f"{own}\n\nimport mmap\n\ndef raise_(error):\n    raise error\n"
    code += f"\ndef load():\n    if {inside}:\n        {NEEDS[what]}\n    use()\n"
    return package(folder, code)


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """Make a folder that users of workers' own can reach, as they can an environment."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@linux
@pytest.mark.parametrize("what", DOWN)
def test_each_rung_with_real_walls(what, tmp_path, open_to_all):
    if not offered().complete:
        pytest.skip("this machine's walls are lower anyway")
    python = needing(what, open_to_all / "env")
    report = tmp_path / "r.json"
    done = grade(python, "--device", f"cpu,{NAME}", "--report", f"json={report}")
    assert done.returncode == 0, done.stderr
    told = json.loads(report.read_text())
    assert f"on {NAME} without " in told["kit"]["isolation"]
    from grader.sandbox.rungs import NAMES

    said = told["kit"]["isolation"].partition(" without ")[2].partition(", for within them: ")
    down = {layer for layer, name in NAMES.items() if name in said[0].split(", ")}
    # where Python lies in a folder that only its user can enter, these two come down together
    together = {"own_uid"} if "namespaces" in down else set()
    assert down - together == set(DOWN[what])
    assert said[2]
    assert f"on {NAME} without {said[0]}" in done.stderr
    (one,) = told["submissions"]
    assert one["score"]["cpu"] == one["score"][NAME] > 0
    refused = grade(python, "--device", f"cpu,{NAME}", "--require-sandbox")
    assert refused.returncode == 2
    assert f"--require-sandbox: on {NAME} without {said[0]}" in refused.stderr
    assert not refused.stdout


@linux
def test_what_works_within_no_walls_is_not_run_and_the_cpu_is_graded_all_the_same(tmp_path, capsys):
    python = needing("luck", tmp_path / "env")
    report, kept = tmp_path / "r.json", tmp_path / "r.db"
    keeps = ("--report", f"json={report}", "--results", kept)
    done = grade(python, "--device", f"cpu,{NAME}", *keeps)
    assert done.returncode == 2
    assert f"{NAME}: not run: " in done.stdout
    assert "CUDA error: OS call failed, 304" in done.stdout
    told = json.loads(report.read_text())
    assert "304" in told["kit"]["reasons"][NAME]
    (one,) = told["submissions"]
    assert one["score"][NAME] is None
    assert one["score"]["cpu"] == one["max"]
    assert main(["merge", str(kept), "--report", f"json={tmp_path / 'merged.json'}"]) == 2
    assert (tmp_path / "merged.json").read_bytes() == report.read_bytes()
    assert f"{NAME}: not run: " in capsys.readouterr().out
    alone = grade(python, "--device", NAME)
    assert alone.returncode == 2
    assert "304" in alone.stderr
    assert not alone.stdout
