"""The class report: what the class page shows, as json for course scripts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from grader.reports.class_summary import summary
from grader.reports.json_report import kit
from grader.reports.moved import EarlierScores
from grader.reports.text import all_encodable
from grader.results import Run

SCHEMA = 1


def write(run: Run, path: Path, earlier: EarlierScores | None = None) -> None:
    """Write the summary of a run."""
    report = {"schema": SCHEMA, "kit": kit(run), **asdict(summary(run, earlier))}
    text = json.dumps(all_encodable(report), indent=1)
    path.write_text(f"{text}\n", encoding="utf-8", newline="\n")
