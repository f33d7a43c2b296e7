"""`pytest --pdb`: the debugger stands in the student's code, with what the failing call was given.

A wrong value is found after the student's function has returned, when its frame is gone. So a frame
is made that stands at the function's first line and holds the call's inputs by the names of its
parameters, and `again()`, which goes through the call once more, line by line.
"""

from __future__ import annotations

import bdb
import inspect
import pdb
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grader.answers.calls import Call
from grader.answers.kept import Kept
from grader.answers.world import World
from grader.judging.outcome import Outcome
from grader.suite.check import Check
from grader.suite.compare import Finding
from grader.trouble import BrokenFile

RAISES = "__failure__"
AGAIN = "again() makes the call once more, line by line: n goes on, s steps in, q comes back."


class NothingToDebug(bdb.BdbQuit):
    """There is no code to look at; for this exception pytest opens no debugger."""


def to_debug(check: Check, outcome: Outcome, world: World) -> tuple[BaseException, str]:
    """Return what to raise, so that the debugger stands in the student's code.

    Args:
        check: a check that did not pass.
        outcome: what came of it.
        world: the student's folder, in this process.

    Returns:
        The exception, and lines that say what is at hand; empty if nothing needs to be said.
    """
    problem = outcome.finding or outcome.error
    if isinstance(problem, BrokenFile):
        problem = problem.root.cause
    if problem is None or outcome.verdict == "not started":
        return NothingToDebug(), ""
    own = _up_to(world.folder, problem.__traceback__)
    if own is not None:
        return problem.with_traceback(own), ""
    call, made = outcome.call, getattr(world.modules.get(check.stem), check.exercise, None)
    if call is None or made is None:
        return NothingToDebug(), ""
    return problem, _put_at_call(problem, call, made, outcome.finding)


def _up_to(folder: Path, trace: types.TracebackType | None) -> types.TracebackType | None:
    """Leave out what lies inside of the last frame of the student's; None if there is none."""
    steps = list(_steps(trace))
    while steps and not steps[-1].tb_frame.f_code.co_filename.startswith(str(folder)):
        steps.pop()
    own: types.TracebackType | None = None
    for step in reversed(steps):
        own = types.TracebackType(own, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return own


def _steps(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _put_at_call(
    problem: BaseException, call: Call, made: Callable[..., Any], found: Finding | None
) -> str:
    """Let an exception come from a frame that holds a call's inputs; say what else is at hand."""
    called = made if call.module is None else getattr(call.module, call.method or "forward")
    given = _by_name(called, call)
    names = ", ".join(given)
    if found is not None and found.actual is not None:
        given["got"], both = found.actual, found.expected is not None
        given |= {"expected": found.expected} if both else {}
        names += f"; got{' and expected' * both}: {found.label}"
    _frame_at(called, {**given, "again": _stepped(called, call)}, problem)
    return "\n".join(textwrap.wrap(f"At hand: {names}.", 88) + textwrap.wrap(AGAIN, 88))


def _by_name(called: Callable[..., Any], call: Call) -> dict[str, Any]:
    """Return a call's inputs by the names of the parameters."""
    try:
        given = dict(inspect.signature(called).bind(*call.args, **call.kwargs).arguments)
    except (TypeError, ValueError):  # it takes other arguments than it should
        given = {"args": call.args, "kwargs": dict(call.kwargs)}
    return given if call.module is None else {"self": call.module, **given}


def _stepped(called: Callable[..., Any], call: Call) -> Callable[[], Any]:
    """Make a call that can be made again and again, from the same inputs, in a debugger."""

    def again() -> Any:
        kept = Kept()
        kept.keep((*call.args, *call.kwargs.values()))
        try:
            # a plain one: to quit pytest's own would end the whole run
            return pdb.Pdb().runcall(called, *call.args, **call.kwargs)
        finally:
            kept.settle()

    return again


def _frame_at(called: Any, holds: dict[str, Any], problem: BaseException) -> None:
    """Give an exception a traceback of one frame, at a function's first line."""
    inner = inspect.unwrap(vars(called)["__init__"] if isinstance(called, type) else called)
    inner = getattr(inner, "__func__", inner)
    own = getattr(inner, "__code__", None)
    code = compile(f"raise {RAISES}", "<the call>", "exec")
    if own is not None:
        code = code.replace(
            co_filename=own.co_filename, co_firstlineno=own.co_firstlineno, co_name=own.co_name
        )
    space, holds = getattr(inner, "__globals__", {}), {**holds, RAISES: problem}
    problem.__traceback__ = None
    try:
        exec(code, space, holds)
    except BaseException as raised:
        trace = raised.__traceback__
        raised.__traceback__ = trace.tb_next if trace is not None else None
