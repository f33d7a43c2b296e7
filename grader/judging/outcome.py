"""How a check ended, read off the exception that ended it."""

from __future__ import annotations

import re
import traceback
import types
from dataclasses import dataclass, field
from typing import Any, Literal

from grader.answers.door import OF_ANSWER, Answers
from grader.answers.pretended import Mistake
from grader.answers.trouble import BrokenFile, HangsError, Missing, TimeLimit, words_of
from grader.coach.common import Common
from grader.suite.compare import Finding

Verdict = Literal[
    "passed", "failed", "error", "timeout", "crashed", "forbidden", "not started"
]  # fmt: skip
FULL_NAME = re.compile(r"\b(ex\d\d_\w+\.\w+)\b")
OF_TORCH_FOR_THE_ANSWER = ("nn/modules/module.py", "autograd/__init__.py", "autograd/graph.py")
# of a fault so many pieces of its traceback are told
MOST_OF_FAULT = 6
OF_TORCH = re.compile(r"not implemented for|Could not run 'aten::")


@dataclass
class Outcome:
    """What became of one check.

    Attributes:
        verdict: as the report names it.
        finding: what was found wrong, for a failed check.
        error: what the answer, or the import of its file, raised.
        frames: the lines of the student's own files that the error went through.
        stuck_at: an exercise that was called and is not started, or does not come back.
        where: which comparison of the check it was: its lines in the suite.
        message: the whole text for the student.
        headline: its first sentence.
        slip: the known slip that the output equals.
        blame: the earlier exercises that alone make this check fail.
        tried: what came to light when the answer was called in other ways.
        suspects: whether this is only likely, because nothing could stand in for them.
        notes: what is to be said although the check passed.
        fault: the traceback of an error of the suite itself.
    """

    verdict: Verdict
    finding: Finding | None = None
    error: BaseException | None = None
    frames: list[traceback.FrameSummary] = field(default_factory=list)
    stuck_at: str | None = None
    where: tuple[tuple[str, int], ...] = ()
    message: str = ""
    headline: str = ""
    slip: str | None = None
    blame: tuple[str, ...] = ()
    tried: Common | None = None
    suspects: bool = False
    notes: tuple[Mistake, ...] = ()
    fault: str = ""

    @property
    def passed(self) -> bool:
        """Whether the check passed."""
        return self.verdict == "passed"


def outcome_of(error: BaseException | None, exercise: str, world: Answers) -> Outcome:
    """Sort an exception into an outcome.

    Args:
        error: what ended the check; None if it came to its end.
        exercise: the full name of the exercise that the check belongs to.
        world: the answers that ran.
    """
    if error is None:
        return Outcome("passed")
    where = _where(error)
    if isinstance(error, Finding):
        verdict: Verdict = "forbidden" if error.kind == "forbidden" else "failed"
        return Outcome(verdict, finding=error, where=where)
    if isinstance(error, Missing):
        return Outcome("not started", error=error, where=where)
    if isinstance(error, BrokenFile):
        cause = error.root.cause
        late: Verdict = "timeout" if is_time_limit(cause) else "error"
        return Outcome(late, error=error, frames=student_frames(cause, world))
    if is_of_the_suite(error, world):
        fault = "".join(traceback.format_exception(error)[-MOST_OF_FAULT:])
        return Outcome("error", error=error, where=where, fault=fault)
    waiting = _not_started(error, world) if isinstance(error, NotImplementedError) else None
    if waiting == exercise:
        return Outcome("not started", error=error, where=where)
    if isinstance(error, HangsError):
        waiting = str(error)
    frames = student_frames(error, world)
    return Outcome("error", error=error, frames=frames, stuck_at=waiting, where=where)


def is_of_the_suite(error: BaseException, world: Answers) -> bool:
    """Tell whether an error was made by a suite and not by the answer.

    The answer's has come through the door, out of a module of the answer's, or out of its graph.
    """
    if getattr(error, OF_ANSWER, False) or student_frames(error, world):
        return False
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    return not any(file.replace("\\", "/").endswith(OF_TORCH_FOR_THE_ANSWER) for file in files)


def is_time_limit(problem: BaseException) -> bool:
    """Tell whether the time was up, by our own clock or by pytest-timeout's."""
    if isinstance(problem, TimeLimit):
        return True
    return type(problem).__name__ == "Failed" and "Timeout" in words_of(problem)


def student_frames(error: BaseException, world: Answers) -> list[traceback.FrameSummary]:
    """Return the frames of a traceback that lie in the student's files."""
    if hasattr(error, "kit_frames"):
        return list(error.kit_frames)
    folder = str(world.folder)
    return [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(folder)]


def _where(error: BaseException) -> tuple[tuple[str, int], ...]:
    # not traceback.extract_tb: it reads the source of every frame
    return tuple(
        (frame.f_code.co_name, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if "test_ex" in frame.f_code.co_filename
    )


def _not_started(error: NotImplementedError, world: Answers) -> str | None:
    """Name the exercise whose stub raised, by its message or else by its code."""
    # torch raises it too: what calls torch has been started
    if OF_TORCH.search(words_of(error)):
        return None
    said = FULL_NAME.search(words_of(error))
    if said:
        stem, name = said.group(1).split(".")
        if name in world.names.get(stem, ()):
            return said.group(1)
    return owner_of_last_frame(error, world)


def owner_of_last_frame(error: BaseException, world: Answers) -> str | None:
    """Name the exercise in whose code an error was raised."""
    if hasattr(error, "kit_owner"):
        return str(error.kit_owner) if error.kit_owner else None
    last: types.TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return world.owner(last.tb_frame.f_code) if last is not None else None


def describe(value: Any) -> str:
    """Say what a value is: its type, and for a tensor its dtype, shape and device."""
    import torch

    from grader.answers.pretended.tensors import Elsewhere

    if isinstance(value, torch.Tensor):
        pretended = isinstance(value, Elsewhere)
        name = "" if pretended or type(value) is torch.Tensor else type(value).__name__
        dtype = str(value.dtype).removeprefix("torch.")
        place = "" if pretended or value.device.type == "cpu" else f" on {value.device}"
        return f"{name} {dtype} {list(value.shape)}{place}".strip()
    if type(value).__module__ == "numpy":
        return f"NumPy {type(value).__name__} {list(getattr(value, 'shape', []))}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, torch.nn.Module):
        return "a model"
    if isinstance(value, torch.Generator):
        return "a generator"
    if isinstance(value, dict | set | frozenset) and not _is_small(value):
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _is_small(values: Any) -> bool:
    """Tell whether a dictionary or a set can be written out: few plain values, no tensors."""
    inner = values.values() if isinstance(values, dict) else ()
    plain = (str, int, float, bool, type(None))
    return len(values) <= 16 and all(type(one) in plain for one in (*values, *inner))
