"""What a call made: the answer's tensor, the right one, and how far they agree."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from grader.coach.common import common_slip
from grader.coach.relations import relation
from grader.judging.outcome import describe
from grader.pictures.model import Source
from grader.suite import tolerance
from grader.suite.compare import Finding, plain


@dataclass
class Made:
    """A value on its way through a picture.

    Attributes:
        name: the function that made it; empty if it was given.
        got: what the answer made of it; None where it made nothing that fits.
        want: the right tensor.
        misfit: a tensor of the answer's whose shape is not the right one.
        says: why there is nothing of the answer's.
        source: whose it is.
    """

    name: str
    got: Tensor | None
    want: Tensor
    misfit: Tensor | None = None
    says: str = ""
    source: Source = "yours"
    bad: Tensor = field(default_factory=lambda: torch.zeros(()))

    @classmethod
    def given(cls, value: Tensor) -> Made:
        """Wrap what nobody made."""
        return cls("", value, value, source="given")

    @classmethod
    def compare(
        cls, name: str, result: Any, want: Tensor | None, missing: str, within: float | None = None
    ) -> Made:
        """Hold what came against what is right.

        Args:
            name: the function.
            result: what it gave back, of whatever type.
            want: the right tensor; None if that is not known.
            missing: why it gave nothing back; empty if it did.
            within: how far it may be off, as a share; None: as far as rounding explains.
        """
        if want is None:
            if not isinstance(result, Tensor):
                return cls(name, None, torch.zeros(()), says=_no_tensor(result, torch.zeros(())))
            return cls(name, result.detach().cpu(), result.detach().cpu())
        if missing:
            return cls(name, None, want, says=missing, source="kit")
        if not isinstance(result, Tensor):
            return cls(name, None, want, says=_no_tensor(result, want))
        result = result.detach().cpu()
        if result.shape != want.shape:
            says = f"expected the shape {list(want.shape)}, got {list(result.shape)}."
            return cls(name, None, want, misfit=result, says=says)
        near = tolerance.of(torch.float32 if want.is_floating_point() else want.dtype)
        share = near.relative if within is None else within
        bad = ~torch.isclose(plain(result), plain(want), share, near.absolute)
        return cls(name, result, want, bad=bad)

    @property
    def differs(self) -> bool:
        """Whether the answer's is not the right one."""
        if self.source != "yours":
            return False
        return self.got is None or bool(self.bad.any()) or self.dtype_differs

    @property
    def dtype_differs(self) -> bool:
        """Whether a mask is not boolean, or ids are not whole numbers."""
        exact = not self.want.is_floating_point()
        return exact and self.got is not None and self.got.dtype != self.want.dtype

    def at(self, *place: Any) -> Made:
        """Return a part, by index."""
        got = None if self.got is None else self.got[place]
        bad = self.bad[place] if self.bad.dim() else self.bad
        return Made(self.name, got, self.want[place], self.misfit, self.says, self.source, bad)

    def over(self, divisor: Tensor) -> Made:
        """Return the value over a given one, with the same marks."""
        got = None if self.got is None else self.got / divisor
        return replace(self, got=got, want=self.want / divisor)

    @property
    def shown(self) -> Tensor | None:
        """The matrix to draw; None if there is none."""
        value = self.got
        if self.source == "kit":
            value = self.want
        elif value is None:
            value = self.misfit
        if value is None or value.numel() == 0:
            return None
        return _matrix(value)

    def wrong(self) -> list[list[bool]]:
        """Return the marks of the cells that differ, or nothing if none does."""
        if self.got is None or not bool(self.bad.any()):
            return []
        marks: list[list[bool]] = _matrix(self.bad).tolist()
        return marks

    def notes(self, rows: list[str], columns: list[str]) -> list[str]:
        """Say what is to be said beneath the matrix."""
        if self.source == "kit":
            return [f"computed by the kit: {self.says}."] if self.says else []
        if self.got is None:
            seen = None if self.misfit is None else relation(self.misfit, self.want)
            return [self.says, *([seen] if seen else [])]
        notes = []
        if self.dtype_differs:
            kinds = [str(kind).removeprefix("torch.") for kind in (self.want.dtype, self.got.dtype)]
            notes.append(f"expected the dtype {kinds[0]}, got {kinds[1]}.")
        if not bool(self.bad.any()):
            return notes
        bad, got, want = (_matrix(each) for each in (self.bad, self.got, self.want))
        i, j = (int(index) for index in bad.nonzero()[0])
        place = ", ".join(filter(None, [rows[i], columns[j]]))
        expected, came = (_said(value[i, j].item()) for value in (want, got))
        count = f"{int(bad.sum())} of {bad.numel()} differ"
        where = f", first at [{place}]" if place else ""
        notes.append(f"{count}{where}: expected {expected}, got {came}.")
        seen = relation(self.got, self.want) if bad.numel() > 1 else None
        return [*notes, seen] if seen else notes


def of_answer(value: Any) -> Any:
    """Return what to hand on to the answer: its own earlier result where there is one."""
    if isinstance(value, Made):
        value = value.want if value.got is None else value.got
        return value.to(torch.float32) if value.is_floating_point() else value.clone()
    return value.clone() if isinstance(value, Tensor) else value


def right(value: Any) -> Any:
    """Return what to hand on to the right arithmetic: float64."""
    if isinstance(value, Made):
        value = value.want
    return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value


def _matrix(value: Tensor) -> Tensor:
    """Return the value as a matrix: a vector is a row, of a stack the first one."""
    while value.dim() > 2:
        value = value[0]
    return value.reshape((1,) * (2 - value.dim()) + tuple(value.shape))


def _no_tensor(result: Any, want: Tensor) -> str:
    known = common_slip(Finding("type", "the output", result, want))
    return f"expected a tensor, got {describe(result)}. {known.says if known else ''}".strip()


def _said(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
