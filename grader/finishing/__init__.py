"""The end of the kit: one's own trained model, what one has built, and what to read next."""

from __future__ import annotations

from grader import places

# the chapters whose functions make the model and draw it
NEEDS = ("ex06_heads", "ex07_model")


def lacking() -> list[str]:
    """List the chapters that the end needs and this kit does not have."""
    coach = places.ROOT / "grader" / "coach"
    return [stem for stem in NEEDS if not (coach / f"{stem}.py").is_file()]
