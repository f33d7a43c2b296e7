"""Where the kit's folders lie."""

from __future__ import annotations

from pathlib import Path


def _root() -> Path:
    here = Path(__file__).resolve().parents[2]
    return here if (here / "tests").is_dir() else Path.cwd()


ROOT = _root()
EXERCISES = ROOT / "exercises"
SOLUTIONS = ROOT / "solutions"
SUITES = ROOT / "tests"
COACH = ROOT / "grader" / "coach"
VARIANTS = ROOT / "grader" / "proof" / "variants"
