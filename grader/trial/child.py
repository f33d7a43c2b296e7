"""The child: runs checks on one student's files, and says of each how it went.

It lives for one trial, so that nothing of an older version of a file is left in it.
"""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection

from grader.processes.child import be_quiet, end_with_parent
from grader.trial.messages import Sender

READY, PLAN = "ready", "plan"


def main(connection: Connection, seconds: float) -> None:
    """Get ready, say so, and do what is asked for once."""
    be_quiet()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
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
