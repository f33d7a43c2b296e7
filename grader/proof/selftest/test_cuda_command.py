"""The one command for a machine with a GPU, rehearsed on a device that is none."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from grader import places
from grader.proof.cuda.__main__ import main
from grader.proof.cuda.part import NotTried, Part, tried
from grader.proof.cuda.parts import Asked, parts
from grader.proof.cuda.spread import Both, Spread
from grader.proof.figure import Figure
from grader.proof.second_device import NAME, is_possible, package

pytestmark = pytest.mark.slow
LISTS = ("held:", "not held:", "not tried:")


def under(text: str) -> dict[str, list[str]]:
    """Read the three lists at the end."""
    lines = text.splitlines()
    lines = lines[max(n for n, line in enumerate(lines) if line == LISTS[0]) :]
    found: dict[str, list[str]] = {}
    for line in lines:
        if line in LISTS:
            found[line] = []
        elif line.strip():
            found[list(found)[-1]].append(line.strip())
    return found


@pytest.mark.skipif(
    not is_possible() or sys.platform != "linux", reason="no backends in Python here"
)
@pytest.mark.timeout(1200)
def test_a_rehearsal_says_that_it_is_one_and_ends_with_its_lists(tmp_path):
    file = tmp_path / "cuda.txt"
    options = ("--device", NAME, "--only", "dot_product", "--most", 1, "--count", 2, "--file", file)
    command = [package(tmp_path / "env"), "-m", "grader.proof.cuda", *options]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=places.ROOT)
    said = file.read_text(encoding="utf-8")
    assert said == done.stdout
    assert said.startswith("REHEARSAL: second is no GPU")
    assert "NOT ALL: " in said
    found = under(said)
    asked = Asked(Spread(Both(NAME), [], None, 1, 0), [], 0)
    every = [title for title, _ in parts(asked)]
    assert sorted(title for some in found.values() for title in some if title in every) == sorted(
        every
    )
    assert found["not tried:"] == ["dry runs agree with real ones"]
    assert found["not held:"] == ["nothing"], said
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_without_a_gpu_it_says_so_and_writes_nothing(tmp_path, capsys):
    file = tmp_path / "cuda.txt"
    assert main(["--file", str(file)]) == 2
    assert "PyTorch sees no CUDA device here" in capsys.readouterr().err
    assert not file.exists()


def test_what_goes_wrong_in_a_part_is_not_held_and_ends_nothing():
    def leaves(_: Part) -> None:
        raise NotTried("no such thing here")

    def fails(_: Part) -> None:
        raise OSError("the disk is gone")

    def lacks(part: Part) -> None:
        part.take([Figure("nothing was there")])

    told: list[list[str]] = [[], [], [], []]
    every = (leaves, fails, lacks, lambda part: part.note("well"))
    made = [tried("one", does, said.append) for does, said in zip(every, told, strict=True)]
    assert [part.held for part in made] == ["not tried", "not held", "not held", "held"]
    assert "the disk is gone" in "".join(told[1])
