"""What a chapter's drawing draws on: it calls the answer's functions and lays out what comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader import nested
from grader.pictures.model import DocumentNumbers, Panel, Picture, Row, Scale
from grader.showing import example
from grader.showing.example import Example
from grader.showing.value import Made, of_answer, right
from grader.showing.workbench import CallResult, Stopped, Workbench
from grader.suite.expected import NotRecorded, on_tape, worked_out

RANDOM = (
    "The vectors of your words are random, though a word always gets the same one: read how the "
    "numbers come about, not which word suits which."
)
NO_WORDS = "--text changes nothing in this picture."
OF_YOURS = "No document prints numbers of your words."
NOT_PRINTED = "The documents print no numbers for this picture."


class Sketch:
    """One picture in the making.

    Args:
        bench: runs the answer's functions.
        picture: what has been drawn so far.
        words: the student's own, if there are any.
        against: whether to lay beside it what the documents print.
    """

    def __init__(
        self, bench: Workbench, picture: Picture, words: Sequence[str] | None, against: bool
    ) -> None:
        self.bench, self.picture, self.against = bench, picture, against
        self._words = list(words) if words else None
        self._used_words = self._random = False
        self._first_wrong, self._agrees = "", True
        self._cited: dict[str, None] = {}

    # what to draw

    @property
    def words(self) -> list[str] | None:
        """The student's own words, or None."""
        self._used_words = True
        return self._words

    def three(self) -> Example:
        """Return the tokens of document 002, or the student's own words in their place."""
        return self._own(example.three_tokens(self._work))

    def poem(self) -> Example:
        """Return "write a poem" of document 001, or the student's own words in its place."""
        return self._own(example.poem(self._work))

    def _own(self, given: Example) -> Example:
        words = self.words
        if words is None:
            return given
        self._random = True
        return example.with_words(given, words)

    def both(self) -> list[Example]:
        """Return both examples; of one's own words there is only one."""
        return [self.three()] if self.words else [self.three(), self.poem()]

    def memory(self) -> Example:
        """Return "write a poem", whatever the student's own words are."""
        return example.poem(self._work)

    def embedded(self, words: Sequence[str], width: int) -> Tensor:
        """Give each word a random vector, the same for the same word."""
        self._random |= list(words) == self._words
        return example.embedded(words, width)

    # running the answer

    def call(
        self, name: str, *args: Any, want: Any = None, part: nested.Path = (), **options: Any
    ) -> Made:
        """Call a function of the answer, and the right arithmetic beside it.

        Args:
            name: of this chapter, or in full.
            args: plain values, or what other calls made.
            want: what is right, where the suite has no arithmetic for it.
            part: which part of the output is meant, as ("mean",) of a dict or (0,) of a tuple.
            options: keyword arguments of the call.
        """

        def way(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
            output = function(*args, **options)
            try:
                return nested.at(output, part)
            except LookupError:
                return output  # which is no tensor, and is told as that

        return self.use(name, way, *args, want=want)

    def use(
        self, name: str, way: Callable[[Callable[..., Any], tuple[Any, ...]], Any], *args: Any,
        want: Any = None, within: float | None = None,
    ) -> Made:  # fmt: skip
        """Use a function of the answer in some way, and the right one in the same way.

        Args:
            name: of this chapter, or in full.
            way: gets the function and the arguments, and returns a tensor.
            args: plain values, or what other calls made.
            want: what is right, where the suite has no arithmetic for it.
            within: how far it may be off, as a share, where chance decides.
        """
        full = self.bench.full(name)
        if want is None:
            known = tuple(right(value) for value in args)
            want = self.known(full, lambda: way(self.bench.reference(full), known))
        given = tuple(of_answer(value) for value in args)
        done = self.bench.run(full, lambda function: way(function, given))
        if want is None and done.missing:
            raise Stopped(f"{done.missing}: this picture needs it.", not_started=False)
        made = Made.compare(full, done.result, want, done.missing, within)
        if made.differs:
            self.differs(full)
        return made

    def watch(self, name: str, way: Callable[[Callable[..., Any]], Any]) -> Made:
        """Use a function of the answer to see how it goes about it, which is nobody's to compare.

        Args:
            name: of this chapter, or in full.
            way: gets the function, and returns a tensor.
        """
        full = self.bench.full(name)
        done = self.bench.run(full, way)
        if done.missing:
            raise Stopped(f"{done.missing}.", not_started=False)
        return Made.compare(full, done.result, None, "")

    def known(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what is right; None if this is a students' pack, and it does not hold that.

        Args:
            name: what it is, for the record.
            compute: works it out.
        """
        try:
            return worked_out(name, compute)
        except NotRecorded:
            return None

    def of_this_answer(self, compute: Callable[[], Any]) -> Any:
        """Return what is right for this answer alone; None if this is a students' pack."""
        with on_tape(None):
            return self.known("", compute)

    def _work(self, name: str, *args: Any) -> Tensor:
        """Work out a step of an example, right, or else with the answer's own function."""
        full = self.bench.full(name)
        known = [right(value) for value in args]
        made = self.known(f"a step: {full}", lambda: self.bench.reference(full)(*known))
        if made is None:
            done = self.bench.run(full, lambda function: function(*args))
            made = done.result
            if not isinstance(made, Tensor):
                said = done.missing or f"your {full} gives no tensor"
                raise Stopped(f"{said}: your words need it.", not_started=False)
            made = made.detach()
        return made.float() if made.is_floating_point() else made

    def differs(self, name: str) -> None:
        """Note that a function of the answer is wrong."""
        full = self.bench.full(name)
        self._first_wrong = self._first_wrong or full
        if full == self.bench.asked:
            self.picture.state = "wrong"

    def attempt(self, name: str, way: Callable[[Callable[..., Any]], Any]) -> CallResult:
        """Use a function of the answer for what cannot be compared; say why if it gives nothing."""
        return self.bench.run(self.bench.full(name), way)

    def reference(self, name: str) -> Any:
        """Return the right arithmetic for a function."""
        return self.bench.reference(self.bench.full(name))

    def instead(self, name: str, way: Callable[[Any], Any], missing: str) -> Any:
        """Use the kit's own function in some way, where the answer's gives nothing.

        Raises:
            Stopped: this is a students' pack, which has none.
        """
        try:
            return way(self.reference(name))
        except NotRecorded:
            raise Stopped(f"{missing}: this picture needs it.", not_started=False) from None

    def kits(self, value: Tensor) -> Made:
        """Wrap what the kit has worked out."""
        return Made("", None, value, source="kit")

    def comes_before(self, name: str) -> bool:
        """Tell whether a function of this chapter comes before the one that is drawn."""
        return self.bench.comes_before(self.bench.full(name))

    @staticmethod
    def stack(values: Sequence[Any]) -> Any:
        """Stack tensors; anything else is handed on, to be told."""
        strange = [value for value in values if not isinstance(value, Tensor)]
        return strange[0] if strange else torch.stack(list(values))

    # drawing

    def row(self, title: str = "") -> None:
        """Begin a new row."""
        self.picture.rows.append(Row(title))

    def note(self, text: str) -> None:
        """Say something beneath this row."""
        self._row().notes.append(text)

    def say(self, text: str) -> None:
        """Say something beneath the picture."""
        self.picture.notes.append(text)

    def draw(
        self,
        title: str,
        value: Made | Tensor,
        rows: Sequence[object] | str = "",
        columns: Sequence[object] | str = "",
        *,
        made: str = "",
        scale: Scale = "signed",
        join: str = "",
        printed: DocumentNumbers | None = None,
        digits: int = 3,
        under: bool = False,
    ) -> None:
        """Draw one matrix.

        Args:
            title: what it is.
            value: what a call made, or a given tensor; a vector becomes a row.
            rows: a label for each row, or a word to count them with, as `key`.
            columns: a label for each column, or a word to count them with.
            made: how it is made, as `Q K^T`.
            scale: how its numbers become colours.
            join: the sign before it, as `@`.
            printed: what a document prints in this place.
            digits: how many decimals to show.
            under: beneath the last panel instead of beside it.
        """
        if not isinstance(value, Made):
            value = Made.given(value)
        shown = value.shown
        if shown is None:
            self.note(f"{title}: {value.says}")
            return
        cells: list[list[Any]] = shown.tolist()
        labels = _labels(rows, shown.shape[0]), _labels(columns, shown.shape[1])
        panel = Panel(
            title, cells, *labels, made=made, scale=scale, source=value.source, join=join,
            wrong=value.wrong(), notes=self._notes(value, *labels), printed=self._printed(printed),
            digits=digits,
        )  # fmt: skip
        if panel.printed is not None:
            panel.digits = max(digits, panel.printed.digits)
            self._agrees &= value.source != "yours" or agrees(panel, panel.printed)
        stacks = self._row().stacks
        if under and stacks:
            stacks[-1].append(panel)
        else:
            stacks.append([panel])

    def sums(self, weights: Made) -> None:
        """Say what the rows of weights sum to."""
        value = weights.shown
        if weights.source != "yours" or value is None:
            return
        sums = value.double().sum(-1).tolist()
        if all(abs(row - 1) < 1e-3 for row in sums):
            self.note("Each of your rows of weights sums to 1.")
        else:
            listed = ", ".join(f"{row:.3f}" for row in sums[:8])
            self.note(f"Your rows of weights sum to {listed}{', ...' if len(sums) > 8 else '.'}")

    def finish(self) -> None:
        """Say what holds for the whole picture."""
        first, (stem, name) = self._first_wrong, self.bench.asked.split(".")
        if first and first != self.bench.asked:
            self.say(f"The first that differs is your {first}: mend that, then look again.")
        elif first:
            self.say(f"What is wrong, and where to read on: pytest tests/test_{stem}.py::{name}")
        if self._words and not self._used_words:
            self.say(NO_WORDS)
        elif self._random:
            self.say(RANDOM)
        if self.against and self._cited:
            agrees_too = " Your numbers agree with every printed digit." if self._agrees else ""
            self.say(f"Printed in {'; '.join(self._cited)}.{agrees_too}")
        elif self.against:
            self.say(OF_YOURS if self._words else NOT_PRINTED)

    def _notes(self, value: Made, rows: list[str], columns: list[str]) -> list[str]:
        """Say what is wrong with a matrix, unless it only follows from another."""
        said = value.notes(rows, columns)
        if value.name == self.bench.asked or value.source == "kit":
            return said
        return [f"your {value.name}: {note}" for note in said if value.name == self._first_wrong]

    def _row(self) -> Row:
        if not self.picture.rows:
            self.row()
        return self.picture.rows[-1]

    def _printed(self, printed: DocumentNumbers | None) -> DocumentNumbers | None:
        if printed is None or not self.against:
            return None
        self._cited[printed.cites] = None
        return replace(printed)


def _labels(given: Sequence[object] | str, size: int) -> list[str]:
    if isinstance(given, str):
        return [f"{given} {i}".strip() if given else "" for i in range(size)]
    labels = [str(label) for label in given]
    return labels if len(labels) == size else [str(i) for i in range(size)]


def agrees(panel: Panel, printed: DocumentNumbers) -> bool:
    """Tell whether a panel shows what is printed: rounded, or cut, as document 001 does once."""
    last = 1.01 * 10.0**-printed.digits
    if [len(row) for row in panel.cells] != [len(row) for row in printed.cells]:
        return False
    return all(
        there is None or here == there or abs((here or 0) - there) < last
        for row, other in zip(panel.cells, printed.cells, strict=True)
        for here, there in zip(row, other, strict=True)
    )
