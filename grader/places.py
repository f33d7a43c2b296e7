"""Where the kit's folders lie; nothing is imported to know it."""

from __future__ import annotations

import os
from pathlib import Path


def _root() -> Path:
    here = Path(__file__).resolve().parents[1]
    return here if (here / "tests").is_dir() else Path.cwd()


ROOT = _root()
EXERCISES = ROOT / "exercises"
SOLUTIONS = ROOT / "solutions"
RULES = EXERCISES / "RULES.md"
CARDS = EXERCISES / "CARDS.md"
SUITES = ROOT / "tests"
COACH = ROOT / "grader" / "coach"
VARIANTS = ROOT / "grader" / "proof" / "variants"


def short(path: Path) -> str:
    """Write a path as seen from the current folder, where it lies below that or both in the kit."""
    here = Path.cwd()
    if path.is_relative_to(here) or (path.is_relative_to(ROOT) and here.is_relative_to(ROOT)):
        return os.path.relpath(path, here)
    return str(path)


def files_of(stem: str) -> tuple[Path, Path, Path, Path]:
    """Return the four files of a chapter: the stubs, the solution, the suite and the coach."""
    file = f"{stem}.py"
    return EXERCISES / file, SOLUTIONS / file, SUITES / f"test_{file}", COACH / file


def variants(stem: str = "") -> list[Path]:
    """List the folders of right but different answers: all, or those that have a chapter."""
    every = sorted(VARIANTS.glob("[a-z]*"))
    return [path for path in every if not stem or (path / f"{stem}.py").is_file()]
