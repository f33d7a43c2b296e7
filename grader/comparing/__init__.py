"""Comparing: a solved function beside the reference answer and other right ways to write it."""

from pathlib import Path

from grader.places import SOLUTIONS

FOLDER = Path(__file__).parent / "sealed"
LEFT_OUT = "this pack holds no reference answers to compare with: your instructor left them out"


def anything_there() -> bool:
    """Tell whether there is anything to compare with, for any function."""
    return FOLDER.is_dir() or SOLUTIONS.is_dir()
