"""A batch in parts on a cluster is the run of one machine: on this one, and on a made-up Slurm."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from grader import cli, places
from grader.batch.spread import TRIES, Piece, spread
from grader.proof.selftest.test_batches import EX01, WRONG
from grader.proof.selftest.test_shards import ONLY, SEEDED, contents, hand_in, reports
from grader.reports import recipes
from grader.reports.parts_line import PartsLine

submitit = pytest.importorskip("submitit")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="submitit needs POSIX"),
]
RECIPE = Path(recipes.__file__).parent / "many_machines.md"
SBATCH = """#!{python}
import os, re, subprocess, sys
script = open(sys.argv[1]).read()
open({log!r}, "a").write(script)
array = re.search(r"--array=0-(\\d+)", script)
for number in range(int(array[1]) + 1) if array else [0]:
    own = {{"SLURM_JOB_ID": "77", "SLURM_NTASKS": "1", "SLURM_PROCID": "0"}}
    if array:
        own |= {{"SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": str(number)}}
    subprocess.Popen(["bash", sys.argv[1]], env={{**os.environ, **own}}, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL)
print("Submitted batch job 77")
"""
SRUN = """#!{python}
import os, sys
while sys.argv[1].startswith("--"):
    option = sys.argv.pop(1)
    if option in ("--output", "--error"):
        task = os.environ.get("SLURM_ARRAY_TASK_ID", "")
        name = sys.argv.pop(1).replace("%A", "77").replace("%a", task).replace("%t", "0")
        file = os.open(name.replace("%j", "77"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, 1 if option == "--output" else 2)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a class: right, wrong, the same twice, and one that cannot be graded."""
    folder = tmp_path_factory.mktemp("cluster") / "class"
    text = (places.SOLUTIONS / f"{EX01}.py").read_text()
    own = {"anna": "", "berta": WRONG, "carl": "\n# mine\n", "dora": "", "emil": WRONG + "\n"}
    for name, ending in own.items():
        hand_in(folder / name, text + ending)
    (folder / "gerda").mkdir()
    return folder


@pytest.fixture(scope="module")
def whole(folder):
    """Grade it on one machine; return what is printed, and the reports."""
    into = folder.with_name("whole")
    return graded(folder, *SEEDED, *ONLY, *reports(into), status=1).stdout, contents(into)


def graded(*arguments, status=0):
    """Run the command in a process of its own, as jobs need it; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "grader", "grade", *map(str, arguments)],
        cwd=places.ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return done


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_parts_on_this_machine_are_the_whole_byte_for_byte(folder, whole, tmp_path, run_here):
    """One of them is killed on its way."""
    parts = tmp_path / "parts"
    killed = threading.Thread(target=kill_one, args=(parts,))
    killed.start()
    ask = ("--cluster", "local", "--shards", 2, "--results", parts)
    merged = graded(folder, *SEEDED, *ONLY, *ask, *reports(tmp_path / "merged"), status=1)
    killed.join()
    assert (merged.stdout, contents(tmp_path / "merged")) == whole
    assert re.search(r"part \d of 2 was lost, and is taken again", merged.stderr)
    assert "2 of 2 parts are over, 6 of 6 graded" in merged.stderr
    again = graded(folder, *ONLY, "--cluster", "local", "--results", parts, status=1)
    assert "seed 5, as before" in again.stderr
    logs = "".join(log.read_text() for log in (parts / "jobs").glob("*_log.err"))
    assert logs.count("(unchanged)") == 5
    said = run_here(folder, *ONLY, *ask[:2], "--shards", 3, "--results", parts)
    assert "holds a batch cut into 2 parts: --shards 2, or another folder" in said


def kill_one(parts):
    """Kill the first job that begins to grade; what it has started dies with it."""
    while not (begun := [log for log in parts.glob("jobs/*_log.err") if "part" in log.read_text()]):
        time.sleep(0.02)
    mine = begun[0].name.split("_")[0].encode()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            own = (place / "environ").read_bytes().split(b"\0")
            is_job = b"submitit.core._submit" in (place / "cmdline").read_bytes()
        except OSError:
            continue
        if is_job and b"SUBMITIT_LOCAL_JOB_ID=" + mine in own:
            os.kill(int(place.name), signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_ctrl_c_ends_all_jobs(folder, tmp_path):
    parts = tmp_path / "parts"
    command = ["grade", folder, *ONLY, "--cluster", "local", "--shards", 2, "--results", parts]
    batch = subprocess.Popen(
        [sys.executable, "-m", "grader", *map(str, command)],
        cwd=places.ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while not list(parts.glob("jobs/*_log.err")):
        time.sleep(0.05)
    os.killpg(batch.pid, signal.SIGINT)
    _, said = batch.communicate()
    assert batch.returncode == 130
    assert "stopped by Ctrl-C after" in said
    assert "goes on from there" in said
    assert "Traceback" not in said
    named = str(parts).encode()
    there = [path for path in Path("/proc").glob("[0-9]*/cmdline") if named in read(path)]
    assert there == []


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Put commands into the path that do here what Slurm's do elsewhere; return what was asked."""
    log = tmp_path / "asked"
    (tmp_path / "bin").mkdir()
    said = 'echo "JobID|State|NodeList"\n'
    for name, text in {"sbatch": SBATCH, "srun": SRUN, "sacct": "#!/bin/sh\n" + said}.items():
        script = tmp_path / "bin" / name
        script.write_text(text.format(python=sys.executable, log=str(log)))
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return lambda: log.read_text() if log.exists() else ""


def test_an_array_of_slurm_is_the_whole_byte_for_byte(folder, whole, tmp_path, slurm):
    ask = ("--cluster", "slurm", "--shards", 2, "--jobs", 2, "--results", tmp_path / "parts",
           "--cluster-option", "partition=short", "--cluster-option", "time=2:00:00")  # fmt: skip
    merged = graded(folder, *SEEDED, *ONLY, *ask, *reports(tmp_path / "merged"), status=1)
    assert (merged.stdout, contents(tmp_path / "merged")) == whole
    asked = set(re.findall(r"^#SBATCH --(.+)$", slurm(), re.MULTILINE))
    assert {"array=0-1%2", "cpus-per-task=2", "mem=8192M", "partition=short",
            "time=2:00:00", "job-name=grader"} <= asked  # fmt: skip
    assert not [one for one in asked if "gpu" in one or "gres" in one]


def test_a_gpu_is_asked_for_where_cuda_is(folder, tmp_path, slurm, run_here):
    """Its jobs find none here, which is said, and none of them is run again."""
    ask = ("--cluster", "slurm", "--shards", 1, "--results", tmp_path / "parts")
    said = run_here(folder, "--device", "cuda", *ask)
    assert said == "grader: part 1 of 1: cuda was asked for, but PyTorch sees no CUDA device here\n"
    assert slurm().count("#SBATCH --gpus-per-node=1\n") == 1


@pytest.fixture
def run_here(capsys):
    """Run the command, which refuses, and return the sentence."""

    def call(*arguments):
        capsys.readouterr()
        assert cli.main(["grade", *map(str, arguments)]) == 2
        return capsys.readouterr().err

    return call


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--cluster local", "add --results FOLDER"),
        ("--cluster slurm --results parts", "there is no Slurm here"),
        ("--shards 3", "go with --cluster"),
        ("--cluster-option time=1", "go with --cluster"),
        ("--cluster local --results parts --cluster-option time=1", "only --cluster slurm has"),
        ("--cluster slurm --results parts --cluster-option time", "takes KEY=VALUE"),
        ("--cluster slurm --results parts --cluster-option ti.me=3", "takes KEY=VALUE"),
        ("--cluster slurm --results parts --cluster-option array=3", "the grader itself says"),
        ("--cluster slurm --results parts --device gpu", "there is no device `gpu`"),
        ("--cluster local --results parts --shard 1/2", "leave --shard out"),
        ("--cluster local --results file", "file is no folder"),
        ("--cluster local --results parts --report jsn=x", "there is no report format"),
        ("--cluster local --results parts --only nothing", "nothing"),
    ],
)
def test_bad_arguments_start_nothing(folder, tmp_path, monkeypatch, run_here, options, says):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: None)
    Path("file").write_text("")
    said = run_here(folder, *shlex.split(options), "--seed", "5")
    assert says in said
    assert len(said.splitlines()) == 1
    assert not Path("parts").exists()


def test_without_submitit_it_is_said_how_to_get_it(folder, tmp_path, monkeypatch, run_here):
    monkeypatch.setitem(sys.modules, "submitit", None)
    said = run_here(folder, "--cluster", "local", "--results", tmp_path / "parts")
    assert said == "grader: --cluster needs submitit: python -m pip install submitit\n"


# jobs that die


class Jobs:
    """Stands in for submitit's executors: each job does what its script says.

    Attributes:
        scripts: for each piece what becomes of its jobs, one after the other: how many it grades,
            and whether it dies.
    """

    def __init__(self, folder, **scripts):
        self.folder, self.scripts = folder, {k: list(v) for k, v in scripts.items()}
        self.cancelled, self.arrays = [], []

    def submit_array(self, works):
        """Run each at once."""
        self.arrays.append(len(works))
        return [Job(self, work, len(self.arrays) * 100 + n) for n, work in enumerate(works)]


class Job:
    """A job that has ended before anybody looks."""

    def __init__(self, jobs, work, number):
        self.paths, self._jobs, self._work = self, jobs, work
        self.stderr = jobs.folder / f"{number}.err"
        self.result_pickle = jobs.folder / f"{number}.pkl"
        graded, self._ends = jobs.scripts[work()].pop(0)
        self.stderr.write_text("".join(f"{n}/9 somebody: 0.00\n" for n in range(1, graded + 1)))
        if self._ends != "dies":
            self.result_pickle.write_text("")

    def done(self):
        """Tell whether it has ended."""
        return self._ends != "goes on"

    def exception(self):
        """Return what it has raised."""
        return RuntimeError("no") if self._ends == "raises" else None

    def result(self):
        """Return what it has returned."""
        return "" if self._ends == "done" else self._ends

    def cancel(self, check):
        """Take note."""
        self._ends = "done"
        self._jobs.cancelled.append(self._work())


@pytest.fixture
def jobs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("grader.batch.spread.PAUSE", 0)

    def go(room=9, **scripts):
        made = Jobs(tmp_path, **scripts)
        pieces = [Piece(name, functools.partial(str, name)) for name in scripts]
        try:
            spread(pieces, made, room, PartsLine(18, len(pieces)))
        finally:
            made.said = capsys.readouterr().err.splitlines()
            made.pieces = pieces
        return made

    return go


def test_what_dies_is_run_again_and_what_gets_on_may_die_often(jobs):
    ended = jobs(one=[(9, "done")], two=[(2, "dies"), (2, "dies"), (5, "raises"), (3, "dies"),
                                         (9, "done")])  # fmt: skip
    assert ended.arrays == [2, 1, 1, 1, 1]
    assert [piece.done for piece in ended.pieces] == [9, 9]
    lost = "grader: two was lost, and is taken again"
    assert [line for line in ended.said if line == lost] == [lost] * 4
    assert ended.said[-1] == "grader: 2 of 2 parts are over, 18 of 18 graded"


def test_what_dies_again_and_again_is_given_up_and_the_others_end(jobs, capsys):
    with pytest.raises(ValueError, match=rf"two was lost {TRIES} times in a row; its log is"):
        jobs(one=[(1, "goes on")], two=[(1, "dies")] * (TRIES + 1))
    assert "Traceback" not in capsys.readouterr().err


def test_what_cannot_be_done_ends_the_others(jobs, monkeypatch):
    seen = []
    monkeypatch.setattr("grader.batch.spread._cancel", seen.extend)
    with pytest.raises(ValueError, match="two: no such path"):
        jobs(one=[(1, "goes on")], two=[(0, "no such path")])
    assert [piece.name for piece in seen] == ["one"]


def test_there_are_no_more_jobs_than_there_is_room_for(jobs):
    ended = jobs(room=2, **{name: [(1, "done")] for name in "abcde"})
    assert ended.arrays == [2, 2, 1]


def test_the_commands_of_the_recipe(folder, tmp_path, monkeypatch):
    typed = re.findall(r"^ +python -m grader (grade .*--cluster.+)$", RECIPE.read_text(), re.M)
    assert len(typed) == 2
    for line in typed:
        given = cli._parser().parse_args(shlex.split(line))
        assert given.cluster in ("slurm", "local")
        assert given.results == Path("parts")
        assert json.dumps(given.report) == '["json=scores.json"]'
