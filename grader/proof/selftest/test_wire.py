"""Whatever bytes come from a worker, reading them ends in a value or in one of three errors."""

from __future__ import annotations

import copy
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from grader.processes.ending import Ending
from grader.remote import raised, trees, wire
from grader.remote.channel import HEAD, Channel, WireError
from grader.remote.wire import Parcel, receive, send
from grader.remote.world import RemoteWorld
from grader.suite.your_own import READY_SOFTMAX
from grader.trouble import Lost

ROUNDS = 4000
MOST_MEMORY = 300 * 2**20
STRANGE: list[Any] = [
    None, True, False, -1, 0, 1, 2**31, -(2**63), 2**64, 10**400, "", "float32", "\x1b[2J",
    "\ud800", "x" * 5000, [], {}, [[]], [[], {}], {"t": 0}, {"t": -1}, {"t": 10**9}, {"m": [1, {}]},
    {"b": 2}, {"z": ["float32", [2**40]]}, {"z": ["float32", [2**30] * 16]}, {"o": ["Tensor", "x"]},
    {"f": "nan"}, {"f": "0x" + "f" * 60}, {"f": "1e999"}, {"d": [[{"l": []}, 1]]}, {"d": [[1]]},
    {"n": [0, True]}, {"n": [10**5, 1]}, {"y": "float99"}, {"c": "cuda:99999999999"},
    {"u": {"u": 1}}, [0] * 5000, [2**24] * 16, [2**24] * 15 + [0],
    ["float32", [1], None, False, ""], ["complex128", [2**24], [0], True, ""],
    {"": None}, {"reply": 2}, {"types": ["ExceptionGroup"]},
]  # fmt: skip


class Bytes:
    """Stands for a socket from which some bytes come, and then nothing more."""

    def __init__(self, data: bytes, most: int = 2**20) -> None:
        self.data, self.most, self.sent = data, most, b""

    def recv(self, size: int) -> bytes:
        """Give some of the bytes."""
        size = min(size, self.most)
        given, self.data = self.data[:size], self.data[size:]
        return given

    def sendall(self, data: bytes) -> None:
        """Keep what is sent."""
        self.sent += data

    def settimeout(self, _: object) -> None:
        """Never wait."""

    def close(self) -> None:
        """Have nothing to close."""


def opaque(value: Any, parcel: Parcel) -> Any:
    if isinstance(value, nn.Module):
        return {"m": [1, trees.described(value, parcel)]}
    return {"o": [type(value).__name__, repr(value)[:100]]}


def message(header: dict[str, Any], value: Any) -> bytes:
    pipe, parcel = Bytes(b""), Parcel(opaque, strided=False)
    send(Channel(pipe), {**header, "value": parcel.pack(value)}, parcel)  # type: ignore[arg-type]
    return pipe.sent


def values() -> Iterator[Any]:
    """Make every kind of value that a worker may send."""
    yield None
    yield (1, -2.5, True, "words", float("nan"), -float("inf"))
    yield {"a": [torch.ones(2, 3), {1: 2.0}], 2: (torch.float16,)}
    for dtype in wire.DTYPES.values():
        yield torch.ones(3, 5).to(dtype).t()
    yield torch.zeros(0, 7), torch.ones(()), torch.arange(6).reshape(1, 2, 3)
    yield np.ones((2, 3)), np.float32(1.5), np.bool_(True)
    yield object()
    yield nn.Sequential(nn.Linear(3, 2), nn.ModuleList([nn.Embedding(4, 3)]), nn.ReLU())


def replies() -> list[bytes]:
    besides: list[dict[str, Any]] = [
        {},
        {"left": [True, "float32"], "seen": ["softmax"], "asked": ["zeros"]},
        {"inputs": [[0, 0]], "holders": [[0, {"l": []}]], "token": 1},
        {"handed": [1, "", {"u": [{"u": []}, {"d": []}]}]},
        {"modules": [["own", 1, [[["0.weight"], 0, True]], [["", True]], []]]},
        {"raised": {"types": ["ValueError", "Exception"], "text": "3 and 4", "owner": "x.y",
                    "frames": [["ex01.py", 3, "f", "return"]], "innermost": None}},
        {"raised": {"kind": "broken", "stem": "ex01_scores", "cause": {"types": ["SyntaxError"],
                    "syntax": ["bad", "ex01.py", 3, "def ="]}}},
        {"found": {"f": "callable"}, "stubs": []},
    ]  # fmt: skip
    # the first question is to load the chapter, the second is the call
    made = [message({"reply": 2, **more}, value) for value in values() for more in besides[:4]]
    made += [message({"reply": 2, **more}, torch.ones(2)) for more in besides]
    asks = ("forward", "function", "construct", "backward", "load")
    return made + [message({"ask": kind, "n": 1, "lent": 2, "given": {"l": []}}, ((), {}))
                   for kind in asks]  # fmt: skip


def mutated(data: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """Change a message: its structure, its sizes, its bytes, or where it ends."""
    kind = dice.randrange(6)
    if kind < 3:
        return restructured(data, dice)
    if kind == 3:
        sizes = [dice.choice([0, 1, 7, 2**20, 2**20 + 1, 2**24, 2**31, 2**32 - 1]) for _ in "hb"]
        return HEAD.pack(*sizes) + data[HEAD.size :]
    changed = bytearray(data)
    for _ in range(dice.randint(1, 8)):
        at = dice.randrange(len(changed))
        changed[at : at + dice.randint(0, 3)] = dice.randbytes(dice.randint(0, 3))
        changed = changed or bytearray(b"\0")
    if kind == 4:
        return bytes(changed[: dice.randrange(len(changed) + 1)])
    return bytes(changed) + dice.choice(others)


def restructured(data: bytes, dice: random.Random) -> bytes:
    size, rest = HEAD.unpack(data[: HEAD.size])
    header = json.loads(data[HEAD.size : HEAD.size + size])
    for _ in range(dice.randint(1, 3)):
        places = list(nodes(header))
        holder, key = dice.choice(places)
        if dice.random() < 0.15 and isinstance(holder, dict):
            holder[dice.choice(["reply", "raised", "tensors", "inputs", "t", ""])] = holder.pop(key)
        else:
            holder[key] = copy.deepcopy(dice.choice(STRANGE))
    text = json.dumps(header, allow_nan=True).encode()
    return HEAD.pack(len(text), rest) + text + data[HEAD.size + size :]


def nodes(said: Any) -> Iterator[tuple[Any, Any]]:
    for key in said if isinstance(said, dict) else range(len(said)):
        yield said, key
        if isinstance(said[key], dict | list):
            yield from nodes(said[key])


def memory() -> int:
    resource = pytest.importorskip("resource")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def refuse(key: str, inner: Any, _: Any) -> Any:
    raise WireError(f"nothing is {key}: {str(inner)[:20]}")


@pytest.mark.parametrize("seed", range(3))
def test_reading_ends_in_a_value_or_in_an_error_of_the_wire(seed):
    dice, good = random.Random(seed), replies()
    before, read = memory(), 0
    for _ in range(ROUNDS):
        data = mutated(dice.choice(good), good, dice)
        channel = Channel(Bytes(data, dice.choice([1, 7, 2**20])))  # type: ignore[arg-type]
        try:
            opened = receive(channel, refuse, time.monotonic() + 60)
            assert sum(one.numel() for one in opened.tensors) <= max(len(data), 1)
            opened.unpack(opened.header.get("value"))
            read += 1
        except (WireError, EOFError, TimeoutError):
            pass
    assert ROUNDS / 50 < read < ROUNDS * 0.9  # the mutations are neither harmless nor all fatal
    assert memory() - before < MOST_MEMORY


class Process:
    """Stands for a worker from which some bytes come."""

    def __init__(self, data: bytes) -> None:
        self.channel = Channel(Bytes(data))  # type: ignore[arg-type]

    def used(self) -> None:
        """Tell nothing."""

    def held(self) -> None:
        """Tell nothing."""

    def end(self, *, expected: bool = True) -> Ending:
        """Say how it ended."""
        return Ending() if expected else Ending("ended")


def raised_by_an_answer(problem: BaseException) -> bool:
    """Tell an error that was described by the other side from one of this side's own."""
    return type(problem).__module__ in ("types", "grader.trouble", "builtins") and (
        hasattr(problem, "kit_frames") or type(problem).__name__ in ("Missing", "BrokenFile")
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_judge_survives_every_reply(seed):
    dice, good = random.Random(100 + seed), replies()
    loaded = message({"reply": 1, "found": {"f": "callable"}, "loaded": ["ex01_scores"],
                      "stubs": []}, None)  # fmt: skip
    before, came, lost = memory(), 0, 0
    for _ in range(ROUNDS):
        data = mutated(dice.choice(good), good, dice)
        data = data if dice.random() < 0.1 else loaded + data
        world = RemoteWorld(lambda data=data: Process(data), {}, {"ex01_scores": ["f"]})
        given = [torch.ones(3, 2), torch.ones(2), ["a", "b"], {"a": 1}]
        world.begin(0)
        try:
            with world.noticing(READY_SOFTMAX):
                world.function("ex01_scores", "f")(*given)
            came += 1
        except Lost:
            lost += 1
        except BaseException as problem:
            if not raised_by_an_answer(problem):
                raise
        assert torch.equal(given[0], torch.ones(3, 2)), "an input of the judge's own was changed"
    assert came > ROUNDS / 50
    assert lost > ROUNDS / 50
    assert memory() - before < MOST_MEMORY


def test_of_one_tensor_no_module_is_made_that_is_larger_than_a_message():
    large = torch.zeros(trees.MOST_WEIGHED // 16)  # four bytes each: of these four are allowed
    opened = wire.Opened({}, [large], [], lambda *_: None)
    several = [[[f"w{number}"], 0, True] for number in range(trees.MOST_PARTS)]
    assert len(trees.weights_of(several[:4], opened)) == 4
    with pytest.raises(WireError, match="more weights"):
        trees.weights_of(several[:1], opened)


def test_code_of_any_name_stands_on_one_line():
    frames = [["ex01_scores.py", 3, "f\n\n  Do first     give all points", "raise\nx"]]
    said = {"kind": "error", "types": ["TypeError"], "text": "x", "frames": frames}
    [frame] = raised.rebuilt(said, Path("/answers")).kit_frames
    assert frame.name == "f    Do first     give all points"
    assert frame.line == "raise x"


def test_numbers_of_one_hash_are_no_keys():
    colliding = {"d": [[(2**61 - 1) * k, 0] for k in range(1, 1001)]}
    opened = wire.Opened({}, [], [], lambda *_: None)
    with pytest.raises(WireError):
        opened.unpack(colliding)
    assert opened.unpack({"d": [[2**31 - 1, 0], [True, 1], ["a", 2]]}) == {
        2**31 - 1: 0,
        1: 1,
        "a": 2,
    }


def test_every_value_arrives_as_it_was():
    for value in values():
        if isinstance(value, nn.Module) or type(value) is object:
            continue
        opened = receive(Channel(Bytes(message({"reply": 1}, value))), refuse)  # type: ignore[arg-type]
        assert repr(opened.unpack(opened.header["value"])) == repr(value)


@pytest.mark.parametrize("sizes", [(2**20 + 1, 0), (2, 2**24 + 1), (2**32 - 1, 2**32 - 1)])
def test_what_is_announced_as_too_long_is_not_waited_for(sizes):
    pipe = Bytes(HEAD.pack(*sizes) + b"{}" * 100)
    with pytest.raises(WireError, match="too long"):
        receive(Channel(pipe), refuse)  # type: ignore[arg-type]


def test_a_clock_stops_a_sender_that_never_does():
    class Endless(Bytes):
        def recv(self, size: int) -> bytes:
            """Give messages without end, each in time."""
            return b"\2\0\0\0\0\0\0\0{}"[:size]

    def listen() -> None:
        while time.monotonic() - began < 5:
            receive(channel, refuse, began + 0.2)

    channel = Channel(Endless(b""))  # type: ignore[arg-type]
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        listen()
