"""What a submission costs here, by one pytest and by otter-grader: ratios from one run.

`python -m grader.proof.beside_others [OTTER [COUNT]]` grades a class of COUNT unlike submissions,
some of them in parts, runs plain pytest on each, and lets otter-grader run a notebook with a
softmax and a single test. Counted are the seconds of the processor of all processes. OTTER is the
command (`pip install otter-grader` into an environment of its own that has PyTorch, too); without
it the first two are told.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from grader import places
from grader.proof.benchmark import ENVIRONMENT, PYTEST
from grader.proof.class_benchmark import student
from grader.proof.made_class.answers import MIXED
from grader.proof.scale import used_by_children

SOFTMAX = (
    "import torch\n\n\ndef softmax(x):\n    e = torch.exp(x)\n    return e / e.sum(-1)[..., None]"
)
TEST = '''OK_FORMAT = True
test = {"name": "softmax", "points": 1, "suites": [{"scored": True, "setup": "", "teardown": "",
"type": "doctest", "cases": [{"hidden": False, "locked": False, "code": """
>>> bool(torch.allclose(softmax(torch.zeros(2, 3)), torch.full((2, 3), 1 / 3)))
True
"""}]}]}
'''


def main(otter: str = "", count: str = "12") -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory(prefix="beside-") as space:
        folder, dice = Path(space) / "class", random.Random(0)
        for number in range(int(count)):
            student(folder / f"student_{number}", MIXED, dice)
        every = sorted(folder.iterdir())
        grade = ["-m", "grader", "grade", str(folder), "--seed", "1", "--device", "cpu"]
        ours = _taken([sys.executable, *grade]) / len(every)
        alone = [_taken([sys.executable, *PYTEST, f"--answers={one}"]) for one in every[::3]]
        pytest = sum(alone) / len(alone)
        print(f"grade, for each of {len(every)} unlike ones     {ours:6.2f} CPU-s")
        _tell("one pytest each", pytest, ours)
        if otter:
            _tell("otter-grader, a softmax with one test", _taken(_otter(otter, Path(space))), ours)


def _tell(what: str, seconds: float, ours: float) -> None:
    print(f"{what:<39} {seconds:6.2f} CPU-s = {seconds / ours:.1f} x that")


def _otter(command: str, space: Path) -> list[str]:
    """Return how otter-grader runs a notebook, as it is called in its containers."""
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = {"cells": [{**cell, "source": SOFTMAX}], "metadata": {"kernelspec": kernel},
            "nbformat": 4, "nbformat_minor": 5}  # fmt: skip
    (space / "one.ipynb").write_text(json.dumps(book), encoding="utf-8")
    with zipfile.ZipFile(space / "autograder.zip", "w") as archive:
        archive.writestr("otter_config.json", '{"lang": "python"}')
        archive.writestr("tests/softmax.py", TEST)
    given = [space / "one.ipynb", "-a", space / "autograder.zip", "-o", space]
    return [command, "run", *map(str, given)]


def _taken(command: list[str]) -> float:
    """Return the seconds of the processor that a command takes with all that it starts.

    Raises:
        RuntimeError: it says that it failed, and not by what it found.
    """
    before = used_by_children()
    done = subprocess.run(
        command, check=False, cwd=places.ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode > 1:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    return used_by_children() - before


if __name__ == "__main__":
    main(*sys.argv[1:])
