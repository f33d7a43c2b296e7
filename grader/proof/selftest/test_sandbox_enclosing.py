"""Shutting a worker in: what that needs, what is said when it is missing, and how all ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.sandbox import Isolation, offered

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's own")
KIT = Path(__file__).parents[3]

NURSERY = """
import os, signal, sys, time
from pathlib import Path
from grader.sandbox import SandboxError, Walls, enclose, offered, prepare_nursery
isolation = offered()
for layer in {without}:
    isolation = isolation.without(layer)
def worker(readable=(), deed=lambda: None):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            enclose(Walls(readable=readable, keep=(write,)), isolation)
            os.write(write, b"enclosed")
            deed()
        except SandboxError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.close(write)
    return child, os.read(read, 999).decode()
"""
ORPHAN = """
def leave_orphan():
    if os.fork() == 0:
        if os.fork() == 0:
            import ctypes
            ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
            time.sleep(99)
        os._exit(0)
prepare_nursery(isolation)
child, said = worker(deed=leave_orphan)
os.waitpid(child, 0)
print(said, flush=True)
signal.pause()
"""
GRANDPARENT = """
import subprocess
text = "from grader.sandbox import *; prepare_nursery(offered()); print(); import time; "
text += "time.sleep(99)"
child = subprocess.Popen([sys.executable, "-uc", text], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
signal.pause()
"""


def nursery(text: str, *words: str, without: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start a process that does what a nursery does, with some layers left out."""
    return subprocess.Popen(
        [sys.executable, "-c", NURSERY.format(without=without) + text, *words],
        env={**os.environ, "PYTHONPATH": str(KIT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def said_by(process: subprocess.Popen[str]) -> str:
    """Return the first line that a process says."""
    assert process.stdout
    return process.stdout.readline().rstrip("\n")


def killed(process: subprocess.Popen[str]) -> None:
    """Kill a process, and wait until it has ended."""
    process.kill()
    process.communicate()


def runs(number: int) -> bool:
    """Say whether a process runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def soon(holds: Callable[[], bool]) -> bool:
    """Wait until something holds."""
    until = time.monotonic() + 10
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


@pytest.fixture(scope="module")
def walls() -> Isolation:
    """Find out what this machine offers."""
    return offered()


def test_needs_a_prepared_nursery():
    process = nursery("print(worker()[1])")
    assert said_by(process) == "The nursery was not prepared for these walls."
    killed(process)


def test_needs_the_walls_that_were_prepared():
    text = "prepare_nursery(isolation); isolation = isolation.without('seccomp')\n"
    process = nursery(text + "print(worker()[1])")
    assert said_by(process) == "The nursery was not prepared for these walls."
    killed(process)


def test_needs_what_is_to_be_read(tmp_path):
    text = "prepare_nursery(isolation); print(worker((Path(sys.argv[1]),))[1])"
    process = nursery(text, str(tmp_path / "no folder"))
    assert said_by(process) == f"{tmp_path / 'no folder'} is not there."
    killed(process)


def test_says_which_file_its_user_cannot_read(tmp_path, walls):
    if not walls.own_uid:
        pytest.skip("a worker is the same user here")
    tmp_path.chmod(0o755)
    (tmp_path / "ex01.py").touch(0o600)
    text = "prepare_nursery(isolation); print(worker((Path(sys.argv[1]),))[1])"
    process = nursery(text, str(tmp_path))
    assert said_by(process).endswith(
        f"{tmp_path / 'ex01.py'} cannot be read by the user that runs submissions."
    )
    killed(process)


def test_a_wall_that_cannot_be_put_up_keeps_the_worker_from_starting():
    text = (
        "isolation = isolation.without('landlock'); isolation = type(isolation)("
        "**{**isolation.to_json(), 'landlock': 99, 'spaces': isolation.spaces})\n"
        "from grader.sandbox import landlock\nlandlock._KNOWN = {99: 40}\n"
        "prepare_nursery(isolation); print(worker()[1])"
    )
    process = nursery(text)
    assert said_by(process).startswith("A wall could not be put up: ")
    killed(process)


@pytest.mark.parametrize("without", [(), ("namespaces", "own_uid")])
def test_workers_end_with_their_nursery(without):
    text = "prepare_nursery(isolation); print(*worker(deed=lambda: time.sleep(99)), flush=True)\n"
    process = nursery(text + "signal.pause()", without=without)
    number, said = said_by(process).split(maxsplit=1)
    assert said == "enclosed"
    assert runs(int(number))
    killed(process)
    assert soon(lambda: not runs(int(number)))


def test_orphans_end_with_the_nursery_too(walls):
    if "pid" not in walls.spaces:
        pytest.skip("no pid namespaces here")
    name = f"orphan{os.getpid()}"

    def orphan_runs() -> bool:
        return any(runs(int(path.name)) and name in _name(path) for path in _processes())

    process = nursery(ORPHAN, name, without=("seccomp",))
    assert said_by(process) == "enclosed"
    assert soon(orphan_runs)
    killed(process)
    assert soon(lambda: not orphan_runs())


def test_nursery_ends_with_the_one_that_started_it():
    process = nursery(GRANDPARENT)
    number = int(said_by(process))
    assert runs(number)
    killed(process)
    assert soon(lambda: not runs(number))


def test_without_the_means_of_linux_a_worker_is_still_cut_off():
    text = """
import resource
from grader.sandbox import Isolation
sys.platform = "darwin"
os.environ["JUDGE_SECRET"] = "1"
isolation = Isolation("darwin", limits=True)
outside = os.open("/etc", os.O_RDONLY)
prepare_nursery(isolation)
read, write = os.pipe()
if os.fork() == 0:
    enclose(Walls(keep=(write,), files=40), isolation)
    try:
        os.fstat(outside)
    except OSError:
        closed = "closed"
    found = closed, "JUDGE_SECRET" in os.environ, resource.getrlimit(resource.RLIMIT_NOFILE)
    os.write(write, repr(found).encode())
    os._exit(0)
print(os.read(read, 999).decode())
"""
    process = nursery(text)
    assert said_by(process) == "('closed', False, (40, 40))"
    killed(process)


def _processes() -> list[Path]:
    return [path for path in Path("/proc").iterdir() if path.name.isdigit()]


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text()
    except OSError:
        return ""
