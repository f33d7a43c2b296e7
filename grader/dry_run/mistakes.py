"""What would go wrong on a GPU, and the sentence that says so."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from grader.trouble import printable, words_of

LONGEST = 300

ON_THE_CPU = "`{what}` was made on the CPU while {other} on the GPU: {cure}"
SENTENCES = {
    # the operation would be refused
    "made": ON_THE_CPU,
    "brought": "`{what}` is on the CPU while {other} on the GPU: {cure}",
    "attribute": "`{what}` is a plain tensor: it stays on the CPU when the module is moved, while "
    "{other} on the GPU: {cure}",
    "constant": "`{what}` is kept on the CPU from before the call, while {other} on the GPU: "
    "{cure}",
    "moved": "`{what}` moves it to the CPU while {other} on the GPU: {cure}",
    "written": '`{what}` is on the first GPU, while {other} on the second: "cuda" is written into '
    "the code; {cure}",
    "numpy": "`{what}` fails: NumPy cannot reach a tensor on a GPU; {cure}",
    "generator": "`{what}` draws on the {where} with a generator of the {owner}: {cure}",
    "refuses": "`{what}` is raised, though on the CPU everything works",
    # it would go through
    "left": "`{what}` was made on the CPU, and the output has to be on the GPU: {cure}",
    "left moved": "`{what}` moves the output to the CPU: it has to stay on the GPU",
    "left written": '`{what}` is on the first GPU, and the inputs are on the second: "cuda" is '
    "written into the code; {cure}",
    "unasked": '`{what}` is on a GPU, though nobody asked for one: "cuda" is written into the code',
    "round": "`{what}` moves the work to the CPU, and `{back}` moves the result back to the GPU: "
    "meanwhile the GPU waits, and the CPU does the work",
    "default": "`{what}` changes where everybody's tensors are made, even after the call: pass "
    "`device=` to what you make instead",
    "model": "the call moves its caller's own `{what}` to the CPU: it was on the GPU, and has to "
    "stay there",
    "model written": "the call moves its caller's own `{what}` to the first GPU: it was on the "
    'second, and has to stay there: "cuda" is written into the code; {cure}',
    "lost": "the pretended GPU cannot follow this, so it was not checked ({what})",
    "waits": "`{what}` makes the CPU wait for the GPU: that is right, but slow where it is done "
    "often",
}  # fmt: skip
RAISED = frozenset(
    ("made", "brought", "attribute", "constant", "moved", "written", "numpy", "generator",
     "refuses")
)  # fmt: skip
LEFT = frozenset(("left", "left moved", "left written", "unasked"))
MODEL = frozenset(("model", "model written"))
BESIDES = MODEL | {"round", "default"}
WAITS = frozenset(("waits",))


SOMETHING = "a tensor"
# a file of the student's, and a line of it
CodeLine = tuple[str, int]


@dataclass(frozen=True)
class Mistake:
    """What would go wrong on a GPU.

    Attributes:
        kind: one of SENTENCES.
        what: the expression that does it.
        other: what is on the GPU, with its verb: "`scores` is".
        cure: what to do about it, as the end of a sentence.
        more: the rest that a sentence needs.
        file: the student's file, or nothing.
        line: in it.
        function: in which function.
        text: the whole line.
    """

    kind: str
    what: str = SOMETHING
    other: str = "the inputs are"
    cure: str = ""
    more: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
    text: str = ""

    @property
    def is_named(self) -> bool:
        """Whether it has a line, and an expression in it."""
        return bool(self.file) and self.what != SOMETHING

    @property
    def place(self) -> CodeLine:
        """Where it is."""
        return self.file, self.line

    @property
    def sentence(self) -> str:
        """What goes wrong, in one sentence that begins small."""
        where, _, owner = self.more.partition(" ")
        return SENTENCES[self.kind].format(
            what=self.what, other=self.other, cure=self.cure, back=self.more, where=where,
            owner=owner,
        )  # fmt: skip

    def said(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


def lost(problem: Exception) -> Mistake:
    """Return the note of an error that comes of the pretending."""
    return Mistake("lost", printable(f"{type(problem).__name__}: {words_of(problem)[:80]}"))


def heard(said: Any) -> list[Mistake]:
    """Read what a worker tells; what makes no sense is left out."""
    found = []
    for one in said[:20] if type(said) is list else []:
        if type(one) is not dict or one.get("kind") not in SENTENCES:
            continue
        words = {
            name: printable(value[:LONGEST])
            for name, value in one.items()
            if name in Mistake.__dataclass_fields__ and name != "line" and type(value) is str
        }
        line = one.get("line")
        found.append(Mistake(**words, line=line if type(line) is int else 0))  # type: ignore[arg-type]
    return found
