"""Walls around a process that runs a stranger's code, by the kernel's own means."""

from grader.sandbox.enclosure import enclose
from grader.sandbox.environment import clean_environment
from grader.sandbox.isolation import Isolation
from grader.sandbox.kernel import SandboxError
from grader.sandbox.narrowing import narrow
from grader.sandbox.nursery import prepare_nursery
from grader.sandbox.probe import offered
from grader.sandbox.walls import Walls

__all__ = [
    "Isolation",
    "SandboxError",
    "Walls",
    "clean_environment",
    "enclose",
    "narrow",
    "offered",
    "prepare_nursery",
]
