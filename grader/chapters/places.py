"""Where the kit's folders lie."""

from __future__ import annotations

from pathlib import Path

from grader.places import EXERCISES, ROOT, RULES, SOLUTIONS, short

SUITES = ROOT / "tests"
COACH = ROOT / "grader" / "coach"
VARIANTS = ROOT / "grader" / "proof" / "variants"


def files_of(stem: str) -> tuple[Path, Path, Path, Path]:
    """Return the four files of a chapter: the stubs, the solution, the suite and the coach."""
    file = f"{stem}.py"
    return EXERCISES / file, SOLUTIONS / file, SUITES / f"test_{file}", COACH / file


def variants(stem: str = "") -> list[Path]:
    """List the folders of right but different answers: all, or those that have a chapter."""
    every = sorted(VARIANTS.glob("[a-z]*"))
    return [path for path in every if not stem or (path / f"{stem}.py").is_file()]


__all__ = [
    "COACH",
    "EXERCISES",
    "ROOT",
    "RULES",
    "SOLUTIONS",
    "SUITES",
    "VARIANTS",
    "files_of",
    "short",
    "variants",
]
