"""Where no signal can interrupt an answer, as on Windows, an endless loop is still a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from grader import places
from grader.answers.clock import Timekeeper, limit
from grader.trouble import TimeLimit

pytestmark = pytest.mark.slow
# what Windows does not have: pytest-timeout falls back to its thread, which ends the process
TAKEN_AWAY = """
import os, signal
for name in ("setitimer", "alarm", "SIGALRM", "SIGPROF", "ITIMER_REAL", "ITIMER_PROF"):
    delattr(signal, name)
for name in ("setsid", "killpg"):
    delattr(os, name)
"""
# as on macOS and Windows, processes for trials are started afresh
COMMAND = """
import sys
if __name__ == "__main__":
    from grader.trial import children
    children.FORKS = False
    from grader.cli import main
    sys.exit(main(sys.argv[1:]))
"""
LOOPS = "def softmax(scores, dim=-1):\n    while True:\n        scores = scores + 1\n"
WAITS = """
def softmax(scores, dim=-1):
    import threading
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
"""
SENTENCE = "ex04_softmax.softmax did not come back in time"

posix = pytest.mark.skipif(not hasattr(os, "killpg"), reason="takes away what is not there")


@pytest.fixture
def run(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(TAKEN_AWAY)

    def run(*command: object) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(tmp_path), str(places.ROOT)])
        return subprocess.run(
            [sys.executable, *map(str, command)], capture_output=True, text=True, cwd=places.ROOT,
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "120"}, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    return run


@posix
def test_an_endless_loop_costs_no_other_check(run, submission, solution):
    folder = submission("loops", ex04_softmax=solution("ex04_softmax") + "\n\n" + LOOPS)
    chapters = ("tests/test_ex03_masking.py", "tests/test_ex04_softmax.py")
    done = run("-m", "pytest", "-p", "no:cacheprovider", f"--answers={folder}", "-o", "timeout=1",
               *chapters)  # fmt: skip
    assert done.returncode == 1
    assert "timeout method: thread" in done.stdout
    assert SENTENCE in done.stdout
    assert "while True:" in done.stdout
    assert "ex03_masking 14 of 14 solved: all" in " ".join(done.stdout.split())
    assert "wrong: softmax  waiting for softmax: attention_weights" in done.stdout
    assert "Stack of" not in done.stdout + done.stderr


@posix
def test_what_nothing_can_end_ends_pytest_with_a_board(run, submission, solution):
    folder = submission("waits", ex04_softmax=solution("ex04_softmax") + "\n\n" + WAITS)
    chapters = ("tests/test_ex03_masking.py", "tests/test_ex04_softmax.py")
    done = run("-m", "pytest", "-p", "no:cacheprovider", f"--answers={folder}", "-o", "timeout=1",
               *chapters)  # fmt: skip
    assert done.returncode == 1
    assert SENTENCE in done.stdout
    assert "in softmax\n        lock.acquire()" in done.stdout
    assert "ex03_masking 14 of 14 solved: all" in " ".join(done.stdout.split())
    assert "wrong: softmax  not run: attention_weights" in done.stdout
    assert " 1 failed," in done.stdout.splitlines()[-1]
    assert "Stack of" not in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@posix
def test_the_board_of_an_endless_loop(run, submission, solution, tmp_path):
    folder = submission("loops", ex04_softmax=solution("ex04_softmax") + "\n\n" + LOOPS)
    script = tmp_path / "spawning.py"
    script.write_text(COMMAND)
    done = run(script, "--answers", folder)
    assert done.returncode in (0, 1)
    board = " ".join(done.stdout.split())  # its columns are as wide as the longest name
    assert "ex04_softmax 0 of 16 wrong: softmax" in board
    assert "ex03_masking 14 of 14 solved: all" in board
    assert "Traceback" not in done.stdout + done.stderr


def test_a_limit_in_another_thread():
    came = []

    def loop() -> None:
        try:
            with limit(0.1):
                while True:
                    pass
        except TimeLimit as problem:
            came.append(problem)
        sum(range(1000))  # nothing comes later

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    thread.join(60)
    assert len(came) == 1


def test_a_debugger_takes_as_long_as_it_likes():
    watch = Timekeeper()
    with watch.over(0, 0, ring=True):
        watch.rest()
        until = time.monotonic() + 1
        while time.monotonic() < until:
            pass
    watch.end()
