"""The chapters: where they lie, what they ask for, and the one door to an answer."""

from grader.chapters.answer import Answer, Missing
from grader.chapters.catalogue import Catalogue, Chapter, Exercise, catalogue
from grader.chapters.world import BrokenFile, World

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
