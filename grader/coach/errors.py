"""Which slip an error shows: by its type, its text, and the line that failed."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from dataclasses import replace

from grader.coach import declared
from grader.coach.error_slips import ErrorSlip, error_like
from grader.coach.known_errors import ERRORS, OTHER_SIGNATURE
from grader.trouble import words_of

REFUSED = ErrorSlip(
    "refuses_what_fits",
    re.compile("^ValueError"),
    "You refuse what is allowed: look at the condition before the `raise`, and at what it is "
    "compared with.",
)
HANDED_ON = ErrorSlip(
    "hands_on_a_misfit",
    re.compile("^ValueError"),
    "`{inner}`, which `{outer}` calls, refuses what is handed on to it: compare the arguments "
    "there, their order, their dimensions and their sizes, with what the stub of `{inner}` asks "
    "for.",
)
KEPT = error_like(
    "kept_from_an_earlier_call",
    "",
    "An earlier call was right, this one stops: something is kept between calls. Compute "
    "everything anew from the arguments of each call.",
)
WHILE_IMPORTED = error_like(
    "runs_while_imported",
    "",
    "That call stands outside all functions, so it runs whenever the file is imported, here too: "
    "take it out, or try things in a file of your own.",
)
IN_A_CIRCLE = error_like(
    "imports_in_a_circle",
    "",
    "A chapter may import earlier ones only: take the import of the later one out.",
)
# what one function refuses of another, torch refuses in one of these ways where nobody looks
OF_SIZES = frozenset({
    "sizes_do_not_line_up", "sizes_do_not_fit", "entry_by_entry", "dimension_out_of_range",
    "one_batch_dimension_only", "reshaped_to_another_size", "fewer_sizes_than_dimensions",
})  # fmt: skip


def error_slip(
    error: BaseException,
    frames: Sequence[traceback.FrameSummary] | None = None,
    stem: str = "",
) -> ErrorSlip | None:
    """Return the slip that an error shows, by its text and by the line that failed.

    Args:
        error: what was raised.
        frames: those of the answer's own that it went through; none if the call itself failed;
            None if they are not known.
        stem: the chapter, which may know errors of its own.
    """
    if getattr(error, "kit_later", False):
        return KEPT
    inside = frames is None or bool(frames)
    line = (frames[-1].line or "") if frames else ""
    if _is_refusal(error, line):
        public = dict.fromkeys(
            (frame.filename, frame.name)
            for frame in frames or ()
            if not frame.name.startswith(("_", "<"))
        )
        return _handed_on([name for _, name in public]) if len(public) > 1 else REFUSED
    said = f"{type(error).__name__}: {words_of(error)}"
    known = (*declared(stem, "ERRORS"), *ERRORS)
    fitting = [slip for slip in known if slip.fits(said, line)]
    return next((s for s in fitting if not (inside and s.name == OTHER_SIGNATURE)), None)


def handed_on(error: BaseException, frames: Sequence[traceback.FrameSummary]) -> bool:
    """Tell whether a function refuses what another one of the same author hands on to it."""
    if not frames or not _is_refusal(error, frames[-1].line or ""):
        return False
    return len({(one.filename, one.name) for one in frames if not one.name.startswith("<")}) > 1


def _is_refusal(error: BaseException, line: str) -> bool:
    return isinstance(error, ValueError) and line.startswith("raise")


def _handed_on(names: Sequence[str]) -> ErrorSlip:
    outer, inner = names[-2:]
    return replace(HANDED_ON, says=HANDED_ON.says.format(outer=outer, inner=inner))
