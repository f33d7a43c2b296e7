"""What calls have cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from grader.trouble import printable

Measure = Literal["largest", "peak", "left", "made", "calls"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
LONGEST = 300
MOST = 2**62
NUMBERS = (*MEASURES, "unseen", "line")
WORDS = ("shape", "file", "function", "text")


@dataclass
class Cost:
    """What calls have cost, all together.

    Attributes:
        largest: bytes of the largest tensor that was made.
        peak: bytes of what was made and alive at the same time, at most.
        left: bytes of what was made and is kept when the call is over, beside what it returns: for
            the way back, mostly.
        made: how many numbers were worked out, in all tensors that were made.
        calls: how many operations that took.
        unseen: how many of the tensors that came out were made where nobody could see it.
        shape: of the largest tensor, as a list is written.
        file: the student's file in which that was made, or nothing.
        line: in it.
        function: in which function.
        text: the line.
    """

    largest: int = 0
    peak: int = 0
    left: int = 0
    made: int = 0
    calls: int = 0
    unseen: int = 0
    shape: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
    text: str = ""

    def of(self, measure: Measure) -> int:
        """Return one of the numbers."""
        return int(getattr(self, measure))

    def said(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    def hears(self, said: Any) -> None:
        """Take over what a worker tells; what makes no sense is left out."""
        for name, value in said.items() if type(said) is dict else ():
            if name in NUMBERS and type(value) is int and 0 <= value <= MOST:
                setattr(self, name, value)
            elif name in WORDS and type(value) is str:
                setattr(self, name, printable(value[:LONGEST]))
