"""What an attack is, and what it knows of the world outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

# who gets through where no wall stands: anyone, root alone, who may trace processes of the same
# user, or perhaps nobody, where the kernel or its settings may stop it by themselves
Open = Literal["anyone", "root", "tracers", "perhaps"]


@dataclass(frozen=True)
class Target:
    """What an attack may know: more than any submission will.

    Attributes:
        own: the folder of its own submission, with a link in it to the secret.
        secret: a file in a hidden folder.
        inner: a hidden file under a folder that may be read.
        other: a file of another submission.
        scratch: where it may write.
        judge: the number of the judge's process.
        nursery: the number of the nursery's process.
        address: where in the judge's memory its secret lies.
        port: of a TCP listener of the judge.
        socket: the path of a listening Unix socket of the judge.
        library: a file of one of the system's libraries.
        talk: the descriptor of its own connection.
        memory: the megabytes that it may use.
        disk: the megabytes that it may write.
        threads: the threads that it may have.
        files: the files that it may have open.
    """

    own: str
    secret: str
    inner: str
    other: str
    scratch: str
    judge: int
    nursery: int
    address: int
    port: int
    socket: str
    library: str
    talk: int
    memory: int
    disk: int
    threads: int
    files: int

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


# says what it got; says nothing, or fails, when it was stopped
Deed = Callable[[Target], "object | None"]


@dataclass(frozen=True)
class Attack:
    """One thing to try."""

    name: str
    what: str
    deed: Deed
    open_to: Open


ATTACKS: dict[str, Attack] = {}


def attack(open_to: Open = "anyone") -> Callable[[Deed], Deed]:
    """Add a function to the attacks; its docstring says what it tries."""

    def add(deed: Deed) -> Deed:
        name = deed.__name__
        if name in ATTACKS:
            raise ValueError(name)
        ATTACKS[name] = Attack(name, (deed.__doc__ or "").strip(), deed, open_to)
        return deed

    return add
