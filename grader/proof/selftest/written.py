"""The example of the page on writing a chapter, put into a copy of the kit."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path

from grader import places

STEM = "ex14_running"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RAISE = re.compile(r"^( *)raise NotImplementedError\(.*\)$", re.MULTILINE)


def copy_of_the_kit(folder: Path) -> Path:
    """Copy what a chapter can be added to."""
    for name in ("exercises", "solutions", "tests", "grader"):
        ignored = shutil.ignore_patterns("__pycache__", "hostile", "kept")
        shutil.copytree(places.ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "LICENSE", "README.md", ".gitignore"):
        shutil.copy(places.ROOT / name, folder)
    shutil.copytree(places.ROOT / ".ci", folder / ".ci")
    return folder


def put_example(folder: Path) -> None:
    """Write the example's four files."""
    page = (places.ROOT / "grader" / "WRITING.md").read_text(encoding="utf-8")
    stubs, bodies, suite, coach = BLOCK.findall(page)
    written = [solved(stubs, bodies), stubs, suite, coach]
    names = ["solutions", "exercises", "tests", "grader/coach"]
    for name, text in zip(names, written, strict=True):
        file = f"test_{STEM}.py" if name == "tests" else f"{STEM}.py"
        (folder / name / file).write_text(text, encoding="utf-8")


def solved(stubs: str, bodies: str) -> str:
    """Put the bodies, each below its name, in the place of what a stub raises."""
    each = iter(re.split(r"^ *# .*\n", bodies, flags=re.MULTILINE)[1:])

    def body(found: re.Match[str]) -> str:
        return textwrap.indent(textwrap.dedent(next(each)).rstrip("\n"), found.group(1))

    return RAISE.sub(body, stubs)
