"""The child: runs checks on one student's files, and says of each how it went.

It lives for one trial, so that nothing of an older version of a file is left in it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection, wait

from grader.trial.messages import Sender

READY, PLAN = "ready", "plan"


def main(connection: Connection, seconds: float) -> None:
    """Get ready, say so, and do what is asked for once."""
    _be_quiet()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    from grader.trial import warm

    try:
        connection.send(READY)
        asked = connection.recv()
        while asked == PLAN:
            connection.send(warm.the_plan())
            asked = connection.recv()
        warm.attempt(asked, Sender(connection), seconds)
    except (EOFError, OSError):
        pass  # nobody waits any more
    os._exit(0)


def _be_quiet() -> None:
    if hasattr(os, "setsid"):
        os.setsid()  # so that whatever is started here can be ended with it
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave_with_parent() -> None:
    """End with the process that waits for the results, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(0)
