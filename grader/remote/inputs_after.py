"""What has become of a call's inputs: as this side sees it, or else as the worker says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from grader import nested
from grader.answers.kept import Became, numbered
from grader.remote.channel import WireError
from grader.remote.wire import Opened, Parcel, laid_over

NUMBERED = re.compile(r"tensor (\d+|of its own)$")


class InputsAfter:
    """The inputs of a check's calls.

    Attributes:
        became: those that are not as they were; of each only the latest is kept.
    """

    def __init__(self) -> None:
        self.became: list[Became] = []
        self._handed: list[Parcel] = []

    def hand(self, parcel: Parcel) -> None:
        """Take note of what is handed to a call."""
        self._handed.append(parcel)

    def see(self, message: Opened) -> None:
        """Take over what the judge itself has found to be others, in memory that both map."""
        for number, now in message.changed:
            parcel = self._handed[number]
            found = laid_over(parcel.metas, bytearray(now), trusted=False)
            for sent, one in zip(parcel.sent, found, strict=True):
                if not _same(sent, one):
                    self._note(Became(sent, one))

    def hear(self, reply: Opened, parcel: Parcel, given: Sequence[Any]) -> None:
        """Take over what the worker claims of a call's inputs.

        Args:
            reply: what has come.
            parcel: what was sent.
            given: the arguments.
        """
        holders = [one for value in given for _, one in nested.holders(value)]
        for at, said in _pairs(reply.header.get("holders"), len(holders)):
            now = reply.unpack(said)
            if not nested.holds_the_same(now, numbered(holders[at], parcel.sent)):
                self._note(Became(holders[at], _without_numbers(now)))
        for at, number in _pairs(reply.header.get("inputs"), len(parcel.sent)):
            now = reply.tensor(number)
            if now.shape != parcel.sent[at].shape or not _same(parcel.sent[at], now):
                self._note(Became(parcel.sent[at], now))
        for at, part in _pairs(reply.header.get("flags"), len(parcel.sent)):
            if part in ("requires_grad", "grad"):
                self._note(Became(parcel.sent[at], None, part))

    def _note(self, became: Became) -> None:
        for place, one in enumerate(self.became):
            if one.value is became.value and one.part == became.part:
                self.became[place] = became
                return
        self.became.append(became)


def _pairs(said: Any, count: int) -> Iterator[tuple[int, Any]]:
    """Go through what is said of so many inputs, by their numbers."""
    for one in said if type(said) is list else []:
        at, what = one if type(one) is list and len(one) == 2 else (None, None)
        if type(at) is not int or not 0 <= at < count:
            raise WireError("an input that was not given")
        yield at, what


def _without_numbers(holder: Any) -> Any:
    """Write what a list holds as it is told where the answer runs in this process."""
    return nested.mapped(
        lambda one: "Tensor" if type(one) is str and NUMBERED.match(one) else one, holder
    )


def _same(sent: Tensor, now: Tensor) -> bool:
    """Tell whether two tensors of one dtype are the same to the bit."""
    if not sent.numel():  # what is empty has strides of any kind
        return sent.shape == now.shape
    one, other = (v.detach().contiguous().reshape(-1).view(torch.uint8) for v in (sent, now))
    return torch.equal(one, other)
