"""Namespaces: a nursery whose children see no other process, no network and none of its mounts."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path

from grader.sandbox.isolation import Rights
from grader.sandbox.kernel import PR_SET_PDEATHSIG, call, prctl

SPACES = {
    "mount": 0x00020000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
}
_USER = 0x10000000


def unshare(spaces: Iterable[str], rights: Rights) -> None:
    """Move this process into namespaces of its own.

    Args:
        spaces: the kinds, of `SPACES`. From "pid" on, it is the children that move.
        rights: by whose right: as an ordinary user it takes a user namespace, and for that this
            process must have one thread only.

    Raises:
        OSError: the kernel refused.
    """
    flags = sum(SPACES[name] for name in spaces)
    if rights == "root":
        call("unshare", flags)
        return
    user, group = os.getuid(), os.getgid()
    call("unshare", flags | _USER)
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{user} {user} 1")
    (own / "gid_map").write_text(f"{group} {group} 1")


def start_anchor() -> None:
    """Start the first process of the new pid namespace; all of its processes end with it.

    It lives as long as this process does, and takes over what a worker leaves behind. It has
    nothing open and knows nothing.

    Raises:
        OSError: the kernel refused.
    """
    ready, tell = os.pipe()
    if os.fork() == 0:
        try:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.write(tell, b".")
            _idle()
        finally:
            os._exit(1)
    os.close(tell)
    try:
        if not os.read(ready, 1):
            raise OSError(0, "the first process of the pid namespace ended")
    finally:
        os.close(ready)


def _idle() -> None:
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        signal.pause()
