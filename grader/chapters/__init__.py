"""The chapters: where they lie, what they ask for, and the one door to an answer."""

from grader.answers.door import Answer
from grader.answers.world import World
from grader.author_errors import ChapterError
from grader.chapters.catalogue import Catalogue, Chapter, Exercise, catalogue
from grader.trouble import BrokenFile, Missing

__all__ = [
    "Answer",
    "BrokenFile",
    "Catalogue",
    "Chapter",
    "ChapterError",
    "Exercise",
    "Missing",
    "World",
    "catalogue",
]
