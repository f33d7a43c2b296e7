"""Where a check is stuck, seen from another thread."""

from __future__ import annotations

import traceback
import types
from dataclasses import replace
from pathlib import Path

from grader.answers.world import World
from grader.judging.explain import explain, explain_time_limit
from grader.judging.outcome import Outcome
from grader.suite.check import Check
from grader.trouble import BrokenFile, TimeLimit


def stuck_in(check: Check, frame: types.FrameType | None, world: World) -> tuple[Outcome, str]:
    """Say where a check is stuck, and name the exercise, or the file that is being imported."""
    folder = str(world.folder)
    frames = [f for f in traceback.extract_stack(frame) if f.filename.startswith(folder)]
    outcome = Outcome("timeout", frames=frames)
    importing = [Path(f.filename).stem for f in frames if f.name == "<module>"]
    if importing:
        inner, outer = (world.path(stem).name for stem in (importing[-1], check.stem))
        cause = BrokenFile(importing[-1], TimeLimit(), inner)
        outcome.error = cause if inner == outer else BrokenFile(check.stem, cause, outer)
        outcome.message = explain(check, replace(outcome, error=cause), None, None)
        return outcome, inner
    guilty = check.full_exercise
    while frame is not None:
        owner = world.owner(frame.f_code)
        if owner is not None:
            guilty = owner
            break
        frame = frame.f_back
    outcome.blame = () if guilty == check.full_exercise else (guilty,)
    outcome.message = explain_time_limit(check, outcome, guilty)
    return outcome, guilty
