"""The ways as a students' pack has them: sealed, until a right answer opens them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Collection
from dataclasses import asdict
from typing import Any

from grader.comparing import FOLDER
from grader.comparing.seal import NoKey, key_of, opened
from grader.comparing.ways import Ways


class Closed(Exception):
    """The ways of a function cannot be had; the sentence says why."""


def questions(stem: str) -> dict[str, Callable[[Any], Any]]:
    """Return the questions that open a chapter's seals, by the names of the functions."""
    try:
        module = importlib.import_module(f"grader.comparing.questions.{stem}")
    except ModuleNotFoundError:
        return {}
    found: dict[str, Callable[[Any], Any]] = module.QUESTIONS
    return found


def packed(ways: Ways) -> bytes:
    """Write ways as bytes."""
    return json.dumps(asdict(ways), sort_keys=True).encode()


def ways_of(full: str, exercises: Collection[str], ask: Callable[[Any], Any]) -> Ways:
    """Find what a student who has solved a function may see.

    Args:
        full: its name with its chapter.
        exercises: the names of all exercises.
        ask: puts a question to the student's function, and returns what came.

    Raises:
        Closed: there is nothing, or the answer to the question is not the right one.
    """
    stem, name = full.split(".")
    if not FOLDER.is_dir():
        from grader.comparing.kit import ways_in_kit

        return ways_in_kit(full, exercises)
    file = FOLDER / f"{stem}.json"
    texts = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if name not in texts:
        raise Closed(f"This pack holds no reference answer for {full}.")
    try:
        data = opened(texts[name], key_of(full, ask(questions(stem)[name])))
    except NoKey:
        data = None
    if data is None:
        raise Closed(
            f"Your {name} passes its checks, but what it answers here is not what opens the seal "
            "of its reference answer. Please show it to your instructor."
        )
    read = json.loads(data)
    return Ways(read["reference"], tuple(read["others"]), read["ready_made"])
