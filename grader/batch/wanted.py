"""The reports that were asked for: what must fail fails before anything is graded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.reports.formats import FORMATS, filled, refuse_early, since, with_similar
from grader.results import Run

Writer = Callable[[Run, Path], None]


@dataclass(frozen=True)
class Wanted:
    """What is to be made of results, as given.

    Attributes:
        reports: each FORMAT=FILE.
        gradebook: the export that the csv report fills; html and class tell who of it is absent.
        assignment: its column, where there are several.
        since: an earlier json report, to say whose grade has moved.
        course: the file of a course's rules.
        rules: single rules, each KEY=VALUE, over those of the file.
    """

    reports: Sequence[str] = ()
    gradebook: Path | None = None
    assignment: str | None = None
    since: Path | None = None
    course: Path | None = None
    rules: Sequence[str] = ()

    @property
    def compares(self) -> bool:
        """Whether answers are to be compared with one another."""
        return any(text.startswith("similar=") for text in self.reports)


def writers(asked: Wanted, submissions: int) -> Iterator[tuple[Writer, Path]]:
    """Say for every report who writes it and where to.

    Args:
        asked: which reports, and how.
        submissions: how many there are.

    Raises:
        ValueError: something that will not do; a sentence says what.
        OSError: an earlier report cannot be read.
    """
    forms = dict(FORMATS)
    wanted = [_parts(text) for text in asked.reports]
    if asked.since is not None:
        forms |= since(asked.since, {form for form, _ in wanted}, submissions)
    if asked.compares:
        forms["html"] = with_similar(forms["html"])
    if asked.gradebook is not None:
        if not {"csv", "html", "class"} & {form for form, _ in wanted}:
            raise ValueError(
                "--gradebook fills the csv report, and html and class name who of it is absent: "
                "add --report csv=FILE"
            )
        forms |= filled(asked.gradebook, asked.assignment, forms)
    for form, file in wanted:
        if form not in forms:
            raise ValueError(f"there is no report format `{form}`; there is {', '.join(forms)}")
        refuse_early(form, submissions)
        path = Path(file)
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise ValueError(f"the report cannot be written to {file}: no such folder, or a folder")
        yield forms[form], path


def _parts(text: str) -> tuple[str, str]:
    form, separator, file = text.partition("=")
    if not separator or not file:
        raise ValueError(f"--report takes FORMAT=FILE, as in json=scores.json, not `{text}`")
    return form, file
