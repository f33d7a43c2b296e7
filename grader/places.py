"""Where the kit's folders lie; nothing is imported to know it."""

from __future__ import annotations

from pathlib import Path


def _root() -> Path:
    here = Path(__file__).resolve().parents[1]
    return here if (here / "tests").is_dir() else Path.cwd()


ROOT = _root()
EXERCISES = ROOT / "exercises"
SOLUTIONS = ROOT / "solutions"
RULES = EXERCISES / "RULES.md"


def short(path: Path) -> str:
    """Write a path as seen from the current folder, where it lies below that."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
