"""Running Python in a students' pack, as if the pack and nothing else were installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with no kit but the one that lies there."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
