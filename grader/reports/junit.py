"""The junit report: a suite for each submission, a case for each check and device.

JUnit knows no points: they are properties of the suite. It asks for times, and we keep none: they
are 0, and there is no date, so that the same results give the same file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from grader.reports.digest import headline, not_run, not_used
from grader.reports.text import for_log, one_line, shown
from grader.results import CheckResult, ExerciseResult, Run, SubmissionResult, number

KINDS = {
    "passed": None,
    "failed": "failure",
    "forbidden": "failure",
    "not started": "skipped",
    "not run": "skipped",
    "error": "error",
    "timeout": "error",
    "crashed": "error",
}


def write(run: Run, path: Path) -> None:
    """Write the report."""
    # a suite at a time: a large course does not fit into memory twice
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n')
        for place, submission in enumerate(run.submissions):
            suite = _suite(run, submission, place)
            ElementTree.indent(suite)
            file.write(ElementTree.tostring(suite, encoding="unicode") + "\n")
        file.write("</testsuites>\n")


def _suite(run: Run, submission: SubmissionResult, place: int) -> ElementTree.Element:
    cases = [_case(e, check) for e in submission.exercises for check in e.checks]
    if submission.problem:
        cases.append(_ungradable(submission.problem))
    kinds = Counter(child.tag for case in cases for child in case)
    name = for_log(one_line(submission.identity)) or "submission"
    suite = ElementTree.Element(
        "testsuite", name=name, package=name, id=str(place), tests=str(len(cases)),
        failures=str(kinds["failure"]), errors=str(kinds["error"]), skipped=str(kinds["skipped"]),
        time="0", hostname="localhost",
    )  # fmt: skip
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in _properties(run, submission):
        ElementTree.SubElement(properties, "property", name=key, value=value)
    suite.extend(cases)
    # two empty elements that old readers insist on
    ElementTree.SubElement(suite, "system-out")
    ElementTree.SubElement(suite, "system-err")
    return suite


def _properties(run: Run, submission: SubmissionResult) -> Iterator[tuple[str, str]]:
    yield "kit.version", one_line(run.version)
    yield "kit.torch", one_line(run.torch)
    yield "kit.seed", str(run.seed_of(submission))
    yield "kit.isolation", for_log(one_line(run.isolation))
    yield "max", f"{number(submission.maximum):.2f}"
    for device in run.devices:
        score = submission.reported(device)
        said = not_run(run, device) if score is None else f"{number(score):.2f}"
        yield f"score.{device}", said
        further = submission.beyond(device)
        if further is not None:
            yield f"beyond.{device}", f"{number(further):.2f}"
    if submission.unused:
        yield "unused", for_log(not_used(submission))
    for exercise in submission.exercises:
        for device in submission.devices:
            earned, points = number(exercise.earned(device)), number(exercise.points)
            yield f"points.{device}.{one_line(exercise.exercise)}", f"{earned:.2f} of {points:.2f}"


def _case(exercise: ExerciseResult, check: CheckResult) -> ElementTree.Element:
    name = f"{for_log(one_line(check.check))} ({check.device})"
    attributes = {"classname": one_line(exercise.exercise), "name": name, "time": "0"}
    case = ElementTree.Element("testcase", attributes)
    kind = KINDS.get(check.verdict, "error")
    if kind is not None:
        said = for_log(headline(check.message)) or check.verdict
        child = ElementTree.SubElement(case, kind, message=said)
        if kind != "skipped":
            child.set("type", check.verdict)
            child.text = for_log(shown(check.message))
    return case


def _ungradable(problem: str) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname="submission", name="can be graded", time="0")
    said = for_log(one_line(problem))
    child = ElementTree.SubElement(case, "error", message=said, type="ungradable")
    child.text = for_log(shown(problem))
    return case
