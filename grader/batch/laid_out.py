"""Where the files of a submission lie while it is graded, and what a killed batch left of that."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

# the process that made a folder stands in its name
NAME = re.compile(r"attention-kit-(\d+)-\w+")
# seconds; a process that is not to be seen from here may still live in another container
OLD = 3600.0


@contextlib.contextmanager
def laid_out(files: Mapping[str, bytes]) -> Iterator[Path]:
    """Lay the files of a submission out in a folder, for as long as this lasts."""
    with tempfile.TemporaryDirectory(prefix=f"attention-kit-{os.getpid()}-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the user that runs it may be another one
        for path, data in files.items():
            (folder / path).write_bytes(data)
        yield folder


def clear_leftovers() -> None:
    """Remove such folders of processes of ours that are no more, when they are old."""
    if os.name != "posix":
        return  # to ask for a process there would end it
    for path in Path(tempfile.gettempdir()).glob("attention-kit-*"):
        made = NAME.fullmatch(path.name)
        if made and not _lives(int(made[1])):
            with contextlib.suppress(OSError):
                facts = path.lstat()
                if facts.st_uid == os.geteuid() and time.time() - facts.st_mtime > OLD:
                    shutil.rmtree(path)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass  # it is another user's, or no number of a process
    return True
