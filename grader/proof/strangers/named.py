"""How often the cause of a stranger's wrong answer is named: rightly, wrongly or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.proof.figure import Figure

# in percent of all answers
RIGHTLY_AT_LEAST, WRONGLY_AT_MOST = 90, 1


@dataclass
class Named(Figure):
    """Counts names of causes; proved if enough are right and few are wrong.

    Attributes:
        wrongly: for each answer whose cause is another one, what was said.
        unnamed: how many got no name.
    """

    title: str = "strangers' wrong answers named"
    wrongly: list[str] = field(default_factory=list)
    unnamed: int = 0

    def hears(self, what: str, expected: Sequence[str], said: str) -> None:
        """Count an answer.

        Args:
            what: the answer.
            expected: the slips that say what is wrong; none if we know of none.
            said: the slip that it is called; empty if it is called none.
        """
        self.total += 1
        if not said:
            self.unnamed += 1
        elif said not in expected:
            known = " or ".join(expected) or "as anything we know"
            self.wrongly.append(f"{what}: named {said}, not {known}")

    def add(self, other: Figure) -> None:
        """Add another figure of the same kind."""
        super().add(other)
        if isinstance(other, Named):
            self.wrongly += other.wrongly
            self.unnamed += other.unnamed

    @property
    def proved(self) -> bool:
        """Whether enough are named rightly, and few wrongly."""
        enough = 100 * self._rightly >= RIGHTLY_AT_LEAST * self.total
        return self.total > 0 and enough and 100 * len(self.wrongly) <= WRONGLY_AT_MOST * self.total

    def lines(self) -> list[str]:
        """Write the shares, and where there are too many, those that are named wrongly."""
        parts = {"rightly": self._rightly, "wrongly": len(self.wrongly), "not": self.unnamed}
        shares = (f"{how} {100 * n / max(1, self.total):.1f} %" for how, n in parts.items())
        line = f"{self.title:<44} {', '.join(shares)} of {self.total}"
        if self.proved:
            return [line]
        limits = f"at least {RIGHTLY_AT_LEAST} % rightly, at most {WRONGLY_AT_MOST} % wrongly"
        return [line, f"    it has to be {limits}", *(f"    {text}" for text in self.wrongly)]

    @property
    def _rightly(self) -> int:
        return self.total - len(self.wrongly) - self.unnamed
