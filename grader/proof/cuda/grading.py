"""Grading as an instructor does, in a process of its own, and reading the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from grader import places


def graded(folder: Path, device: str, report: Path, *options: object) -> Any:
    """Grade a folder of submissions; return what its json report says.

    Args:
        folder: the submissions.
        device: as `--device` takes it.
        report: the file to write.
        options: others of the command line.

    Raises:
        RuntimeError: not all of it was graded.
    """
    command = ["grade", folder, "--device", device, "--seed", 3, "--report", f"json1={report}"]
    done = subprocess.run(
        [sys.executable, "-m", "grader", *map(str, (*command, *options))],
        check=False, capture_output=True, text=True, cwd=places.ROOT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"grade on {device}: status {done.returncode}\n{done.stderr}")
    return json.loads(report.read_text(encoding="utf-8"))
