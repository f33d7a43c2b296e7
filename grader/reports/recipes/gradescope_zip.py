"""The zip that Gradescope takes as an autograder: two scripts and the kit, without solutions."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from grader import places
from grader.reports import zipped

RECIPE = Path(__file__).parent / "gradescope"
SCRIPTS = ("setup.sh", "run_autograder")
KIT = ("pyproject.toml", "README.md", "LICENSE", ".ci/constraints.txt", "exercises", "tests",
       "grader")  # fmt: skip
# right answers and their tests have no business beside a stranger's code
LEFT_OUT = "grader/proof"


def build(file: Path, pip_conf: Path | None = None) -> int:
    """Write the zip; the same kit gives the same bytes.

    Args:
        file: the zip.
        pip_conf: a configuration of pip to put beside the scripts.

    Returns:
        How many files are in it.

    Raises:
        OSError: a file cannot be read or written, or the kit is not whole.
    """
    missing = [name for name in KIT if not (places.ROOT / name).exists()]
    if missing:
        raise FileNotFoundError(f"{places.ROOT} is not the kit: there is no {missing[0]}")
    members = {name: _script(RECIPE / name) for name in SCRIPTS}
    if pip_conf is not None:
        members["pip.conf"] = pip_conf.read_bytes()
    members |= {f"kit/{name}": path.read_bytes() for name, path in _kit()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            zipped.add(archive, name, data, mode=0o755 if name in SCRIPTS else 0o644)
    return len(members)


def _script(path: Path) -> bytes:
    # a checkout on Windows may have given it line ends that bash does not know
    return path.read_bytes().replace(b"\r\n", b"\n")


def _kit() -> Iterator[tuple[str, Path]]:
    for name in KIT:
        top = places.ROOT / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            inside = path.relative_to(places.ROOT)
            out = inside.is_relative_to(LEFT_OUT)
            if path.is_file() and not out and "__pycache__" not in inside.parts:
                yield inside.as_posix(), path
