"""What a pack holds for `compare`: each function's ways, under a seal that a right answer opens."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

import torch

from grader import places
from grader.chapters import Chapter, Exercise, World, catalogue
from grader.comparing.kit import ways_in_kit
from grader.comparing.seal import key_of, on_the_edge, seal
from grader.comparing.sealed import packed, questions
from grader.release import ReleaseError

FOLDER = "grader/comparing/sealed"


def sealed_ways(chapters: Collection[Chapter]) -> dict[str, bytes]:
    """Return the sealed files of chapters, from their names in the pack to their contents.

    A function without a question has none.

    Raises:
        ReleaseError: right answers to a question may be rounded in two ways.
    """
    torch.set_num_threads(1)
    known = catalogue()
    world = World(places.SOLUTIONS, known.names())
    names = [exercise.name for exercise in known.exercises()]
    made = {}
    for chapter in chapters:
        texts = dict(_sealed(chapter.exercises, names, world))
        if texts:
            text = json.dumps(texts, indent=0)
            made[f"{FOLDER}/{chapter.stem}.json"] = f"{text}\n".encode()
    return made


def _sealed(
    exercises: Collection[Exercise], names: Collection[str], world: World
) -> Iterator[tuple[str, str]]:
    for exercise in exercises:
        question = questions(exercise.stem).get(exercise.name)
        if question is None:
            continue
        torch.manual_seed(0)
        with world.active():
            answer = question(getattr(world.load(exercise.stem), exercise.name))
        turning = on_the_edge(answer)
        if turning:
            raise ReleaseError(
                f"the question that opens {exercise.full} has an answer that rounding may turn: "
                f"{turning[0]}"
            )
        data = packed(ways_in_kit(exercise.full, names))
        yield exercise.name, seal(data, key_of(exercise.full, answer))
