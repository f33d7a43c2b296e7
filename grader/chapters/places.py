"""Where the kit's folders lie."""

from __future__ import annotations

from grader.places import EXERCISES, ROOT, SOLUTIONS

SUITES = ROOT / "tests"
COACH = ROOT / "grader" / "coach"
VARIANTS = ROOT / "grader" / "proof" / "variants"

__all__ = ["COACH", "EXERCISES", "ROOT", "SOLUTIONS", "SUITES", "VARIANTS"]
