"""Writing the message: what was expected, what came, where it differs, the likely slip."""

from __future__ import annotations

import textwrap
import traceback
from typing import Any, TypeGuard

from torch import Tensor

from grader import devices, nested
from grader.answers.calls import Call
from grader.coach import Slip
from grader.coach.common import OTHER_ORDER, RANDOM, Common, common_slip, fill
from grader.coach.error_slips import ErrorSlip
from grader.coach.errors import IN_A_CIRCLE, WHILE_IMPORTED, error_slip
from grader.coach.relations import relation
from grader.costs import Cost
from grader.judging.misfits import NOT_REFUSED
from grader.judging.outcome import OUTSIDE, Outcome, contents, describe, is_time_limit
from grader.judging.promise import promise
from grader.naming import in_words
from grader.pictures import text as picture
from grader.suite.check import Check
from grader.suite.compare import OUTPUT, Finding
from grader.trouble import ABSENT, BrokenFile, HangsError, printable, words_of
from grader.written.cells import CELL
from grader.written.source import Unreadable

WIDTH, MARGIN = 88, 4
MOST_FRAMES = 3
MOST_KEYS = 6
BACK = (
    "an earlier copy of the notebook: Jupyter has the one that you saved last by hand under File, "
    "Revert. If there is none: python -m grader reset {stem}"
)

LET_THROUGH = "it calls {}, which fails its own check of the same refusal: mend that first."


def explain(check: Check, outcome: Outcome, slip: Slip | None, call: Call | None) -> str:
    """Write the message of a check that did not pass, and note the slip in the outcome."""
    if outcome.verdict == "not started":
        return _not_started(check, outcome)
    if outcome.fault:
        return _fault(check, outcome)
    head, advice = _headline(check, outcome), _slip_lines(outcome, slip, call)
    outcome.headline = " ".join(line.strip() for line in head if line[:1] not in ("", " "))
    drawn = drawing(outcome)
    lines = [*head, *([""] if drawn else []), *drawn, *_line(outcome), "", *advice, *_also(outcome)]
    if isinstance(outcome.error, BrokenFile) or _is_no_python(outcome.error):
        return "\n".join(lines).rstrip()
    if call is not None and outcome.stuck_at is None:
        lines += _wrap("Called as", _call(call))
    if outcome.stuck_at is None:
        lines += _promised(check, outcome, call)
    return "\n".join(lines).rstrip()


def _fault(check: Check, outcome: Outcome) -> str:
    outcome.headline = f"{check.full_exercise}: the check itself failed"
    lines = _block(
        f"{outcome.headline}, which is a fault of the kit and not yours: please report it"
    )
    return "\n".join([*lines, "", *outcome.fault.rstrip().split("\n")])


def explain_time_limit(check: Check, outcome: Outcome, guilty: str) -> str:
    """Write the message of a check whose time was up."""
    other = "" if guilty == check.full_exercise else f", stuck in {guilty}"
    lines = _block(f"{check.full_exercise} did not come back in time{other}")
    lines += [*_frames(outcome.frames), ""]
    says = "A loop that never ends, or one that is far longer than these few inputs need."
    return "\n".join(lines + _wrap("Likely slip", says))


def explain_lost_device(check: Check, outcome: Outcome, device: str) -> str:
    """Write the message of a check after which a device does nothing more in this process."""
    place, error = devices.kind(device), outcome.headline
    outcome.headline = f"{check.full_exercise} left {place} broken: {error}"
    lines = [*_block(outcome.headline), *_frames(outcome.frames), ""]
    says = (
        f"An index out of its range breaks {place} for the whole process, and is told of later "
        "than it happens, so do not trust the line. On the CPU it is an IndexError in the line "
        "where it happens: run `pytest` without --device."
    )
    return "\n".join(lines + _wrap("Likely slip", says))


def explain_lost(name: str, says: str, blame: tuple[str, ...]) -> str:
    """Write the message of a check whose process was lost."""
    lines = [f"{name} {says}"]
    return "\n".join([*lines, "", *_because(blame)] if blame else lines)


def noted(check: Check, outcome: Outcome) -> str:
    """Write what a check says that has passed: how the exercise does on a GPU."""
    said = []
    for note in outcome.notes:
        where = f" ({note.file}, line {note.line})" if note.file else ""
        said.append(f"{check.full_exercise} on a pretended GPU: {note.sentence}{where}")
    return "\n".join(dict.fromkeys(said))


def _promised(check: Check, outcome: Outcome, call: Call | None) -> list[str]:
    said = promise(check, outcome, call)
    return [] if said is None else _wrap(said[0], f'"{said[1]}"')


def _not_started(check: Check, outcome: Outcome) -> str:
    said = str(outcome.error) if outcome.error is not None else ""
    if " has no " in said or " not a function" in said:
        return f"{check.full_exercise} is not started: {said}"
    return f"{check.full_exercise} is not started"


def _headline(check: Check, outcome: Outcome) -> list[str]:
    if outcome.finding is not None:
        return _block(f"{check.full_exercise}: {_difference(outcome.finding)}")
    if isinstance(outcome.error, BrokenFile):
        return _broken(outcome.error, outcome)
    if outcome.stuck_at is not None:
        hangs = isinstance(outcome.error, HangsError)
        why = "did not come back from an earlier check" if hangs else "is not started yet"
        if _absent(outcome):
            why = f"is in {_absent(outcome)}, and there is no such file"
        stuck = f"it calls {outcome.stuck_at}, which {why}"
        return _block(f"{check.full_exercise} cannot go on: {stuck}")
    return _raised(check, outcome)


def _absent(outcome: Outcome) -> str:
    """Name the file that was called, if there is none; "" otherwise."""
    return words_of(outcome.error).partition(ABSENT)[2] if outcome.error else ""


def _difference(found: Finding) -> str:
    label = found.label
    if found.kind in ("built", "type"):
        return _built(found) if found.kind == "built" else _unlike(found)
    if found.mistake is not None:
        return f"on a pretended GPU, {found.mistake.sentence}"
    if found.kind in ("shape", "dtype", "device"):
        got, want = (_attribute(value, found.kind) for value in (found.actual, found.expected))
        return f"expected the {found.kind} {want} for {label}, got {got}"
    if found.kind == "value":
        return _first_difference(found)
    if found.kind == "no gradient":
        return f"no gradient reaches {label}"
    if found.kind in ("changed", "switched"):
        return f"the call changed {label}"
    if found.kind == "forbidden":
        return f"it calls the ready-made `{found.actual}`, which you are asked to build yourself"
    if found.kind in NOT_REFUSED:
        return f"{label}: {_refusal(found)}"
    if found.detail:
        return f"{label}: {found.detail}"
    return _unlike(found)


def _unlike(found: Finding) -> str:
    came, wanted = describe(found.actual), describe(found.expected)
    return f"expected {wanted} for {found.label}, got {came}"


def _built(found: Finding) -> str:
    """Say how what came back is put together, and how it has to be."""
    came, wanted = found.actual, found.expected
    whole = "it" if not found.path and found.what == OUTPUT else found.label
    if isinstance(wanted, dict) and isinstance(came, dict):
        keys = in_words([repr(key) for key in wanted])
        return f"{whole} has to be a dict with the keys {keys}, and has {_keys(came)}"
    has = "has to return" if whole == "it" else "has to be"
    return f"{whole} {has} {_article(wanted)}, and {_article(came)} came"


def _keys(came: dict[Any, Any]) -> str:
    return " and ".join(printable(repr(key))[:40] for key in [*came][:MOST_KEYS]) or "none"


def _article(value: Any) -> str:
    if isinstance(value, Tensor):
        return "a tensor"
    return "None" if value is None else f"a {describe(value)}"


def _attribute(value: Tensor | str, kind: str) -> str:
    if isinstance(value, str):
        return value
    if kind == "shape":
        return str(list(value.shape))
    return str(getattr(value, kind)).removeprefix("torch.")


def _refusal(found: Finding) -> str:
    if found.kind == "not refused":
        return f"expected a {found.expected}, got {describe(found.actual)}"
    if found.detail in ("sizes", "word"):
        missing = ", ".join(str(size) for size in found.expected)
        none = "names none of" if len(found.expected) > 1 else "does not name"
        return f'it is refused with "{_clip(found.actual)}", which {none} {missing}'
    return f'expected a {found.expected}, got "{_clip(found.actual)}"'


def _first_difference(found: Finding) -> str:
    assert found.wrong is not None
    wrong = found.wrong
    first = tuple(int(i) for i in wrong.nonzero()[0])
    got, want = found.actual[first].item(), found.expected[first].item()
    if wrong.dim() == 0:
        return f"expected {_digits(want)} for {found.label}, got {_digits(got)}"
    count = f"{int(wrong.sum())} of {wrong.numel()} values of {found.label} differ"
    return f"{count}, first at {list(first)}: expected {_digits(want)}, got {_digits(got)}"


def _digits(value: float) -> str:
    # minus zero is a zero like any other
    return f"{value + 0.0:.6g}" if isinstance(value, float) else str(value)


def _clip(text: str) -> str:
    text = " ".join(str(text).split())
    return text if len(text) <= 200 else text[:197] + "..."


def _broken(error: BrokenFile, outcome: Outcome) -> list[str]:
    file, cause = error.root.file, error.root.cause
    if error.goes_in_a_circle:
        inner = error.root.stem
        why = f"it imports {inner}, which needs {error.stem} in turn"
        if inner < error.stem:
            why = f"{inner} imports {error.stem} in turn, a later chapter"
        return _block(f"{error.file} stops while it is imported: {why}")
    user = "" if error.root is error else f", which {error.file} imports,"
    if isinstance(cause, Unreadable):
        return _block(f"{cause}{f' ({error.file} imports it)' if user else ''}")
    if isinstance(cause, SyntaxError):
        return not_python(cause, file) + (["", f"{error.file} imports it"] if user else [])
    if is_time_limit(cause):
        lines = _block(f"{file}{user} does not come to its end while it is imported")
        return lines + _frames(outcome.frames)
    lines = _block(f"{file}{user} stops while it is imported: {_said(cause)}")
    return lines + _frames(outcome.frames)


def _is_no_python(error: BaseException | None) -> TypeGuard[SyntaxError]:
    """Tell whether there is no function, because its cell of a notebook cannot be read."""
    return isinstance(error, SyntaxError) and CELL.search(error.filename or "") is not None


FUTURE = (
    "This line has to stand above all others but the description at the top: what stands above it, "
    "such as an `import` of yours, belongs below it."
)


def not_python(error: SyntaxError, file: str) -> list[str]:
    """Say where something is not Python, and why."""
    name = (error.filename or file).replace("\\", "/").split("/")[-1]
    line = f", line {error.lineno}" if error.lineno else ""
    # of a file that could not be read the reader has said which it is
    is_told = str(error.msg).startswith(name.split(".")[0])
    lines = _block(str(error.msg) if is_told else f"{name}{line} is not Python yet: {error.msg}")
    text = " ".join((error.text or "").split())
    lines += ["", f"    {text}"] if text else []
    if "__future__ imports must" in str(error.msg):
        lines += ["", *_wrap("What helps", FUTURE)]
    return lines


def _raised(check: Check, outcome: Outcome) -> list[str]:
    assert outcome.error is not None
    if _is_no_python(outcome.error):
        return not_python(outcome.error, "")
    lines = _block(f"{check.full_exercise} stopped with {_said(outcome.error)}")
    return lines + _frames(outcome.frames)


def _said(error: BaseException) -> str:
    text = _clip(words_of(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _frames(frames: list[traceback.FrameSummary]) -> list[str]:
    lines = []
    # where it began, and where it ended
    for frame in frames if len(frames) <= MOST_FRAMES else [frames[0], *frames[1 - MOST_FRAMES :]]:
        name = frame.filename.replace("\\", "/").split("/")[-1]
        lines += ["", f"    {name}, line {frame.lineno}, in {frame.name}", f"        {frame.line}"]
    return lines


def drawing(outcome: Outcome, width: int = WIDTH) -> list[str]:
    """Draw wrong values beside the right ones; nothing if no matrix is wrong."""
    found = outcome.finding
    if found is None or found.kind != "value" or found.wrong is None or found.wrong.dim() == 0:
        return []
    drawn = picture.side_by_side(found.expected, found.actual, found.wrong, width - MARGIN)
    return [f"{'':<{MARGIN}}{line}" for line in drawn]


def _line(outcome: Outcome) -> list[str]:
    """Show the line of a mistake of devices, or the one that made the largest tensor."""
    found = outcome.finding
    cost = found.actual if found is not None and isinstance(found.actual, Cost) else None
    place = cost or (found.mistake if found is not None else None)
    if place is None or not place.file:
        return []
    line = traceback.FrameSummary(
        place.file, place.line, place.function, lookup_line=False, line=place.text
    )
    return _frames([line]) + ([f"        makes the largest tensor, {cost.shape}"] if cost else [])


def _also(outcome: Outcome) -> list[str]:
    """Name the other lines that would go wrong on a GPU."""
    found = outcome.finding
    if found is None or found.mistake is None or not found.also:
        return []
    said = []
    for one in found.also:
        file = f" of {one.file}" if one.file != found.mistake.file else ""
        said.append(f"on line {one.line}{file}: `{one.what}`")
    *before, last = said
    return _wrap("Also", f"{', '.join(before)}, and {last}." if before else f"{last}.")


def _slip_lines(outcome: Outcome, slip: Slip | None, call: Call | None) -> list[str]:
    if outcome.blame:
        if outcome.let_through:
            return _wrap("Because", LET_THROUGH.format(in_words(outcome.blame)))
        return _because(outcome.blame, likely=outcome.suspects)
    if slip is not None:
        outcome.slip = slip.name
        return _advised(slip.says, slip.read)
    if outcome.tried in (RANDOM, OTHER_ORDER):
        return _told(outcome, outcome.tried)
    if outcome.finding is not None:
        return _of_finding(outcome, outcome.finding, call)
    if outcome.stuck_at is not None:
        file = _absent(outcome)
        said = f"put your {file} beside {outcome.stem}.py." if file else outcome.stuck_at
        return _wrap("Do first", said)
    if isinstance(outcome.error, BrokenFile):
        return _of_broken(outcome, outcome.error)
    return _of_error(outcome, outcome.error)


def _of_broken(outcome: Outcome, error: BrokenFile) -> list[str]:
    root = error.root
    if error.goes_in_a_circle:
        return _told(outcome, IN_A_CIRCLE)
    if isinstance(root.cause, Unreadable):
        return _wrap("What helps", BACK.format(stem=root.stem))
    if outcome.frames and outcome.frames[-1].name != OUTSIDE:
        return _told(outcome, WHILE_IMPORTED)
    return _of_error(outcome, root.cause)


def _of_error(outcome: Outcome, error: BaseException | None) -> list[str]:
    if isinstance(error, SyntaxError):
        return []
    known = error_slip(error, outcome.frames, outcome.stem) if error else None
    return _told(outcome, known or outcome.tried)


def _because(blame: tuple[str, ...], *, likely: bool = False) -> list[str]:
    names = in_words(blame)
    word = "is" if len(blame) == 1 else "are"
    if likely:
        return _wrap("Because", f"it calls {names}, which {word} wrong: mend that first.")
    return _wrap("Because", f"only {names} {word} wrong: mend that, and this check passes.")


def _told(outcome: Outcome, slip: Common | ErrorSlip | None) -> list[str]:
    if slip is None:
        return []
    outcome.slip = slip.name
    return _advised(slip.says, slip.read)


def _advised(says: str, read: str) -> list[str]:
    return _wrap("Likely slip", says) + (_wrap("Read on", read) if read else [])


def _of_finding(outcome: Outcome, found: Finding, call: Call | None) -> list[str]:
    common = common_slip(found, outcome.stem)
    if common is not None and not outcome.beside_the_point:
        outcome.slip = common.name
        return _advised(fill(common.says, found), common.read)
    lines = _told(outcome, outcome.tried)
    if found.kind in ("value", "shape") and isinstance(found.actual, Tensor):
        given = [v for v in nested.flat(*(call.args if call else ())) if isinstance(v, Tensor)]
        seen = relation(found.actual, found.expected, given)
        if seen is not None:
            label = found.label if found.label != OUTPUT else "your output"
            said = seen.replace("Your output", label[:1].upper() + label[1:])
            lines += _wrap("It seems", said)
    return lines


def _call(call: Call) -> str:
    name = call.name if call.made is None else _call(call.made)
    name += f".{call.method}" if call.method else ""
    said = [contents(value) for value in call.args]
    said += [f"{name}={contents(value)}" for name, value in call.kwargs.items()]
    return f"{name}({', '.join(said)})"


def _block(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH) or [""]


def _wrap(title: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {title:<12} ", subsequent_indent=" " * 15)
