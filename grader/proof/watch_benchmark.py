"""`python -m grader.proof.watch_benchmark`: from a save to its verdict, on a terminal, as ratios.

A student's terminal is played by a pseudo-terminal: what is timed begins with the save and ends
with the verdict on the screen. Beside it runs a fresh `pytest` of the same chapter.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from grader import places

ROUNDS = 7
LIMIT = 0.25
TIMES_FASTER = 10
IDLE_SECONDS = 12.0
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# a function of each chapter, and what makes it wrong: it takes something away from what it returns
CHOSEN = {
    "ex01_scores": "dot_product_scores",
    "ex02_scaling": "scale_scores",
    "ex03_masking": "causal_mask",
    "ex04_softmax": "softmax",
    "ex05_mixing": "mix_values",
    "ex06_heads": "split_heads",
    "ex07_model": "mean_pool",
}


class Terminal:
    """The watch command on a pseudo-terminal of 40 lines."""

    def __init__(self, folder: Path) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        command = [sys.executable, "-m", "grader", "--answers", str(folder), "watch"]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=places.ROOT,
            env={**os.environ, "TERM": "xterm-256color"}, start_new_session=True,
        )  # fmt: skip
        os.close(slave)

    def until(self, said: str, seconds: float = 60.0) -> float:
        """Read until something, a regular expression, is said, and return when that was."""
        text, end = "", time.perf_counter() + seconds
        while time.perf_counter() < end:
            if select.select([self.master], [], [], 0.5)[0]:
                text += os.read(self.master, 65536).decode(errors="replace")
                if re.search(said, ESCAPES.sub("", text)):
                    return time.perf_counter()
        raise SystemExit(f"the screen never said `{said}`, only:\n{ESCAPES.sub('', text)[-2000:]}")

    def drain(self, seconds: float) -> None:
        """Read whatever comes for a while."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self.master], [], [], left)[0]:
                os.read(self.master, 65536)

    def quit(self) -> None:
        """Press q."""
        os.write(self.master, b"q")
        self.process.wait(10)


def main() -> None:
    """Measure every chapter in turn, and what it costs to wait."""
    with tempfile.TemporaryDirectory(prefix="watched-") as folder:
        answers = Path(folder) / "exercises"
        shutil.copytree(places.SOLUTIONS, answers, ignore=shutil.ignore_patterns("__pycache__"))
        terminal = Terminal(answers)
        try:
            saves, fresh = measure(terminal, answers)
            idle = used_while_idle(terminal.process.pid)
            terminal.quit()
        finally:
            terminal.process.kill()
    report(saves, fresh, idle)


def measure(terminal: Terminal, answers: Path) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Time saves and fresh processes, chapter by chapter, so that a drift is one for both."""
    terminal.until("next")
    terminal.drain(1)
    saves, fresh = {}, {}
    for stem, name in CHOSEN.items():
        fresh[stem] = statistics.median(pytest_takes(answers, stem) for _ in range(3))
        saves[stem] = save_takes(terminal, answers / f"{stem}.py", name)
    return saves, fresh


def save_takes(terminal: Terminal, path: Path, name: str) -> list[float]:
    """Time saves that make a function wrong and right in turn."""
    right = path.read_text(encoding="utf-8")
    wrong = f"{right}\n\n_right = {name}\n\n\ndef {name}(*given, **named):\n"
    wrong += "    made = _right(*given, **named)\n    return made[..., :0]\n"
    taken = []
    for round_ in range(2 * ROUNDS):
        text, says = (wrong, "wrong") if round_ % 2 == 0 else (right, "solved")
        began = save(path, text)
        taken.append(terminal.until(rf"{name}\b.* (is|are) {says}") - began)
        terminal.drain(0.4)
    return taken


def save(path: Path, text: str) -> float:
    """Save as an editor does, and return when it was done."""
    beside = path.with_name(f".{path.name}.swp")
    beside.write_text(text, encoding="utf-8")
    began = time.perf_counter()
    os.replace(beside, path)
    return began


def pytest_takes(answers: Path, stem: str) -> float:
    """Time a fresh pytest of one chapter."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    began = time.perf_counter()
    subprocess.run(
        [*command, f"--answers={answers}", str(places.ROOT / "tests" / f"test_{stem}.py")],
        cwd=places.ROOT, check=True, capture_output=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - began


def used_while_idle(root: int) -> float | None:
    """Return the seconds of processor that the command and all its processes use while idle."""
    if not Path("/proc/self/stat").exists():
        return None
    before = _ticks(root)
    time.sleep(IDLE_SECONDS)
    return (_ticks(root) - before) / os.sysconf("SC_CLK_TCK")


def _ticks(root: int) -> int:
    """Add up the ticks of a process and of what it has started."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        number = int(path.parent.name)
        parents[number], used[number] = int(fields[1]), int(fields[11]) + int(fields[12])
    family = {root}
    while found := {n for n, parent in parents.items() if parent in family} - family:
        family |= found
    return sum(used.get(number, 0) for number in family)


def report(saves: dict[str, list[float]], fresh: dict[str, float], idle: float | None) -> None:
    """Print medians and ratios; leave with status 1 if a promise is broken."""
    kept = True
    for stem, times in saves.items():
        middle, ratio = statistics.median(times), fresh[stem] / statistics.median(times)
        print(
            f"{stem:<14} save to verdict {middle:5.3f} s ({min(times):.3f} to {max(times):.3f})"
            f"   fresh pytest {fresh[stem]:5.2f} s   {ratio:5.1f} x"
        )
    every = statistics.median(taken for times in saves.values() for taken in times)
    ratio = statistics.median(fresh.values()) / every
    print(
        f"{'all':<14} save to verdict {every:5.3f} s, {every / LIMIT:.2f} of the limit   "
        f"{ratio:.1f} x"
    )
    kept = every <= LIMIT and ratio >= TIMES_FASTER
    if idle is not None:
        print(f"idle for {IDLE_SECONDS:g} s: {idle:.2f} s of processor")
        kept = kept and idle <= IDLE_SECONDS / 1000
    if not kept:
        raise SystemExit("a promise is broken")


if __name__ == "__main__":
    main()
