"""The right ways to write a function that a student may see once it is solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.comparing.style import difference, label

# a text of so many lines would have to have nothing in common with those seen
LONG = 60


@dataclass(frozen=True)
class Ways:
    """What is known of one function.

    Attributes:
        reference: the kit's answer.
        others: right answers in other styles, the most unlike first; some of their refusals are
            left out.
        ready_made: what PyTorch has for it, as a function that lays both side by side; or empty.
    """

    reference: str
    others: tuple[str, ...] = ()
    ready_made: str = ""


def farthest(texts: Sequence[str], seen: Sequence[str], count: int) -> list[str]:
    """Choose texts that differ most from those seen, and from one another."""
    chosen: list[str] = []
    near = {
        text: min(difference(text, one) for one in seen) - text.count("\n") / LONG
        for text in dict.fromkeys(texts)
    }
    while near and len(chosen) < count:
        best = max(near, key=lambda text: near[text])
        chosen.append(best)
        del near[best]
        near = {text: min(least, difference(text, best)) for text, least in near.items()}
    return chosen


def two_more(ways: Ways, yours: str, name: str) -> list[tuple[str, str]]:
    """Choose two ways unlike the student's and the reference, each with its style in few words."""
    chosen = farthest(ways.others, [ways.reference, yours], 2)
    everything = [ways.reference, yours, *chosen]
    return [(label(t, name, [one for one in everything if one != t]), t) for t in chosen]
