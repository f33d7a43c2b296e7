"""Asking: a question on the screen, replies from the keyboard or from a pipe."""

from __future__ import annotations

import builtins
import io
import shutil
import sys
import textwrap
from collections.abc import Sequence
from random import Random

from grader.quiz.asked import Asked
from grader.quiz.question import Question
from grader.quiz.replies import LETTERS, how, read, written

WIDTH = 88
TRIES = 2
QUIT = ("q", "quit", "exit")


class SittingEnded(Exception):
    """Whoever is asked has had enough."""


class Sitting:
    """One sitting.

    Attributes:
        seed: draws the numbers, and the order of what there is to choose from.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
        for stream in (sys.stdin, sys.stdout):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # whatever letters came, or cannot be shown

    def ask(self, question: Question, title: str) -> None:
        """Ask a question, hear replies, and say the answer with its reason.

        Raises:
            SittingEnded: the reply was `q`, Ctrl-C or the end of the input.
        """
        asked = question.asked(self.seed)
        options = _options(asked, Random(f"{self.seed}/{question.name}"))
        self.say(title)
        self.say(asked.text, "  ")
        self._list(options)
        self.say(how(asked), "  ")
        found = self._found(asked, options)
        self.say(f"{'Right' if found else 'The answer'}: {written(asked, options)}. {asked.why}")

    def say(self, text: str, indent: str = "") -> None:
        """Print paragraphs, each after an empty line: wrapped, but for pictures."""
        for paragraph in text.split("\n\n"):
            print()
            is_picture = paragraph.startswith("    ")
            print(paragraph if is_picture else self._wrapped(paragraph, indent, indent))

    def _list(self, options: Sequence[str]) -> None:
        if options:
            print()
        for letter, option in zip(LETTERS, options, strict=False):
            print(self._wrapped(option, f"  {letter}  ", " " * 5))

    def _wrapped(self, text: str, first: str, rest: str) -> str:
        return textwrap.fill(
            text,
            self.width,
            initial_indent=first,
            subsequent_indent=rest,
            break_on_hyphens=False,
        )

    def _found(self, asked: Asked, options: Sequence[str]) -> bool:
        """Hear replies until the answer is to be said; tell whether it was found."""
        left = TRIES
        while left:
            reply = self._reply()
            if not reply:
                return False
            value = read(asked, reply, options)
            if value is None:
                self.say(f"That cannot be read. {how(asked)} Enter shows the answer, q ends.")
                continue
            if asked.same(value, asked.answer):
                return True
            left -= 1
            again = "Once more, or Enter for the answer." if left else ""
            self.say(" ".join(filter(None, ["No.", asked.mistake(value), again])))
        return False

    def _reply(self) -> str:
        """Read a line.

        Raises:
            SittingEnded: there is none, or it says so.
        """
        try:
            reply = input("\n> ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            raise SittingEnded from None
        if not sys.stdin.isatty() and not hasattr(builtins, "__IPYTHON__"):
            print(reply)  # what came through a pipe does not stand on the screen by itself
        if reply.lower() in QUIT:
            raise SittingEnded
        return reply


def _options(asked: Asked, order: Random) -> list[str]:
    if asked.kind != "choice":
        return []
    options = [asked.answer[0], *(value[0] for _, value in asked.wrong)]
    order.shuffle(options)
    return options
