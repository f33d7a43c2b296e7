"""Builds what a platform wants uploaded: `python -m grader.reports.recipes autograder.zip`."""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from grader import places
from grader.reports import zipped

RECIPE = Path(__file__).parent / "gradescope"
SCRIPTS = ("setup.sh", "run_autograder")
KIT = ("pyproject.toml", "README.md", "LICENSE", ".ci/constraints.txt", "exercises", "tests",
       "grader")  # fmt: skip
# right answers and their tests have no business beside a stranger's code
LEFT_OUT = places.ROOT / "grader" / "proof"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build Gradescope's zip and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m grader.reports.recipes",
        description="Build the zip that Gradescope takes as an autograder.",
    )
    parser.add_argument("file", type=Path, metavar="autograder.zip", help="the zip to write")
    parser.add_argument("--pip-conf", type=Path, metavar="FILE",
                        help="a pip.conf, for a package index of your own")  # fmt: skip
    given = parser.parse_args(arguments)
    try:
        count = build(given.file, given.pip_conf)
    except OSError as problem:
        print(f"grader: {problem}", file=sys.stderr)
        return 2
    print(f"{given.file}: {count} files, without solutions; upload it as it is")
    return 0


def build(file: Path, pip_conf: Path | None = None) -> int:
    """Write two scripts and the kit, and return how many files; the same kit gives the same bytes.

    Args:
        file: the zip.
        pip_conf: a configuration of pip to put beside the scripts.

    Raises:
        OSError: a file cannot be read or written, or the kit is not whole.
    """
    missing = [name for name in KIT if not (places.ROOT / name).exists()]
    if missing:
        raise FileNotFoundError(f"{places.ROOT} is not the kit: there is no {missing[0]}")
    # a checkout on Windows may have given them line ends that bash does not know
    members = {name: (RECIPE / name).read_bytes().replace(b"\r\n", b"\n") for name in SCRIPTS}
    if pip_conf is not None:
        members["pip.conf"] = pip_conf.read_bytes()
    for top in [places.ROOT / name for name in KIT]:
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            out = not path.is_file() or LEFT_OUT in path.parents or "__pycache__" in path.parts
            if not out:
                members[f"kit/{path.relative_to(places.ROOT).as_posix()}"] = path.read_bytes()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            zipped.add(archive, name, data, mode=0o755 if name in SCRIPTS else 0o644)
    return len(members)


if __name__ == "__main__":
    sys.exit(main())
