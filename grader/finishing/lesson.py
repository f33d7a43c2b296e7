"""What the model is to learn: the chapter's four sentences, and the student's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Phrase:
    """Words, and the one that follows them."""

    words: tuple[str, ...]
    then: str
    own: bool = False

    @property
    def text(self) -> str:
        """The words in one line."""
        return " ".join(self.words)


@dataclass(frozen=True)
class Lesson:
    """All sentences, with an id for each word."""

    sentences: tuple[Phrase, ...]
    vocabulary: dict[str, int]

    @property
    def longest(self) -> int:
        """How many words the longest has."""
        return max(len(sentence.words) for sentence in self.sentences)

    @property
    def most_right(self) -> int:
        """How many sentences a model can be right about that names one word for each beginning."""
        then: dict[str, Counter[str]] = {}
        for one in self.sentences:
            then.setdefault(one.text, Counter())[one.then] += 1
        return sum(max(counted.values()) for counted in then.values())

    def torn(self) -> list[str]:
        """Say which beginnings are followed by different words."""
        then: dict[str, list[str]] = {}
        for one in self.sentences:
            then.setdefault(one.text, []).append(one.then)
        return [
            f'"{text}" is followed by {" and by ".join(dict.fromkeys(words))}: a model that names '
            "one word cannot be right about both."
            for text, words in then.items()
            if len(set(words)) > 1
        ]


def lesson(
    vocabulary: Iterable[str], table: dict[str, str], own: Sequence[tuple[str, ...]]
) -> Lesson:
    """Put the chapter's table and the student's own sentences together.

    Args:
        vocabulary: the words of the table.
        table: what follows which words.
        own: whole sentences, whose last word is the one that follows.
    """
    sentences = [Phrase(tuple(text.split()), then) for text, then in table.items()]
    sentences += [Phrase(words[:-1], words[-1], own=True) for words in own]
    seen = [word for one in sentences for word in (*one.words, one.then)]
    words = dict.fromkeys([*vocabulary, *seen])
    return Lesson(tuple(sentences), {word: i for i, word in enumerate(words)})
