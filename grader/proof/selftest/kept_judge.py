"""One judge for the tests that grade in this process: it lives for a whole batch, and so for them.

To start a judge, and the process that its workers are forked from, imports torch twice.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

from grader.batch import slots
from grader.hearings.process import JudgeProcess
from grader.results import CheckResult

OF_A_TEST = "PYTEST_CURRENT_TEST"


class KeptJudge(JudgeProcess):
    """A judge that serves the next batch of its kind, unless something went wrong or it was ended.

    Attributes:
        idle: those that nobody uses, by their kinds.
    """

    idle: ClassVar[dict[str, KeptJudge]] = {}

    def __init__(self, *house: Any) -> None:
        super().__init__(*house)
        self._kind, self._ready, self._whole = kind(house), False, True

    def wait(self) -> None:
        """Wait until it is ready, once."""
        if not self._ready:
            super().wait()
        self._ready = True

    def hear(self, *asked: Any) -> list[CheckResult]:
        """Be no judge for others unless this comes to its end."""
        try:
            return super().hear(*asked)
        except BaseException:
            self._whole = False
            raise

    def stop(self) -> None:
        """Be no judge for others."""
        self._whole = False
        super().stop()

    def lives(self) -> bool:
        """Tell whether it can be asked."""
        return self._process.is_alive()

    def close(self) -> None:
        """Wait for the next batch."""
        if self._ready and self._whole and self.lives():
            other = self.idle.pop(self._kind, None)
            self.idle[self._kind] = self
            if other is not None:
                JudgeProcess.close(other)
        else:
            super().close()


def judge(*house: Any) -> KeptJudge:
    """Return the judge of this kind that waits, or a new one."""
    known = KeptJudge.idle.pop(kind(house), None)
    return known if known and known.lives() else KeptJudge(*house)


def kind(house: tuple[Any, ...]) -> str:
    """Say all that a judge begins with."""
    around = sorted(item for item in os.environ.items() if item[0] != OF_A_TEST)
    return repr((house, around, os.getcwd()))


def keep() -> None:
    """Let batches in this process take what is kept."""
    slots.JudgeProcess = judge  # type: ignore[assignment,misc]


def let_go() -> None:
    """End those that are kept."""
    while KeptJudge.idle:
        JudgeProcess.close(KeptJudge.idle.popitem()[1])
