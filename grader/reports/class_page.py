"""The class page: what the index of several submissions shows, from their summary."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from grader.reports.class_summary import BINS, ClassSummary, summary
from grader.reports.digest import not_run
from grader.reports.moved import EarlierScores
from grader.reports.text import one_line
from grader.results import Run

TEMPLATES = Path(__file__).parent / "templates"
# slips that are shown with a message in full; rarer ones are only named
SHOWN = 24
# the columns of the drawing, in its own units
BAR, LEFT, HIGH = 38, 10, 118


def context(run: Run, links: list[str], earlier: EarlierScores | None = None) -> dict[str, Any]:
    """Return what the template of the class page needs.

    Args:
        run: of several submissions.
        links: to the page of each.
        earlier: scores of an earlier run.
    """
    whole = summary(run, earlier)
    script = (TEMPLATES / "class.js").read_text(encoding="utf-8")
    pages = {
        submission.identity: (one_line(submission.identity), link)
        for submission, link in zip(run.submissions, links, strict=True)
    }
    ran = [d for d in run.devices if run.devices[d] == "run"]
    return {
        "whole": whole,
        "pages": pages,
        "rows": _rows(run, whole, links),
        "ran": ran,
        "not_run": {d: not_run(run, d) for d in run.devices if d not in ran},
        "bins": _histogram(whole),
        "median_at": _at(whole.scores.quartiles[2], whole) if whole.scores.quartiles else None,
        "chapters": _by_chapter(whole),
        "standing": _by_function(whole),
        "shown_slips": SHOWN,
        "ungradable": _alike((one.id, [one.problem or ""]) for one in whole.submissions),
        "noted": _alike((one.id, one.notes) for one in whole.submissions),
        "script": script,
        "script_hash": b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }


def _rows(run: Run, whole: ClassSummary, links: list[str]) -> list[dict[str, Any]]:
    order = {function.exercise: place for place, function in enumerate(whole.functions, 1)}
    last = len(order) + 1
    members = zip(run.submissions, whole.submissions, links, strict=True)
    return [
        {
            "name": one_line(member.id),
            "link": link,
            "seed": submission.seed,
            "member": member,
            # those who have solved all stand behind the last function
            "place": order.get(member.at, 0) if member.at else last,
        }
        for submission, member, link in members
    ]


def _histogram(whole: ClassSummary) -> list[dict[str, Any]]:
    most = max(whole.scores.bins) or 1
    return [
        {
            "from": whole.scores.max * place / BINS,
            "count": count,
            "x": LEFT + BAR * place,
            "height": round(HIGH * count / most, 1),
        }
        for place, count in enumerate(whole.scores.bins)
    ]


def _at(score: float, whole: ClassSummary) -> float:
    return round(LEFT + BAR * BINS * score / (whole.scores.max or 1), 1)


def _alike(said: Iterable[tuple[str, Iterable[str]]]) -> dict[str, list[str]]:
    """Lay those together of whom the same is said; the commonest first."""
    groups: dict[str, list[str]] = {}
    for name, sentences in said:
        for sentence in filter(None, sentences):
            groups.setdefault(sentence, []).append(name)
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def _by_chapter(whole: ClassSummary) -> list[dict[str, Any]]:
    grouped = groupby(whole.functions, key=lambda one: one.exercise.partition(".")[0])
    return [{"name": one_line(stem), "functions": list(functions)} for stem, functions in grouped]


def _by_function(whole: ClassSummary) -> list[dict[str, Any]]:
    """Lay the groups that stand at one function together, whatever state it is in."""
    grouped = groupby(whole.standing, key=lambda group: group.exercise)
    return [
        {"name": name, "groups": groups, "count": sum(len(group.who) for group in groups)}
        for name, found in grouped
        if (groups := list(found))
    ]
