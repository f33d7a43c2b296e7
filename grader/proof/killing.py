"""`python -m grader.proof.killing`: a batch killed at random moments ends with the same report.

Some of its submissions were graded before, and most of these have changed since. Each time the
grader alone is killed, with SIGKILL, and started again on the same results file; what it had
started must end by itself. A batch that comes to its end is compared and begun anew.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from grader import places

FIRST = "ex01_scores.py"
ENDINGS = {
    "right": "",
    "wrong": "\n\ndef dot_product(a, b):\n    return (a * b).sum(-1) + 1\n",
    "again": "",
    "crash": "\n\ndef dot_product(a, b):\n    import os\n\n    os._exit(0)\n",
    "raise": "\n\ndef dot_product(a, b):\n    raise RuntimeError('no')\n",
    "third": "",
    "loops": "\n\ndef dot_product(a, b):\n    while True:\n        pass\n",
    "break": "\n\ndef (:\n",
}
MARK = "GRADER_PROOF_OF_KILLING"
PATIENCE = 30.0
# of so many submissions one was graded before
EARLY = 3


def main(arguments: list[str] | None = None) -> int:
    """Run the proof; the exit status is 1 if a report differed or a process was left."""
    parser = argparse.ArgumentParser(prog="grader.proof.killing", description=__doc__)
    parser.add_argument("--submissions", type=int, default=100, metavar="N")
    parser.add_argument("--kills", type=int, default=10, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="at most so many")
    parser.add_argument("--only", metavar="NAME", help="one chapter or function")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31), metavar="N")
    given = parser.parse_args(arguments)
    print(f"seed of the moments: {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="killing-") as folder:
        proof = Proof(Path(folder), random.Random(given.seed), given.jobs, given.only)
        proof.write(given.submissions)
        proof.undisturbed()
        while proof.kills < given.kills:
            proof.batch(given.kills)
    bad = proof.differing + proof.left
    print(
        f"{proof.kills} kills, {proof.batches} batches of {given.submissions} compared: "
        f"{proof.differing} reports differ, {proof.left} processes were left behind"
    )
    return int(bad > 0)


@dataclass
class Proof:
    """One batch, the report of an undisturbed run of it, and what has come of killing others."""

    folder: Path
    moments: random.Random
    jobs: int
    only: str | None
    kills: int = 0
    batches: int = 0
    differing: int = 0
    left: int = 0
    seconds: float = 0.0
    expected: bytes = field(default=b"", repr=False)

    def write(self, count: int) -> None:
        """Write the submissions: right, wrong and troublesome ones, and one that is none."""
        kinds = [list(ENDINGS)[number % len(ENDINGS)] for number in range(count - 1)]
        handed_in = [self.folder / "batch" / f"{n:03}-{kind}" for n, kind in enumerate(kinds)]
        early = handed_in[::EARLY]
        for place in early:
            self._copy(place)
        self._start("before").wait()
        for place, kind in zip(handed_in, kinds, strict=True):
            if place not in early:
                self._copy(place)
            with (place / FIRST).open("a", encoding="utf-8") as file:
                file.write(ENDINGS[kind])
        (self.folder / "batch" / "empty").mkdir(parents=True)

    @staticmethod
    def _copy(place: Path) -> None:
        shutil.copytree(places.SOLUTIONS, place, ignore=shutil.ignore_patterns("__*"))

    def undisturbed(self) -> None:
        """Grade once without being killed, for the report and the time that it takes."""
        began = time.monotonic()
        status = self._start("undisturbed").wait()
        if status != 1:  # the empty folder cannot be graded
            said = (self.folder / "said").read_text(encoding="utf-8")
            raise SystemExit(f"the undisturbed run ended with {status}: {said}")
        self.seconds = time.monotonic() - began
        self.expected = self._report("undisturbed").read_bytes()
        own = sum("seed" in one for one in json.loads(self.expected)["submissions"])
        said = f"{len(self.expected)} bytes, {own} with a seed of their own"
        print(f"undisturbed: {self.seconds:.1f} s, {said}", flush=True)

    def batch(self, kills: int) -> None:
        """Grade anew, killed until it ends by itself, or until there were kills enough."""
        name = f"batch-{self.batches}"
        # as the users of --results do: only the file remembers the seed
        while self.kills < kills and self._killed(self._start(name)):
            pass
        self._start(name).wait()
        self.batches += 1
        same = self._report(name).read_bytes() == self.expected
        self.differing += not same
        verdict = "is the same" if same else "DIFFERS"
        print(f"batch {self.batches}: the report {verdict}", flush=True)

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        only = ["--only", self.only] if self.only else []
        # the run before all others is given the seed, these find it in the file
        seed = ["--seed", "1"] if name == "before" else []
        if not seed and not self._results(name).exists():
            shutil.copy(self._results("before"), self._results(name))
        jobs = self.moments.randint(1, self.jobs)
        return subprocess.Popen(
            [sys.executable, "-m", "grader", "grade", str(self.folder / "batch"), *only, *seed,
             "--jobs", str(jobs), "--time-limit", "2", "--device", "cpu",
             "--results", str(self._results(name)), "--report", f"json={self._report(name)}"],
            cwd=places.ROOT, env={**os.environ, MARK: str(self.folder)},
            stdout=subprocess.DEVNULL, stderr=(self.folder / "said").open("wb"),
        )  # fmt: skip

    def _killed(self, run: subprocess.Popen[bytes]) -> bool:
        """Kill a run at a random moment; False if it was through before."""
        moment = self.moments.uniform(0, self.seconds)
        try:
            run.wait(moment)
            return False
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            run.wait()
        self.kills += 1
        said = (self.folder / "said").read_text(encoding="utf-8")
        done = len(re.findall(r"^ *\d+/\d+ ", said, re.MULTILINE))
        began = time.monotonic()
        left = self._left()
        self.left += left
        ended = f"{left} left" if left else f"all ended in {time.monotonic() - began:.1f} s"
        print(f"kill {self.kills} after {moment:.1f} s: {done} done, {ended}", flush=True)
        return True

    def _left(self) -> int:
        """Count the processes that a killed run has left, after some time to end."""
        deadline = time.monotonic() + PATIENCE
        while (left := len(self._running())) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def _running(self) -> list[int]:
        mark = f"{MARK}={self.folder}".encode()
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (place / "environ").read_bytes().split(b"\0"):
                    found.append(int(place.name))
            except OSError:
                continue
        return found

    def _results(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def _report(self, name: str) -> Path:
        return self.folder / f"{name}.json"


if __name__ == "__main__":
    sys.exit(main())
