"""Runs Python as an ordinary user: `python -m grader.sandbox.drill.as_user 65534 -c 'print(1)'`.

For root only. Python may lie in a folder that only root can enter, so it is made to appear in one
that everyone can, in a mount namespace of this process's own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from grader.sandbox import identity, namespaces, room
from grader.sandbox.kernel import call

_BIND, _ALL_BENEATH = 0x1000, 0x4000
_KIT = Path(__file__).parents[3]


def main() -> None:
    """Become the user that the first argument names, then Python with the others."""
    namespaces.unshare(("mount",), "root")
    room.keep_mounts_private()
    _open_up(sorted({Path(path).resolve() for path in (sys.base_prefix, sys.prefix, _KIT)}))
    identity.become(int(sys.argv[1]))
    os.environ["PYTHONPATH"] = str(_KIT)
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])


def _open_up(paths: list[Path]) -> None:
    """Put an empty folder over each that others may not enter, and what they need into it."""
    shut = {path: above for path in paths if (above := _first_shut(path))}
    aside = {path: Path(tempfile.mkdtemp(prefix="as-user-")) for path in shut}
    for path, at in aside.items():
        _bind(path, at)
    for above in set(shut.values()):
        call("mount", b"tmpfs", os.fsencode(above), b"tmpfs", 0, b"mode=755")
    for path, at in aside.items():
        path.mkdir(parents=True, exist_ok=True)
        _bind(at, path)
        call("umount2", os.fsencode(at), 0)
        at.rmdir()


def _first_shut(path: Path) -> Path | None:
    return next((at for at in reversed(path.parents) if not at.stat().st_mode & 0o001), None)


def _bind(path: Path, at: Path) -> None:
    call("mount", os.fsencode(path), os.fsencode(at), None, _BIND | _ALL_BENEATH, None)


if __name__ == "__main__":
    main()
