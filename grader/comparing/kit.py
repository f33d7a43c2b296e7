"""The ways as they lie in the kit itself: solutions, variants, and what PyTorch has."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from grader import places
from grader.comparing.excerpt import excerpt
from grader.comparing.ways import Ways, farthest
from grader.comparing.worth_showing import WORTH_SHOWING

READY_MADE = Path(__file__).parent / "ready_made"
# of many right answers so many, no longer than that or than a quarter above the kit's own
MOST, LINES, COLUMNS = 6, 28, 100
# a function that is one expression is a pleasure to write only
PUZZLE = re.compile(r"\w+ = lambda")


def ways_in_kit(full: str, exercises: Collection[str]) -> Ways:
    """Read what the kit has for a function.

    Args:
        full: its name with its chapter.
        exercises: the names of all exercises.
    """
    stem, name = full.split(".")
    source = (places.SOLUTIONS / f"{stem}.py").read_text(encoding="utf-8")
    reference = excerpt(source, name, exercises)
    if reference is None:
        raise LookupError(f"solutions/{stem}.py has no {name}")
    longest = max(LINES, reference.text.count("\n") * 5 // 4)
    others = farthest(list(_others(stem, name, exercises, longest)), [reference.text], MOST)
    return Ways(reference.text, tuple(others), _ready_made(stem, name))


def _others(stem: str, name: str, exercises: Collection[str], longest: int) -> Iterator[str]:
    """Cut a function out of the variants; leave out what cannot be read by itself."""
    worth = WORTH_SHOWING.get(f"{stem}.{name}")
    for path in sorted(places.VARIANTS.glob(f"*/{stem}.py")):
        if worth is not None and path.parent.name not in worth:
            continue
        found = excerpt(path.read_text(encoding="utf-8"), name, exercises, refusals=False)
        if found is None or found.strange:
            continue
        lines = found.text.splitlines()
        fits = len(lines) <= longest and max(map(len, lines)) <= COLUMNS
        if fits and not any(PUZZLE.match(line) for line in lines):
            yield found.text


def _ready_made(stem: str, name: str) -> str:
    path = READY_MADE / f"{stem}.py"
    source = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = [one for one in ast.parse(source).body if getattr(one, "name", "") == name]
    return (ast.get_source_segment(source, found[0]) or "") if found else ""
