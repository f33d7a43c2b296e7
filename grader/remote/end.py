"""One end of the pipe between judge and judged: it asks, answers what is asked back, and waits.

Both ends are alike. Asking nests strictly: whoever is asked may ask back before it replies, as
when an answer calls a model that the suite has lent it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from grader.remote.channel import Channel, WireError
from grader.remote.wire import Opened, Parcel, TooLarge, receive, send


class End:
    """An end of the pipe.

    Attributes:
        channel: what goes to the other side, and comes from it.
        trusted: whether the other side is.
        home: the name of the device on this side.
        asked: how many questions this side has asked in all.
        number: of the last question; each check counts anew, so that it says the same each time.
    """

    def __init__(self, channel: Channel, *, trusted: bool, home: str = "cpu") -> None:
        self.channel, self.trusted, self.home = channel, trusted, home
        self.asked = self.number = 0
        self._graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}

    def parcel(self, *, strided: bool = False) -> Parcel:
        """Return a parcel to put values into."""
        return Parcel(self.special, self.home, strided)

    def special(self, value: Any, parcel: Parcel) -> Any:
        """Turn what the wire does not know into JSON."""
        raise NotImplementedError

    def opened(self, key: str, inner: Any, message: Opened) -> Any:
        """Turn JSON that the wire does not know into a value."""
        raise NotImplementedError

    def answer(self, kind: str, message: Opened) -> tuple[dict[str, Any], Parcel | None]:
        """Do what the other side asks for; return the reply."""
        raise NotImplementedError

    def raised(self, error: BaseException) -> dict[str, Any]:
        """Describe an error for the other side."""
        raise NotImplementedError

    def rebuilt(self, said: Any) -> BaseException:
        """Make the error that the other side describes."""
        raise NotImplementedError

    def deadline(self) -> float | None:
        """Return until when a reply must have come, on the monotonic clock."""
        return None

    def clock(self) -> int | None:
        """Return how long the other side may take, in milliseconds, if that is limited."""
        return None

    def ask(self, kind: str, say: dict[str, Any], parcel: Parcel | None = None) -> Opened:
        """Ask, and return the reply; an error of the other side is raised here."""
        reply = self.exchange(kind, say, parcel)
        if "raised" in reply.header:
            raise self.rebuilt(reply.header["raised"])
        return reply

    def exchange(self, kind: str, say: dict[str, Any], parcel: Parcel | None = None) -> Opened:
        """Ask, and return the reply, also one that tells of an error."""
        self.asked += 1
        self.number += 1
        number = self.number
        question = {"ask": kind, "n": number, **say}
        send(self.channel, question, parcel, self.deadline(), self.clock())
        while True:
            message = self.next()
            if message.header.get("reply") == number:
                return message
            self.serve(message)

    def next(self) -> Opened:
        """Wait for a message."""
        return receive(self.channel, self.opened, self.deadline(), trusted=self.trusted)

    def serve(self, message: Opened) -> None:
        """Do what a message asks for, and reply."""
        kind, number = message.header.get("ask"), message.header.get("n")
        if type(kind) is not str or type(number) is not int:
            raise WireError("neither a question nor the reply that is waited for")
        parcel: Parcel | None = None
        try:
            say, parcel = self.answer(kind, message)
        except (WireError, OSError, EOFError):
            raise
        except BaseException as problem:
            if not self.tells(problem):
                raise
            say = {"raised": self.raised(problem)}
        try:
            send(self.channel, {"reply": number, **say}, parcel, self.deadline())
        except TooLarge:
            too_much = ValueError("more came back than any right answer holds")
            send(self.channel, {"reply": number, "raised": self.raised(too_much)})

    def tells(self, problem: BaseException) -> bool:
        """Whether an error goes to the other side; else it goes on here."""
        return isinstance(problem, Exception)

    def keep(self, outputs: Sequence[Tensor], leaves: Sequence[Tensor]) -> int:
        """Keep a graph for the backward pass that the other side may ask for."""
        token = len(self._graphs) + 1
        self._graphs[token] = (list(outputs), list(leaves))
        return token

    def forget_graphs(self) -> None:
        """Let go of every graph that is kept."""
        self._graphs.clear()

    def pull(self, message: Opened) -> tuple[dict[str, Any], Parcel]:
        """Go backward through a graph that was kept."""
        outputs, leaves = self._graphs.get(message.header.get("token", 0), ([], []))
        given = message.unpack(message.header.get("given"))
        if type(given) is not list or len(given) != len(outputs):
            raise WireError("gradients that fit no graph")
        pulled = _pulled(outputs, given, leaves)
        parcel = self.parcel()
        return {"value": parcel.pack(pulled)}, parcel

    def across(self, token: int, values: list[Tensor], leaves: list[Tensor]) -> list[Tensor]:
        """Join what came from the other side to the graph on this side."""
        # an output may want gradients for weights that are on the other side only
        anchor = torch.zeros(0, requires_grad=True)
        with torch.enable_grad():
            return list(_Across.apply(self, token, values, anchor, *leaves))

    def backward(
        self, token: int, given: Sequence[Tensor | None], leaves: int
    ) -> list[Tensor | None]:
        """Ask the other side to go backward."""
        # as it lies in memory: some answers take a gradient in one order alone
        parcel = self.parcel(strided=not self.trusted)
        packed = parcel.pack([None if one is None else one.detach() for one in given])
        say = {"token": token, "given": packed, **self.besides(token, parcel)}
        reply = self.ask("backward", say, parcel)
        pulled = reply.unpack(reply.header.get("value"))
        good = type(pulled) is list and len(pulled) == leaves
        if not good or not all(one is None or isinstance(one, Tensor) for one in pulled):
            raise WireError("gradients that fit no graph")
        return [one if one is None else self.arrived(one) for one in pulled]

    def besides(self, token: int, parcel: Parcel) -> dict[str, Any]:  # noqa: ARG002
        """Return what else the other side has to know before it goes backward."""
        return {}

    def arrived(self, value: Tensor) -> Tensor:
        """Put a tensor that has come where tensors live on this side."""
        return value


def _pulled(outputs: list[Tensor], given: list[Any], leaves: list[Tensor]) -> list[Tensor | None]:
    total: Any = 0
    for output, gradient in zip(outputs, given, strict=True):
        if gradient is None:
            continue
        if not isinstance(gradient, Tensor) or gradient.shape != output.shape:
            raise WireError("a gradient of another shape")
        # through a sum: torch.autograd.grad with a gradient of its own would import 500 modules;
        # and this may be asked for in the middle of another backward pass, which records nothing
        with torch.enable_grad():
            total = total + (output * gradient.to(output.device)).sum()
    if not isinstance(total, Tensor) or not leaves:
        return [None] * len(leaves)
    return list(torch.autograd.grad(total, leaves, allow_unused=True))


class _Across(torch.autograd.Function):
    """Stands in this side's graph for the part of it that is on the other side."""

    @staticmethod
    def forward(ctx: Any, end: End, token: int, values: list[Tensor], *leaves: Tensor) -> Any:
        ctx.end, ctx.token, ctx.shapes = end, token, [leaf.shape for leaf in leaves[1:]]
        ctx.set_materialize_grads(False)
        return tuple(values)

    @staticmethod
    def backward(ctx: Any, *given: Tensor | None) -> Any:
        pulled = ctx.end.backward(ctx.token, given, len(ctx.shapes))
        for one, shape in zip(pulled, ctx.shapes, strict=True):
            if one is not None and one.shape != shape:
                raise WireError("a gradient of another shape")
        return (None, None, None, None, *pulled)
