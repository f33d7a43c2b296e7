"""The judge's end of the pipe: it starts a worker, bounds its time, and says how it was lost."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Collection, Iterator
from typing import Any

from grader import devices
from grader.processes.ending import Ending
from grader.remote.budget import AsksTooMuch
from grader.remote.channel import Channel, WireError
from grader.remote.end import End
from grader.remote.patience import Patience
from grader.remote.process import Process
from grader.remote.wire import Opened, Parcel, TooLarge
from grader.trouble import Lost, printable

# stands for the pipe until there is one
_NOWHERE = Channel(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
# seconds of work that a worker may need to begin on a GPU
CONTEXT_LIMIT = 120.0
LONGEST_REASON = 200


class BrokenDevice(Exception):
    """A worker's device does nothing more."""


class Supervisor(End):
    """Holds one worker after the other: each is started when something is asked of it.

    Args:
        start: starts a process.
        seconds: how long the answer may take in one check.
        device: the one that the process works on.
        lacks: what that device cannot do; a check that needs it is not run.

    Attributes:
        patience: how much of its time the worker has taken.
        process: the one that is there.
        workers_device: where the worker's tensors are; on this side they are on the CPU.
    """

    def __init__(
        self, start: Callable[[], Process], seconds: float, device: str, lacks: Collection[str]
    ) -> None:
        super().__init__(_NOWHERE, trusted=False)
        self._start, self.workers_device, self.lacks = start, device, lacks
        self.patience = Patience(seconds)
        self.process: Process | None = None

    def hand_over(self) -> None:
        """Tell a new worker what it needs to know before all else."""
        raise NotImplementedError

    def forget_worker(self) -> None:
        """Forget what was known of a worker that is gone."""
        raise NotImplementedError

    def opening(self, kind: str, say: dict[str, Any]) -> dict[str, Any]:
        """Add to a question what the worker has to know when a check begins."""
        raise NotImplementedError

    def watched(self) -> contextlib.AbstractContextManager[None]:
        """Watch the worker while it does what it is asked for."""
        raise NotImplementedError

    def exchange(self, kind: str, say: dict[str, Any], parcel: Parcel | None = None) -> Opened:
        """Ask the worker; one that is not there is started, one that is lost is said so."""
        if self.lacks:
            for name in (say.get("dtype"), *(meta[0] for meta in (parcel.metas if parcel else ()))):
                self.require(name)
        if self.process is None:
            self._begin_process()
        say = self.opening(kind, say)
        # an import has a clock of its own: the check that happens to need it may be nearly over
        apart = self.patience.apart() if kind == "load" else contextlib.nullcontext()
        with apart, self.workers_turn(), self.watched():
            reply = super().exchange(kind, say, parcel)
        if self.workers_device != "cpu":
            self._refuse_broken(reply.header.get("raised"))
        return reply

    def tell_first(self, kind: str, say: dict[str, Any], parcel: Parcel | None = None) -> None:
        """Ask a worker that is being started."""
        super().exchange(kind, say, parcel)

    def require(self, what: Any) -> None:
        """Leave the check where the worker's device does not have what it needs.

        Raises:
            NotHere: so it is.
        """
        if what in self.lacks:
            raise devices.NotHere(what, self.workers_device)

    def clock(self) -> int:
        """Return how long the worker may take."""
        return self.patience.ms()

    def deadline(self) -> float:
        """Return until when a reply must have come."""
        return self.patience.deadline()

    def close(self) -> None:
        """End the worker and all that it has started."""
        if self.process is not None:
            self.process.end()
        self.process = None
        self.forget_worker()

    def new_check(self) -> None:
        """Begin a check, with a full clock."""
        self.patience.begin()
        if self.channel.inputs is not None:
            self.channel.inputs.forget()

    def end_talk(self) -> None:
        """Remember nothing more of what is said."""
        self.channel.talk = None

    @contextlib.contextmanager
    def workers_turn(self) -> Iterator[None]:
        """Let it be the worker's turn, and say how it was lost if it is."""
        try:
            with self.patience.turn(workers=True):
                yield
        except TooLarge:
            raise self.nonsense("it was asked more than a message can hold") from None
        except (OSError, EOFError, WireError) as problem:
            raise self._lost(problem) from None

    @contextlib.contextmanager
    def makes_sense(self) -> Iterator[None]:
        """Read what has come; what is no answer costs the worker."""
        try:
            yield
        except WireError as problem:
            raise self._lost(problem) from None

    def nonsense(self, says: str) -> Lost:
        """Let go of a worker that has said what no answer is."""
        return self._lost(WireError(says))

    def upset(self, problem: BaseException) -> Lost:
        """Let go of a worker whose answers the judge cannot deal with."""
        return self.nonsense(f"{type(problem).__name__} at what came")

    def _begin_process(self) -> None:
        self.process = self._start()
        self.channel = self.process.channel
        self.channel.more = self.patience.more
        self.patience.started(self.process)
        # on a GPU it makes its context now, which takes as long as it takes
        seconds = self.patience.seconds if self.workers_device == "cpu" else CONTEXT_LIMIT
        with self.patience.apart(seconds), self.workers_turn():
            self.hand_over()

    def _refuse_broken(self, raised: Any) -> None:
        """Let go of a worker whose device does nothing more, or every later check would fail.

        Raises:
            Lost: it is such a one.
        """
        why = raised.get("device") if type(raised) is dict else None
        if type(why) is str and why:
            raise self._lost(BrokenDevice(printable(why)[:LONGEST_REASON]))

    def _lost(self, problem: BaseException) -> Lost:
        """Say how the worker was lost, and let go of it."""
        process, self.process = self.process, None
        self.end_talk()
        self.patience.lost()
        self.forget_worker()
        if isinstance(problem, TimeoutError):
            verdict, says = "timeout", "did not come back in time and was ended"
        elif isinstance(problem, AsksTooMuch):
            verdict, says = "error", f"asked too much: {problem}"
        elif isinstance(problem, WireError):
            verdict, says = "error", f"sent something that is no answer: {problem}"
        elif isinstance(problem, BrokenDevice):
            device = devices.kind(self.workers_device)
            verdict, says = "crashed", f"left {device} broken and was ended: {problem}"
        else:
            verdict, says = "crashed", ""
        end = process.end(expected=bool(says)) if process is not None else Ending()
        return Lost("killed" if end.from_outside else verdict, says or end.says)
