"""Notebooks: written from the exercise files, checked while they run, and read when handed in.

What is imported from here is what a notebook's own cells call; torch and the suites come only
with the first call.
"""

from grader.notebooks.cells import check, hint, quiz, show, start, why

__all__ = ["check", "hint", "quiz", "show", "start", "why"]
