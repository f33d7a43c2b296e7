"""The time limit of checks under pytest, on systems without signals too.

pytest-timeout's other way, a thread, prints the stacks of all threads and ends the process.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
import pytest_timeout

from grader.answers.clock import SECONDS, Timekeeper, processor_limit, signals_come


class CheckClock:
    """Sees to it that no check runs for ever.

    Where signals come, they end most of what does, on the wall by pytest-timeout. Elsewhere
    TimeLimit is left for the check to find.

    Args:
        is_check: tells the tests that are watched.
        lost: says what there is to say of a check that nothing can end; the process ends then.
    """

    def __init__(
        self,
        is_check: Callable[[pytest.Item], bool],
        lost: Callable[[pytest.Item, FrameType | None], None],
    ) -> None:
        self._is_check, self._lost = is_check, lost
        self._item: pytest.Item | None = None
        self._wall = 0.0
        self._watch = Timekeeper(self._give_up)

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> bool | None:
        """Note the limit on the wall, and keep pytest-timeout from starting its thread."""
        if not self._is_check(item):
            return None
        debugging = not settings.disable_debugger_detection and pytest_timeout.is_debugging()
        self._wall = 0.0 if debugging else settings.timeout
        return None if signals_come() else True

    @contextlib.contextmanager
    def running(self, item: pytest.Item) -> Iterator[None]:
        """Limit the time of what runs here."""
        watched: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if self._wall:
            self._item = item
            watched = self._watch.over(SECONDS, self._wall, ring=not signals_come())
        with watched, processor_limit():
            yield

    def pytest_enter_pdb(self) -> None:
        """Leave the check to the debugger."""
        self._watch.rest()

    def _give_up(self, frame: FrameType | None) -> None:
        item = self._item
        assert item is not None
        try:
            capture = item.config.pluginmanager.getplugin("capturemanager")
            if capture is not None:
                capture.suspend_global_capture()
            self._lost(item, frame)
            item.config.hook.pytest_sessionfinish(
                session=item.session, exitstatus=pytest.ExitCode.TESTS_FAILED
            )
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(pytest.ExitCode.TESTS_FAILED)
