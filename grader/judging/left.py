"""What a call has left behind: inputs that are others now, and torch's switches set.

It is looked for after every check. The check that enforces the rule fails by it; where that one
does not see it, the checks that do fail instead.
"""

from __future__ import annotations

import ast
import functools

from grader import nested
from grader.answers.calls import Trace
from grader.answers.door import Answer
from grader.stubs.pristine import NoStubsError, as_given
from grader.suite.check import Check
from grader.suite.compare import Finding
from grader.suite.promises import Rule

INPUTS, SWITCHES = Rule("inputs"), Rule("switches")


def left_behind(check: Check, answer: Answer) -> tuple[Finding, ...]:
    """Return what the calls of a check have left behind.

    Raises:
        Finding: the first thing that it is for this check to find.
    """
    found = []
    for trace in answer.traces():
        finding = _finding(check, trace)
        if finding.of == check.full_exercise and finding.cites in check.cites:
            raise finding
        found.append(finding)
    return tuple(found)


def _finding(check: Check, trace: Trace) -> Finding:
    exercise = trace.call.name if trace.call is not None else check.exercise
    if trace.place is None and trace.part:
        finding = Finding("switched", trace.part)
        finding.cites = SWITCHES
    else:
        named = _input(check.stem, trace)
        label = f"`{trace.part}` of {named}" if trace.part else named
        finding = Finding("changed", label, trace.now, trace.before)
        finding.is_gradient = trace.part in ("requires_grad", "grad")
        finding.cites = INPUTS
    finding.of = f"{check.stem}.{exercise}"
    return finding


def _input(stem: str, trace: Trace) -> str:
    """Return an input's name, as the stub has it."""
    place = trace.place
    if trace.call is not None and isinstance(place, int):
        names = _parameters(
            stem,
            trace.call.name,
            trace.call.method or ("forward" if trace.call.made else "__init__"),
        )
        place = names[place] if place < len(names) else None
    known = isinstance(place, str)
    return f"the input `{place}{nested.written(trace.path)}`" if known else "an input"


@functools.cache
def _parameters(stem: str, name: str, method: str) -> list[str]:
    """List the parameters of a stub; of a class, those of a method."""
    try:
        source = as_given().chapters[stem].functions[name].decode()
    except (NoStubsError, KeyError):
        return []
    node = ast.parse(source).body[0]
    if isinstance(node, ast.ClassDef):
        methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
        node = next((one for one in methods if one.name == method), node)
        skipped = 1
    else:
        skipped = 0
    if not isinstance(node, ast.FunctionDef):
        return []
    return [one.arg for one in node.args.args][skipped:]
