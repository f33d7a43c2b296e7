"""Where the questions of a chapter come from: its file, or in a students' pack what it drew."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.author_errors import reading
from grader.quiz.asked import Asked
from grader.quiz.question import Question, questions_in

# so many sets of numbers, in the kit as in a pack: the same seed asks the same in both
SEEDS = 30
WRITTEN = Path(__file__).parent / "questions"
DRAWN = Path(__file__).parent / "drawn"


def questions(stem: str) -> list[Question]:
    """List the questions of a chapter; none, if nobody has written any."""
    path = DRAWN / f"{stem}.json"
    if path.is_file():
        return [_from_json(one) for one in json.loads(path.read_text(encoding="utf-8"))]
    written = WRITTEN / f"{stem}.py"
    if not written.is_file():
        return []
    with reading(written):
        return questions_in(importlib.import_module(f"grader.quiz.questions.{stem}"))


def drawn(stem: str) -> bytes:
    """Write down the questions of a chapter as every seed draws them, for a students' pack."""
    data = [_to_json(question) for question in questions(stem)]
    return (json.dumps(data, indent=0) + "\n").encode()


def _to_json(question: Question) -> dict[str, Any]:
    every = [question.asked(seed).to_json() for seed in range(SEEDS)]
    return {
        "name": question.name,
        "about": question.about,
        "once_solved": question.once_solved,
        # one that draws nothing is the same for every seed
        "asked": every[:1] if all(one == every[0] for one in every) else every,
    }


def _from_json(data: Mapping[str, Any]) -> Question:
    every = [Asked.from_json(one) for one in data["asked"]]
    return Question(
        data["name"], data["about"], data["once_solved"], lambda seed: every[seed % len(every)]
    )
