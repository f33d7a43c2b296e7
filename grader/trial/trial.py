"""A trial: checks run in a child, and what becomes of those that hang it or end it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from grader.answers.clock import WALL
from grader.processes.ending import said_of
from grader.results import CheckResult
from grader.trial.children import Child, Children
from grader.trial.messages import Ask, Loading, Said
from grader.trial.plan import DEVICE, PlannedTask
from grader.trial.sources import users
from grader.written.folder import Folder
from grader.written.source import FILE, NOTEBOOK


@dataclass(frozen=True)
class Result:
    """One check of a task, and what the answer printed in it."""

    task: PlannedTask
    check: CheckResult
    printed: str = ""


@dataclass
class Trial:
    """One trial of one folder of answers.

    Attributes:
        folder: the answers.
        children: where the processes come from.
        wrong: of exercises that are not tried, whether they are wrong, as far as is known.
        quick: whether to look for slips only in the first failing checks of an exercise.
    """

    folder: Folder
    children: Children
    wrong: dict[str, bool] = field(default_factory=dict)
    quick: bool = False
    _hanging: tuple[str, ...] = ()
    _lost: dict[str, CheckResult] = field(default_factory=dict)
    _child: Child | None = None
    _singly: bool = False
    _stopped: bool = False

    def run(self, tasks: Sequence[PlannedTask]) -> Iterator[Result]:
        """Run the tasks' checks in order; every one of them gets a result, unless it is stopped.

        Raises:
            StartError: no process could be started.
        """
        left = [(task, *check) for task in tasks for check in task.checks]
        while left and not self._stopped:
            given_up = self._given_up(*left[0])
            if given_up is not None:
                left.pop(0)
                yield given_up
                continue
            for result in self._one_child(left):
                left.pop(0)
                yield result

    def stop(self) -> None:
        """End the trial, from another thread."""
        self._stopped = True
        child = self._child
        if child is not None:
            child.kill()

    def _one_child(self, left: list[tuple[PlannedTask, str, bool]]) -> Iterator[Result]:
        """Yield results until the child has done everything, is stuck, or is lost."""
        self._child = child = self.children.fresh()
        try:
            asked = tuple((task.full, name) for task, name, _ in left)
            child.connection.send(
                Ask(self.folder.path, asked, self.wrong, self._hanging, self.quick, self._singly)
            )
            yield from self._heard(child, list(left))
        except OSError:
            return  # the child was ended while it was being asked
        finally:
            self._child = None
            child.end()

    def _heard(
        self, child: Child, waiting: list[tuple[PlannedTask, str, bool]]
    ) -> Iterator[Result]:
        loading = ""
        while waiting and not self._stopped:
            said = child.next(self.children.seconds * WALL * 1.2 + 1)
            for one in said if isinstance(said, list) else ():
                loading = one.stem if isinstance(one, Loading) else ""
                if isinstance(one, Said):
                    task = waiting.pop(0)[0]
                    self._note_stuck(one)
                    yield Result(task, one.result, one.printed)
                    if one.stuck:
                        return
            if isinstance(said, Exception) and not self._stopped:
                if self._singly:
                    yield self._loss(*waiting[0], loading, _last_words(child, said))
                self._singly = True  # some results may have been lost with it: once more
                return

    def _note_stuck(self, said: Said) -> None:
        """Remember what must not be called again, or imported."""
        stem = said.stuck.split(".")[0]
        if not said.stuck.endswith((FILE, NOTEBOOK)):
            self._hanging += (said.stuck,) if said.stuck else ()
            return
        self._lost[stem] = said.result
        late = replace(said.result, because=(said.stuck,))
        self._lost.update(dict.fromkeys(users(stem, self.folder), late))

    def _loss(
        self, task: PlannedTask, check: str, core: bool, loading: str, words: tuple[str, str]
    ) -> Result:
        verdict, says = words
        file = self.folder.file(loading).name if loading else ""
        who = f"{file}, while it was imported," if loading else task.full
        slip = "A loop that never ends, or one that is far longer than these few inputs need."
        message = f"{who} {says}" + (f"\n\n  Likely slip  {slip}" if verdict == "timeout" else "")
        result = CheckResult(check, DEVICE, verdict, core, message)
        self._lost[loading or task.full] = result
        if not loading:
            self._hanging += (task.full,)  # those that call it would be lost as well
        return Result(task, result)

    def _given_up(self, task: PlannedTask, check: str, core: bool) -> Result | None:
        """Give a check that would only lose another child its result at once."""
        lost = self._lost.get(task.stem) or self._lost.get(task.full)
        if lost is None:
            return None
        return Result(task, replace(lost, check=check, core=core))


def _last_words(child: Child, problem: Exception) -> tuple[str, str]:
    """Return the verdict on a child that was lost, and the end of a sentence about it."""
    if isinstance(problem, TimeoutError):
        return "timeout", "did not come back in time and was ended"
    child.process.join(1)
    return "crashed", said_of(child.process.exitcode)
