"""The html report: a page for a submission, whole in one file, without scripts or network.

A run of several submissions is the class page (`class_page`), and beside it a folder with a page
for each, so that no student's page shows another student. Only the class page has the seed: who
knows it knows the inputs.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from grader.reports import class_page
from grader.reports.digest import (
    beyond,
    brief,
    chapters,
    counts,
    device_ready,
    not_run,
    problems,
    score_on,
)
from grader.reports.in_short import DONE, next_thing
from grader.reports.layout import blocks
from grader.reports.moved import EarlierScores
from grader.reports.text import one_line, shown
from grader.reports.visible import for_students
from grader.results import ExerciseResult, Run, SubmissionResult, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment

    from grader.reports.similar import Similar

RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
MARKED = re.compile(r"(?<![^\s])([-+\d.e]+|nan|-?inf)(\*)")


def write(
    run: Run,
    path: Path,
    earlier: EarlierScores | None = None,
    compare: Callable[[Run], Similar] | None = None,
) -> None:
    """Write the page of the one submission, or an index with a folder of pages beside it.

    Args:
        run: what to show.
        path: the page, or the index.
        earlier: scores of an earlier run: the index then says whose have moved.
        compare: finds whose answers are alike, if the index is to say so.

    Raises:
        ValueError: jinja2 is missing.
    """
    pages = environment()
    told = for_students(run).submissions
    if len(told) == 1:
        _save(path, page_of(pages, run, told[0]))
        return
    folder = path.with_name(f"{path.stem}-pages")
    folder.mkdir(exist_ok=True)
    files = file_names(told)
    for submission, file in zip(told, files, strict=True):
        _save(folder / file, page_of(pages, run, submission))
    links = [quote(f"{folder.name}/{file}") for file in files]
    index = pages.get_template("index.html").render(
        run=_about(run), seed=run.seed, similar=compare(run) if compare else None,
        **class_page.context(run, links, earlier),
    )  # fmt: skip
    _save(path, index)


def environment() -> Environment:
    """Return the templates.

    Raises:
        ValueError: jinja2 is missing.
    """
    try:
        import jinja2
    except ImportError as problem:
        raise ValueError("the html report needs jinja2: pip install jinja2") from problem
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    made = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    made.filters["points"] = lambda points: f"{number(points):g}"
    made.filters["blocks"] = blocks
    made.filters["marked"] = _marked
    made.filters["breaking"] = _breaking
    made.filters["brief"] = brief
    made.filters["line"] = one_line
    made.filters["shown"] = shown
    return made


def _marked(message: str) -> Any:
    """Highlight the values that a picture stars; all else is escaped."""
    from markupsafe import Markup, escape

    return Markup(MARKED.sub(r"<mark>\1\2</mark>", str(escape(message))))


def _breaking(name: str) -> Any:
    """Let a long name break after an underscore, for phones."""
    from markupsafe import Markup, escape

    return Markup(str(escape(name)).replace("_", "_<wbr>"))


def page_of(pages: Environment, run: Run, submission: SubmissionResult) -> str:
    """Return the page of one submission.

    Args:
        pages: the templates.
        run: what it is of.
        submission: with no more of its messages than students see.
    """
    parts = [
        {
            "name": one_line(stem),
            "possible": sum(exercise.points for exercise in exercises),
            "earned": {
                device: sum(exercise.earned(device) for exercise in exercises)
                for device in submission.devices
            },
            "exercises": [_exercise(run, submission, exercise) for exercise in exercises],
        }
        for stem, exercises in chapters(submission)
    ]
    return pages.get_template("page.html").render(
        name=one_line(submission.identity),
        problem=shown(submission.problem) if submission.problem else None,
        scores={device: score_on(run, submission, device) for device in run.devices},
        ran=submission.devices,
        ready=device_ready(submission),
        beyond=beyond(submission),
        counts=counts(submission),
        notes=[one_line(note) for note in submission.notes],
        unused=[one_line(name) for name in submission.unused],
        next=None if submission.problem else next_thing(submission),
        done=DONE,
        chapters=parts,
        run=_about(run),
    )


def _exercise(run: Run, submission: SubmissionResult, exercise: ExerciseResult) -> dict[str, Any]:
    states = {
        device: exercise.state(device) if device in submission.devices else not_run(run, device)
        for device in run.devices
    }
    idle = {states[device] for device in submission.devices} <= {"not started"}
    return {
        "name": one_line(exercise.exercise.partition(".")[2] or exercise.exercise),
        "points": exercise.points,
        "earned": {device: exercise.earned(device) for device in submission.devices},
        "states": states,
        "passed": {d: sum(c.passed for c in exercise.on(d)) for d in submission.devices},
        "total": exercise.due(submission.counted),
        "problems": [] if idle else problems(exercise, *submission.devices),
    }


def _about(run: Run) -> dict[str, str]:
    return {
        "version": one_line(run.version),
        "torch": one_line(run.torch),
        "isolation": one_line(run.isolation),
    }


def file_names(submissions: tuple[SubmissionResult, ...]) -> list[str]:
    """Name a file for each submission: its id, as far as every file system takes it."""
    taken: Counter[str] = Counter()
    names = []
    for submission in submissions:
        plain = unicodedata.normalize("NFKD", submission.identity[:200])
        name = re.sub(r"[^\w.-]+", "_", plain.encode("ascii", "ignore").decode())[:80].strip("._-")
        name = f"_{name}" if not name or RESERVED.match(name) else name
        while taken[name.casefold()]:
            taken[name.casefold()] += 1
            name = f"{name}-{taken[name.casefold()]}"
        taken[name.casefold()] += 1
        names.append(f"{name}.html")
    return names


def _save(path: Path, page: str) -> None:
    path.write_text(page, encoding="utf-8", newline="\n")
