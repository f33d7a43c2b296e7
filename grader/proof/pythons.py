"""Proves on every Python of this machine what needs no PyTorch: it is gigabytes for each of them.

The tested versions are installed as the README says, all but torch, which the registry must offer.
With them every file is compiled, and on the oldest and the newest those of the grader's tests are
run that import no torch.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

from grader.places import ROOT

VERSIONS = ("3.10", "3.11", "3.12", "3.13")
# what differs lies between these; the versions between them only install and compile
TESTED = (VERSIONS[0], VERSIONS[-1])
HERE = "{}.{}".format(*sys.version_info)
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
# what differs from one Python to the next: its parser, its terminal, its standard library
TESTS = ("source", "hostile_sources", "hostile_text", "scores_table", "gradebook", "sandbox_says")
COMPILE = """
import sys, warnings
warnings.simplefilter("error")
for name in sys.stdin.read().split("\\n"):
    with open(name, "rb") as file:
        compile(file.read(), name, "exec")
"""
AT_ONCE = 2


class Disproved(Exception):
    """Something does not hold; its text says what."""


def interpreter(version: str) -> Path | None:
    """Find a Python on the path, or where pyenv keeps its own."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    on_path = shutil.which(f"python{version}")
    for path in [on_path, *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")))]:
        asked = "import sys, venv; print('{}.{}'.format(*sys.version_info))"
        if path is not None and _says([path, "-c", asked]) == version:
            return Path(path)
    return None


def _says(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def proved(python: Path, *, tested: bool) -> str:
    """Say what holds on a Python.

    Args:
        python: the interpreter.
        tested: whether tests are run, too.

    Raises:
        Disproved: something does not.
    """
    with tempfile.TemporaryDirectory() as folder:
        _run([python, "-m", "venv", "--without-pip", folder])
        own = Path(folder, "bin", "python")
        pip = [sys.executable, "-m", "pip", "--python", own]
        wanted = [need for need in _needs() if not need.startswith("torch")]
        _run([*pip, "install", "-q", "--no-compile", "-c", CONSTRAINTS, *wanted])
        pinned = str(re.findall(r"^torch==(\S+)", CONSTRAINTS.read_text(), re.MULTILINE)[0])
        if pinned not in re.split(r"[\s,()]+", _run([*pip, "index", "versions", "torch"])):
            raise Disproved(f"torch {pinned} is not offered")
        files = "\n".join(map(str, _sources()))
        _run([own, "-c", COMPILE], files)
        passed = f", {_passed(own)}" if tested else ""
    count = len(files.splitlines())
    return f"{len(wanted)} needs installed, torch {pinned} offered, {count} files compiled{passed}"


def _passed(python: Path) -> str:
    tests = [f"grader/proof/selftest/test_{name}.py" for name in TESTS]
    # the fixtures of conftest.py load the chapters, and so torch
    options = ["-q", "--noconftest", "-p", "no:cacheprovider", "-o", "timeout=300"]
    said = _run([python, "-m", "pytest", "--assert=rewrite", *options, *tests])
    return said.splitlines()[-1].partition(" in ")[0]


def _needs() -> Iterator[str]:
    """Name what the kit needs, as `-e .[dev]` would ask for it."""
    for line in requires("attention-kit") or ():
        need = Requirement(line)
        if need.marker is None or need.marker.evaluate({"extra": "dev"}):
            yield f"{need.name}{need.specifier}"


def _sources() -> list[Path]:
    """List our own files; some of the attacks are no Python on purpose."""
    return [
        path
        for folder in ("exercises", "solutions", "tests", "grader")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "hostile" not in path.relative_to(ROOT).parts
    ]


def _run(command: Sequence[object], given: str = "") -> str:
    done = subprocess.run(
        [*map(str, command)], input=given, capture_output=True, text=True, cwd=ROOT, check=False
    )
    if done.returncode:
        raise Disproved((done.stdout + done.stderr)[-2000:])
    return done.stdout


def _line(version: str) -> tuple[bool, str]:
    """Prove a version; say whether it may stand, and what is known of it."""
    if version == HERE:
        return True, "runs this: .ci/run proves everything with it"
    python = interpreter(version)
    if python is None:
        return True, "is not on this machine: nothing proved"
    try:
        return True, proved(python, tested=version in TESTED)
    except Disproved as problem:
        return False, f"does not hold:\n{problem}"


def main() -> int:
    """Prove all versions, and say of each in a line what is proved."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(_line, VERSIONS))
    for version, (_, says) in zip(VERSIONS, found, strict=True):
        print(f"Python {version}  {says}")
    return 0 if all(holds for holds, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
