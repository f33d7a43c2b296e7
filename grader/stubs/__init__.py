"""The stubs as they were at first, and putting them back without touching anything else."""

from grader.stubs.pristine import NoStubsError, Pristine
from grader.stubs.reset import ResetResult, reset
from grader.stubs.splice import BrokenTextError

__all__ = ["BrokenTextError", "NoStubsError", "Pristine", "ResetResult", "reset"]
