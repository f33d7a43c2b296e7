"""Whose grade has moved since an earlier run."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.reports import gzipped
from grader.reports.text import encodable
from grader.results import DEVICES, Run, number

SCHEMAS = (1, 2)


@dataclass(frozen=True)
class EarlierScores:
    """What an earlier json report says.

    Attributes:
        file: its name.
        max: what most of its scores are out of.
        scores: by submission, on each device; None where it was not run.
    """

    file: str
    max: float
    scores: dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class ScoreMove:
    """A score that is another one now."""

    id: str
    before: float
    now: float


@dataclass(frozen=True)
class Moved:
    """Who went up or down, the farthest first; who is new, who is gone, and how many stayed.

    `max` is what most of the earlier scores were out of.
    """

    since: str
    max: float
    up: tuple[ScoreMove, ...]
    down: tuple[ScoreMove, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]
    same: int


def read(path: Path) -> EarlierScores:
    """Read a json report of this kit's.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not there, or no such report.
    """
    if not path.is_file():
        raise ValueError(f"--since {path}: there is no such file")
    try:
        report = json.loads(gzipped.read(path))
        known = report["schema"] in SCHEMAS
        scores = {str(one["id"]): _score(one["score"]) for one in report["submissions"]}
        most = Counter(float(one["max"]) for one in report["submissions"]).most_common(1)
    except (ValueError, LookupError, TypeError, AttributeError) as problem:
        raise ValueError(
            f"--since {path}: this is no json report of an earlier run (--report json=FILE)"
        ) from problem
    if not known:
        raise ValueError(f"--since {path}: this kit reads schema 1 or 2, not {report['schema']}")
    return EarlierScores(path.name, most[0][0] if most else 0.0, scores)


def _score(score: dict[str, Any]) -> dict[str, float | None]:
    return {d: None if score.get(d) is None else float(score[d]) for d in (*DEVICES, *score)}


def compare(run: Run, earlier: EarlierScores) -> Moved:
    """Tell what has become of each score of the earlier run, and who came since."""
    moves = []
    now = {encodable(submission.identity): submission for submission in run.submissions}
    for name, submission in now.items():
        if name in earlier.scores:
            # who could not be graded then, or not on this device, has no score there
            before = earlier.scores[name].get(submission.counted) or 0.0
            moves.append(ScoreMove(submission.identity, before, number(submission.final)))
    moves.sort(key=lambda move: -abs(move.now - move.before))
    return Moved(
        since=earlier.file,
        max=earlier.max,
        up=tuple(move for move in moves if move.now > move.before),
        down=tuple(move for move in moves if move.now < move.before),
        new=tuple(one.identity for name, one in now.items() if name not in earlier.scores),
        gone=tuple(name for name in earlier.scores if name not in now),
        same=sum(move.now == move.before for move in moves),
    )
