"""Rules that are said one by one, as `--rule KEY=VALUE`, laid over those of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from grader.course.tables import CourseError, parsed


def over(said: Mapping[str, Any], rules: Sequence[str]) -> dict[str, Any]:
    """Return a file's tables with single rules laid over them.

    Args:
        said: what the file says.
        rules: each `KEY=VALUE`, as a line of the file; a key of a table is `late.per_day`, one of
            the second week `week.2.deadline`, and a text needs no quotes.

    Raises:
        CourseError: a rule is none.
    """
    laid: Any = dict(said)
    for rule in rules:
        laid = _laid(laid, _line(rule), rule)
    return dict(laid)


def _line(rule: str) -> dict[str, Any]:
    key, equals, value = rule.partition("=")
    if equals and "\n" not in rule:
        for written in (value, json.dumps(value.strip())):
            try:
                return parsed(f"{key} = {written}")
            except ValueError:
                continue
    raise CourseError(f"`{rule}` is no rule: say KEY=VALUE, as in follow_through=half")


def _laid(below: Any, above: Any, rule: str) -> Any:
    if not isinstance(above, dict):
        return above
    if isinstance(below, list):
        return _in_list(below, above, rule)
    laid = dict(below) if isinstance(below, dict) else {}
    return laid | {key: _laid(laid.get(key), one, rule) for key, one in above.items()}


def _in_list(below: list[Any], above: Mapping[str, Any], rule: str) -> list[Any]:
    laid = list(below)
    for key, one in above.items():
        if not (key.isascii() and key.isdigit() and 1 <= int(key) <= len(laid)):
            raise CourseError(f"`{rule}`: there are {len(laid)}, from 1, and no `{key}`")
        laid[int(key) - 1] = _laid(laid[int(key) - 1], one, rule)
    return laid
