"""The reports that were asked for: what must fail fails before anything is graded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from grader.reports.formats import FORMATS, filled, refuse_early
from grader.results import Run

Writer = Callable[[Run, Path], None]


def writers(
    reports: Sequence[str], submissions: int, gradebook: Path | None, assignment: str | None
) -> Iterator[tuple[Writer, Path]]:
    """Say for every report who writes it and where to.

    Args:
        reports: each FORMAT=FILE.
        submissions: how many there are.
        gradebook: the export that the csv report fills, if it does.
        assignment: its column, where there are several.

    Raises:
        ValueError: something that will not do; a sentence says what.
    """
    forms = dict(FORMATS)
    if gradebook is not None:
        forms["csv"] = filled(gradebook, assignment)
    wanted = [_parts(text) for text in reports]
    if gradebook is not None and "csv" not in [form for form, _ in wanted]:
        raise ValueError("--gradebook fills the csv report: add --report csv=FILE")
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
