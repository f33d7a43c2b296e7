"""How a check ended, read off the exception that ended it."""

from __future__ import annotations

import itertools
import re
import traceback
import types
from dataclasses import dataclass, field
from typing import Any, Literal

from grader import nested
from grader.answers.calls import Call
from grader.answers.door import OF_ANSWER
from grader.answers.protocol import Answers
from grader.coach.common import Common
from grader.dry_run import Mistake
from grader.suite.compare import Finding
from grader.trouble import BrokenFile, HangsError, Missing, TimeLimit, printable, said_by, words_of

Verdict = Literal[
    "passed", "failed", "error", "timeout", "crashed", "forbidden", "not started", "not run"
]  # fmt: skip
FULL_NAME = re.compile(r"\b(ex\d\d_\w+\.\w+)\b")
OF_TORCH_FOR_THE_ANSWER = ("nn/modules/module.py", "autograd/__init__.py", "autograd/graph.py")
# of a fault so many pieces of its traceback are told
MOST_OF_FAULT = 6
# of a container with so many values each is told
MOST_TOLD = 4
# of a value so many characters are written
MOST_WRITTEN = 60
# what Python calls the code of a file that stands outside all functions
OUTSIDE = "<module>"
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
        call: the last call of the exercise in the check, if it did not pass.
        message: the whole text for the student.
        headline: its first sentence.
        slip: the known slip that the output equals.
        blame: the earlier exercises that alone make this check fail.
        tried: what came to light when the answer was called in other ways.
        suspects: whether this is only likely, because nothing could stand in for them.
        follows: whether it has been run, and passes, with what is to blame put right.
        let_through: whether what is to blame had to refuse a misfit, and did not.
        beside_the_point: whether what is known of what was found would mislead, because an earlier
            check has found what comes first: wrong values before a cost, or that it always stops.
        notes: what is to be said although the check passed.
        left: what its calls have left behind, for other checks to find.
        fault: the traceback of an error of the suite itself.
        stem: the chapter that the check belongs to, where something was found or raised.
    """

    verdict: Verdict
    finding: Finding | None = None
    error: BaseException | None = None
    frames: list[traceback.FrameSummary] = field(default_factory=list)
    stuck_at: str | None = None
    where: tuple[tuple[str, int], ...] = ()
    call: Call | None = None
    message: str = ""
    headline: str = ""
    slip: str | None = None
    blame: tuple[str, ...] = ()
    tried: Common | None = None
    suspects: bool = False
    follows: bool = False
    let_through: bool = False
    beside_the_point: bool = False
    notes: tuple[Mistake, ...] = ()
    left: tuple[Finding, ...] = ()
    fault: str = ""
    stem: str = ""

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
    where, stem = _where(error), exercise.split(".", maxsplit=1)[0]
    if isinstance(error, Finding):
        verdict: Verdict = "forbidden" if error.kind == "forbidden" else "failed"
        return Outcome(verdict, finding=error, where=where, stem=stem)
    if isinstance(error, Missing):
        return Outcome("not started", error=error, where=where)
    if isinstance(error, BrokenFile):
        cause = error.root.cause
        late: Verdict = "timeout" if is_time_limit(cause) else "error"
        return Outcome(late, error=error, frames=student_frames(cause, world), stem=stem)
    if is_of_the_suite(error, world):
        fault = "".join(traceback.format_exception(error)[-MOST_OF_FAULT:])
        return Outcome("error", error=error, where=where, fault=fault)
    waiting = _not_started(error, world) if isinstance(error, NotImplementedError) else None
    if waiting == exercise:
        return Outcome("not started", error=error, where=where)
    if isinstance(error, HangsError):
        waiting = str(error)
    frames = student_frames(error, world)
    return Outcome("error", error=error, frames=frames, stuck_at=waiting, where=where, stem=stem)


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
    suite = itertools.takewhile(_before_the_answer, traceback.walk_tb(error.__traceback__))
    return tuple(
        (frame.f_code.co_name, line)
        for frame, line in suite
        if "test_ex" in frame.f_code.co_filename
    )


def _before_the_answer(step: tuple[types.FrameType, int]) -> bool:
    """Leave out what the answer calls of the suite: from another process it is not seen."""
    return not step[0].f_globals.get("__name__", "").startswith("grader.answers.")


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

    from grader.dry_run.tensors import Elsewhere

    if isinstance(value, torch.Tensor):
        pretended = isinstance(value, Elsewhere)
        name = "" if pretended or type(value) is torch.Tensor else type(value).__name__
        dtype = str(value.dtype).removeprefix("torch.")
        place = "" if pretended or value.device.type == "cpu" else f" on {value.device}"
        return f"{name} {dtype} {list(value.shape)}{place}".strip()
    if type(value).__module__ == "numpy":
        return f"NumPy {type(value).__name__} {list(getattr(value, 'shape', []))}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} of {len(nested.entries(value))}"
    if isinstance(value, torch.nn.Module):
        return "a model"
    if isinstance(value, torch.Generator):
        return "a generator"
    if isinstance(value, dict | set | frozenset) and not _is_small(value):
        return f"{type(value).__name__} of {len(value)}"
    text = printable(said_by(value))
    return text if len(text) <= MOST_WRITTEN else text[: MOST_WRITTEN - 3] + "..."


def contents(value: Any) -> str:
    """Say what a value is, and of a few tensors or plain values in a container, what these are."""
    if isinstance(value, tuple | list) and _is_short(value):
        return printable(repr(value))
    inner = nested.entries(value) if nested.container(value) else []
    if not 0 < len(inner) <= MOST_TOLD or not any(map(_is_tensor, nested.flat(value))):
        return describe(value)
    told = [contents(one) for _, one in inner]
    if isinstance(value, dict):
        told = [f"{key!r}: {one}" for (key, _), one in zip(inner, told, strict=True)]
        return f"{{{', '.join(told)}}}"
    if isinstance(value, list):
        return f"[{', '.join(told)}]"
    return f"({', '.join(told)}{',' if len(told) == 1 else ''})"


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _is_short(values: tuple[Any, ...] | list[Any]) -> bool:
    """Tell whether a tuple or a list can be written out: a few plain numbers and words."""
    plain = all(type(one) in (str, int, float, bool) for one in values)
    few = type(values) in (tuple, list) and 0 < len(values) <= MOST_TOLD
    return few and plain and len(repr(values)) <= MOST_WRITTEN


def _is_small(values: Any) -> bool:
    """Tell whether a dictionary or a set can be written out: few plain values, no tensors."""
    inner = values.values() if isinstance(values, dict) else ()
    plain = (str, int, float, bool, type(None))
    return len(values) <= 16 and all(type(one) in plain for one in (*values, *inner))
