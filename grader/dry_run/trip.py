"""What an answer does on the pretended machine, call by call, and what would go wrong there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from torch import Tensor

from grader.dry_run import sites, words
from grader.dry_run.mistakes import RAISED, WAITS, CodeLine, Mistake
from grader.dry_run.moves import moved
from grader.dry_run.pretended import CPU, FIRST, HOME, pretended_device
from grader.dry_run.sites import Running, Site
from grader.dry_run.tensors import Elsewhere, where_is

MOST = 8


class Past(NamedTuple):
    """Where a tensor comes from.

    Attributes:
        made: where it was made.
        root: what it was made of, if nobody saw where that came from.
        moved: where the answer moved its numbers from a GPU to the CPU.
    """

    made: Site
    root: Tensor | None = None
    moved: Site | None = None


class DeviceMismatch(RuntimeError):
    """Tensors of two devices met, as CUDA says it."""


class Trip:
    """Takes note of what an answer does on the pretended machine.

    Args:
        mine: whether a file is the answer's.
        until: the function that calls the answer.
        called: what a student calls a file with code of theirs.
        forgiven: files and lines whose mistakes are known: there everything is on the right GPU.

    Attributes:
        mistakes: what would go wrong.
        given: the names and values that the answer was called with.
    """

    def __init__(
        self,
        mine: Callable[[str], bool],
        until: CodeType,
        called: Callable[[str], str] = str,
        forgiven: Collection[CodeLine] = (),
    ) -> None:
        self._mine, self._until, self._called = mine, until, called
        self.forgiven = frozenset(forgiven)
        self.mistakes: list[Mistake] = []
        self.given: list[tuple[str, Any]] = []
        self._in_numpy: Site | None = None
        self._strayed: Past | None = None

    def add(self, mistake: Mistake) -> None:
        """Take note of a mistake; the first few of a kind tell enough."""
        mistake = self._as_called(mistake)
        alike = [one for one in self.mistakes if (one.kind in WAITS) == (mistake.kind in WAITS)]
        if len(alike) < MOST and mistake not in alike:
            self.mistakes.append(mistake)

    def mended(self, known: int) -> None:
        """Forget what stopped an operation, of all that came after `known`: the call went on."""
        kept = [one for one in self.mistakes[known:] if one.kind not in RAISED]
        self.mistakes[known:] = kept

    # ---- where tensors come from ----

    def made(self, out: Any, of: Sequence[Tensor]) -> Any:
        """Take note of where tensors were made, out of which others of the CPU.

        Returns:
            Them; of a line whose mistake is known, where they should be.
        """
        if self._is_forgiven():
            return _all_at_home(out, of)
        for one in out if isinstance(out, tuple | list) else (out,):
            if isinstance(one, Tensor) and not any(one is other for other in of):
                one.kit_past = self._past(of)  # type: ignore[attr-defined]
                if where_is(one) == FIRST:
                    self._strayed = self._strayed or past_of(one)
        return out

    def move(self, value: Tensor, to: Any) -> Tensor:
        """Move a tensor because the answer says so."""
        home, to = where_is(value), HOME if self._is_forgiven() else to
        if home == to:
            return value
        if home == CPU:
            self.crosses(value)
        out = moved(value, to)
        now = self._now().site
        if to == CPU:
            out.kit_past = Past(now, moved=now)  # type: ignore[attr-defined]
        elif to == FIRST:
            self._strayed = self._strayed or Past(now)
            out.kit_past = Past(now)  # type: ignore[attr-defined]
        return out

    def to_numpy(self, value: Tensor) -> None:
        """Take note that NumPy has got numbers that were on a GPU."""
        past = past_of(value)
        if past is not None and past.moved is not None:
            self._in_numpy = past.moved

    def of_numpy(self, out: Any, data: Any) -> Any:
        """Take note that a tensor has got its numbers from NumPy."""
        if self._in_numpy is not None and type(data).__module__ == "numpy":
            out.kit_past = Past(self._now().site, moved=self._in_numpy)
        return out

    def _past(self, of: Sequence[Tensor]) -> Past:
        now = self._now().site
        pasts = [(one, past_of(one)) for one in of]
        came = next((past.moved for _, past in pasts if past and past.moved), None)
        unknown = next((one for one, past in pasts if past is None), None)
        if unknown is not None:
            return Past(now, unknown, came)
        known = [past for _, past in pasts if past is not None]
        if not known:
            return Past(now, None, came)
        # what was made in an outer function was there first, and the other made to go with it
        first = min(known, key=lambda past: len(past.made))
        return Past(_outermost(first.made, now), first.root, came)

    def _is_forgiven(self) -> bool:
        """Tell whether a forgiven line runs, in a call from whose inputs a GPU could be known."""
        if not self.forgiven or not any(words.is_there(value) for _, value in self.given):
            return False
        steps = self._now().site
        return any((self._name(one.code.co_filename), one.line) in self.forgiven for one in steps)

    def _name(self, file: str) -> str:
        """Return what a student calls a file."""
        return self._called(file) or Path(file).name

    def _as_called(self, mistake: Mistake) -> Mistake:
        return replace(mistake, file=self._name(mistake.file))

    def _now(self) -> Running:
        return sites.running(self._mine, self._until)

    # ---- what a GPU would not do, as torch's functions tell ----

    def refuse(self, func: Any, culprit: Tensor, others: Sequence[Tensor]) -> None:
        """Stop as CUDA does where two devices meet, but for a mistake that is known."""
        away = next((one for one in others if where_is(one) == FIRST), culprit)
        mistake = self._as_called(words.refused(away, self._whence(away), self._now(), self.given))
        if mistake.place in self.forgiven:
            return
        self.add(mistake)
        raise DeviceMismatch(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{where_is(others[0])} and {where_is(culprit)}! (in {func.overloadpacket.__name__})"
        )

    def numpy(self) -> None:
        """NumPy is asked for the numbers of a tensor on a GPU."""
        self.add(words.numpy(self._now()))

    def waits(self) -> None:
        """A number is read from a GPU."""
        if sum(one.kind in WAITS for one in self.mistakes) < MOST:
            now = self._now()
            if now.site:
                self.add(words.at("waits", now))

    def crosses(self, value: Tensor) -> None:
        """The numbers of a tensor of the CPU are copied to a GPU: whence did they come?"""
        past = None if isinstance(value, Elsewhere) else past_of(value)
        if past is not None and past.moved is not None:
            self.add(words.there_and_back(past.moved, self._now()))

    def drawn_elsewhere(self, own: Any, target: Any) -> bool:
        """Tell whether random numbers cannot be drawn with a generator of another device."""
        mistake = self._as_called(words.drawn(self._now(), own, target))
        if mistake.place not in self.forgiven:
            self.add(mistake)
        return mistake.place not in self.forgiven

    def default_changes(self, device: Any) -> Callable[[], None]:
        """The answer changes the default device: return what to do if it stays so."""
        mistake = words.at("default", self._now())
        to = None if device is None else pretended_device(device)
        return (lambda: None) if to is None or to == CPU else (lambda: self.add(mistake))

    # ---- what is seen at the end of a call ----

    def left(self, value: Tensor) -> None:
        """An output is not on the GPU that the inputs were on."""
        self.add(words.left(self._whence(value), where_is(value) == FIRST, self.given))

    def _whence(self, value: Tensor) -> Past | None:
        """Return where a tensor comes from; one of the first GPU, from what was first put there."""
        past = past_of(value)
        return self._strayed if past is None and where_is(value) == FIRST else past


def past_of(value: Tensor) -> Past | None:
    """Return where a tensor comes from, if that was seen."""
    past: Past | None = getattr(value, "kit_past", None)
    return past


def _all_at_home(out: Any, of: Sequence[Tensor]) -> Any:
    """Put on the right GPU what was made and is on none, or on another."""
    if isinstance(out, Tensor):
        return out if any(out is one for one in of) else moved(out, HOME)
    if type(out) in (list, tuple):
        return type(out)(_all_at_home(one, of) for one in out)
    return out


def _outermost(made: Site, now: Site) -> Site:
    """Extend the expression that made a tensor to the whole of it, on the same line."""
    common = sites.shared(made, now)
    if common and common == len(now) and made[common - 1].line == now[-1].line:
        return now
    return made
