"""The class report: what the class page shows, as json for course scripts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.reports.class_summary import summary
from grader.reports.json_report import kit
from grader.reports.moved import EarlierScores
from grader.reports.text import encodable
from grader.results import Run

SCHEMA = 1


def write(run: Run, path: Path, earlier: EarlierScores | None = None) -> None:
    """Write the summary of a run."""
    report = {"schema": SCHEMA, "kit": kit(run), **asdict(summary(run, earlier))}
    text = json.dumps(_encodable(report), indent=1)
    path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def _encodable(value: Any) -> Any:
    """Keep every text as it is, but for what no file can hold."""
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return encodable(value) if isinstance(value, str) else value
