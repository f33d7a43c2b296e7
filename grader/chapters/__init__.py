"""The chapters: where they lie, what they ask for, and the one door to an answer."""

from grader.answers.door import Answer
from grader.answers.trouble import BrokenFile, Missing
from grader.answers.world import World
from grader.chapters.catalogue import Catalogue, Chapter, Exercise, catalogue

__all__ = [
    "Answer",
    "BrokenFile",
    "Catalogue",
    "Chapter",
    "Exercise",
    "Missing",
    "World",
    "catalogue",
]
