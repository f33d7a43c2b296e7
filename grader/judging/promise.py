"""Which promise a failed check enforces, in the words of the stub or of the rules."""

from __future__ import annotations

import functools

from grader import nested, places
from grader.answers.calls import Call
from grader.judging.outcome import Outcome
from grader.stubs.pristine import NoStubsError, as_given
from grader.suite.case import floating
from grader.suite.check import Check
from grader.suite.compare import Finding
from grader.suite.promises import Rule, docstring_of, quoted, rules

READY_MADE = Rule("ready-made")
# a difference of such a kind is against a rule, whatever the check is about
BY_KIND = {
    "device": Rule("device"),
    "no gradient": Rule("gradients"),
    "changed": Rule("inputs"),
    "switched": Rule("switches"),
    "forbidden": READY_MADE,
}


def promise(check: Check, outcome: Outcome, call: Call | None) -> tuple[str, str] | None:
    """Return who promises it, "The stub" or "The rules", and the sentence."""
    found = outcome.finding
    citation = check.cites[0]
    if found is not None:
        own = citation if check.about == "devices" and isinstance(citation, str) else None
        # of devices a stub may say more than the rules
        citation = own or _by_kind(found, call) or found.cites or citation
    try:
        said = quoted(citation, *_texts(check.stem, check.exercise))
    except (OSError, SyntaxError, KeyError, NoStubsError):
        return None
    if citation == READY_MADE and (found is None or found.kind != "forbidden"):
        return None  # something else came to light on the way
    who = "The rules" if isinstance(citation, Rule) else "The stub"
    return None if said is None else (who, said)


def _by_kind(found: Finding, call: Call | None) -> Rule | None:
    given = (*call.args, *call.kwargs.values()) if call is not None else ()
    floats = any(map(floating, nested.flat(*given)))
    if found.kind == "dtype" and floats and floating(found.expected):
        return Rule("dtype")
    return BY_KIND.get(found.kind)


@functools.cache
def _texts(stem: str, name: str) -> tuple[str, dict[str, str]]:
    """Return the docstring of a stub, as it was at first, and the page of rules."""
    stub = as_given().chapters[stem].functions[name].decode()
    return docstring_of(stub), rules(places.RULES)
