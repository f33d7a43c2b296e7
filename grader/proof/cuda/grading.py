"""Grading as an instructor does, in a process of its own, and reading the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from grader import places


def graded(folder: Path, device: str, report: Path, *options: object, schema: str = "json") -> Any:
    """Grade a folder of submissions; return what its json report says.

    Args:
        folder: the submissions.
        device: as `--device` takes it.
        report: the file to write.
        options: others of the command line.
        schema: which of the json reports.

    Raises:
        RuntimeError: not all of it was graded.
    """
    command = ["grade", folder, "--device", device, "--seed", 3, "--report", f"{schema}={report}"]
    said = []
    with subprocess.Popen(
        [sys.executable, "-m", "grader", *map(str, (*command, *options))],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        cwd=places.ROOT,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            # whoever waits for a GPU sees how far it is
            print(line, end="", file=sys.stderr, flush=True)
            said.append(line)
    if process.returncode:
        raise RuntimeError(f"grade on {device}: status {process.returncode}\n{''.join(said)}")
    return json.loads(report.read_text(encoding="utf-8"))
