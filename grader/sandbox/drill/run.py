"""Runs attacks or ordinary work, each in an enclosed worker of its own."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from grader.sandbox import environment, room
from grader.sandbox.drill import floods, kernel_calls, network, processes, reading, writing
from grader.sandbox.drill.attack import ATTACKS, Deed, Target
from grader.sandbox.drill.ordinary import NEEDS_SCRATCH, WORK
from grader.sandbox.enclosure import enclose
from grader.sandbox.isolation import Isolation
from grader.sandbox.narrowing import narrow
from grader.sandbox.nursery import prepare_nursery
from grader.sandbox.walls import Walls

MODULES = (reading, writing, processes, network, kernel_calls, floods)
SECRET = b"JUDGE-SECRET"
_KIT = Path(__file__).parents[3]
# what gets through a GPU worker's walls, which are lower where they must be: memory is watched from
# outside, and drivers share it, talk on sockets of their own and name their threads
OPEN_WITH_GPU = frozenset(
    (
        *("memory_at_once", "memory_bit_by_bit", "memory_mapped", "memory_shared"),
        *("memory_shared_of_a_device", "memory_that_grows_down", "memory_made_read_only"),
        *("memory_locked", "file_in_memory", "open_files", "write_to_shared_memory"),
        *("read_library", "name_own_thread"),
    )
)
_SECONDS = 20
_THROUGH, _STOPPED = "through: ", "stopped: "


def run(isolation: Isolation, what: Literal["attacks", "work"], gpu: bool) -> dict[str, str]:
    """Run all attacks, or all ordinary work, within some walls.

    Args:
        isolation: the walls.
        what: what to run.
        gpu: whether the walls are those of a worker that uses a GPU.

    Returns:
        For each by its name what came of it; it starts with "stopped" if that is so.
    """
    with _world() as outside, tempfile.TemporaryFile("w+") as said:
        world = replace(outside, scratch=str(room.SCRATCH)) if isolation.room else outside
        subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps([isolation.to_json(), world.to_json(), what, gpu]),
            env={**environment.clean_environment(), "PYTHONPATH": str(_KIT)},
            stdout=said,
            text=True,
            check=True,
        )
        said.seek(0)
        return dict(json.loads(line) for line in said)


def got_through(results: dict[str, str]) -> list[str]:
    """Name those that were not stopped."""
    return [name for name, result in results.items() if not result.startswith(_STOPPED)]


@contextmanager
def _world() -> Iterator[Target]:
    """Build what is attacked, with this process as the judge."""
    secret = ctypes.create_string_buffer(SECRET)
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drill-")))
        top.chmod(0o755)
        for name in ("hidden/solutions/ex01.py", "hidden/home/letter", "kit/coach/inner.py"):
            _file(top / name, "JUDGE-SECRET\n")
        for name in ("own/ex01_scores.py", "own/spare.py", "own/notes.py", "other/ex01_scores.py"):
            _file(top / "batch" / name, "answer = 1\n")
        (top / "batch/own/link.py").symlink_to(top / "hidden/solutions/ex01.py")
        (top / "scratch").mkdir()
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for name in (str(top / "judge.socket"), f"\0{top / 'judge.socket'}"):
            other = stack.enter_context(socket.socket(socket.AF_UNIX))
            other.bind(name)
            other.listen()
        yield Target(
            own=str(top / "batch/own"),
            secret=str(top / "hidden/solutions/ex01.py"),
            inner=str(top / "kit/coach/inner.py"),
            other=str(top / "batch/other/ex01_scores.py"),
            scratch=str(top / "scratch"),
            judge=os.getpid(),
            nursery=0,
            address=ctypes.addressof(secret),
            port=server.getsockname()[1],
            socket=str(top / "judge.socket"),
            library=_library(),
            talk=-1,
            memory=128,
            disk=4,
            threads=16,
            files=64,
        )


def _library() -> str:
    """Return the path of a library of the system's, if there is one where they are looked for."""
    return str(next(Path("/usr/lib").glob("**/lib*.so*"), "/usr/lib"))


def _file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _walls(world: Target, gpu: bool) -> Walls:
    top = Path(world.secret).parents[2]
    return Walls(
        readable=(Path(world.own), top / "kit"),
        hidden=(top / "hidden", top / "kit/coach", top / "batch"),
        keep=(world.talk,),
        memory=world.memory,
        scratch=world.disk,
        threads=world.threads,
        files=world.files,
        gpu=gpu,
    )


def _deeds(isolation: Isolation, what: str) -> dict[str, Deed]:
    if what == "attacks":
        return {name: attack.deed for name, attack in ATTACKS.items()}
    left_out = () if isolation.room else NEEDS_SCRATCH
    return {name: deed for name, deed in WORK.items() if name not in left_out}


def _serve(isolation: Isolation, world: Target, what: str, gpu: bool) -> None:
    """Be the nursery."""
    prepare_nursery(isolation)
    if what == "work":
        import torch

        torch.set_num_threads(1)
        world = replace(world, memory=512)
    narrow(isolation, lambda: None)
    os.environ["JUDGE_SECRET"] = "a nursery should not have it, and a worker must not"
    for name, deed in _deeds(isolation, what).items():
        here, there = socket.socketpair()
        its_world = replace(world, nursery=os.getpid(), talk=there.fileno())
        worker = os.fork()
        if worker == 0:
            _work(deed, isolation, _walls(its_world, gpu), its_world)
        there.close()
        print(json.dumps([name, _watch(worker, here)]), flush=True)


def _watch(worker: int, talk: socket.socket) -> str:
    """Wait for what a worker says, and end it."""
    talk.settimeout(_SECONDS)
    try:
        said = talk.recv(4096).decode(errors="replace")
    except TimeoutError:
        said = "stopped: it said nothing"
    ended = not said and _has_ended(worker)
    os.kill(worker, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    talk.close()
    if ended and status == -signal.SIGKILL:
        return "through: it ended as if killed from outside"
    return said or f"stopped: it ended, {status}"


def _has_ended(worker: int) -> bool:
    """Say whether a worker that has hung up ends by itself, and leave it to be collected."""
    look = os.WEXITED | os.WNOHANG | os.WNOWAIT
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        if os.waitid(os.P_PID, worker, look):
            return True
        time.sleep(0.005)
    return False


def _work(deed: Deed, isolation: Isolation, walls: Walls, world: Target) -> None:
    """Be a worker; does not return."""
    said = "broken: "
    try:
        enclose(walls, isolation)
        said = "stopped: "
        got: Any = deed(world)
        said = f"{_THROUGH}{got!r}" if got is not None else "stopped: it got nothing"
    except BaseException as error:
        said += f"{type(error).__name__}: {error}"
    finally:
        os.write(world.talk, said[:1000].encode())
        os._exit(0)


if __name__ == "__main__":
    _isolation, _its_world, _what, _gpu = json.load(sys.stdin)
    _serve(Isolation.from_json(_isolation), Target(**_its_world), _what, _gpu)
