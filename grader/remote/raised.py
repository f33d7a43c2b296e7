"""Errors on the wire: their kind, their text, and the lines of the student's files they went by."""

from __future__ import annotations

import builtins
import linecache
import os
import traceback
import types
from pathlib import Path
from typing import Any

from grader.answers.door import OF_ANSWER
from grader.answers.world import World
from grader.trouble import (
    BrokenFile,
    HangsError,
    Missing,
    TimeLimit,
    printable,
    words_of,
)

MOST_FRAMES = 3
LONGEST_LINE = 300
MOST_LINES = 2**24


def described(error: BaseException, world: World) -> dict[str, Any]:
    """Describe an error of the answer."""
    if isinstance(error, BrokenFile):
        cause = described(error.cause, world)
        return {"kind": "broken", "stem": error.stem, "file": error.file, "cause": cause}
    if isinstance(error, Missing):
        return {"kind": "missing", "text": words_of(error)}
    if isinstance(error, HangsError):
        return {"kind": "hangs", "text": words_of(error), **_places(error, world)}
    if isinstance(error, TimeLimit):
        return {"kind": "time", **_places(error, world)}
    return _plain(error, world)


def _plain(error: BaseException, world: World) -> dict[str, Any]:
    said: dict[str, Any] = {
        "types": [kind.__name__ for kind in type(error).__mro__[:-1]],
        "text": words_of(error),
        **_places(error, world),
    }
    if isinstance(error, SyntaxError):
        line = error.lineno if isinstance(error.lineno, int) else None
        file = Path(str(error.filename)).name if error.filename else None
        said["syntax"] = [str(error.msg), file, line, str(error.text or "")[:LONGEST_LINE]]
    return said


def _places(error: BaseException, world: World) -> dict[str, Any]:
    folder, steps = str(world.folder), []
    owner, innermost = None, None
    for frame, line in traceback.walk_tb(error.__traceback__):
        mine = frame.f_code.co_filename.startswith(folder)
        owner = world.owner(frame.f_code) if mine else None
        innermost = owner or innermost
        if mine:
            steps.append((frame.f_code, line))
    frames = [
        [os.path.basename(code.co_filename), line, code.co_name,
         linecache.getline(code.co_filename, line).strip()[:LONGEST_LINE]]
        for code, line in steps[-MOST_FRAMES:]
    ]  # fmt: skip
    return {"frames": frames, "owner": owner, "innermost": innermost}


def rebuilt(said: Any, folder: Path) -> BaseException:
    """Make an error out of a description, whatever it holds."""
    if type(said) is not dict:
        said = {}
    kind = said.get("kind")
    error: BaseException
    if kind == "broken":
        cause = rebuilt(said.get("cause"), folder)
        return BrokenFile(_word(said.get("stem")), cause, _word(said.get("file")))
    if kind == "missing":
        return Missing(_text(said.get("text")))
    if kind == "hangs":
        error = HangsError(_text(said.get("text")))
    elif kind == "time":
        error = TimeLimit()
        said = {**said, "owner": said.get("innermost")}
    else:
        error = _made(said)
    error.kit_frames = _frames(said.get("frames"), folder)  # type: ignore[attr-defined]
    error.kit_owner = _word(said.get("owner"))  # type: ignore[attr-defined]
    setattr(error, OF_ANSWER, True)
    return error


def _made(said: dict[str, Any]) -> BaseException:
    listed = said.get("types")
    names = [_word(name) for name in listed[:20]] if type(listed) is list else []
    text = _text(said.get("text"))
    base: type[BaseException] = Exception if "Exception" in names else BaseException
    for name in names:
        found = getattr(builtins, name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            base = found
            break
    if issubclass(base, BaseException) and base.__name__.endswith("Group"):
        base = Exception  # one of these wants errors inside
    name = names[0] if names else "Error"
    kind = types.new_class(name, (base,), {}, lambda space: space.update(__str__=lambda _: text))
    error: BaseException = kind.__new__(kind)  # type: ignore[call-overload]
    error.args = (text,)
    syntax = said.get("syntax")
    if isinstance(error, SyntaxError) and type(syntax) is list and len(syntax) == 4:
        error.msg, error.text = _text(syntax[0]), _text(syntax[3])
        error.filename = _text(syntax[1]) if syntax[1] else None
        error.lineno = _line(syntax[2])
    return error


def _frames(said: Any, folder: Path) -> list[traceback.FrameSummary]:
    made = []
    for frame in said[:MOST_FRAMES] if type(said) is list else []:
        if type(frame) is list and len(frame) == 4 and _line(frame[1]):
            # code may have any name, also one of several lines
            file, name, line = (" ".join(_text(frame[at]).splitlines()) for at in (0, 2, 3))
            file, name, line = Path(file).name, name[:LONGEST_LINE], line[:LONGEST_LINE]
            made.append(
                traceback.FrameSummary(
                    str(folder / file), frame[1], name or "?", lookup_line=False, line=line
                )
            )
    return made


def _line(said: Any) -> int | None:
    return said if type(said) is int and 0 < said < MOST_LINES else None


def _word(said: Any) -> str:
    """Return what may be a name: letters, digits and dots."""
    text = said if type(said) is str else ""
    return "".join(sign for sign in text[:100] if sign.isalnum() or sign in "._")


def _text(said: Any) -> str:
    return printable(said[:4000]) if type(said) is str else ""
