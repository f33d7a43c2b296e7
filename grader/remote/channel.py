"""The pipe between judge and judged: messages go through it whole, and within a time.

A message is a header's length, a body's length, the header and the body.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from grader.remote.inputs import Inputs
from grader.remote.talk import Message, Talk

HEAD = struct.Struct("<II")
LARGEST_HEADER = 2**20
LARGEST_BODY = 2**24
CHUNK = 2**17
# seconds more for what is sent: on a busy machine the other side may be late to read it
SENDING = 60.0
# how a message begins that asks for a call
CALL = b'{"ask":"call"'


class WireError(Exception):
    """What came is no message, or is more than a message may be."""


class Channel:
    """A socket, and what has come from it and was not asked for yet.

    Args:
        socket: connected to the other side.
        memory: shared with the other side.
        inputs: what lies in there, if this is the judge's end.

    Attributes:
        talk: what is said in the check that goes on, where that is remembered.
        more: is asked at a deadline until when to wait further, where there is more than the wall.
    """

    def __init__(
        self, socket: socket.socket, memory: Any = None, inputs: Inputs | None = None
    ) -> None:
        self.socket, self.inputs = socket, inputs
        self.memory = memoryview(memory) if memory is not None else None
        self.talk: Talk | None = None
        self.more: Callable[[], float] | None = None
        self._rest, self._begins = b"", 0

    def put(self, message: Message, deadline: float | None, ms: int | None = None) -> None:
        """Send a message, with the time that the other side has; nothing is said twice."""
        if self.talk is None or self.talk.took_already(message) is None:
            self.put_now(message, deadline, ms)

    def put_now(self, message: Message, deadline: float | None, ms: int | None) -> None:
        """Send a message, whatever is remembered."""
        text, body = message.text, message.body
        if ms is not None:
            text = b'%s,"ms":%d}' % (text[:-1], ms)
        if self.inputs is not None and text.startswith(CALL):
            text = b'%s,"laid":[%d,%d]}' % (text[:-1], *self.inputs.lay(body))
            body = b""
        self.patient_until(None if deadline is None else deadline + SENDING)
        head = HEAD.pack(len(text), len(body))
        self.socket.sendall(b"".join([head, text, body]))

    def take(self, deadline: float | None) -> Message:
        """Wait for a message; what was heard by heart comes first.

        Raises:
            WireError: what came is no message.
            TimeoutError: it did not come in time, or not all of it.
            EOFError: the other side is gone.
        """
        if self.talk is None:
            return self.take_now(deadline)
        message = self.talk.heard_already()
        if message is None:
            message = self.take_now(deadline)
            self.talk.hears(message)
        return message

    def take_now(self, deadline: float | None) -> Message:
        """Wait for a message, whatever is remembered."""
        self._wait_for(HEAD.size, deadline)
        header_size, body_size = HEAD.unpack_from(self._rest, self._begins)
        if header_size > LARGEST_HEADER or body_size > LARGEST_BODY:
            raise WireError("a message is too long")
        size = HEAD.size + header_size + body_size
        self._wait_for(size, deadline)
        data, begins = self._rest, self._begins
        ends = self._begins = begins + size
        if ends == len(data):
            self._rest, self._begins = b"", 0
        body = ends - body_size
        text = data[begins + HEAD.size : body]
        changed = self.inputs.changed() if self.inputs is not None else ()
        return Message(text, bytearray(memoryview(data)[body:ends]) if body_size else b"", changed)

    def _wait_for(self, size: int, deadline: float | None) -> None:
        """Wait until so many bytes have come that were not taken yet.

        Raises:
            TimeoutError: they did not come in time.
            EOFError: the other side is gone.
        """
        held = len(self._rest) - self._begins
        if held >= size:
            return
        chunks = [self._rest[self._begins :]]
        while held < size:
            try:
                self.patient_until(deadline)
                more = self.socket.recv(CHUNK)
            except TimeoutError:
                if self.more is None:
                    raise
                deadline = self.more()
                continue
            if not more:
                raise EOFError
            chunks.append(more)
            held += len(more)
        self._rest, self._begins = b"".join(chunks), 0

    def patient_until(self, deadline: float | None) -> None:
        """Let nothing on the socket take longer than until `deadline`.

        Raises:
            TimeoutError: that is now.
        """
        if deadline is None:
            self.socket.settimeout(None)  # each time: an answer may have changed that
            return
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.socket.settimeout(left)

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()
