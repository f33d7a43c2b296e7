"""Values on the wire: JSON for the structure, raw bytes for the numbers. Reading runs no code.

The header of a message is JSON; a tensor stands in it by its number, its dtype, shape and strides
in a list beside it, its bytes in the body. Whatever comes in is bounded and checked before it is
used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

# by names of our own: an answer may put something else in their places
from numpy import ndarray
from torch import Tensor, from_numpy, nn

from grader import nested
from grader.dry_run.tensors import Elsewhere
from grader.remote.channel import LARGEST_BODY, LARGEST_HEADER, Channel, WireError
from grader.remote.inputs import Changed
from grader.remote.talk import Message
from grader.trouble import printable

ALIGNED = 16
# what the time takes in a header
CLOCK = 32
MOST_TENSORS = 4096
MOST_DIMENSIONS = 16
DEEPEST = 16
LONGEST_TEXT = 4000
# a key of a dictionary, if it is a number
LARGEST_KEY = 2**31
PADDING = [b"\0" * lacking for lacking in range(ALIGNED)]

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
        torch.complex128, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64,
        torch.bool,
    )
}  # fmt: skip
NAMES = {dtype: name for name, dtype in DTYPES.items()}
# what NumPy knows as well; of PyTorch's own kinds of tensors, and no others
QUICK = {DTYPES[name]: name for name in ("float32", "float64", "float16", "int64", "bool")}
PLAIN = (Tensor, nn.Parameter)
SIZES = {name: torch.empty(0, dtype=dtype).element_size() for name, dtype in DTYPES.items()}
# NumPy does not know bfloat16
KINDS = {name: np.dtype("int16" if name == "bfloat16" else name) for name in DTYPES}


class TooLarge(Exception):
    """A value that is to be sent is larger than a message may be."""


@dataclass
class Parcel:
    """What goes into one message besides its header: the tensors, each once.

    Attributes:
        special: turns a value that the wire does not know into JSON; raises TypeError if it can't.
        home: the name of the device that counts as the CPU of the other side.
        strided: whether tensors keep their strides.
    """

    special: Callable[[Any, Parcel], Any]
    home: str = "cpu"
    strided: bool = True
    metas: list[list[Any]] = field(default_factory=list)
    chunks: list[Any] = field(default_factory=list)
    size: int = 0
    sent: list[Tensor] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)

    def pack(self, value: Any, depth: int = 0) -> Any:
        """Turn a value into JSON; tensors are put into the parcel."""
        if isinstance(value, Tensor):
            try:
                return {"t": self.tensor(value)}
            except (TypeError, TooLarge):
                return self.special(value, self)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return value[:LONGEST_TEXT]
        if kind is int and -(2**63) <= value < 2**63:
            return value
        if kind is float:
            return {"f": value.hex()}
        if kind in (tuple, list, dict, torch.Size) and depth < DEEPEST:
            return self._several(value, depth + 1)
        return self._other(value, depth)

    def _several(self, value: Any, depth: int) -> Any:
        if type(value) is dict:
            pairs = [[self.pack(k, depth), self.pack(v, depth)] for k, v in value.items()]
            return {"d": pairs}
        return {"l" if type(value) is list else "u": [self.pack(one, depth) for one in value]}

    def _other(self, value: Any, depth: int) -> Any:
        if isinstance(value, torch.device):
            return {"c": str(value)}
        if isinstance(value, torch.dtype) and value in NAMES:
            return {"y": NAMES[value]}
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fiub":
            return self._numpy(value)
        if nested.container(value) is not None and depth < DEEPEST:
            # of a kind of its own, such as what `topk` returns: told as what it is made of
            return self._several(nested.plainly(value), depth + 1)
        return self.special(value, self)

    def tensor(self, value: Tensor) -> int:
        """Put a tensor into the parcel and return its number; the same one keeps its number."""
        number = self._places.get(id(value))
        if number is not None:
            return number
        name = QUICK.get(value.dtype, "")
        if name and type(value) in PLAIN and self._is_simple(value):
            strides, place = None, "" if self.home == "cpu" else "cpu"
            if hasattr(value, "kit_place"):
                place = str(value.kit_place[0])
            data = (value.detach() if value.requires_grad else value).numpy().tobytes()
        else:
            flat, strides, name = self._flat(value)
            data, place = flat.numpy().tobytes(), self._place(value)
        number = len(self.metas)
        self._add(data)
        self.metas.append([name, [*value.shape], strides, value.requires_grad, place])
        self.sent.append(value)
        self._places[id(value)] = number
        return number

    def _is_simple(self, value: Tensor) -> bool:
        """Whether NumPy has the numbers of a tensor as they are sent, and they are not too many."""
        return (
            value.is_cpu
            and value.layout is torch.strided
            and (value.is_contiguous() or not self.strided)
            and not value.is_neg()
            and value.nbytes <= LARGEST_BODY
            and value.dim() <= MOST_DIMENSIONS
        )

    def _place(self, value: Tensor) -> str:
        """Say where a tensor is; nothing if it is at home."""
        if hasattr(value, "kit_place"):
            return str(value.kit_place[0])
        place = "cpu" if value.is_cpu else str(value.device)
        return "" if place == self.home else place

    def _flat(self, value: Tensor) -> tuple[Tensor, list[int] | None, str]:
        """Return the numbers in a row, and the strides where they are not in order."""
        value = value.inner if isinstance(value, Elsewhere) else value
        if value.layout is not torch.strided or value.is_quantized or value.device.type == "meta":
            raise TypeError("not a plain tensor")
        name = NAMES.get(value.dtype)
        if name is None or value.dim() > MOST_DIMENSIONS:
            raise TypeError(f"{value.dim()} dimensions of {value.dtype}")
        if value.numel() * SIZES[name] > LARGEST_BODY:
            raise TooLarge(list(value.shape))
        plain, strides = value.detach(), None
        if not plain.is_cpu or plain.is_complex() or plain.is_neg():
            plain = plain.cpu().resolve_conj().resolve_neg()
        elif self.strided and not plain.is_contiguous() and plain.numel():
            strides = list(plain.stride())
            span = 1 + sum((n - 1) * s for n, s in zip(plain.shape, strides, strict=True))
            plain = plain.as_strided((span,), (1,), plain.storage_offset())
        if plain.dtype is torch.bfloat16:  # NumPy does not know it
            plain = plain.contiguous().view(torch.int16)
        return plain, strides, name

    def _numpy(self, value: Any) -> Any:
        scalar = isinstance(value, np.generic)
        row = torch.from_numpy(np.array(value, ndmin=1, copy=True)).reshape(np.shape(value))
        return {"n": [self.tensor(row), scalar]}

    def _add(self, data: bytes) -> None:
        lacking = -len(data) % ALIGNED
        if self.size + len(data) + lacking > LARGEST_BODY or len(self.metas) >= MOST_TENSORS:
            raise TooLarge
        self.chunks.append(data)
        if lacking:
            self.chunks.append(PADDING[lacking])
        self.size += len(data) + lacking


@dataclass
class Opened:
    """A message that has come: its header, and its tensors.

    Attributes:
        special: turns JSON that the wire does not know into a value; raises WireError if it can't.
        changed: which inputs were found to be others when it came.
        weighs: bytes of the weights of modules that have been read from it.
    """

    header: dict[str, Any]
    tensors: list[Tensor]
    metas: list[list[Any]]
    special: Callable[[str, Any, Opened], Any]
    changed: Changed = ()
    weighs: int = 0

    def unpack(self, said: Any, depth: int = 0) -> Any:
        """Turn JSON back into a value."""
        if said is None or type(said) in (bool, int):
            return said
        if type(said) is str:
            return said[:LONGEST_TEXT]
        if depth > DEEPEST or type(said) is not dict or len(said) != 1:
            raise WireError("a value is not what it should be")
        ((key, inner),) = said.items()
        if key == "t":
            return self.tensor(inner)
        if key in ("u", "l") and type(inner) is list:
            many = [self.unpack(one, depth + 1) for one in inner]
            return tuple(many) if key == "u" else many
        if key == "d" and type(inner) is list:
            return self._dictionary(inner, depth + 1)
        if key == "y" and type(inner) is str and inner in DTYPES:
            return DTYPES[inner]
        if key == "f":
            return _float(inner)
        if key == "n":
            return self._numpy(inner)
        return self.special(key, inner, self)

    def tensor(self, number: Any) -> Tensor:
        """Return a tensor by its number."""
        if type(number) is not int or not 0 <= number < len(self.tensors):
            raise WireError("there is no such tensor")
        return self.tensors[number]

    def _dictionary(self, pairs: list[Any], depth: int) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for pair in pairs:
            if type(pair) is not list or len(pair) != 2:
                raise WireError("a dictionary is malformed")
            key = self.unpack(pair[0], depth)
            if not isinstance(key, str | int | float | bool | None):
                raise WireError("a key is malformed")
            # larger numbers may all have one hash, and a dictionary of them takes for ever
            if isinstance(key, int | float) and not abs(key) < LARGEST_KEY:
                raise WireError("a key is too large")
            made[key] = self.unpack(pair[1], depth)
        return made

    def _numpy(self, inner: Any) -> Any:
        if type(inner) is not list or len(inner) != 2:
            raise WireError("an array is malformed")
        values = self.tensor(inner[0])
        if values.dtype in (torch.bfloat16,):
            raise WireError("an array is malformed")
        array = values.detach().numpy()
        return array[()] if inner[1] is True and array.ndim == 0 else array


def send(
    channel: Channel,
    header: dict[str, Any],
    parcel: Parcel | None = None,
    deadline: float | None = None,
    ms: int | None = None,
) -> None:
    """Send a message, until `deadline` on the monotonic clock.

    Raises:
        TooLarge: the header is longer than a header may be.
        OSError: the other side is gone, or does not listen.
    """
    if parcel is not None and parcel.metas:
        header["tensors"] = parcel.metas
    text = ENCODE(header).encode()
    if len(text) > LARGEST_HEADER - CLOCK:
        raise TooLarge
    channel.put(Message(text, b"".join(parcel.chunks) if parcel is not None else b""), deadline, ms)


def receive(
    channel: Channel,
    special: Callable[[str, Any, Opened], Any],
    deadline: float | None = None,
    *,
    trusted: bool = False,
) -> Opened:
    """Wait for a message, until `deadline` on the monotonic clock.

    In what is asked, tensors that want gradients are leaves; in a reply they are plain.

    Raises:
        WireError: what came is no message.
        TimeoutError: it did not come in time, or not all of it.
        EOFError: the other side is gone.
    """
    text, came, changed = channel.take(deadline)
    body: Any = came
    try:
        header = DECODE(text.decode())
    except (ValueError, RecursionError) as problem:
        raise WireError("a header is not JSON") from problem
    if type(header) is not dict:
        raise WireError("a header is not a dictionary")
    metas = header.pop("tensors", [])
    if type(metas) is not list or len(metas) > MOST_TENSORS:
        raise WireError("a list of tensors is malformed")
    if trusted and channel.memory is not None and "laid" in header:
        begin, end = header["laid"]
        body = channel.memory[begin:end]
    checked = metas if trusted else [_checked(meta) for meta in metas]
    tensors = laid_over(checked, body, trusted, leaves="ask" in header)
    return Opened(header, tensors, metas, special, changed)


def laid_over(metas: list[Any], body: Any, trusted: bool, leaves: bool = False) -> list[Tensor]:
    """Lay tensors over the bytes of a body.

    Args:
        metas: their descriptions.
        body: the bytes.
        trusted: whether they come from the judge.
        leaves: whether those that want gradients are to have them.
    """
    made, at, end = [], 0, len(body)
    for name, shape, strides, wants, _ in metas:
        count = math.prod(shape) if strides is None else _span(shape, strides)
        size = count * SIZES[name]
        if at + size > end:
            raise WireError("a body is too short")
        try:
            tensor = _laid(body, at, name, shape, strides)
        except (RuntimeError, ValueError) as problem:
            raise WireError("a tensor's sizes are malformed") from problem
        at += size + (-size % ALIGNED)
        if name == "bool" and not trusted:
            # bytes other than 0 and 1 would be no booleans
            tensor = tensor.view(torch.uint8) != 0
        if leaves and wants and (tensor.is_floating_point() or tensor.is_complex()):
            tensor.requires_grad_()
        made.append(tensor)
    if at != end:
        raise WireError("a body is too long")
    return made


def _laid(body: Any, at: int, name: str, shape: list[int], strides: list[int] | None) -> Tensor:
    """Lay a tensor over the bytes of a body."""
    if 0 in shape:
        return torch.empty(shape, dtype=DTYPES[name])
    kind, size = KINDS[name], SIZES[name]
    steps = None if strides is None else [step * size for step in strides]
    # torch.frombuffer and a view take three times as long
    tensor = from_numpy(ndarray(shape, kind, body, at, steps))
    return tensor.view(torch.bfloat16) if name == "bfloat16" else tensor


def _checked(meta: Any) -> list[Any]:
    if type(meta) is not list or len(meta) != 5:
        raise WireError("a tensor's description is malformed")
    name, shape, strides, wants, place = meta
    good = type(name) is str and name in DTYPES and type(wants) is bool and _short(place)
    if not good or not _sizes(shape):
        raise WireError("a tensor's description is malformed")
    if strides is not None:
        raise WireError("strides that nobody asked for")
    return meta


def _short(text: Any) -> bool:
    return type(text) is str and len(text) <= 16 and text.isascii() and text == printable(text)


def _sizes(sizes: Any) -> bool:
    return (
        type(sizes) is list
        and len(sizes) <= MOST_DIMENSIONS
        and all(type(size) is int and 0 <= size <= LARGEST_BODY for size in sizes)
    )


def _span(shape: list[int], strides: list[int]) -> int:
    if math.prod(shape) > LARGEST_BODY or 0 in shape:
        raise WireError("a tensor's strides are malformed")
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def _float(said: Any) -> float:
    if type(said) is not str or len(said) > 64:
        raise WireError("a number is malformed")
    try:
        return float.fromhex(said)
    except (ValueError, OverflowError):
        raise WireError("a number is malformed") from None


def _refused(_: str) -> None:
    raise ValueError("floats travel as text")


ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
DECODE = json.JSONDecoder(parse_constant=_refused, parse_float=_refused).decode
