"""Sealing what solves a function, so that only a right answer opens it.

The key is what the function answers to a question that has one right answer, however it is worked
out: whole numbers, or numbers that are rounded far from where rounding turns. It keeps an answer
from being seen at a glance, before its time. It is no vault: who finds the right numbers in another
way has the key as well.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
from typing import Any

MARK = 32
# how far a number must be from where rounding turns
MARGIN = 0.1


class NoKey(ValueError):
    """What came is no answer to a question: the sentence says why."""


def key_of(full: str, answer: Any) -> bytes:
    """Make a key out of a function's name and what it answers.

    Raises:
        NoKey: the answer is not made of numbers, words and lists.
    """
    return hashlib.sha256(repr((full, _plain(answer))).encode()).digest()


def on_the_edge(answer: Any) -> list[float]:
    """List the numbers of an answer that a right answer may round otherwise."""
    numbers = _numbers(answer)
    return [one for one in numbers if math.isfinite(one) and abs(one % 1 - 0.5) < MARGIN]


def seal(data: bytes, key: bytes) -> str:
    """Make a text that only the key opens."""
    mark = hashlib.sha256(data).digest()
    return base64.b64encode(_mixed(mark + data, key)).decode()


def opened(sealed: str, key: bytes) -> bytes | None:
    """Open a sealed text; None if this is not its key."""
    whole = _mixed(base64.b64decode(sealed), key)
    mark, data = whole[:MARK], whole[MARK:]
    return data if hmac.compare_digest(hashlib.sha256(data).digest(), mark) else None


def _mixed(data: bytes, key: bytes) -> bytes:
    """Lay a stream of bytes that the key begins over the data, or take it off again."""
    stream = hashlib.shake_256(key).digest(len(data))
    return bytes(one ^ other for one, other in zip(data, stream, strict=True))


def _plain(answer: Any) -> Any:
    """Write an answer so that every right one is written alike."""
    if hasattr(answer, "tolist"):
        return [list(answer.shape), _plain(answer.tolist())]
    if isinstance(answer, list | tuple):
        return [_plain(one) for one in answer]
    if isinstance(answer, bool | int | str):
        return str(int(answer) if isinstance(answer, bool) else answer)
    if isinstance(answer, float):
        return str(round(answer) if math.isfinite(answer) else answer)
    raise NoKey(f"it is {type(answer).__name__}, neither numbers nor words")


def _numbers(answer: Any) -> list[float]:
    if hasattr(answer, "tolist"):
        return _numbers(answer.tolist())
    if isinstance(answer, list | tuple):
        return [number for one in answer for number in _numbers(one)]
    return [answer] if isinstance(answer, float) else []
